import type { IncomingMessage, ServerResponse } from 'node:http'
import { isNoneMatch } from './etag.ts'

/** A request with its address as it was sent, which routers change. Those of Express are such. */
export type AskedRequest = IncomingMessage & { originalUrl: string }

/** A response with a place for what handlers note beside it. Those of Express are such. */
export type NotedResponse = ServerResponse & { locals: Record<string, unknown> }

/** What `Vitrine-State` says of an answer. */
export type WidgetState = 'shown' | 'hidden' | 'unavailable' | 'invalid'

/** Headers by name; `undefined` leaves one out. */
export type Headers = Readonly<Record<string, string | undefined>>

/** A whole answer; `etag` is `null` where there is nothing to revalidate. */
export type Answer = Readonly<{
  status: number
  headers: Headers
  etag: string | null
  /** Called only when the body is sent: a 304 renders nothing. */
  getBody(): Buffer
}>

/** Headers that say something of a body: a cache that updates what it holds would take them for another encoding's. */
export const OF_A_BODY: ReadonlySet<string> = new Set(['Content-Type', 'Content-Encoding'])

/**
 * Sends an answer with its exact length, without the help of Express: no `Vary`, no encoding, no
 * redirect, no reading of the visitor's headers but `If-None-Match`.
 */
export function sendAnswer(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  const headers = listHeaders({ ...answer.headers, ETag: answer.etag ?? undefined })
  if (answer.etag !== null && isNoneMatch(request.headers['if-none-match'], answer.etag)) {
    response.writeHead(304, headers.filter(([name]) => !OF_A_BODY.has(name)).flat()).end()
    return
  }
  const body = answer.getBody()
  response.writeHead(answer.status, [...headers, ['Content-Length', String(body.length)]].flat())
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Names and values in pairs, without what is left out. */
export function listHeaders(headers: Headers): (readonly [name: string, value: string])[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
}

/** Longest text of ours in a header: proxies limit all headers together. */
const MAX_CHARACTERS = 500

/**
 * A text as the value of a header: printable ASCII and nothing else, since headers are written as single bytes and a name of a feed
 * or an address may hold any character. Accents go; what has no plain letter becomes a question mark.
 */
export function toHeaderText(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[^ -~]/gu, '?')
  return plain.length > MAX_CHARACTERS ? `${plain.slice(0, MAX_CHARACTERS - 3)}...` : plain
}
