import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'

/** A TCP proxy that can drop all bytes while it still accepts and holds connections. */
export type TcpProxy = Readonly<{
  port: number
  /** `true` drops all bytes; `false` restores traffic and closes the old connections. */
  setCut(isCut: boolean): void
  close(): Promise<void>
}>

/** Start a proxy to a loopback port. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  let isCut = false
  const sockets = new Set<Socket>()
  const server = createServer((visitor) => {
    const target = connect(targetPort, '127.0.0.1')
    for (const [from, to] of [
      [visitor, target],
      [target, visitor],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('data', (chunk) => isCut || to.write(chunk))
      from.on('close', () => {
        sockets.delete(from)
        if (!isCut) to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const dropAll = (): void => sockets.forEach((socket) => socket.destroy())
  return {
    port: (server.address() as AddressInfo).port,
    setCut(isCutNow) {
      isCut = isCutNow
      if (!isCut) dropAll()
    },
    async close() {
      isCut = false
      dropAll()
      server.close()
      await once(server, 'close')
    },
  }
}
