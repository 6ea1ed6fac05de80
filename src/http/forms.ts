import { type IncomingMessage, type ServerResponse, validateHeaderValue } from 'node:http'
import { LRUCache } from 'lru-cache'
import { type Headers, OF_A_BODY, listHeaders } from './answer.ts'
import { CACHE_TAG_HEADERS } from '../config/settings.ts'
import { isNoneMatch } from './etag.ts'
import { writeAtOnce } from './one-write.ts'

/** The same header lines for a response of Node and for a message of ours. */
type Lines = Readonly<{ list: readonly string[]; text: string }>

/**
 * What many answers have in common of their header blocks: of the whole answer, and for whoever has it already. `Cache-Control`,
 * `Vitrine-Reason`, tags, `ETag` and `Content-Length` are not among them: those are of each answer.
 */
export type SharedHeaders = Readonly<{ whole: Lines; unchanged: Lines }>

/** Final bytes, and the headers in front of them. `cacheControl`: as it was when the form was made. `own`: of this answer alone. */
export type Form = Readonly<{ headers: SharedHeaders; own: Lines; cacheControl: string; bytes: Buffer }>

/** How a form is sent: `etag` is `null` where there is nothing to revalidate; `nowMs`, Unix milliseconds, is its `Date`. */
export type SentForm = Readonly<{ etag: string | null; form: Form; cacheControl: string; nowMs: number }>

/** Header blocks differ by surface, encoding, state and channel: ten thousand boxes of a channel have a handful. */
const blocks = new LRUCache<string, SharedHeaders>({ max: 1_000 })

const NO_LINES: Lines = { list: [], text: '' }

/** Headers whose values are of one answer: among the shared ones they would make a block for each. */
const OF_ONE: ReadonlySet<string> = new Set(['Vitrine-Reason', ...CACHE_TAG_HEADERS])

/**
 * Makes a form; its headers are found among those of others.
 * @throws TypeError when a value cannot be that of a header, as Node would when it sends it: a line break would end it.
 */
export function createForm(headers: Headers, bytes: Buffer): Form {
  const { 'Cache-Control': cacheControl = '', ...others } = headers
  const all = listHeaders(others)
  const own = all.filter(([name]) => OF_ONE.has(name))
  return {
    headers: shareHeaders(all.filter(([name]) => !OF_ONE.has(name))),
    own: toOwn(own),
    cacheControl,
    bytes,
  }
}

type Pairs = ReturnType<typeof listHeaders>

/** What was made last: the encodings of an answer follow each other, and share it. */
let lastOwn = NO_LINES

function toOwn(pairs: Pairs): Lines {
  if (pairs.length === 0) return NO_LINES
  const own = toLines(pairs)
  if (own.text === lastOwn.text) return lastOwn
  for (const [name, value] of pairs) validateHeaderValue(name, value)
  return (lastOwn = own)
}

function shareHeaders(all: Pairs): SharedHeaders {
  const whole = toLines(all)
  const known = blocks.get(whole.text)
  if (known !== undefined) return known
  for (const [name, value] of all) validateHeaderValue(name, value)
  const shared = { whole, unchanged: toLines(all.filter(([name]) => !OF_A_BODY.has(name))) }
  blocks.set(whole.text, shared)
  return shared
}

function toLines(headers: readonly (readonly [name: string, value: string])[]): Lines {
  return { list: headers.flat(), text: headers.map(([name, value]) => `${name}: ${value}\r\n`).join('') }
}

/** Sends a form with its header block: without its bytes to whoever has them already, and in one piece where that can be. */
export function sendForm(request: IncomingMessage, response: ServerResponse, sent: SentForm): void {
  const { etag, form, nowMs } = sent
  const isKnown = etag !== null && isNoneMatch(request.headers['if-none-match'], etag)
  const status = isKnown ? 304 : 200
  const body = isKnown || request.method === 'HEAD' ? null : form.bytes
  if (writeAtOnce(response, { status, head: toHead(sent, isKnown), body, nowMs })) return
  response.writeHead(status, toList(sent, isKnown))
  response.end(body ?? undefined)
}

function toHead({ etag, form, cacheControl }: SentForm, isKnown: boolean): string {
  const { text } = isKnown ? form.headers.unchanged : form.headers.whole
  const tag = etag === null ? '' : `ETag: ${etag}\r\n`
  const length = isKnown ? '' : `Content-Length: ${form.bytes.length}\r\n`
  return `Cache-Control: ${cacheControl}\r\n${text}${form.own.text}${tag}${length}`
}

/** The same for Node, as a flat list of names and values. */
function toList({ etag, form, cacheControl }: SentForm, isKnown: boolean): string[] {
  const { list } = isKnown ? form.headers.unchanged : form.headers.whole
  const all = ['Cache-Control', cacheControl, ...list, ...form.own.list]
  if (etag !== null) all.push('ETag', etag)
  if (!isKnown) all.push('Content-Length', String(form.bytes.length))
  return all
}
