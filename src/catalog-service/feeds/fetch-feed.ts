import { createHash } from 'node:crypto'
import { type FileHandle, open, readFile, stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
// oxlint-disable-next-line no-restricted-imports -- feeds are no catalog calls
import { Agent, type Dispatcher } from 'undici'
import { type Clock, HOUR_MS, MINUTE_MS } from '../../clock.ts'
import { FeedFetchError } from '../../errors.ts'
import { isPublicHost } from '../../lib/public-hosts.ts'
import { parseUrl } from '../../lib/urls.ts'
import { isCompressedFile } from '../import/open-feed.ts'
import { type FeedSecrets, fillSecrets, resolveFeedAddress } from './feed-address.ts'
import { redactInLog } from '../../config/secrets.ts'

/** Redirects followed; each target is checked like the address itself. */
const MAX_REDIRECTS = 5

/** One deadline for the whole download. A feed that needs longer is too slow for any schedule. */
const DEADLINE_MS: number = HOUR_MS

/** How long a server may send nothing. */
const IDLE_TIMEOUT_MS: number = MINUTE_MS

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
  /** Of the version that is known already; `null`: always fetch. */
  validators: FeedValidators | null
  /** Where the response is stored. */
  path: string
  clock: Clock
  signal?: AbortSignal | undefined
  maxBytes?: number | undefined
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
  const agent = new Agent({
    connect: { timeout: IDLE_TIMEOUT_MS },
    headersTimeout: IDLE_TIMEOUT_MS,
    bodyTimeout: IDLE_TIMEOUT_MS,
  })
  try {
    const headers = await readHeaderFile(options)
    return await download(options, { agent, url, label, headers, signal: deadline.signal })
  } catch (error) {
    throw toFetchError(error, label, { isStopped: options.signal?.aborted, isLate: deadline.signal.aborted })
  } finally {
    cancelDeadline()
    options.signal?.removeEventListener('abort', onAbort)
    await agent.destroy()
  }
}

/** A local file is read in place. Its time and size tell whether it has changed. */
async function fetchFile(
  { validators, clock }: FetchFeedOptions,
  { path, label }: Readonly<{ path: string; label: string }>,
): Promise<FetchedFeed | null> {
  const fetchedAtMs = clock.nowMs()
  const stats = await stat(path).catch((error: unknown) => {
    throw new FeedFetchError(`${label} cannot be opened (${findCode(error) ?? 'unknown reason'})`)
  })
  if (!stats.isFile()) throw new FeedFetchError(`${label} is not a file`)
  const { mtimeMs, size } = stats
  const etag = `${mtimeMs} ${size}`
  if (validators?.etag === etag) return null
  return { path, label, charset: undefined, contentDigest: null, etag, lastModified: null, fetchedAtMs }
}

type RequestHeaders = Readonly<Record<string, string>>

/** Read lines such as `Authorization: Bearer ${TOKEN}`. Values are secrets. */
async function readHeaderFile({ headerFile, secrets }: FetchFeedOptions): Promise<RequestHeaders> {
  if (headerFile === null) return {}
  const text = await readFile(headerFile, 'utf8').catch((error: unknown) => {
    throw new FeedFetchError(`the header file cannot be read (${findCode(error) ?? 'unknown reason'})`)
  })
  return parseHeaderLines(fillSecrets(text, secrets))
}

/** Headers of the connection, and those that `fetchFeed` sets itself. */
const REFUSED_HEADERS: ReadonlySet<string> = new Set(
  'accept-encoding connection content-length expect host if-modified-since if-none-match keep-alive range te trailer transfer-encoding upgrade'.split(
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
  agent: Agent
  url: URL
  label: string
  headers: RequestHeaders
  signal: AbortSignal
}>

async function download(options: FetchFeedOptions, task: Download): Promise<FetchedFeed | null> {
  const { validators, clock, path } = options
  const fetchedAtMs = clock.nowMs()
  const response = await requestFollowingRedirects(task, validators)
  if (response.statusCode === 304 && hasValidator(validators)) {
    discard(response)
    return null
  }
  if (response.statusCode !== 200) {
    discard(response)
    throw new FeedFetchError(`${task.label} responded with status ${response.statusCode}`)
  }
  const contentDigest = await storeBody(response, options, task)
  const { etag, 'last-modified': lastModified, 'content-type': contentType } = response.headers
  return {
    path,
    label: task.label,
    charset: /;\s*charset="?([\w.:-]{1,40})/i.exec(toText(contentType) ?? '')?.[1],
    contentDigest,
    etag: toValidator(etag),
    lastModified: toValidator(lastModified),
    fetchedAtMs,
  }
}

/** Without one, 304 is no valid response. */
function hasValidator(validators: FeedValidators | null): boolean {
  return validators !== null && (validators.etag !== null || validators.lastModified !== null)
}

async function requestFollowingRedirects(
  { agent, url: firstUrl, label, headers, signal }: Download,
  validators: FeedValidators | null,
): Promise<Dispatcher.ResponseData> {
  let url = firstUrl
  for (let redirects = 0; ; redirects += 1) {
    const isOwnOrigin = url.origin === firstUrl.origin
    const response = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: 'GET',
      signal,
      headers: {
        accept: '*/*',
        'accept-encoding': 'gzip',
        'user-agent': 'vitrine',
        ...(typeof validators?.etag === 'string' && { 'if-none-match': validators.etag }),
        ...(typeof validators?.lastModified === 'string' && { 'if-modified-since': validators.lastModified }),
        // Secrets are sent to the origin of the address only.
        ...(isOwnOrigin && { ...toBasicAuthorization(firstUrl), ...headers }),
      },
    })
    if (![301, 302, 303, 307, 308].includes(response.statusCode)) return response
    discard(response)
    if (redirects === MAX_REDIRECTS)
      throw new FeedFetchError(`${label} redirects more than ${MAX_REDIRECTS} times`)
    url = toRedirectTarget(url, toText(response.headers['location']), label)
  }
}

