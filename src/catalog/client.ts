import { isAscii } from 'node:buffer'
import type { Dispatcher } from 'undici'
import type { Clock } from '../clock.ts'
import type { KeySource } from '../config/key-source.ts'
import type { Proxies } from '../config/secrets.ts'
import {
  CatalogCallBlockedError,
  CatalogDeadlineError,
  CatalogError,
  CatalogInvalidError,
  CatalogKeyRefusedError,
  CatalogRateLimitedError,
  CatalogRedirectError,
  CatalogStatusError,
  CatalogTooLargeError,
  CatalogUnreachableError,
} from '../errors.ts'
import { describeInternalError } from '../lib/internal-error.ts'
import type { TraceCall } from '../observability/opentelemetry.ts'
import {
  RequestError,
  describeConnectionFailure,
  findConnectionCode,
  isServerTimeout,
} from '../outgoing/connection-failures.ts'
import { createOriginDispatcher, sendRequest } from '../outgoing/dispatcher.ts'
import { type OutgoingResponse, discardBody, readDecoded, withDeadline } from '../outgoing/fetch.ts'
import { requestOnOwnConnection } from '../outgoing/own-connection.ts'
import { computeClockSkewMs, parseAgeMs, parseRetryAfter } from '../outgoing/response-headers.ts'
import { type CallPolicy, MAX_CONCURRENT_CALLS } from './call-policy.ts'
import { type Channel, MAX_PAGE_PRODUCTS, type Product, VERSION_PATH } from './contract.ts'
import { type ParsedPage, parseChannelList, parseProduct, parseProductPage } from './parse.ts'
import type { CallPurpose } from './quota.ts'
import type { WalkPurpose } from './rate-limiter.ts'
import { type SkimmedPage, readSkimmedPage } from './skim-page.ts'

/** `asOfMs`: when the catalog created the response, Unix milliseconds. */
export type CatalogResponse<T> = Readonly<{ value: T; asOfMs: number }>

/** The three operations of the contract. Every failure is a `CatalogError` without the key, the query or the body. */
export type CatalogClient = Readonly<{
  /** `purpose`: selects the quota share; the default is for visits. */
  fetchChannels(purpose?: 'channels' | WalkPurpose): Promise<CatalogResponse<readonly Channel[]>>
  fetchProductPage(page: ProductPageQuery): Promise<CatalogResponse<ParsedPage>>
  /** Find out which product is at a cursor, and the cursor after it, although the product is too large to be parsed. */
  skimProduct(page: Omit<ProductPageQuery, 'limit'>): Promise<CatalogResponse<SkimmedPage>>
  /** `value` is `undefined` when no approved shop sells the product (404). */
  fetchProduct(query: ProductQuery): Promise<CatalogResponse<Product | undefined>>
  close(): Promise<void>
}>

/** `cursor`: `null` for the first page. `limit`: products of the page; default: the largest number. `purpose`: default: `walk`. */
export type ProductPageQuery = Readonly<{
  channelId: string
  cursor: string | null
  limit?: number
  purpose?: WalkPurpose
}>

/** `purpose`: refreshes of known products and first look-ups have separate quota shares. */
export type ProductQuery = Readonly<{ channelId: string; gtin: string; purpose: CallPurpose }>

/** `baseUrl`: without a trailing slash. */
export type CatalogClientOptions = Readonly<{
  baseUrl: string
  key: KeySource
  timeoutMs: number
  maxBytes: number
  proxies: Proxies
  /** Origin of the widget server; only its pictures may use http. */
  ownOrigin: string
  clock: Clock
  callPolicy: Pick<CallPolicy, 'execute'>
  /** Called after every call that was sent. `outcome`: `ok`, `not_found` or an error code; `reason`: the error message. */
  onCall?: (call: Readonly<{ operation: Operation; outcome: string; reason?: string }>) => void
  /** Called with each response: how far the catalog's clock is ahead of this machine's. */
  onClockSkew?: (skewMs: number) => void
  /** Runs each call in a span; absent: calls are not traced. */
  traceCall?: TraceCall | undefined
}>

export type Operation = 'channels' | 'products' | 'product'

/** Paths below `VERSION_PATH` in traces. */
const TEMPLATES: Readonly<Record<Operation, string>> = {
  channels: '/channels',
  products: '/channels/{channelId}/products',
  product: '/channels/{channelId}/products/{gtin}',
}

