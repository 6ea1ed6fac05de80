import { Pool } from 'undici'
import { type Clock, ENOUGH, SECOND_MS } from '../clock.ts'
import { CatalogDeadlineError, CatalogKeyRefusedError } from '../errors.ts'
import { discardBody, readJson } from './body.ts'
import { type CallGate, MAX_CALLS_AT_ONCE } from './call-gate.ts'
import { type DatedResponse, computeDifferenceMs } from './clock-difference.ts'
import { type Channel, VERSION_PATH } from './contract.ts'
import { type Parse, callThroughGate, findCode } from './gated-call.ts'
import type { KeySource } from './key-source.ts'
import {
  type ParsedPage,
  type ParsedProduct,
  parseChannelList,
  parseProduct,
  parseProductPage,
} from './parse.ts'
import type { CallPurpose } from './quota.ts'
import { toStatusError } from './status-error.ts'

/** The second net under the deadline, where undici's own timers come first: it is the same failure. */
const TIMEOUT_CODES: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
])

/** Oldest `Age` of a cache between the catalog and us that is believed. */
const MAX_AGE_SECONDS = 86_400

/** An answer with the time at which the catalog gave it, Unix milliseconds. */
export type Answer<T> = Readonly<{ value: T; asOfMs: number }>

/** The three operations of the contract. Every failure is a `CatalogError`; none carries the key, a query or a body. */
export type CatalogClient = Readonly<{
  /** `purpose`: a walk pays for its own list; by default a visit needs it. */
  fetchChannels(purpose?: 'channels' | 'walk'): Promise<Answer<readonly Channel[]>>
  fetchProductPage(page: ProductPageQuery): Promise<Answer<ParsedPage>>
  /** `undefined` in the answer: the catalog says that no approved shop sells it (404). */
  findProduct(query: ProductQuery): Promise<Answer<ParsedProduct | undefined>>
  close(): Promise<void>
}>

/** Which page: the first one has no cursor. `limit` is at most 200. */
export type ProductPageQuery = Readonly<{ channelId: string; cursor: string | null; limit: number }>

/** Which product, and why it is asked for: refreshes of known products and first look-ups have budgets of their own. */
export type ProductQuery = Readonly<{ channelId: string; gtin: string; purpose: CallPurpose }>

/** What a client needs; `baseUrl` without a slash at its end. */
export type CatalogClientOptions = Readonly<{
  baseUrl: string
  key: KeySource
  timeoutMs: number
  maxBytes: number
  /** Origin of the widget server, whose own pictures may be http. */
  ownOrigin: string
  clock: Clock
  gate: Pick<CallGate, 'pass'>
  /** Told of every call that was made. `outcome` is `ok`, `not_found` or an error's code, `reason` the error's words. */
  onCall?: (call: Readonly<{ operation: Operation; outcome: string; reason?: string }>) => void
  /** Told with each response by how much the catalog's clock is ahead of this machine's, in milliseconds. */
  onClockDifference?: (differenceMs: number) => void
}>

/** The operations by name, as metrics know them. */
export type Operation = 'channels' | 'products' | 'product'

type Call = Readonly<{ operation: Operation; purpose: CallPurpose; path: string }>
type Reply = Readonly<{ json: unknown; isNotFound: boolean; asOfMs: number }>

/** Makes the one thing that calls the catalog and holds its key. */
export function createCatalogClient(options: CatalogClientOptions): CatalogClient {
  const base = new URL(options.baseUrl)
  const basePath = base.pathname.replace(/\/+$/, '') + VERSION_PATH
  const pool = new Pool(base.origin, {
    connections: MAX_CALLS_AT_ONCE,
    connect: { timeout: options.timeoutMs },
    headersTimeout: options.timeoutMs,
    bodyTimeout: options.timeoutMs,
  })
  const parseOptions = { ownOrigin: options.ownOrigin }
  const call = <T>(details: Call, parse: Parse<Reply, T>): Promise<Answer<T>> =>
    callThroughGate(options, () => callWithDeadline(options, pool, details), { ...details, parse })

  return {
    fetchChannels(purpose = 'channels') {
      const path = `${basePath}/channels`
      return call({ operation: 'channels', purpose, path }, ({ json }) => parseChannelList(json))
    },
    fetchProductPage(page) {
      const path = toPagePath(basePath, page)
      return call({ operation: 'products', purpose: 'walk', path }, ({ json }) =>
        parseProductPage(json, parseOptions),
      )
    },
    findProduct({ channelId, gtin, purpose }) {
      const path = `${basePath}/channels/${encodeURIComponent(channelId)}/products/${encodeURIComponent(gtin)}`
      return call({ operation: 'product', purpose, path }, ({ json, isNotFound }) =>
        isNotFound ? undefined : parseProduct(json, gtin, parseOptions),
      )
    },
    close: () => pool.destroy(),
  }
}

