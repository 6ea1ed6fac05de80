import { createHash } from 'node:crypto'
import { type FileHandle, open, readFile, stat } from 'node:fs/promises'
// oxlint-disable-next-line no-restricted-imports -- feeds are no catalog calls
import type { IncomingMessage } from 'node:http'
import { fileURLToPath } from 'node:url'
import { parseRetryAfter } from '../../lib/response-headers.ts'
import { type Clock, HOUR_MS, MINUTE_MS } from '../../clock.ts'
import { FeedFetchError } from '../../errors.ts'
import { type NameResolver, systemResolver } from '../../lib/public-hosts.ts'
import { NOT_UTF8, decodeTextFile } from '../../lib/text-file.ts'
import { isCompressedFile } from '../import/open-feed.ts'
import { ADDRESS_MARK, PAUSE_MARK } from './error-marks.ts'
import { type FeedSecrets, fillSecrets, resolveFeedAddress } from './feed-address.ts'
import { type Proxies, redactInLog } from '../../config/secrets.ts'
import {
  findConnectionCode,
  findConnectionReason,
  isUnknownAuthority,
} from '../../outgoing/connection-failures.ts'
import { IDLE_CODE, type RequestHeaders, discard, requestFeed } from './feed-request.ts'

/** One deadline for the whole download. A feed that needs longer is too slow for any schedule. */
const DEADLINE_MS: number = HOUR_MS

/** Limit on a download, which protects the disk. The reader has its own limit on the decompressed size. */
const MAX_DOWNLOAD_BYTES: number = 16 * 1024 ** 3

/** What identifies the version of a feed that was imported last; `null` without one. */
export type FeedValidators = Readonly<{ etag: string | null; lastModified: string | null }>

export type FetchFeedOptions = Readonly<{
  /** The address as it was set. */
  url: string
  /** Path of a file with request headers, one per line. */
  headerFile: string | null
  secrets: FeedSecrets
  proxies: Proxies
  /** Of the version that is known already; `null`: always fetch. */
  validators: FeedValidators | null
  /** Where the response is stored. */
  path: string
  clock: Clock
  signal?: AbortSignal | undefined
  maxBytes?: number | undefined
  /** Tests replace it. */
  resolver?: NameResolver | undefined
  onProgress?: ((receivedBytes: number) => void) | undefined
}>

/** `fetchedAtMs`: when the request was sent: the feed is not newer. */
export type FetchedFeed = FeedValidators &
  Readonly<{
    path: string
    label: string
    charset: string | undefined
    contentDigest: string | null
    fetchedAtMs: number
  }>

/**
 * Fetch a feed to a file, completely. Return `null` when the known version is still current.
 * @throws FeedFetchError, whose message has no secret
 */
export async function fetchFeed(options: FetchFeedOptions): Promise<FetchedFeed | null> {
  const { url, label } = resolveFeedAddress(options.url, options.secrets)
  if (url.protocol === 'file:') return fetchFile(options, { path: fileURLToPath(url), label })
  const deadline = new AbortController()
  const cancelDeadline = options.clock.startTimer(DEADLINE_MS, () => deadline.abort())
  const onAbort = (): void => deadline.abort()
  options.signal?.addEventListener('abort', onAbort)
  if (options.signal?.aborted) deadline.abort()
  try {
    const headers = await readHeaderFile(options)
    return await download(options, { url, label, headers, signal: deadline.signal })
  } catch (error) {
    throw toFetchError(error, label, { isStopped: options.signal?.aborted, isLate: deadline.signal.aborted })
  } finally {
    cancelDeadline()
    options.signal?.removeEventListener('abort', onAbort)
  }
}

/** A local file is read in place. Its time and size tell whether it has changed. */
async function fetchFile(
  { validators, clock }: FetchFeedOptions,
  { path, label }: Readonly<{ path: string; label: string }>,
): Promise<FetchedFeed | null> {
  const fetchedAtMs = clock.nowMs()
  const stats = await stat(path).catch((error: unknown) => {
    throw new FeedFetchError(`${label} cannot be opened: ${describeFileError(error)}`)
  })
  if (!stats.isFile()) throw new FeedFetchError(`${label} is not a file`)
  const { mtimeMs, size } = stats
  const etag = `${mtimeMs} ${size}`
  if (validators?.etag === etag) return null
  return { path, label, charset: undefined, contentDigest: null, etag, lastModified: null, fetchedAtMs }
}