/** `isSkimmed`: only GTIN and cursor of the page are read, while it arrives. */
type CatalogCall = Readonly<{
  operation: Operation
  purpose: CallPurpose
  path: string
  isSkimmed?: boolean
}>

/** `json`: the body, or the `SkimmedPage` of it. */
type RawResponse = Readonly<{ json: unknown; isNotFound: boolean; asOfMs: number }>

/** Create the only component that calls the catalog and sends its key. */
export function createCatalogClient(options: CatalogClientOptions): CatalogClient {
  const base = new URL(options.baseUrl)
  const basePath = base.pathname.replace(/\/+$/, '') + VERSION_PATH
  const pool = createOriginDispatcher(base, options.proxies, {
    connections: MAX_CONCURRENT_CALLS,
    connect: { timeout: options.timeoutMs },
    headersTimeout: options.timeoutMs,
    bodyTimeout: options.timeoutMs,
  })
  /** Send the call if the call policy allows it, and parse the response. An unusable response counts as a failed call. */
  const execute = async <T>(
    call: CatalogCall,
    parse: (response: RawResponse) => T,
  ): Promise<CatalogResponse<T>> => {
    const { operation, purpose } = call
    try {
      const response = await options.callPolicy.execute(purpose, () => sendTraced(options, pool, call))
      const value = parseSafely(response, parse)
      options.onCall?.({ operation, outcome: response.isNotFound ? 'not_found' : 'ok' })
      return { value, asOfMs: response.asOfMs }
    } catch (error) {
      const failure = toCatalogError(error, options)
      if (!(failure instanceof CatalogCallBlockedError))
        options.onCall?.({ operation, outcome: failure.code, reason: failure.message })
      throw failure
    }
  }
  const toPageCall = ({
    channelId,
    cursor,
    limit = MAX_PAGE_PRODUCTS,
    purpose = 'walk',
  }: ProductPageQuery): CatalogCall => {
    const query = new URLSearchParams({ limit: String(limit), ...(cursor !== null && { cursor }) })
    const path = `${basePath}/channels/${encodeURIComponent(channelId)}/products?${query.toString()}`
    return { operation: 'products', purpose, path }
  }
  return {
    fetchChannels(purpose = 'channels') {
      const path = `${basePath}/channels`
      return execute({ operation: 'channels', purpose, path }, ({ json }) => parseChannelList(json))
    },
    fetchProductPage: (page) => execute(toPageCall(page), ({ json }) => parseProductPage(json, options)),
    skimProduct: (page) =>
      execute({ ...toPageCall({ ...page, limit: 1 }), isSkimmed: true }, ({ json }) => json as SkimmedPage),
    fetchProduct({ channelId, gtin, purpose }) {
      const path = `${basePath}/channels/${encodeURIComponent(channelId)}/products/${encodeURIComponent(gtin)}`
      return execute({ operation: 'product', purpose, path }, ({ json, isNotFound }) =>
        isNotFound ? undefined : parseProduct(json, gtin, options),
      )
    },
    close: () => pool.destroy(),
  }
}

/** Report an unexpected parser error as an invalid response with its code location: it is not a connection failure. */
function parseSafely<T>(response: RawResponse, parse: (raw: RawResponse) => T): T {
  try {
    return parse(response)
  } catch (error) {
    if (error instanceof CatalogError) throw error
    throw new CatalogInvalidError(
      `the response could not be read: ${describeInternalError(error as Error)}`,
      {
        cause: error,
      },
    )
  }
}

/** No header of the trace is sent: the contract has none, and the catalog belongs to others. @throws CatalogError */
function sendTraced(
  options: CatalogClientOptions,
  pool: Dispatcher,
  call: CatalogCall,
): Promise<RawResponse> {
  if (options.traceCall === undefined) return sendWithDeadline(options, pool, call)
  const url = new URL(options.baseUrl).origin + call.path.replace(/\?.*$/, '')
  return options.traceCall({ url, template: VERSION_PATH + TEMPLATES[call.operation] }, (onStatus) =>
    sendWithDeadline(options, pool, { ...call, onStatus }),
  )
}

