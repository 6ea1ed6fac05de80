import { EventEmitter } from 'node:events'
import { type Dispatcher, Pool } from 'undici'
import type { Clock } from '../clock.ts'
import type { KeySource } from '../config/key-source.ts'
import {
  CatalogCallBlockedError,
  CatalogDeadlineError,
  CatalogError,
  CatalogInvalidError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogRedirectError,
  CatalogStatusError,
  CatalogUnreachableError,
} from '../errors.ts'
import { describeBug } from '../lib/bugs.ts'
import { discardBody, readJson } from './response-body.ts'
import { type CallPolicy, MAX_CONCURRENT_CALLS } from './call-policy.ts'
import { type Channel, MAX_PAGE_PRODUCTS, type Product, VERSION_PATH } from './contract.ts'
import { type ParsedPage, parseChannelList, parseProduct, parseProductPage } from './parse.ts'
import type { CallPurpose } from './quota.ts'
import { computeClockSkewMs, parseRetryAfter, parseAgeMs } from './response-headers.ts'

/** Undici's own timers are the second net under the deadline: where they come first, it is the same failure. */
const UNDICI_TIMEOUT_CODE = /^UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT$/

/** An answer with the time at which the catalog gave it, Unix milliseconds. */
export type CatalogResponse<T> = Readonly<{ value: T; asOfMs: number }>

/** The three operations of the contract. Every failure is a `CatalogError`; none carries the key, a query or a body. */
export type CatalogClient = Readonly<{
  /** `purpose`: a walk pays for its own list; by default a visit needs it. */
  fetchChannels(purpose?: 'channels' | 'walk'): Promise<CatalogResponse<readonly Channel[]>>
  fetchProductPage(page: ProductPageQuery): Promise<CatalogResponse<ParsedPage>>
  /** `undefined` in the answer: the catalog says that no approved shop sells it (404). */
  fetchProduct(query: ProductQuery): Promise<CatalogResponse<Product | undefined>>
  close(): Promise<void>
}>

/** Which page of the largest size: the first one has no cursor. */
export type ProductPageQuery = Readonly<{ channelId: string; cursor: string | null }>

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
  callPolicy: Pick<CallPolicy, 'execute'>
  /** Told of every call that was made. `outcome` is `ok`, `not_found` or an error's code, `reason` the error's words. */
  onCall?: (call: Readonly<{ operation: Operation; outcome: string; reason?: string }>) => void
  /** Told with each response by how much the catalog's clock is ahead of this machine's, in milliseconds. */
  onClockSkew?: (skewMs: number) => void
}>

/** The operations by name, as metrics know them. */
export type Operation = 'channels' | 'products' | 'product'

type CatalogCall = Readonly<{ operation: Operation; purpose: CallPurpose; path: string }>

type RawResponse = Readonly<{ json: unknown; isNotFound: boolean; asOfMs: number }>

/** Create the one thing that calls the catalog and holds its key. */
export function createCatalogClient(options: CatalogClientOptions): CatalogClient {
  const base = new URL(options.baseUrl)
  const basePath = base.pathname.replace(/\/+$/, '') + VERSION_PATH
  const pool = new Pool(base.origin, {
    connections: MAX_CONCURRENT_CALLS,
    connect: { timeout: options.timeoutMs },
    headersTimeout: options.timeoutMs,
    bodyTimeout: options.timeoutMs,
  })
  /** Pass the gate, send, and read what came: an answer that cannot be used is a failure of the call, too. */
  const execute = async <T>(
    call: CatalogCall,
    parse: (response: RawResponse) => T,
  ): Promise<CatalogResponse<T>> => {
    const { operation, purpose } = call
    try {
      const response = await options.callPolicy.execute(purpose, () => sendWithDeadline(options, pool, call))
      const value = parseSafely(response, parse)
      options.onCall?.({ operation, outcome: response.isNotFound ? 'not_found' : 'ok' })
      return { value, asOfMs: response.asOfMs }
    } catch (error) {
      const failure = toCatalogError(error)
      if (!(failure instanceof CatalogCallBlockedError))
        options.onCall?.({ operation, outcome: failure.code, reason: failure.message })
      throw failure
    }
  }
  return {
    fetchChannels(purpose = 'channels') {
      const path = `${basePath}/channels`
      return execute({ operation: 'channels', purpose, path }, ({ json }) => parseChannelList(json))
    },
    fetchProductPage({ channelId, cursor }) {
      const limit = String(MAX_PAGE_PRODUCTS)
      const query = new URLSearchParams({ limit, ...(cursor !== null && { cursor }) })
      const path = `${basePath}/channels/${encodeURIComponent(channelId)}/products?${query.toString()}`
      return execute({ operation: 'products', purpose: 'walk', path }, ({ json }) =>
        parseProductPage(json, options),
      )
    },
    fetchProduct({ channelId, gtin, purpose }) {
      const path = `${basePath}/channels/${encodeURIComponent(channelId)}/products/${encodeURIComponent(gtin)}`
      return execute({ operation: 'product', purpose, path }, ({ json, isNotFound }) =>
        isNotFound ? undefined : parseProduct(json, gtin, options),
      )
    },
    close: () => pool.destroy(),
  }
}

