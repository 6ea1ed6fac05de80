import { once } from 'node:events'
import { type AddressInfo, type Socket, createServer } from 'node:net'
import { onTestFinished } from 'vitest'

/** A raw TCP server, for tests of broken HTTP. */
export type RawServer = Readonly<{
  url: string
  /** Heads of the received requests, in order. */
  requests: readonly string[]
  /** Number of opened sockets, and how many of them are closed. */
  countOpened(): number
  countClosed(): number
}>

/** Start a server that calls `respond` for each complete request head; it stops with the test. */
export async function startRawServer(respond: (socket: Socket, head: string) => void): Promise<RawServer> {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  let openedCount = 0
  const server = createServer((socket) => {
    let text = ''
    openedCount++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!text.includes('\r\n\r\n')) return
      requests.push(text)
      const head = text
      text = ''
      respond(socket, head)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    countOpened: () => openedCount,
    countClosed: () => openedCount - sockets.size,
  }
}

/** Create the bytes of a valid response: a list of channels. */
export function createValidResponse(
  body = '{"items":[{"id":"3f2b8c1e-6a54-4d0b-9c7e-1b2a3c4d5e6f","name":"M","kind":"website","url":null}]}',
): string {
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