function toPagePath(basePath: string, { channelId, cursor, limit }: ProductPageQuery): string {
  const query = new URLSearchParams({ limit: String(limit), ...(cursor !== null && { cursor }) })
  return `${basePath}/channels/${encodeURIComponent(channelId)}/products?${query.toString()}`
}

/**
 * One deadline from connecting to the last byte, and to a second try where a 401 led to another key. It is kept beside
 * the call: undici looks at an aborted signal only once a connection is there.
 */
async function callWithDeadline(options: CatalogClientOptions, pool: Pool, call: Call): Promise<Reply> {
  const deadline = new AbortController()
  const done = new AbortController()
  const signalled = { ...call, signal: deadline.signal }
  try {
    return await Promise.race([
      callWithKey(options, pool, signalled),
      failAfter(options, deadline, done.signal),
    ])
  } catch (error) {
    if (deadline.signal.aborted || TIMEOUT_CODES.has(findCode(error) ?? '')) throw createLate(options)
    throw error
  } finally {
    done.abort(ENOUGH)
  }
}

async function failAfter(
  options: CatalogClientOptions,
  deadline: AbortController,
  done: AbortSignal,
): Promise<never> {
  await options.clock.wait(options.timeoutMs, done)
  if (done.aborted) return new Promise(() => {}) // nobody asks, and an error has a stack, which is dear
  deadline.abort()
  throw createLate(options)
}

function createLate({ timeoutMs }: CatalogClientOptions): CatalogDeadlineError {
  return new CatalogDeadlineError(`no complete answer within ${timeoutMs} ms`)
}

type SignalledCall = Call & Readonly<{ signal: AbortSignal }>

/** A refused key is read again; the call is tried once more with another one, whichever call it was that read it. */
async function callWithKey(options: CatalogClientOptions, pool: Pool, call: SignalledCall): Promise<Reply> {
  const { key } = options
  const used = key.current()
  try {
    return await request(options, pool, call)
  } catch (error) {
    if (!(error instanceof CatalogKeyRefusedError)) throw error
    if ((await key.refresh()) || key.current() !== used) return request(options, pool, call)
    throw error
  }
}

async function request(options: CatalogClientOptions, pool: Pool, call: SignalledCall): Promise<Reply> {
  const sentAtMs = options.clock.nowMs()
  const answer = await pool.request({
    method: 'GET',
    path: call.path,
    signal: call.signal,
    headers: {
      authorization: `Bearer ${options.key.current().reveal()}`,
      accept: 'application/json',
      'accept-encoding': 'gzip, br',
      'user-agent': 'vitrine',
    },
  })
  const nowMs = options.clock.nowMs()
  const ageMs = readAgeMs(answer.headers['age'])
  const asOfMs = nowMs - ageMs
  noteClock(options, { date: answer.headers['date'], ageMs, sentAtMs, receivedAtMs: nowMs })
  if (answer.statusCode === 200) {
    return { json: await readJson(answer, options.maxBytes), isNotFound: false, asOfMs }
  }
  discardBody(answer.body)
  if (answer.statusCode === 404 && call.operation === 'product')
    return { json: undefined, isNotFound: true, asOfMs }
  throw toStatusError(answer, nowMs)
}

function noteClock(
  { onClockDifference }: CatalogClientOptions,
  response: Omit<DatedResponse, 'date'> & Readonly<{ date: string | string[] | undefined }>,
): void {
  if (onClockDifference === undefined || typeof response.date !== 'string') return
  const differenceMs = computeDifferenceMs({ ...response, date: response.date })
  if (differenceMs !== null) onClockDifference(differenceMs)
}

function readAgeMs(header: string | string[] | undefined): number {
  return typeof header === 'string' && /^\d{1,9}$/.test(header)
    ? Math.min(Number(header), MAX_AGE_SECONDS) * SECOND_MS
    : 0
}
