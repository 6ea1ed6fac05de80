import { type IncomingMessage, STATUS_CODES, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { HTML_TYPE, type Headers, TEXT_TYPE, listHeaders, sendResponse } from './response.ts'
import { toCacheStatus } from './cache-headers.ts'

/** A response to a request that is refused before routing. */
export type Refusal = Readonly<{ status: number; message: string }>

/** `target` is the request target; `undefined` when the request could not be parsed. */
export type FormatRefusal = (
  refusal: Refusal,
  target: string | undefined,
) => Readonly<{ headers: Headers; body: string }>

/** Path of a fragment, with or without a prefix or origin. */
const FRAGMENT_PATH = /^[^?#]*\/fragments(?:[/?#]|$)/i

/** Format a refusal as an HTML comment if it may be included in a page, else as a line of text. */
export const formatWidgetRefusal: FormatRefusal = ({ message }, target) => {
  const isFragment = target === undefined || FRAGMENT_PATH.test(target)
  return {
    headers: {
      ...toRefusalHeaders(message),
      'X-Content-Type-Options': 'nosniff',
      'Content-Type': isFragment ? HTML_TYPE : TEXT_TYPE,
      'Access-Control-Allow-Origin': isFragment ? '*' : undefined,
    },
    body: isFragment ? `<!-- Vitrine: ${message} -->` : `${message}\n`,
  }
}

/** Return the headers of all refusals of the widget server. */
export function toRefusalHeaders(message: string): Record<string, string> {
  return {
    'Cache-Control': 'no-store',
    'Cache-Status': toCacheStatus('invalid'),
    'Vitrine-State': 'invalid',
    'Vitrine-Error': message,
    'X-Robots-Tag': 'noindex, nofollow',
  }
}

/** Refuse a parsed request and close its connection, because its body is not read. */
export function sendRefusal(
  request: IncomingMessage,
  response: ServerResponse,
  {
    refusal,
    format,
    target = request.url,
  }: Readonly<{ refusal: Refusal; format: FormatRefusal; target?: string }>,
): void {
  const { headers, body } = format(refusal, target)
  sendResponse(request, response, {
    status: refusal.status,
    headers: { ...headers, Connection: 'close' },
    body,
  })
}

/** Refuse an unparsable request and close its connection. */
export function writeRefusal(socket: Duplex, refusal: Refusal, format: FormatRefusal): void {
  const { headers, body } = format(refusal, undefined)
  const all = { ...headers, 'Content-Length': String(Buffer.byteLength(body)), Connection: 'close' }
  const lines = listHeaders(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status] ?? ''}\r\n${lines.join('')}\r\n${body}`,
  )
}