function describeFileError(error: unknown): string {
  const code = findConnectionCode(error)
  return code === 'ENOENT' ? 'it does not exist' : (code ?? 'unknown reason')
}

/** Read lines such as `Authorization: Bearer ${TOKEN}`. Values are secrets. */
async function readHeaderFile({ headerFile, secrets }: FetchFeedOptions): Promise<RequestHeaders> {
  if (headerFile === null) return {}
  const bytes = await readFile(headerFile).catch((error: unknown) => {
    throw new FeedFetchError(`the header file ${headerFile} cannot be read: ${describeFileError(error)}`)
  })
  const text = decodeTextFile(bytes)
  if (text === undefined) throw new FeedFetchError(`the header file ${headerFile} is ${NOT_UTF8}`)
  return parseHeaderLines(fillSecrets(text, secrets, { place: 'the header file' }))
}

/** Headers of the connection, and those that `fetchFeed` sets itself. */
const REFUSED_HEADERS: ReadonlySet<string> = new Set(
  'accept-encoding connection content-length expect host if-modified-since if-none-match keep-alive proxy-authorization range te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
)

/** @throws FeedFetchError for a line that is no header; the message has its number only, because it may be a secret */
function parseHeaderLines(text: string): RequestHeaders {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, name, value] =
      /^([!#$%&'*+.^_`|~0-9a-z-]+):[ \t]*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)[ \t]*$/i.exec(line) ?? []
    if (name === undefined || value === undefined)
      throw new FeedFetchError(`line ${index + 1} of the header file is not "Name: value"`)
    if (REFUSED_HEADERS.has(name.toLowerCase()))
      throw new FeedFetchError(`the header file must not set ${name}, which belongs to the connection`)
    redactInLog(value)
    headers[name.toLowerCase()] = value
  }
  return headers
}

type Download = Readonly<{
  url: URL
  label: string
  headers: RequestHeaders
  signal: AbortSignal
}>

async function download(options: FetchFeedOptions, task: Download): Promise<FetchedFeed | null> {
  const { validators, clock, path } = options
  const fetchedAtMs = clock.nowMs()
  const { url, label, headers: secretHeaders, signal } = task
  const response = await requestFeed({
    url,
    label,
    headers: listHeaders(validators),
    secretHeaders,
    signal,
    resolver: options.resolver ?? systemResolver,
    proxies: options.proxies,
  })
  const { statusCode, headers } = response
  if (statusCode === 304 && hasValidator(validators)) {
    discard(response)
    return null
  }
  if (statusCode !== 200) {
    discard(response)
    throw createStatusError(response, { label, nowMs: fetchedAtMs })
  }
  const contentDigest = await storeBody(response, options, task)
  const { etag, 'last-modified': lastModified, 'content-type': contentType } = headers
  return {
    path,
    label: task.label,
    charset: /;\s*charset="?([\w.:-]{1,40})/i.exec(contentType ?? '')?.[1],
    contentDigest,
    etag: toValidator(etag),
    lastModified: toValidator(lastModified),
    fetchedAtMs,
  }
}

const ADVICE_BY_STATUS: ReadonlyMap<number, string> = new Map([
  [401, ': it needs a key, in the address or a file for --header-file'],
  [403, ': check the key, in the address or the file of --header-file'],
  [404, `: ${ADDRESS_MARK}`],
  [410, `: ${ADDRESS_MARK}`],
])

/** Too many requests, and service unavailable. */
const STATUSES_WITH_RETRY: ReadonlySet<number> = new Set([429, 503])

function createStatusError(
  { statusCode = 0, headers }: IncomingMessage,
  { label, nowMs }: Readonly<{ label: string; nowMs: number }>,
): FeedFetchError {
  const retryAfterMs = STATUSES_WITH_RETRY.has(statusCode)
    ? parseRetryAfter({ retryAfter: headers['retry-after'], date: headers.date, nowMs })
    : null
  const advice = retryAfterMs === null ? (ADVICE_BY_STATUS.get(statusCode) ?? '') : ` and ${PAUSE_MARK}`
  return new FeedFetchError(`${label} responded with status ${statusCode}${advice}`, { retryAfterMs })
}

