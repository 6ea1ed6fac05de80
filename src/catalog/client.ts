import { Pool, type Dispatcher } from 'undici'
import type { Clock } from '../clock.ts'
import { SECOND_MS } from '../clock.ts'
import {
  CatalogDeadlineError,
  CatalogError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogRedirectError,
  CatalogStatusError,
  CatalogUnreachableError,
} from '../errors.ts'
import { discardBody, readJson } from './body.ts'
import type { CallGate, CallPurpose } from './call-gate.ts'
import { type Channel, VERSION_PATH } from './contract.ts'
import type { KeySource } from './key-source.ts'
import {
  type ParsedPage,
  type ParsedProduct,
  parseChannelList,
  parseProduct,
  parseProductPage,
} from './parse.ts'
import { parseRetryAfter } from './retry-after.ts'

/** Connections to the catalog at once; further calls queue within their own deadline. */
const MAX_CONNECTIONS = 32

/** Oldest `Age` of a cache between the catalog and us that is believed. */
const MAX_AGE_SECONDS = 86_400

/** An answer with the time at which the catalog gave it, Unix milliseconds. */
export type Answer<T> = Readonly<{ value: T; asOfMs: number }>

/** The three operations of the contract. Every failure is a `CatalogError`; none carries the key, a query or a body. */
export type CatalogClient = Readonly<{
  fetchChannels(): Promise<Answer<readonly Channel[]>>
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
  gate: CallGate
  /** Told of every call that was made: for the metrics. `outcome` is `ok`, `not_found` or an error's code. */
  onCall?: (call: Readonly<{ operation: Operation; outcome: string }>) => void
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
    connections: MAX_CONNECTIONS,
    connect: { timeout: options.timeoutMs },
    headersTimeout: options.timeoutMs,
    bodyTimeout: options.timeoutMs,
  })
  const parseOptions = { ownOrigin: options.ownOrigin }
  const call = (details: Call): Promise<Reply> => callThroughGate(options, pool, details)

  return {
    async fetchChannels() {
      const reply = await call({ operation: 'channels', purpose: 'channels', path: `${basePath}/channels` })
      return { value: parseChannelList(reply.json), asOfMs: reply.asOfMs }
    },
    async fetchProductPage({ channelId, cursor, limit }) {
      const query = new URLSearchParams({ limit: String(limit), ...(cursor !== null && { cursor }) })
      const path = `${basePath}/channels/${encodeURIComponent(channelId)}/products?${query.toString()}`
      const reply = await call({ operation: 'products', purpose: 'walk', path })
      return { value: parseProductPage(reply.json, parseOptions), asOfMs: reply.asOfMs }
    },
    async findProduct({ channelId, gtin, purpose }) {
      const path = `${basePath}/channels/${encodeURIComponent(channelId)}/products/${encodeURIComponent(gtin)}`
      const reply = await call({ operation: 'product', purpose, path })
      const value = reply.isNotFound ? undefined : parseProduct(reply.json, gtin, parseOptions)
      return { value, asOfMs: reply.asOfMs }
    },
    close: () => pool.destroy(),
  }
}

async function callThroughGate(options: CatalogClientOptions, pool: Pool, call: Call): Promise<Reply> {
  options.gate.enter(call.purpose)
  try {
    const reply = await callWithDeadline(options, pool, call)
    options.gate.noteAnswer()
    options.onCall?.({ operation: call.operation, outcome: reply.isNotFound ? 'not_found' : 'ok' })
    return reply
  } catch (error) {
    const failure = error instanceof CatalogError ? error : new CatalogUnreachableError(describe(error))
    options.gate.noteFailure(failure)
    options.onCall?.({ operation: call.operation, outcome: failure.code })
    throw failure
  }
}

/** One deadline from connecting to the last byte, and to a second try where a 401 led to another key. */
async function callWithDeadline(options: CatalogClientOptions, pool: Pool, call: Call): Promise<Reply> {
  const deadline = new AbortController()
  const done = new AbortController()
  void abortAfter(options, deadline, done.signal)
  try {
    return await callWithKey(options, pool, { ...call, signal: deadline.signal })
  } catch (error) {
    if (deadline.signal.aborted)
      throw new CatalogDeadlineError(`no complete answer within ${options.timeoutMs} ms`)
    throw error
  } finally {
    done.abort()
  }
}

async function abortAfter(
  options: CatalogClientOptions,
  deadline: AbortController,
  done: AbortSignal,
): Promise<void> {
  await options.clock.wait(options.timeoutMs, done)
  if (!done.aborted) deadline.abort()
}

type SignalledCall = Call & Readonly<{ signal: AbortSignal }>

async function callWithKey(options: CatalogClientOptions, pool: Pool, call: SignalledCall): Promise<Reply> {
  try {
    return await request(options, pool, call)
  } catch (error) {
    if (error instanceof CatalogKeyRefusedError && (await options.key.refresh()))
      return request(options, pool, call)
    throw error
  }
}

async function request(options: CatalogClientOptions, pool: Pool, call: SignalledCall): Promise<Reply> {
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
  const asOfMs = nowMs - readAgeMs(answer.headers['age'])
  if (answer.statusCode === 200) {
    return { json: await readJson(answer, options.maxBytes), isNotFound: false, asOfMs }
  }
  discardBody(answer.body)
  if (answer.statusCode === 404 && call.operation === 'product')
    return { json: undefined, isNotFound: true, asOfMs }
  throw toStatusError(answer, nowMs)
}

function toStatusError(answer: Dispatcher.ResponseData, nowMs: number): CatalogError {
  const status = answer.statusCode
  if (status === 401 || status === 403) return new CatalogKeyRefusedError(`the catalog answered ${status}`)
  if (status >= 300 && status < 400)
    return new CatalogRedirectError(`the catalog answered ${status}; redirects are not followed`)
  if (status !== 429) return new CatalogStatusError(`the catalog answered ${status}`, status)
  const header = (name: string): string | undefined => {
    const value = answer.headers[name]
    return Array.isArray(value) ? value[0] : value
  }
  const retryAfterMs = parseRetryAfter({ retryAfter: header('retry-after'), date: header('date'), nowMs })
  return new CatalogRateLimitedError('the catalog answered 429', retryAfterMs)
}

function readAgeMs(header: string | string[] | undefined): number {
  return typeof header === 'string' && /^\d{1,9}$/.test(header)
    ? Math.min(Number(header), MAX_AGE_SECONDS) * SECOND_MS
    : 0
}

/** A failure by its code alone: undici's errors may carry pieces of what the catalog sent. */
function describe(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[A-Z_0-9]{1,60}$/.test(code)
    ? `the connection failed: ${code}`
    : 'the connection failed'
}