/** The catalog has answered: whatever else goes wrong in reading says where, and nothing of its connection. */
function parseSafely<T>(response: RawResponse, parse: (reply: RawResponse) => T): T {
  try {
    return parse(response)
  } catch (error) {
    if (error instanceof CatalogError) throw error
    throw new CatalogInvalidError(`the answer could not be read: ${describeBug(error as Error)}`, {
      cause: error,
    })
  }
}

/**
 * One deadline from connecting to the last byte of the decompressed body, and to a second try where a 401 led to another
 * key. The promise is rejected here: undici looks at a signal only once a connection is there.
 * @throws CatalogError
 */
function sendWithDeadline(
  options: CatalogClientOptions,
  pool: Pool,
  { operation, path }: CatalogCall,
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    // Undici takes an emitter in place of an AbortSignal, which costs several times as much.
    const signal = new EventEmitter()
    const rejectLate = (): void =>
      reject(new CatalogDeadlineError(`no complete answer within ${options.timeoutMs} ms`))
    const cancel = options.clock.startTimer(options.timeoutMs, () => {
      rejectLate()
      signal.emit('abort')
    })
    sendWithKeyRetry(options, pool, { operation, path, signal })
      .then(resolve, (error: unknown) => {
        if (UNDICI_TIMEOUT_CODE.test(findErrorCode(error) ?? '')) rejectLate()
        else reject(toCatalogError(error))
      })
      .finally(cancel)
  })
}

type HttpRequest = Readonly<{ operation: Operation; path: string; signal: EventEmitter }>

/** A refused key is read again; the call is tried once more with another one, whichever call it was that read it. */
async function sendWithKeyRetry(
  options: CatalogClientOptions,
  pool: Pool,
  request: HttpRequest,
): Promise<RawResponse> {
  const { key } = options
  const usedKey = key.current()
  try {
    return await send(options, pool, request)
  } catch (error) {
    if (!(error instanceof CatalogKeyRefusedError)) throw error
    if ((await key.refresh()) || key.current() !== usedKey) return send(options, pool, request)
    throw error
  }
}

async function send(
  options: CatalogClientOptions,
  pool: Pool,
  { operation, path, signal }: HttpRequest,
): Promise<RawResponse> {
  const { clock, key, maxBytes, onClockSkew } = options
  const sentAtMs = clock.nowMs()
  const response = await pool.request({
    method: 'GET',
    path,
    signal,
    headers: {
      authorization: `Bearer ${key.current().reveal()}`,
      accept: 'application/json',
      'accept-encoding': 'gzip, br',
      'user-agent': 'vitrine',
    },
  })
  const receivedAtMs = clock.nowMs()
  const { age, date } = response.headers
  const ageMs = parseAgeMs(age)
  const asOfMs = receivedAtMs - ageMs
  const skewMs = computeClockSkewMs({ date, ageMs, sentAtMs, receivedAtMs })
  if (skewMs !== null) onClockSkew?.(skewMs)
  if (response.statusCode === 200)
    return { json: await readJson(response, maxBytes), isNotFound: false, asOfMs }
  discardBody(response.body)
  if (response.statusCode === 404 && operation === 'product')
    return { json: undefined, isNotFound: true, asOfMs }
  throw toStatusError(response, receivedAtMs)
}

/** What a status that is no answer means, in a class of its own for each thing that is to be done about it. */
function toStatusError({ statusCode, headers }: Dispatcher.ResponseData, nowMs: number): CatalogError {
  const message = `the catalog answered ${statusCode}`
  if (statusCode === 401 || statusCode === 403) return new CatalogKeyRefusedError(message)
  if (statusCode >= 300 && statusCode < 400)
    return new CatalogRedirectError(`${message}; redirects are not followed`)
  if (statusCode !== 429) return new CatalogStatusError(message, statusCode)
  const retryAfterMs = parseRetryAfter({ retryAfter: headers['retry-after'], date: headers['date'], nowMs })
  return new CatalogRateLimitedError(message, retryAfterMs)
}

/** A failure of the connection is told by its code alone: undici's errors may carry pieces of what the catalog sent. */
function toCatalogError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  const code = findErrorCode(error)
  return new CatalogUnreachableError(`the connection failed${code === undefined ? '' : `: ${code}`}`)
}

/** The code of an error of Node or undici, when it is a plain word. */
function findErrorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[A-Z_0-9]{1,60}$/.test(code) ? code : undefined
}
