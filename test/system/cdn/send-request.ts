import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'

/** How a front is asked; `from` is the visitor's own address, of loopback. */
export type CdnRequest = Readonly<{
  headers?: Readonly<Record<string, string>>
  method?: string
  from?: string
}>

/** An answer as it travelled. */
export type CdnResponse = Readonly<{ status: number; headers: IncomingMessage['headers']; body: string }>

/** How long a visitor of these tests waits: what takes longer hangs. */
const REQUEST_TIMEOUT_MS = 20_000

/** Asks once, over a connection of its own. The address is sent as it is, with a `#`, too. */
export async function sendRequest(
  url: string,
  { headers = {}, method = 'GET', from }: CdnRequest = {},
): Promise<CdnResponse> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  const path = url.replace(/^http:\/\/[^/]*/, '') || '/'
  const clientRequest = request(url, {
    path,
    method,
    headers,
    localAddress: from,
    agent: false,
    signal,
  }).end()
  const [response] = (await once(clientRequest, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks).toString('latin1'),
  }
}

/** What a reader has of an answer: `shown`, `hidden`, `unavailable`, or what else it is. */
export function classifyResponse({ status, headers, body }: CdnResponse): string {
  const state = String(headers['vitrine-state'])
  const isEmpty = body.length === 0
  if (status !== 200) return `status ${status}`
  return isEmpty === (state !== 'shown') ? state : `${state} with ${body.length} bytes`
}
