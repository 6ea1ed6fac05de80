import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect, vi } from 'vitest'

/** A request to a CDN; `from` is the visitor's IP address, in the loopback range. */
export type CdnRequest = Readonly<{
  headers?: Readonly<Record<string, string>>
  method?: string
  from?: string
}>

/** A response, not decompressed. */
export type CdnResponse = Readonly<{ status: number; headers: IncomingMessage['headers']; body: string }>

/** Timeout of a request; a slower response counts as hanging. */
const REQUEST_TIMEOUT_MS = 20_000

/** Send a request over a new connection. The URL is sent unchanged, including a `#`. */
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

/** Send requests until nginx serves the response from its cache: it sends a new response a moment before it caches it. */
export const waitForHit = (url: string): Promise<CdnResponse> =>
  vi.waitFor(async () => {
    const response = await sendRequest(url)
    expect(response.headers['x-cache']).toBe('HIT')
    return response
  })

/** Return what a reader sees of a response: `shown`, `hidden`, `unavailable`, or what is wrong with it. */
export function classifyResponse({ status, headers, body }: CdnResponse): string {
  const state = String(headers['vitrine-state'])
  const isEmpty = body.length === 0
  if (status !== 200) return `status ${status}`
  return isEmpty === (state !== 'shown') ? state : `${state} with ${body.length} bytes`
}
