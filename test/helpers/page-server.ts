import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a path answers; `null` breaks the connection off. */
export type PageResponse = Readonly<{ type: string; body: string | Buffer; csp?: string }> | null

/** An origin of its own on a free port. `answers` may change while it runs; unknown paths are 404. */
export type PageServer = Readonly<{
  origin: string
  responses: Map<string, PageResponse>
  close(): Promise<void>
}>

/** Starts an origin for browser tests. Paths are looked up without their query. */
export async function startPageServer(responses = new Map<string, PageResponse>()): Promise<PageServer> {
  const server = createServer((request, response) => {
    const pageResponse = responses.get((request.url ?? '').split('?')[0] ?? '')
    if (pageResponse === null) request.socket.destroy()
    else if (pageResponse === undefined) response.writeHead(404).end()
    else {
      response.setHeader('content-type', pageResponse.type)
      if (pageResponse.csp !== undefined) response.setHeader('content-security-policy', pageResponse.csp)
      response.end(pageResponse.body)
    }
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, responses, close: () => closeServer(server) }
}

/** An HTML answer. */
export function toHtmlResponse(body: string, csp?: string): PageResponse {
  return { type: 'text/html; charset=utf-8', body, ...(csp === undefined ? {} : { csp }) }
}

/** The content policy of `/embeds/` without its frame-ancestors. */
export const EMBED_CSP = "default-src 'none'; style-src 'self'; script-src 'self'; img-src https: 'self'"

/** The content policy of the studio. */
export const STUDIO_CSP = `${EMBED_CSP}; frame-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'`

async function closeServer(server: Server): Promise<void> {
  await new Promise((resolve) => {
    server.close(resolve)
    server.closeAllConnections()
  })
}
