import type { IncomingMessage, ServerResponse } from 'node:http'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { GTIN } from '../app/app-client.ts'
import { type FaultHandler, makeWireProduct } from '../helpers/fake-catalog.ts'

/**
 * - `failure`: no usable answer; what was known stays
 * - `absence`: the catalog says that no shop sells it
 * - `product`: odd, but an answer; it is shown
 */
export type Meaning = 'failure' | 'absence' | 'product'

/** One way in which a look-up goes, and what follows of it. */
export type FaultRow = Readonly<{
  name: string
  meaning: Meaning
  /** As the metrics name it: `ok`, `not_found` or an error's code. */
  outcome: string
  does: FaultHandler
  /** For how long after its end, at `endedAtMs`, nobody asks again. */
  toWindowMs(endedAtMs: number): number
  /** No other product is asked for meanwhile, either. */
  isCatalogWide: boolean
  /** It ends only with the deadline of the call. */
  isHanging: boolean
  /** What a hanging one sends again and again while time passes. */
  drip?: string
}>

/** Title that only a fault's own product has: wherever it is not to be believed, nobody may read it. */
export const FAULT_TITLE = 'From a fault'

export const UNREACHABLE = 'VITRINE_CATALOG_UNREACHABLE'
export const STATUS = 'VITRINE_CATALOG_STATUS'
export const REDIRECT = 'VITRINE_CATALOG_REDIRECT'
export const REFUSED = 'VITRINE_CATALOG_KEY_REFUSED'
const LIMITED = 'VITRINE_CATALOG_RATE_LIMITED'
export const INVALID = 'VITRINE_CATALOG_INVALID'
export const TOO_LARGE = 'VITRINE_CATALOG_TOO_LARGE'
export const DEADLINE = 'VITRINE_CATALOG_DEADLINE'

/** How long a failure of a product is remembered. */
const WINDOWS_MS: Readonly<Record<string, number>> = {
  [UNREACHABLE]: 5 * SECOND_MS,
  [STATUS]: 5 * SECOND_MS,
  [REFUSED]: 5 * SECOND_MS,
  [DEADLINE]: 5 * SECOND_MS,
  [REDIRECT]: MINUTE_MS,
  [INVALID]: MINUTE_MS,
  [TOO_LARGE]: MINUTE_MS,
}

/** How long answers and absences are fresh. */
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

/** A look-up that never ends by itself. */
export function hang(name: string, does: FaultHandler, drip?: string): FaultRow {
  return { ...fail(name, DEADLINE, does), isHanging: true, ...(drip !== undefined && { drip }) }
}

/** A look-up that is an answer all the same. */
export function succeed(name: string, meaning: 'absence' | 'product', does: FaultHandler): FaultRow {
  const outcome = meaning === 'absence' ? 'not_found' : 'ok'
  return { ...fail(name, outcome, does), meaning, toWindowMs: () => FRESH_MS }
}

/** A 429; `toWindowMs`: how long nothing is called after it. */
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

/** Until 00:00 UTC and five minutes: no pause is longer. */
export function toLongestPauseMs(nowMs: number): number {
  return DAY_MS - (nowMs % DAY_MS) + 5 * MINUTE_MS
}

/** A product that would be shown if it were believed. */
export const GOOD_BODY: string = JSON.stringify(makeWireProduct({ gtin: GTIN, title: FAULT_TITLE }))

/** Sends bytes past HTTP, on the connection itself. */
export function sendRaw(
  bytes: string | Buffer,
  then: 'end' | 'reset' | 'stay' = 'end',
): (request: IncomingMessage, response: ServerResponse) => void {
  return ({ socket }) => {
    if (then === 'end') socket.end(bytes)
    else socket.write(bytes, () => (then === 'reset' ? socket.resetAndDestroy() : undefined))
  }
}

/** A head with `headers` before `body`. */
export function toRaw(headers: readonly string[], body: string): string {
  return ['HTTP/1.1 200 OK', 'Content-Type: application/json', ...headers, '', body].join('\r\n')
}

/** The good body's own length. */
export const GOOD_LENGTH = `Content-Length: ${Buffer.byteLength(GOOD_BODY)}`

/** The good body as one chunk, without the last one. */
export const GOOD_CHUNK = `${Buffer.byteLength(GOOD_BODY).toString(16)}\r\n${GOOD_BODY}\r\n`
