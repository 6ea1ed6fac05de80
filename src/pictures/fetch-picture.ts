import type { Dispatcher } from 'undici'
import { type Clock, SECOND_MS } from '../clock.ts'
import type { Proxies } from '../config/secrets.ts'
import { PictureError } from '../errors.ts'
import { createPublicLookup, type NameResolver, isPublicHost, systemResolver } from '../lib/public-hosts.ts'
import { parseUrl } from '../lib/urls.ts'
import { failAfter } from '../lib/with-timeout.ts'
import { findConnectionCode, isServerTimeout } from '../outgoing/connection-failures.ts'
import { createDispatcher } from '../outgoing/dispatcher.ts'

/** Redirects followed; each target is checked like the address itself. */
const MAX_REDIRECTS = 3

/** Limit on a body. It protects the memory. */
const MAX_PICTURE_BYTES: number = 5 * 1024 ** 2

/** One deadline over all redirects, connections, headers and the whole body. */
export const FETCH_TIMEOUT_MS: number = 8 * SECOND_MS

/** A host must respond within this time, redirects included: one that hangs keeps a place of others. */
export const RESPONSE_TIMEOUT_MS: number = 3 * SECOND_MS

/** Connections to one host. */
const MAX_CONNECTIONS_PER_HOST = 6

/** What identifies a version of a picture; `null` without one. */
export type PictureValidators = Readonly<{ etag: string | null; lastModified: string | null }>

/** `fetchedAtMs`: when the request was sent, Unix milliseconds. `body`: `null` when the known version is still current. */
export type FetchedPicture = PictureValidators & Readonly<{ body: Buffer | null; fetchedAtMs: number }>

export type PictureFetcher = Readonly<{
  /** Fetch a picture. `known`: validators of the stored version. @throws PictureError */
  fetch(address: string, known: PictureValidators | null): Promise<FetchedPicture>
  close(): Promise<void>
}>

/** Create the only component that connects to the hosts of pictures. It connects only to public addresses. */
export function createPictureFetcher(
  clock: Clock,
  network: PictureNetwork,
  proxies: Proxies,
): PictureFetcher {
  const agent = createDispatcher(proxies, {
    connections: MAX_CONNECTIONS_PER_HOST,
    headersTimeout: RESPONSE_TIMEOUT_MS,
    bodyTimeout: FETCH_TIMEOUT_MS,
    connect: {
      timeout: RESPONSE_TIMEOUT_MS,
      lookup: createPublicLookup(network, () => new PictureError('private_address')),
      ...(network.certificateAuthorities !== undefined && { ca: network.certificateAuthorities }),
    },
  })
  return {
    async fetch(address, known) {
      const fetchedAtMs = clock.nowMs()
      const controller = new AbortController()
      try {
        // The timer itself rejects the promise, because undici checks a signal only after it has connected.
        const download = await failAfter(
          { clock, timeoutMs: FETCH_TIMEOUT_MS },
          () => new PictureError('timeout'),
          requestPicture({ agent, clock, network, known, signal: controller.signal }, address),
        )
        return { etag: download.etag, lastModified: download.lastModified, body: download.body, fetchedAtMs }
      } catch (error) {
        throw toPictureError(error)
      } finally {
        controller.abort()
      }
    },
    close: () => agent.destroy(),
  }
}

type Task = Readonly<{
  agent: Dispatcher
  clock: Clock
  network: PictureNetwork
  known: PictureValidators | null
  signal: AbortSignal
}>

async function requestPicture(task: Task, address: string): Promise<Omit<FetchedPicture, 'fetchedAtMs'>> {
  const response = await failAfter(
    { clock: task.clock, timeoutMs: RESPONSE_TIMEOUT_MS },
    () => new PictureError('timeout'),
    requestFollowingRedirects(task, address),
  )
  const { statusCode, headers } = response
  if (statusCode === 304 && hasValidator(task.known)) {
    discardBody(response)
    return { ...task.known, body: null }
  }
  if (statusCode !== 200) {
    discardBody(response)
    throw new PictureError('status')
  }
  const body = await readBody(response)
  return { etag: toValidator(headers['etag']), lastModified: toValidator(headers['last-modified']), body }
}

/** Without one, 304 is no valid response. */
function hasValidator(known: PictureValidators | null): known is PictureValidators {
  return known !== null && (known.etag !== null || known.lastModified !== null)
}

async function requestFollowingRedirects(
  { agent, network, known, signal }: Task,
  address: string,
): Promise<Dispatcher.ResponseData> {
  let url = parseUrl(address)
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    if (url === undefined || !isFetchableAddress(url, network)) throw new PictureError('private_address')
    const response = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: 'GET',
      signal,
      headers: {
        accept: 'image/webp,image/jpeg,image/png,image/gif,image/avif',
        // A compressed body could be a bomb, and pictures do not shrink.
        'accept-encoding': 'identity',
        'user-agent': 'vitrine',
        ...(typeof known?.etag === 'string' && { 'if-none-match': known.etag }),
        ...(typeof known?.lastModified === 'string' && { 'if-modified-since': known.lastModified }),
      },
    })
    if (![301, 302, 303, 307, 308].includes(response.statusCode)) return response
    discardBody(response)
    const location = toText(response.headers['location'])
    url = location === undefined ? undefined : parseUrl(location, url)
  }
  throw new PictureError('redirects')
}

async function readBody(response: Dispatcher.ResponseData): Promise<Buffer> {
  const { headers, body } = response
  const encoding = toText(headers['content-encoding'])?.trim().toLowerCase() ?? 'identity'
  const isTooLarge = Number(toText(headers['content-length']) ?? 0) > MAX_PICTURE_BYTES
  if (encoding !== 'identity' || isTooLarge) {
    discardBody(response)
    throw new PictureError(isTooLarge ? 'too_large' : 'format')
  }
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    // Leaving the loop destroys the body and its connection.
    if (bytes > MAX_PICTURE_BYTES) throw new PictureError('too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Without the listener, undici's `destroy` raises an unhandled error. */
function discardBody({ body }: Dispatcher.ResponseData): void {
  body.on('error', () => {}).destroy()
}

function toText(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

/** A validator is sent back, so it must be a valid header; a very long one is not worth storing. */
function toValidator(header: string | string[] | undefined): string | null {
  const text = toText(header)
  return text !== undefined && /^[\x20-\x7e]{1,500}$/.test(text) ? text : null
}

function toPictureError(error: unknown): PictureError {
  if (error instanceof PictureError) return error
  return new PictureError(isServerTimeout(findConnectionCode(error)) ? 'timeout' : 'unreachable', {
    cause: error,
  })
}

/** How pictures are reached. Tests replace it. */
export type PictureNetwork = NameResolver &
  Readonly<{
    /** The only port that is called: pictures must not make this server probe others. */
    port: number
    /** Trusted certificate authorities in PEM; `undefined`: those of Node. */
    certificateAuthorities: string | undefined
  }>

const HTTPS_PORT = 443

export const publicNetwork: PictureNetwork = {
  ...systemResolver,
  port: HTTPS_PORT,
  certificateAuthorities: undefined,
}

/** `true` for an `https:` address on the port of the network, with a public host. Its name is checked again when it is resolved. */
function isFetchableAddress(url: URL, network: Pick<PictureNetwork, 'port'>): boolean {
  const { protocol, username, password, hostname, port } = url
  const isExpectedPort = Number(port || HTTPS_PORT) === network.port
  return (
    protocol === 'https:' && username === '' && password === '' && isExpectedPort && isPublicHost(hostname)
  )
}