/** Send with one deadline for connecting, the whole body and a retry with another key. @throws CatalogError */
async function sendWithDeadline(
  options: CatalogClientOptions,
  pool: Dispatcher,
  request: Omit<HttpRequest, 'signal'>,
): Promise<RawResponse> {
  try {
    return await withDeadline(options, (signal) => sendWithKeyRetry(options, pool, { ...request, signal }))
  } catch (error) {
    throw toCatalogError(error, options)
  }
}

type HttpRequest = Pick<CatalogCall, 'operation' | 'path' | 'isSkimmed'> &
  Readonly<{ signal: AbortSignal; onStatus?: ((statusCode: number) => void) | undefined }>

/** If the key is refused, read it again and retry once with a new one, even if another call has already read it. */
async function sendWithKeyRetry(
  options: CatalogClientOptions,
  pool: Dispatcher,
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
  pool: Dispatcher,
  { operation, path, isSkimmed = false, signal, onStatus }: HttpRequest,
): Promise<RawResponse> {
  const { baseUrl, clock, key, maxBytes, proxies, timeoutMs, onClockSkew } = options
  const sentAtMs = clock.nowMs()
  const headers = {
    authorization: `Bearer ${key.current().reveal()}`,
    accept: 'application/json',
    'accept-encoding': 'gzip, br',
    'user-agent': 'vitrine',
  }
  // A skimmed page is large, and is read as slowly as it is decoded.
  const response = isSkimmed
    ? await requestOnOwnConnection(new URL(path, baseUrl), {
        headers,
        signal,
        proxies,
        idleTimeoutMs: timeoutMs,
      })
    : await sendRequest(pool, { method: 'GET', path, signal, headers })
  onStatus?.(response.statusCode)
  const receivedAtMs = clock.nowMs()
  const { age, date } = response.headers
  const ageMs = parseAgeMs(age)
  const asOfMs = receivedAtMs - ageMs
  const skewMs = computeClockSkewMs({ date, ageMs, sentAtMs, receivedAtMs })
  if (skewMs !== null) onClockSkew?.(skewMs)
  if (response.statusCode === 200) {
    const json = await (isSkimmed ? readSkimmedPage(response, maxBytes) : readJson(response, maxBytes))
    return { json, isNotFound: false, asOfMs }
  }
  discardBody(response)
  if (response.statusCode === 404 && operation === 'product')
    return { json: undefined, isNotFound: true, asOfMs }
  throw toStatusError(response, receivedAtMs)
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Read a response as JSON. @throws CatalogInvalidError, RequestError */
export async function readJson(response: OutgoingResponse, maxBytes: number): Promise<unknown> {
  const bytes = await readDecoded(response, maxBytes)
  try {
    // Most responses are ASCII, which needs no decoder.
    return JSON.parse(isAscii(bytes) ? bytes.toString('latin1') : decoder.decode(bytes))
  } catch {
    throw new CatalogInvalidError('the response is not JSON in UTF-8')
  }
}

/** Convert an unexpected status to an error. Each error class needs a different reaction. */
function toStatusError({ statusCode, headers }: OutgoingResponse, nowMs: number): CatalogError {
  const message = `the catalog responded with status ${statusCode}`
  if (statusCode === 401 || statusCode === 403) return new CatalogKeyRefusedError(message)
  if (statusCode >= 300 && statusCode < 400)
    return new CatalogRedirectError(`${message}; redirects are not followed`)
  if (statusCode !== 429) return new CatalogStatusError(message, statusCode)
  const retryAfterMs = parseRetryAfter({ retryAfter: headers['retry-after'], date: headers['date'], nowMs })
  return new CatalogRateLimitedError(message, retryAfterMs)
}

/** Report a connection failure by its code only: undici's messages may contain parts of the response. */
function toCatalogError(error: unknown, { timeoutMs }: CatalogClientOptions): CatalogError {
  if (error instanceof CatalogError) return error
  const code = findConnectionCode(error)
  if (isServerTimeout(code)) return new CatalogDeadlineError(`no complete response within ${timeoutMs} ms`)
  if (error instanceof RequestError) {
    const message = `the response ${error.message}`
    return code === 'TOO_LARGE' ? new CatalogTooLargeError(message) : new CatalogInvalidError(message)
  }
  const reason = code === undefined ? '' : `: ${describeConnectionFailure(code)}`
  return new CatalogUnreachableError(`the connection failed${reason}`, code)
}
