import { createHash } from 'node:crypto'
import { type FileHandle, open, readFile, stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type Clock, HOUR_MS, MINUTE_MS } from '../../clock.ts'
import { type Proxies, redactInLog } from '../../config/secrets.ts'
import { FeedFetchError } from '../../errors.ts'
import { NOT_UTF8, decodeTextFile } from '../../lib/files.ts'
import { type NameResolver, createRedirectGuard, systemResolver } from '../../outgoing/addresses.ts'
import {
  RequestError,
  findConnectionCode,
  findConnectionReason,
  isUnknownAuthority,
} from '../../outgoing/connection-failures.ts'
import {
  type OutgoingResponse,
  discardBody,
  followRedirects,
  limitBytes,
  withDeadline,
} from '../../outgoing/fetch.ts'
import { requestOnOwnConnection } from '../../outgoing/own-connection.ts'
import { toBasicAuthorization } from '../../outgoing/proxy-route.ts'
import {
  type Validators,
  findEncoding,
  isCurrent,
  parseRetryAfter,
  readValidators,
  toConditionalHeaders,
} from '../../outgoing/response-headers.ts'
import { END_BYTES, endsWithRow, isCompressedFile } from '../import/open-feed.ts'
import { type FeedSecrets, fillSecrets, resolveFeedAddress } from './feed-address.ts'

/** Redirects followed; each target is checked like the address itself. */
const MAX_REDIRECTS = 5

/** How long a server may send nothing. */
const IDLE_TIMEOUT_MS: number = MINUTE_MS

/** One deadline for the whole download. A feed that needs longer is too slow for any schedule. */
const DEADLINE_MS: number = HOUR_MS

/** Limit on a download, which protects the disk. The reader has its own limit on the decompressed size. */
const MAX_DOWNLOAD_BYTES: number = 16 * 1024 ** 3

/** Longer validators are not stored. */
const MAX_VALIDATOR_CHARACTERS = 1_000

/** Part of an error for which a new address is the remedy. */
export const ADDRESS_MARK = 'its address may have changed'

/** Part of an error after which the server runs the feed later by itself. */
export const PAUSE_MARK = 'asks for a pause'

type RequestHeaders = Readonly<Record<string, string>>

export type FetchFeedOptions = Readonly<{
  /** The address as it was set. */
  url: string
  /** Path of a file with request headers, one per line. */
  headerFile: string | null
  secrets: FeedSecrets
  proxies: Proxies
  /** Of the version that is known already; `null`: always fetch. */
  validators: Validators | null
  /** Where the response is stored. */
  path: string
  clock: Clock
  signal?: AbortSignal | undefined
  maxBytes?: number | undefined
  /** Tests replace both. */
  resolver?: NameResolver | undefined
  idleTimeoutMs?: number | undefined
  onProgress?: ((receivedBytes: number) => void) | undefined
}>

/** `fetchedAtMs`: when the request was sent: the feed is not newer. */
export type FetchedFeed = Validators &
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
  const { clock, signal } = options
  try {
    const headers = await readHeaderFile(options)
    return await withDeadline({ clock, timeoutMs: DEADLINE_MS, signal }, (signal) =>
      download(options, { url, label, headers, signal }),
    )
  } catch (error) {
    throw signal?.aborted && !(error instanceof FeedFetchError)
      ? new FeedFetchError('the run was stopped')
      : toFetchError(error, label)
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
  const response = await requestFeed(options, task)
  const { statusCode, headers } = response
  if (isCurrent(response, validators)) {
    discardBody(response)
    return null
  }
  if (statusCode !== 200) {
    discardBody(response)
    throw createStatusError(response, { label: task.label, nowMs: fetchedAtMs })
  }
  const contentDigest = await storeBody(response, options, task)
  return {
    path,
    label: task.label,
    charset: /;\s*charset="?([\w.:-]{1,40})/i.exec(String(headers['content-type']))?.[1],
    contentDigest,
    ...readValidators(headers, MAX_VALIDATOR_CHARACTERS),
    fetchedAtMs,
  }
}

