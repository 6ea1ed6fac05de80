import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The publisher's server behind Varnish: pages by path, all with ESI enabled. */
export type OriginServer = Readonly<{ port: number; pages: Map<string, string>; stop(): Promise<void> }>

/** Start it on a free port. */
export async function startOriginServer(): Promise<OriginServer> {
  const pages = new Map<string, string>()
  const server = createServer((request, response) => {
    const page = pages.get(request.url ?? '')
    response.writeHead(page === undefined ? 404 : 200, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'max-age=0',
      'surrogate-control': 'content="ESI/1.0"',
    })
    response.end(page)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    pages,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
