import type { IncomingMessage, ServerResponse } from 'node:http'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { GTIN } from '../app/app-client.ts'
import { type FaultHandler, makeWireProduct } from '../helpers/fake-catalog.ts'

/**
 * - `failure`: no usable response; known data stays
 * - `absence`: the catalog says that no shop sells it
 * - `product`: unusual, but a valid response; it is shown
 */
export type Meaning = 'failure' | 'absence' | 'product'

/** One kind of response to a look-up, and its consequences. */
export type FaultRow = Readonly<{
  name: string
  meaning: Meaning
  /** Label of the metric: `ok`, `not_found` or an error code. */
  outcome: string
  does: FaultHandler
  /** Time after its end (`endedAtMs`) without another call for the product. */
  toWindowMs(endedAtMs: number): number
  /** Whether calls for other products are paused, too. */
  isCatalogWide: boolean
  /** Whether it ends only at the deadline of the call. */
  isHanging: boolean
  /** Sent repeatedly while a hanging response lasts. */
  drip?: string
}>

/** Title of products in faulty responses; it must not be visible unless the response is accepted. */
export const FAULT_TITLE = 'From a fault'

export const UNREACHABLE = 'VITRINE_CATALOG_UNREACHABLE'
export const STATUS = 'VITRINE_CATALOG_STATUS'
export const REDIRECT = 'VITRINE_CATALOG_REDIRECT'
export const REFUSED = 'VITRINE_CATALOG_KEY_REFUSED'
const LIMITED = 'VITRINE_CATALOG_RATE_LIMITED'
export const INVALID = 'VITRINE_CATALOG_INVALID'
export const TOO_LARGE = 'VITRINE_CATALOG_TOO_LARGE'
export const DEADLINE = 'VITRINE_CATALOG_DEADLINE'

/** How long a failure of a product is cached. */
const WINDOWS_MS: Readonly<Record<string, number>> = {
  [UNREACHABLE]: 5 * SECOND_MS,
  [STATUS]: 5 * SECOND_MS,
  [REFUSED]: 5 * SECOND_MS,
  [DEADLINE]: 5 * SECOND_MS,
  [REDIRECT]: MINUTE_MS,
  [INVALID]: MINUTE_MS,
  [TOO_LARGE]: MINUTE_MS,
}

/** How long responses and absences are fresh. */
const FRESH_MS: number = 5 * MINUTE_MS

/** A look-up that fails with `outcome`. */
export function fail(name: string, outcome: string, does: FaultHandler): FaultRow {
  const windowMs = WINDOWS_MS[outcome] ?? 0
  return {
    name,
    meaning: 'failure',
    outcome,
    does,
    toWindowMs: () => windowMs,
    isCatalogWide: outcome === REFUSED || outcome === LIMITED,
    isHanging: false,
  }
}

/** A look-up that ends only at its deadline. */
export function hang(name: string, does: FaultHandler, drip?: string): FaultRow {
  return { ...fail(name, DEADLINE, does), isHanging: true, ...(drip !== undefined && { drip }) }
}

/** A look-up with a valid response. */
export function succeed(name: string, meaning: 'absence' | 'product', does: FaultHandler): FaultRow {
  const outcome = meaning === 'absence' ? 'not_found' : 'ok'
  return { ...fail(name, outcome, does), meaning, toWindowMs: () => FRESH_MS }
}

/** A 429; `toWindowMs`: how long calls are paused after it. */
export function limit(
  name: string,
  headers: Readonly<Record<string, string>>,
  toWindowMs: FaultRow['toWindowMs'],
): FaultRow {
  const does: FaultHandler = (_request, response) => {
    response.sendDate = false
    response.writeHead(429, headers).end(GOOD_BODY)
  }
  return { ...fail(name, LIMITED, does), toWindowMs }
}

/** Until 00:05 UTC, the end of the longest pause. */
export function toLongestPauseMs(nowMs: number): number {
  return DAY_MS - (nowMs % DAY_MS) + 5 * MINUTE_MS
}

/** A product that would be visible if it were accepted. */
export const GOOD_BODY: string = JSON.stringify(makeWireProduct({ gtin: GTIN, title: FAULT_TITLE }))

/** Send raw bytes on the connection. */
export function sendRaw(
  bytes: string | Buffer,
  then: 'end' | 'reset' | 'stay' = 'end',
): (request: IncomingMessage, response: ServerResponse) => void {
  return ({ socket }) => {
    if (then === 'end') socket.end(bytes)
    else socket.write(bytes, () => (then === 'reset' ? socket.resetAndDestroy() : undefined))
  }
}

/** Build a response with `headers` and `body`. */
export function toRaw(headers: readonly string[], body: string): string {
  return ['HTTP/1.1 200 OK', 'Content-Type: application/json', ...headers, '', body].join('\r\n')
}

/** Correct length of the body. */
export const GOOD_LENGTH = `Content-Length: ${Buffer.byteLength(GOOD_BODY)}`

/** The body as one chunk, without the final chunk. */
export const GOOD_CHUNK = `${Buffer.byteLength(GOOD_BODY).toString(16)}\r\n${GOOD_BODY}\r\n`
