import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a path answers; `null` breaks the connection off. */
export type PageAnswer = Readonly<{ type: string; body: string | Buffer; csp?: string }> | null

/** An origin of its own on a free port. `answers` may change while it runs; unknown paths are 404. */
export type PageServer = Readonly<{
  origin: string
  answers: Map<string, PageAnswer>
  close(): Promise<void>
}>

/** Starts an origin for browser tests. Paths are looked up without their query. */
export async function startPageServer(answers = new Map<string, PageAnswer>()): Promise<PageServer> {
  const server = createServer((request, response) => {
    const answer = answers.get((request.url ?? '').split('?')[0] ?? '')
    if (answer === null) request.socket.destroy()
    else if (answer === undefined) response.writeHead(404).end()
    else {
      response.setHeader('content-type', answer.type)
      if (answer.csp !== undefined) response.setHeader('content-security-policy', answer.csp)
      response.end(answer.body)
    }
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, answers, close: () => closeServer(server) }
}

/** An HTML answer. */
export function toPage(body: string, csp?: string): PageAnswer {
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
