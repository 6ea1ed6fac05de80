import type { IncomingMessage, ServerResponse } from 'node:http'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { GTIN } from '../app/app-client.ts'
import { type FaultHandler, makeWireProduct } from '../helpers/fake-catalog.ts'

/**
 * - `failure`: no usable response; the stored copy stays
 * - `absence`: the catalog reports that no shop sells the product
 * - `product`: unusual but valid; it is shown
 */
export type Meaning = 'failure' | 'absence' | 'product'

/** One way a look-up can go, and its consequences. */
export type FaultRow = Readonly<{
  name: string
  meaning: Meaning
  /** Label in the metrics: `ok`, `not_found` or an error code. */
  outcome: string
  respond: FaultHandler
  /** Return how long no further call is made after the end of this one at `endedAtMs`. */
  toWindowMs(endedAtMs: number): number
  /** Whether calls for other products stop, too. */
  isCatalogWide: boolean
  /** Whether only the deadline of the call ends it. */
  isHanging: boolean
  /** Bytes that a hanging response sends repeatedly while time passes. */
  drip?: string
}>

/** Title of the product in faulty responses: it must not be shown when the response is invalid. */
export const FAULT_TITLE = 'From a fault'

export const UNREACHABLE = 'VITRINE_CATALOG_UNREACHABLE'
export const STATUS = 'VITRINE_CATALOG_STATUS'
export const REDIRECT = 'VITRINE_CATALOG_REDIRECT'
export const REFUSED = 'VITRINE_CATALOG_KEY_REFUSED'
const LIMITED = 'VITRINE_CATALOG_RATE_LIMITED'
export const INVALID = 'VITRINE_CATALOG_INVALID'
export const TOO_LARGE = 'VITRINE_CATALOG_TOO_LARGE'
export const DEADLINE = 'VITRINE_CATALOG_DEADLINE'

/** How long a failed look-up of a product is cached. */
const WINDOWS_MS: Readonly<Record<string, number>> = {
  [UNREACHABLE]: 5 * SECOND_MS,
  [STATUS]: 5 * SECOND_MS,
  [REFUSED]: 5 * SECOND_MS,
  [DEADLINE]: 5 * SECOND_MS,
  [REDIRECT]: MINUTE_MS,
  [INVALID]: MINUTE_MS,
  [TOO_LARGE]: MINUTE_MS,
}

/** How long products and 404s are fresh. */
const FRESH_MS: number = 5 * MINUTE_MS

/** Create a look-up that fails with `outcome`. */
export function fail(name: string, outcome: string, respond: FaultHandler): FaultRow {
  const windowMs = WINDOWS_MS[outcome] ?? 0
  return {
    name,
    meaning: 'failure',
    outcome,
    respond,
    toWindowMs: () => windowMs,
    isCatalogWide: outcome === REFUSED || outcome === LIMITED,
    isHanging: false,
  }
}

/** Create a look-up that never ends by itself. */
export function hang(name: string, respond: FaultHandler, drip?: string): FaultRow {
  return { ...fail(name, DEADLINE, respond), isHanging: true, ...(drip !== undefined && { drip }) }
}

/** Create an unusual look-up that still succeeds. */
export function succeed(name: string, meaning: 'absence' | 'product', respond: FaultHandler): FaultRow {
  const outcome = meaning === 'absence' ? 'not_found' : 'ok'
  return { ...fail(name, outcome, respond), meaning, toWindowMs: () => FRESH_MS }
}

/** Create a 429; `toWindowMs` returns how long no call is made after it. */
export function limit(
  name: string,
  headers: Readonly<Record<string, string>>,
  toWindowMs: FaultRow['toWindowMs'],
): FaultRow {
  const respond: FaultHandler = (_request, response) => {
    response.sendDate = false
    response.writeHead(429, headers).end(GOOD_BODY)
  }
  return { ...fail(name, LIMITED, respond), toWindowMs }
}

/** Return the longest possible pause: until five minutes after 00:00 UTC. */
export function toLongestPauseMs(nowMs: number): number {
  return DAY_MS - (nowMs % DAY_MS) + 5 * MINUTE_MS
}

/** A valid product, which is shown if the response is accepted. */
export const GOOD_BODY: string = JSON.stringify(makeWireProduct({ gtin: GTIN, title: FAULT_TITLE }))

/** Write raw bytes to the connection, bypassing HTTP. */
export function sendRaw(
  bytes: string | Buffer,
  then: 'end' | 'reset' | 'stay' = 'end',
): (request: IncomingMessage, response: ServerResponse) => void {
  return ({ socket }) => {
    if (then === 'end') socket.end(bytes)
    else socket.write(bytes, () => (then === 'reset' ? socket.resetAndDestroy() : undefined))
  }
}

/** Create a raw response from `headers` and `body`. */
export function toRaw(headers: readonly string[], body: string): string {
  return ['HTTP/1.1 200 OK', 'Content-Type: application/json', ...headers, '', body].join('\r\n')
}

/** Content-Length header of the valid body. */
export const GOOD_LENGTH = `Content-Length: ${Buffer.byteLength(GOOD_BODY)}`

/** The valid body as one chunk, without the final empty chunk. */
export const GOOD_CHUNK = `${Buffer.byteLength(GOOD_BODY).toString(16)}\r\n${GOOD_BODY}\r\n`