/** @throws FeedFetchError for a target that is less safe than the address */
export function toRedirectTarget(url: URL, location: string | undefined, label: string): URL {
  const target = location === undefined ? undefined : parseUrl(location, url)
  if (target === undefined || !/^https?:$/.test(target.protocol))
    throw new FeedFetchError(`${label} redirects to something that is not a web address`)
  if (url.protocol === 'https:' && target.protocol === 'http:')
    throw new FeedFetchError(`${label} redirects from https to http, which is not protected against changes`)
  if (isPublicHost(url.hostname) && !isPublicHost(target.hostname))
    throw new FeedFetchError(`${label} redirects to a private address`)
  return target
}

function toBasicAuthorization({ username, password }: URL): RequestHeaders {
  if (username === '') return {}
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const encoded = Buffer.from(credentials).toString('base64')
  redactInLog(encoded)
  return { authorization: `Basic ${encoded}` }
}

/** @throws FeedFetchError for an encoding that was not requested */
function checkEncoding({ headers, body }: ResponseParts, label: string): void {
  const contentEncoding = toText(headers['content-encoding'])?.trim().toLowerCase() ?? ''
  if (['', 'identity', 'gzip', 'x-gzip'].includes(contentEncoding)) return
  body.on('error', () => {}).destroy()
  throw new FeedFetchError(`${label} sends a content encoding that was not requested`)
}

type ResponseParts = Pick<Dispatcher.ResponseData, 'headers' | 'body'>

/** Store the body, and return its SHA-256. */
async function storeBody(
  { headers, body }: ResponseParts,
  { path, maxBytes = MAX_DOWNLOAD_BYTES, onProgress }: FetchFeedOptions,
  { label }: Download,
): Promise<string> {
  checkEncoding({ headers, body }, label)
  const hash = createHash('sha256')
  let bytes = 0
  const file = await open(path, 'w+', 0o600)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) throw new FeedFetchError(`${label} is larger than ${maxBytes} bytes`)
      hash.update(chunk)
      await writeFully(file, chunk)
      onProgress?.(bytes)
    }
    const isLengthKnown =
      headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
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

function discard({ body }: Dispatcher.ResponseData): void {
  body.on('error', () => {}).destroy()
}

function toText(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

/** A validator is sent back, so it must be a valid header; a very long one is not worth storing. */
function toValidator(header: string | string[] | undefined): string | null {
  const text = toText(header)
  return text !== undefined && /^[\x20-\x7e]{1,1000}$/.test(text) ? text : null
}

const REASONS_BY_CODE: ReadonlyMap<string, string> = new Map([
  ['UND_ERR_CONNECT_TIMEOUT', 'no connection within a minute'],
  ['UND_ERR_HEADERS_TIMEOUT', 'no response within a minute'],
  ['UND_ERR_BODY_TIMEOUT', 'the server stopped sending'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'the response is incomplete'],
  ['UND_ERR_SOCKET', 'the connection was closed before the end'],
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'the connection was reset'],
  ['ENOTFOUND', 'the host is unknown'],
  ['EAI_AGAIN', 'the host cannot be resolved now'],
  ['ENOSPC', 'the disk is full'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'the server does not speak https'],
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
  const code = findCode(error)
  const reason = (code !== undefined && REASONS_BY_CODE.get(code)) || code || 'unknown reason'
  return new FeedFetchError(`${label} cannot be fetched (${reason})`)
}

function findCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /^[A-Z_0-9]{1,60}$/.test(code) ? code : undefined
}