/** Without one, 304 is no valid response. */
function hasValidator(validators: FeedValidators | null): boolean {
  return validators !== null && (validators.etag !== null || validators.lastModified !== null)
}

function listHeaders(validators: FeedValidators | null): RequestHeaders {
  const { etag, lastModified } = validators ?? { etag: null, lastModified: null }
  return {
    accept: '*/*',
    'accept-encoding': 'gzip',
    'user-agent': 'vitrine',
    ...(etag !== null && { 'if-none-match': etag }),
    ...(lastModified !== null && { 'if-modified-since': lastModified }),
  }
}

/** @throws FeedFetchError for an encoding that was not requested */
function checkEncoding(response: IncomingMessage, label: string): void {
  const contentEncoding = response.headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (['', 'identity', 'gzip', 'x-gzip'].includes(contentEncoding)) return
  discard(response)
  throw new FeedFetchError(`${label} sends a content encoding that was not requested`)
}

/** Store the body, and return its SHA-256. */
async function storeBody(
  response: IncomingMessage,
  { path, maxBytes = MAX_DOWNLOAD_BYTES, onProgress }: FetchFeedOptions,
  { label }: Download,
): Promise<string> {
  const { headers } = response
  checkEncoding(response, label)
  const hash = createHash('sha256')
  let bytes = 0
  const file = await open(path, 'w+', 0o600)
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new FeedFetchError(`${label} is larger than ${maxBytes} bytes`)
      hash.update(chunk)
      await writeFully(file, chunk)
      onProgress?.(bytes)
    }
    const isLengthKnown =
      headers['content-length'] !== undefined || /\bchunked\s*$/i.test(headers['transfer-encoding'] ?? '')
    if (!isLengthKnown && bytes > 0) await checkEnd(file, bytes, label)
  } finally {
    await file.close()
  }
  return hash.digest('base64url')
}

/** Bytes at the end of a file that show whether it ends with a row. */
const END_BYTES = 100

/** Gzip and zip files know their own end. In UTF-16, each character has a byte that is 0. */
async function checkEnd(file: FileHandle, sizeBytes: number, label: string): Promise<void> {
  const { buffer: head } = await file.read(Buffer.alloc(END_BYTES), 0, END_BYTES, 0)
  if (isCompressedFile(head)) return
  const start = Math.max(0, sizeBytes - END_BYTES)
  const { buffer: end } = await file.read(Buffer.alloc(sizeBytes - start), 0, sizeBytes - start, start)
  // oxlint-disable-next-line no-control-regex -- the byte that is 0
  if (!/[\r\n>\]}][\s\0]*$/.test(end.toString('latin1')))
    throw new FeedFetchError(`${label} ended in the middle of a row, and its server did not send its length`)
}

async function writeFully(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let offset = 0; offset < chunk.length;)
    offset += (await file.write(chunk, offset, chunk.length - offset)).bytesWritten
}

/** A validator is sent back, so it must be a valid header; a very long one is not worth storing. */
function toValidator(text: string | undefined): string | null {
  return text !== undefined && /^[\x20-\x7e]{1,1000}$/.test(text) ? text : null
}

/** Reasons that are not those of connections. */
const REASONS_BY_CODE: ReadonlyMap<string | undefined, string> = new Map([
  [IDLE_CODE, 'the server sent nothing for a minute'],
  ['ENOSPC', 'the disk is full'],
])

/** Report the code only: messages of libraries may contain the address. */
function toFetchError(
  error: unknown,
  label: string,
  { isStopped, isLate }: Readonly<{ isStopped: boolean | undefined; isLate: boolean }>,
): FeedFetchError {
  if (error instanceof FeedFetchError) return error
  if (isStopped === true) return new FeedFetchError('the run was stopped')
  if (isLate) return new FeedFetchError(`${label} was not complete within ${DEADLINE_MS / MINUTE_MS} minutes`)
  const code = findConnectionCode(error)
  const reason = REASONS_BY_CODE.get(code) ?? findConnectionReason(code) ?? code ?? 'unknown reason'
  const hint = isUnknownAuthority(code) ? '; NODE_EXTRA_CA_CERTS can name its certificate' : ''
  return new FeedFetchError(`${label} cannot be fetched (${reason}${hint})`)
}
