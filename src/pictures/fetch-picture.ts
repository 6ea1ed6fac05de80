import type { Dispatcher } from 'undici'
import { type Clock, SECOND_MS } from '../clock.ts'
import type { Proxies } from '../config/secrets.ts'
import { PictureError, type PictureFailure } from '../errors.ts'
import { isPublicHost, parseUrl } from '../lib/urls.ts'
import { type NameResolver, createPublicLookup, systemResolver } from '../outgoing/addresses.ts'
import { RequestError, findConnectionCode, isServerTimeout } from '../outgoing/connection-failures.ts'
import { createDispatcher, sendRequest } from '../outgoing/dispatcher.ts'
import {
  type OutgoingResponse,
  discardBody,
  followRedirects,
  readBytes,
  withDeadline,
} from '../outgoing/fetch.ts'
import {
  type Validators,
  findEncoding,
  isCurrent,
  readValidators,
  toConditionalHeaders,
} from '../outgoing/response-headers.ts'

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

/** Longer validators are not stored. */
const MAX_VALIDATOR_CHARACTERS = 500

/** `fetchedAtMs`: when the request was sent, Unix milliseconds. `body`: `null` when the known version is still current. */
export type FetchedPicture = Validators & Readonly<{ body: Buffer | null; fetchedAtMs: number }>

export type PictureFetcher = Readonly<{
  /** Fetch a picture. `known`: validators of the stored version. @throws PictureError */
  fetch(address: string, known: Validators | null): Promise<FetchedPicture>
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
      lookup: createPublicLookup(network),
      ...(network.certificateAuthorities !== undefined && { ca: network.certificateAuthorities }),
    },
  })
  return {
    async fetch(address, known) {
      const fetchedAtMs = clock.nowMs()
      try {
        const options = { clock, timeoutMs: FETCH_TIMEOUT_MS }
        const download = await withDeadline(options, (signal) =>
          requestPicture({ agent, clock, network, known, signal }, address),
        )
        return { ...download, fetchedAtMs }
      } catch (error) {
        throw toPictureError(error)
      }
    },
    close: () => agent.destroy(),
  }
}

type Task = Readonly<{
  agent: Dispatcher
  clock: Clock
  network: PictureNetwork
  known: Validators | null
  signal: AbortSignal
}>

async function requestPicture(task: Task, address: string): Promise<Omit<FetchedPicture, 'fetchedAtMs'>> {
  const { clock, known, signal } = task
  const response = await withDeadline({ clock, timeoutMs: RESPONSE_TIMEOUT_MS, signal }, (responseSignal) =>
    requestFollowingRedirects({ ...task, signal: responseSignal }, address),
  )
  if (isCurrent(response, known)) {
    discardBody(response)
    return { etag: known.etag, lastModified: known.lastModified, body: null }
  }
  const isEncoded = findEncoding(response.headers) !== 'identity'
  if (response.statusCode !== 200 || isEncoded) {
    discardBody(response)
    throw new PictureError(response.statusCode === 200 ? 'format' : 'status')
  }
  const body = await readBytes(response, MAX_PICTURE_BYTES)
  return { ...readValidators(response.headers, MAX_VALIDATOR_CHARACTERS), body }
}

async function requestFollowingRedirects(
  { agent, network, known, signal }: Task,
  address: string,
): Promise<OutgoingResponse> {
  const url = parseUrl(address)
  if (url === undefined) throw new PictureError('private_address')
  const check = (target: URL): void => {
    if (!isFetchableAddress(target, network)) throw new PictureError('private_address')
  }
  check(url)
  return followRedirects(url, {
    maxRedirects: MAX_REDIRECTS,
    check,
    send: ({ origin, pathname, search }) =>
      sendRequest(agent, {
        origin,
        path: pathname + search,
        method: 'GET',
        signal,
        headers: {
          accept: 'image/webp,image/jpeg,image/png,image/gif,image/avif',
          // A compressed body could be a bomb, and pictures do not shrink.
          'accept-encoding': 'identity',
          'user-agent': 'vitrine',
          ...toConditionalHeaders(known),
        },
      }),
  })
}

const FAILURES: Readonly<Partial<Record<RequestError['code'], PictureFailure>>> = {
  DEADLINE: 'timeout',
  TOO_LARGE: 'too_large',
  TOO_MANY_REDIRECTS: 'redirects',
  REDIRECT_TARGET: 'private_address',
  PRIVATE_ADDRESS: 'private_address',
}

function toPictureError(error: unknown): PictureError {
  if (error instanceof PictureError) return error
  const failure = error instanceof RequestError ? FAILURES[error.code] : undefined
  if (failure !== undefined) return new PictureError(failure)
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
