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

/** Headers as flat lists of names and values, `Cache-Control` first: of the whole answer, and for whoever has it already. */
export type HeaderLists = Readonly<{ whole: string[]; unchanged: string[] }>

/** Headers that say something of a body: a cache that updates what it holds would take them for another encoding's. */
const OF_A_BODY: ReadonlySet<string> = new Set(['Content-Type', 'Content-Encoding'])

/** Makes the lists; `bytes` is the length of the body. Nothing else is sent but what Node adds itself (`Date`, connection). */
export function toHeaderLists(
  { headers, etag }: Pick<Answer, 'headers' | 'etag'>,
  bytes: number,
): HeaderLists {
  const { 'Cache-Control': cacheControl, ...others } = headers
  const all = listHeaders({ 'Cache-Control': cacheControl, ...others, ETag: etag ?? undefined })
  return {
    whole: [...all, ['Content-Length', String(bytes)]].flat(),
    unchanged: all.filter(([name = '']) => !OF_A_BODY.has(name)).flat(),
  }
}

/** Final bytes and the header blocks in front of them. */
export type Form = Readonly<{ lists: HeaderLists; bytes: Buffer }>

/**
 * Sends a form with its header block: in one write, without its bytes to whoever has them already. `cacheControl` takes the
 * place of that in the block: the one header that counts down, while the others stay as they were made.
 */
export function sendForm(
  request: IncomingMessage,
  response: ServerResponse,
  { etag, form, cacheControl }: Readonly<{ etag: string | null; form: Form; cacheControl?: string }>,
): void {
  const isKnown = etag !== null && isNoneMatch(request.headers['if-none-match'], etag)
  // A copy: writing into a list that lives long costs more.
  const list = (isKnown ? form.lists.unchanged : form.lists.whole).slice()
  if (cacheControl !== undefined) list[1] = cacheControl
  response.writeHead(isKnown ? 304 : 200, list)
  response.end(isKnown || request.method === 'HEAD' ? undefined : form.bytes)
}

/**
 * Sends an answer in one write with its exact length, without the help of Express: no `Vary`, no encoding, no
 * redirect, no reading of the visitor's headers but `If-None-Match`.
 */
export function sendAnswer(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  if (answer.etag !== null && isNoneMatch(request.headers['if-none-match'], answer.etag)) {
    response.writeHead(304, toHeaderLists(answer, 0).unchanged).end()
    return
  }
  const body = answer.getBody()
  response.writeHead(answer.status, toHeaderLists(answer, body.length).whole)
  response.end(request.method === 'HEAD' ? undefined : body)
}

function listHeaders(headers: Headers): string[][] {
  return Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
}
