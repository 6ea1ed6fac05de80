/** What the catalog client, feeds, pictures and the webhook share: one deadline, checked redirects, bodies within a limit. */
import { constants } from 'node:buffer'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import {
  type BrotliOptions,
  type ZlibOptions,
  brotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  gunzip,
  inflate,
} from 'node:zlib'
import type { Clock } from '../clock.ts'
import { parseUrl } from '../lib/urls.ts'
import { failAfter } from '../lib/with-timeout.ts'
import { RequestError } from './connection-failures.ts'
import { type Encoding, type ResponseHeaders, findEncoding } from './response-headers.ts'

/** A response whose headers have arrived. Its body must be read or discarded. */
export type OutgoingResponse = Readonly<{ statusCode: number; headers: ResponseHeaders; body: Readable }>

/** Discard a body, and close its connection. Without the listener, undici's `destroy` ends the process. */
export function discardBody({ body }: Pick<OutgoingResponse, 'body'>): void {
  body.on('error', () => {}).destroy()
}

/** `signal`: ends the request earlier. */
export type DeadlineOptions = Readonly<{ clock: Clock; timeoutMs: number; signal?: AbortSignal | undefined }>

/**
 * Run all steps of a request with one deadline. A step that does not end with the signal that it gets is left to itself.
 * @throws RequestError `DEADLINE`, or the error of the step
 */
export async function withDeadline<T>(
  { clock, timeoutMs, signal }: DeadlineOptions,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController()
  const steps = run(signal === undefined ? ending.signal : AbortSignal.any([signal, ending.signal]))
  const createError = (): RequestError =>
    new RequestError('DEADLINE', `was not complete within ${timeoutMs} ms`)
  try {
    return await failAfter({ clock, timeoutMs }, createError, steps)
  } catch (error) {
    ending.abort()
    throw error
  }
}

const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

export type RedirectOptions = Readonly<{
  maxRedirects: number
  send(url: URL, isRedirect: boolean): Promise<OutgoingResponse>
  /** Check the target of a redirect like the first address. Throws for one that may not be called. */
  check(target: URL): void
}>

/** Send a request, and follow its redirects. @throws RequestError; what `send` and `check` throw */
export async function followRedirects(
  firstUrl: URL,
  { maxRedirects, send, check }: RedirectOptions,
): Promise<OutgoingResponse> {
  let url = firstUrl
  for (let redirects = 0; ; redirects += 1) {
    const response = await send(url, redirects > 0)
    if (!REDIRECT_STATUSES.has(response.statusCode)) return response
    discardBody(response)
    if (redirects === maxRedirects)
      throw new RequestError('TOO_MANY_REDIRECTS', `redirects more than ${maxRedirects} times`)
    url = toRedirectTarget(url, [response.headers['location']].flat()[0])
    check(url)
  }
}

/** @throws RequestError for a target that is less safe than the address */
export function toRedirectTarget(url: URL, location: string | undefined): URL {
  const target = location === undefined ? undefined : parseUrl(location, url)
  if (target === undefined || !/^https?:$/.test(target.protocol))
    throw new RequestError('REDIRECT_TARGET', 'redirects to something that is not a web address')
  if (url.protocol === 'https:' && target.protocol === 'http:')
    throw new RequestError(
      'REDIRECT_TARGET',
      'redirects from https to http, which is not protected against changes',
    )
  return target
}

const createTooLargeError = (maxBytes: number, detail = ''): RequestError =>
  new RequestError('TOO_LARGE', `is larger than ${maxBytes} bytes${detail}`)

/** @yields the chunks up to the limit. @throws RequestError `TOO_LARGE`, or what `createError` returns */
export async function* limitBytes(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
  createError: () => Error = () => createTooLargeError(maxBytes),
): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > maxBytes) throw createError()
    yield chunk
  }
}

/** Read a body as it was sent. @throws RequestError `TOO_LARGE` */
export async function readBytes(response: OutgoingResponse, maxBytes: number): Promise<Buffer> {
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) {
    discardBody(response)
    throw createTooLargeError(maxBytes)
  }
  const chunks: Buffer[] = []
  // Leaving the loop destroys the body and its connection.
  for await (const chunk of limitBytes(response.body, maxBytes)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

type Compression = Exclude<Encoding, 'identity'>

const DECOMPRESSORS: Readonly<
  Record<Compression, (bytes: Buffer, options: ZlibOptions & BrotliOptions) => Promise<Buffer>>
> = {
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: promisify(inflate),
}

/** Read and decode a body. The limit is for both sizes. @throws RequestError `TOO_LARGE` or `ENCODING` */
export async function readDecoded(response: OutgoingResponse, maxBytes: number): Promise<Buffer> {
  const encoding = getEncoding(response)
  const bytes = await readBytes(response, maxBytes)
  if (encoding === 'identity') return bytes
  try {
    // Zlib rejects a limit above the maximum buffer length.
    return await DECOMPRESSORS[encoding](bytes, { maxOutputLength: Math.min(maxBytes, constants.MAX_LENGTH) })
  } catch (error) {
    const { code } = error as { code?: unknown }
    throw code === 'ERR_BUFFER_TOO_LARGE'
      ? createTooLargeError(maxBytes, ', decompressed')
      : createInvalidError(encoding)
  }
}

const DECOMPRESSOR_STREAMS = { gzip: createGunzip, br: createBrotliDecompress, deflate: createInflate }

const ZLIB_ERROR_CODE = /^(?:Z_|ERR__)/

/** Decode a body while it arrives, up to a limit. @throws RequestError `TOO_LARGE` or `ENCODING`; what `consume` throws */
export async function streamDecoded<T>(
  response: OutgoingResponse,
  maxBytes: number,
  consume: (chunks: AsyncIterable<Buffer>) => Promise<T>,
): Promise<T> {
  const encoding = getEncoding(response)
  let failure: unknown
  const read = async (chunks: AsyncIterable<Buffer>): Promise<T> => {
    try {
      return await consume(limitBytes(chunks, maxBytes))
    } catch (error) {
      failure = error
      throw error
    }
  }
  // The pipeline destroys a body that is not read to its end.
  response.body.on('error', () => {})
  try {
    if (encoding === 'identity') return await pipeline(response.body, read)
    return await pipeline(response.body, DECOMPRESSOR_STREAMS[encoding](), read)
  } catch (error) {
    const { code } = error as { code?: unknown }
    // Node 20 reports a failure of the last step as the abort of the others.
    if (code === 'ABORT_ERR') throw failure ?? error
    throw encoding !== 'identity' && ZLIB_ERROR_CODE.test(String(code)) ? createInvalidError(encoding) : error
  }
}

/** Also accepts common encodings that were not requested: some servers ignore `Accept-Encoding`. */
function getEncoding(response: OutgoingResponse): Encoding {
  const encoding = findEncoding(response.headers)
  if (encoding !== undefined) return encoding
  discardBody(response)
  throw new RequestError('ENCODING', 'has a content encoding that was not requested')
}

const createInvalidError = (encoding: Compression): RequestError =>
  new RequestError('ENCODING', `is not valid ${encoding} data`)
