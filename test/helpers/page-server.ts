import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The response for a path; `null` closes the connection. */
export type PageResponse = Readonly<{
  type: string
  body: string | Buffer
  csp?: string
  headers?: Readonly<Record<string, string>>
}> | null

/** A separate origin on a free port. Change `responses` while it runs; unknown paths are 404. */
export type PageServer = Readonly<{
  origin: string
  responses: Map<string, PageResponse>
  close(): Promise<void>
}>

/** Start an origin for browser tests. It ignores the query of a request. */
export async function startPageServer(responses = new Map<string, PageResponse>()): Promise<PageServer> {
  const server = createServer((request, response) => {
    const pageResponse = responses.get((request.url ?? '').split('?')[0] ?? '')
    if (pageResponse === null) request.socket.destroy()
    else if (pageResponse === undefined) response.writeHead(404).end()
    else {
      response.setHeader('content-type', pageResponse.type)
      if (pageResponse.csp !== undefined) response.setHeader('content-security-policy', pageResponse.csp)
      for (const [name, value] of Object.entries(pageResponse.headers ?? {})) response.setHeader(name, value)
      response.end(pageResponse.body)
    }
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, responses, close: () => closeServer(server) }
}

/** Create an HTML response. */
export function toHtmlResponse(body: string, csp?: string): PageResponse {
  return { type: 'text/html; charset=utf-8', body, ...(csp === undefined ? {} : { csp }) }
}

/** The content security policy of `/embeds/` without its frame-ancestors. */
export const EMBED_CSP = "default-src 'none'; style-src 'self'; script-src 'self'; img-src https: 'self'"

/** The content security policy of the studio. */
export const STUDIO_CSP = `${EMBED_CSP}; frame-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'`

async function closeServer(server: Server): Promise<void> {
  await new Promise((resolve) => {
    server.close(resolve)
    server.closeAllConnections()
  })
}