/** Only the origin of the address gets its user, its password and the headers of the file. */
function requestFeed(
  { validators, resolver = systemResolver, proxies, idleTimeoutMs = IDLE_TIMEOUT_MS }: FetchFeedOptions,
  { url: firstUrl, headers: secretHeaders, signal }: Download,
): Promise<OutgoingResponse> {
  const guard = createRedirectGuard(firstUrl, resolver)
  const secrets = { ...toBasicAuthorization(firstUrl, 'authorization'), ...secretHeaders }
  return followRedirects(firstUrl, {
    maxRedirects: MAX_REDIRECTS,
    check: guard.check,
    send: (url, isRedirect) =>
      requestOnOwnConnection(url, {
        signal,
        proxies,
        idleTimeoutMs,
        lookup: guard.getLookup(isRedirect),
        headers: {
          accept: '*/*',
          'accept-encoding': 'gzip',
          'user-agent': 'vitrine',
          ...toConditionalHeaders(validators),
          ...(url.origin === firstUrl.origin ? secrets : {}),
        },
      }),
  })
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
  { statusCode, headers }: OutgoingResponse,
  { label, nowMs }: Readonly<{ label: string; nowMs: number }>,
): FeedFetchError {
  const retryAfterMs = STATUSES_WITH_RETRY.has(statusCode)
    ? parseRetryAfter({ retryAfter: headers['retry-after'], date: headers['date'], nowMs })
    : null
  const advice = retryAfterMs === null ? (ADVICE_BY_STATUS.get(statusCode) ?? '') : ` and ${PAUSE_MARK}`
  return new FeedFetchError(`${label} responded with status ${statusCode}${advice}`, { retryAfterMs })
}

/** Store the body, and return its SHA-256. */
async function storeBody(
  response: OutgoingResponse,
  { path, maxBytes = MAX_DOWNLOAD_BYTES, onProgress }: FetchFeedOptions,
  { label }: Download,
): Promise<string> {
  const { headers, body } = response
  if (!['identity', 'gzip'].includes(findEncoding(headers) ?? '')) {
    discardBody(response)
    throw new FeedFetchError(`${label} sends a content encoding that was not requested`)
  }
  const hash = createHash('sha256')
  let bytes = 0
  const file = await open(path, 'w+', 0o600)
  try {
    for await (const chunk of limitBytes(body, maxBytes)) {
      bytes += chunk.length
      hash.update(chunk)
      await writeFully(file, chunk)
      onProgress?.(bytes)
    }
    const isLengthKnown =
      headers['content-length'] !== undefined || /\bchunked\s*$/i.test(String(headers['transfer-encoding']))
    if (!isLengthKnown && bytes > 0) await checkEnd(file, bytes, label)
  } finally {
    await file.close()
  }
  return hash.digest('base64url')
}

/** Gzip and zip files know their own end. */
async function checkEnd(file: FileHandle, sizeBytes: number, label: string): Promise<void> {
  const { buffer: head } = await file.read(Buffer.alloc(END_BYTES), 0, END_BYTES, 0)
  if (isCompressedFile(head)) return
  const start = Math.max(0, sizeBytes - END_BYTES)
  const { buffer: end } = await file.read(Buffer.alloc(sizeBytes - start), 0, sizeBytes - start, start)
  if (!endsWithRow(end))
    throw new FeedFetchError(`${label} ended in the middle of a row, and its server did not send its length`)
}

async function writeFully(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let offset = 0; offset < chunk.length;)
    offset += (await file.write(chunk, offset, chunk.length - offset)).bytesWritten
}

/** Reasons that are not those of connections. */
const REASONS_BY_CODE: ReadonlyMap<string | undefined, string> = new Map([
  ['IDLE', 'the server sent nothing for a minute'],
  ['ENOSPC', 'the disk is full'],
])

/** Report the code only: messages of libraries may contain the address. */
function toFetchError(error: unknown, label: string): FeedFetchError {
  if (error instanceof FeedFetchError) return error
  const code = findConnectionCode(error)
  if (code === 'DEADLINE')
    return new FeedFetchError(`${label} was not complete within ${DEADLINE_MS / MINUTE_MS} minutes`)
  if (error instanceof RequestError && code !== 'IDLE') return new FeedFetchError(`${label} ${error.message}`)
  const reason = REASONS_BY_CODE.get(code) ?? findConnectionReason(code) ?? code ?? 'unknown reason'
  const hint = isUnknownAuthority(code) ? '; NODE_EXTRA_CA_CERTS can name its certificate' : ''
  return new FeedFetchError(`${label} cannot be fetched (${reason}${hint})`)
}
