/**
 * Pictures from this server (`VITRINE_PICTURES=proxy`): `/pictures/{hash}/{width}`.
 *
 * 1. The stored copy tells the address of a hash. No request contains an address, so nobody can make this server fetch one.
 * 2. `fetch-picture.ts` fetches the original, only from public addresses, within its limits.
 * 3. `convert-picture.ts` checks it, and makes each width as WebP, or JPEG for newsletters, if the package `sharp` is installed.
 * 4. `picture-files.ts` stores originals and widths in a folder of bounded size, which all processes of a machine share.
 *
 * A picture that left the copy is served from its file until a day after its last fetch, because pages with it can be cached.
 * An original older than a day is served, and revalidated in the background. If there is none, visitors get a stand-in, and the
 * server tries again after an hour.
 */
import { LRUCache } from 'lru-cache'
import { type Clock, DAY_MS, MINUTE_MS, SECOND_MS, isWithin } from '../clock.ts'
import { PictureError, UnavailableError } from '../errors.ts'
import { createFairQueue } from '../lib/fair-queue.ts'
import { createSingleFlight } from '../lib/concurrency.ts'
import { parseUrl } from '../lib/urls.ts'
import { failAfter } from '../lib/with-timeout.ts'
import { LogRateLimiter } from '../observability/log-rate-limiter.ts'
import type { Logger } from '../observability/logger.ts'
import { toPictureHash } from '../offers/pictures.ts'
import { describeConnectionFailure, findConnectionCode } from '../outgoing/connection-failures.ts'
import type { CopyStore } from '../storage/store.ts'
import { type ConversionRequest, type PictureConverter, toMediaType, STAND_IN } from './convert-picture.ts'
import { FETCH_TIMEOUT_MS, type FetchedPicture, type PictureFetcher } from './fetch-picture.ts'
import {
  type Original,
  parseOriginal,
  toConvertedName,
  toDigest,
  toEtag,
  toOriginalName,
  toVersion,
  type PictureFiles,
} from './picture-files.ts'
import { type PictureHosts, createPictureHosts, toHost, RememberedFailures } from './picture-hosts.ts'
import type { PictureResponse, PictureStream } from './picture-response.ts'

/** An older original is revalidated. */
const ORIGINAL_FRESH_MS: number = DAY_MS

/** How long the address of a hash is used without reading the copy again. */
const ADDRESS_FRESH_MS: number = 5 * MINUTE_MS
const MAX_ADDRESSES = 5_000

/** Longest wait of a visitor. Fetching continues behind it. */
const VISITOR_TIMEOUT_MS: number = 10 * SECOND_MS

/** Fetches at once, each with a picture in memory, and fetches that may wait. A page can show 60 pictures at once. */
const FETCH_LIMITS = { parallelTasks: 6, maxWaiting: 256, maxWaitingPerVisitor: 64 }

/** How long a fetch may wait and run. */
const QUEUE_TIMEOUT_MS: number = 2 * VISITOR_TIMEOUT_MS

/** The queue's name for fetches without a visitor. */
const NO_VISITOR = ''

/** `visitor`: who waits, such as an IP address, so that one visitor cannot block the others. */
export type PictureRequest = ConversionRequest & Readonly<{ hash: string }>

export type Pictures = Readonly<{
  /** Return the hash under which a picture can be requested from now on; `undefined` for pictures of this server itself. */
  publish(address: string): string | undefined
  /**
   * Find a picture, or a stand-in if it cannot be shown; `undefined`: no product of the stored copy has it, and it was not fetched
   * in the last day.
   */
  find(request: PictureRequest): Promise<PictureResponse | undefined>
  /** Bytes of the stored pictures. */
  byteCount(): number
  close(): Promise<void>
}>

export type PicturesOptions = Readonly<{
  store: Pick<CopyStore, 'findPicture'>
  fetcher: PictureFetcher
  /** Called before the first picture, because `sharp` needs 30 MB of memory. */
  openConverter(): Promise<PictureConverter>
  files: PictureFiles
  clock: Clock
  logger: Logger
  ownOrigin: string
  /** Called after each fetch with `ok`, `unchanged` or the failure. */
  onFetch(outcome: string): void
  onStoreFailure(error: unknown): void
}>

export function createPictures(options: PicturesOptions): Pictures {
  const service = new PictureService(options)
  return {
    publish: (address) => service.publish(address),
    find: (request) => service.find(request),
    byteCount: () => options.files.byteCount(),
    close: () => options.fetcher.close(),
  }
}

/** `address`: `null` when the stored copy cannot be read, or does not have it any more. */
type Source = ConversionRequest & Readonly<{ hash: string; address: string | null }>

type Conversion = ConversionRequest & Readonly<{ hash: string; digest: string; name: string }>

type KnownSource = Source & Readonly<{ address: string }>

class PictureService {
  readonly #options: PicturesOptions
  readonly #queue: ReturnType<typeof createFairQueue>
  readonly #hosts: PictureHosts
  readonly #downloads = createSingleFlight<Original>()
  readonly #conversions = createSingleFlight<Buffer>()
  readonly #addresses = new LRUCache<string, Readonly<{ address: string; asOfMs: number }>>({
    max: MAX_ADDRESSES,
  })
  /** By hash, or by name of a converted file. */
  readonly #failures: RememberedFailures
  readonly #logLimiter: LogRateLimiter

  #converter: Promise<PictureConverter> | undefined

  constructor(options: PicturesOptions) {
    this.#options = options
    this.#queue = createFairQueue(options.clock, FETCH_LIMITS)
    this.#hosts = createPictureHosts(options.clock)
    this.#failures = new RememberedFailures(options.clock)
    this.#logLimiter = new LogRateLimiter(options.clock)
  }

  /** A page that was just rendered can be ahead of the stored copy, which look-ups reach a moment later. */
  publish(address: string): string | undefined {
    if (parseUrl(address)?.origin === this.#options.ownOrigin) return undefined
    const hash = toPictureHash(address)
    this.#addresses.set(hash, { address, asOfMs: this.#options.clock.nowMs() })
    return hash
  }

  async find({ hash, ...request }: PictureRequest): Promise<PictureResponse | undefined> {
    const found = await this.#findAddress(hash)
    if (found === undefined && !(await this.#isRecent(hash))) return undefined
    const address = found ?? null
    try {
      return await failAfter(
        { clock: this.#options.clock, timeoutMs: VISITOR_TIMEOUT_MS },
        () => new PictureError('busy'),
        this.#getPicture({ hash, address, ...request }),
      )
    } catch (error) {
      if (!(error instanceof PictureError)) throw error
      const standInSeconds = this.#failures.getPauseSeconds(error)
      return { body: STAND_IN, mediaType: 'image/png', etag: null, standInSeconds, cache: 'miss' }
    }
  }

  #getConverter(): Promise<PictureConverter> {
    this.#converter ??= this.#openConverter()
    return this.#converter
  }

  async #openConverter(): Promise<PictureConverter> {
    const { logger, openConverter } = this.#options
    const converter = await openConverter()
    if (converter.convert === null)
      logger.warn('the package sharp is not installed: pictures are served in their original size')
    return converter
  }

  /** Return `null` when the copy cannot be read: a stored picture can still be shown. */
  async #findAddress(hash: string): Promise<string | null | undefined> {
    const { clock, store, ownOrigin, onStoreFailure } = this.#options
    const known = this.#addresses.get(hash)
    if (known !== undefined && isWithin(known.asOfMs, ADDRESS_FRESH_MS, clock.nowMs())) return known.address
    let address: string | undefined
    try {
      address = await store.findPicture(hash)
    } catch (error) {
      onStoreFailure(error)
      return known?.address ?? null
    }
    if (address === undefined || parseUrl(address)?.origin === ownOrigin) {
      this.#addresses.delete(hash)
      return undefined
    }
    this.#addresses.set(hash, { address, asOfMs: clock.nowMs() })
    return address
  }

  async #getPicture(source: Source): Promise<PictureResponse> {
    const stored = await this.#findOriginal(source.hash)
    const isStale = stored !== undefined && !this.#isFresh(stored)
    if (isStale) this.#revalidate(source)
    const original = stored ?? (await this.#getOriginal(source))
    const freshCache = stored === undefined ? 'miss' : 'hit'
    const found = await this.#getBody(source, original)
    return { ...found, standInSeconds: null, cache: isStale ? 'stale' : freshCache }
  }

  /** A cached page can show a picture that has left the copy: a stored one is served, without the host, a day after its fetch. */
  async #isRecent(hash: string): Promise<boolean> {
    const stored = await this.#findOriginal(hash)
    return stored !== undefined && this.#isFresh(stored)
  }

  async #findOriginal(hash: string): Promise<Original | undefined> {
    const file = await this.#options.files.find(toOriginalName(hash))
    return file && parseOriginal(file.meta)
  }

  #isFresh({ fetchedAtMs }: Original): boolean {
    return isWithin(fetchedAtMs, ORIGINAL_FRESH_MS, this.#options.clock.nowMs())
  }

  async #getBody(source: Source, { digest }: Original) {
    const { hash, width, format, visitor } = source
    const { convert, recipe } = await this.#getConverter()
    if (convert === null) return this.#getOriginalBody(hash, recipe)
    const version = toVersion(source, recipe)
    const name = toConvertedName(hash, digest, version)
    const stored = await this.#options.files.read(name)
    const body = stored?.body ?? (await this.#convert({ hash, digest, name, width, format, visitor }))
    return { body, mediaType: toMediaType(format), etag: toEtag(digest, version) }
  }

  /** Everything about the body comes from one file: it may have been replaced since it was found. */
  async #getOriginalBody(hash: string, recipe: string) {
    const { files } = this.#options
    const file = await files.find(toOriginalName(hash))
    const original = file && parseOriginal(file.meta)
    if (file === undefined || original === undefined) throw new PictureError('busy')
    const open = async (): Promise<PictureStream | undefined> => {
      const opened = await files.open(toOriginalName(hash))
      if (opened === undefined) return undefined
      const { meta, bodyBytes, stream } = opened
      const current = parseOriginal(meta)
      if (current === undefined) {
        stream.destroy()
        return undefined
      }
      return { mediaType: current.mediaType, etag: toEtag(current.digest, recipe), bodyBytes, stream }
    }
    const { mediaType, digest } = original
    return { body: { bodyBytes: file.bodyBytes, open }, mediaType, etag: toEtag(digest, recipe) }
  }

  /** Convert the original once for all visitors. If the result cannot be stored, it is still served. */
  async #convert({ hash, digest, name, ...request }: Conversion): Promise<Buffer> {
    const { files } = this.#options
    this.#failures.check(name)
    const readOriginal = async (): Promise<Buffer> => {
      const file = await files.read(toOriginalName(hash))
      // Another version must not be stored under this name.
      if (file === undefined || file.meta['digest'] !== digest) throw new PictureError('busy')
      return file.body
    }
    return this.#conversions.run(name, async () => {
      try {
        const { convert } = await this.#getConverter()
        const body = await convert?.(readOriginal, request)
        if (body === undefined) throw new PictureError('busy')
        await this.#storeConverted({ hash, name }, body)
        return body
      } catch (error) {
        this.#failures.remember(name, error)
        throw error
      }
    })
  }

  /** Fetch the original of a picture that is not stored. */
  async #getOriginal({ address, ...source }: Source): Promise<Original> {
    this.#failures.check(source.hash)
    if (address === null) throw new PictureError('busy')
    return this.#downloadOnce({ address, ...source })
  }

  /** Fetch a newer version in the background. A failure keeps the stored one. */
  #revalidate({ address, ...source }: Source): void {
    if (address === null || this.#failures.has(source.hash)) return
    void this.#downloadOnce({ address, ...source, visitor: NO_VISITOR }).catch(() => {})
  }

  #downloadOnce(source: KnownSource): Promise<Original> {
    return this.#downloads.run(source.hash, async () => {
      // Another request or process may have stored it in the meantime.
      const stored = await this.#findOriginal(source.hash)
      return stored !== undefined && this.#isFresh(stored) ? stored : this.#download(source, stored ?? null)
    })
  }

  async #download(source: KnownSource, known: Original | null): Promise<Original> {
    const { hash, address, visitor } = source
    const { onFetch } = this.#options
    try {
      const host = toHost(address)
      this.#hosts.check(host)
      const getGroups = () => this.#hosts.getGroups(host)
      const place = { visitor, timeoutMs: QUEUE_TIMEOUT_MS, getGroups }
      return await this.#queue.run(place, async (remainingMs) => {
        if (remainingMs < FETCH_TIMEOUT_MS) throw new PictureError('busy')
        return this.#fetchAndStore(source, known)
      })
    } catch (thrown) {
      const error = thrown instanceof UnavailableError ? new PictureError('busy') : thrown
      this.#failures.remember(hash, error)
      if (error instanceof PictureError) onFetch(error.failure)
      this.#logFailure({ hash, address, error })
      throw error
    }
  }

  async #fetchAndStore(source: KnownSource, known: Original | null): Promise<Original> {
    const { hash, address } = source
    const { files, onFetch } = this.#options
    const name = toOriginalName(hash)
    const fetched = await this.#fetch(address, known)
    const { etag, lastModified, fetchedAtMs } = fetched
    const isUnchanged = fetched.body === null && known !== null
    const bytes = fetched.body ?? (await this.#readVersion(name, known))
    const original = isUnchanged
      ? { ...known, fetchedAtMs }
      : { ...(await this.#checkAndConvert(source, bytes)), etag, lastModified, fetchedAtMs }
    await files.write(name, original, bytes).catch((cause: unknown) => {
      throw new PictureError('disk', { cause })
    })
    onFetch(isUnchanged ? 'unchanged' : 'ok')
    this.#failures.forget(hash)
    return original
  }

  /** Check a new original by converting it as it was requested, so that it is decoded once. */
  async #checkAndConvert(
    { hash, ...source }: KnownSource,
    bytes: Buffer,
  ): Promise<Pick<Original, 'mediaType' | 'digest'>> {
    const { check, recipe } = await this.#getConverter()
    const { mediaType, converted } = await check(bytes, source)
    const digest = toDigest(bytes)
    if (converted !== null)
      await this.#storeConverted(
        { hash, name: toConvertedName(hash, digest, toVersion(source, recipe)) },
        converted,
      )
    return { mediaType, digest }
  }

  /** A failure is logged only: the picture is converted again when it is requested. */
  async #storeConverted({ hash, name }: Pick<Conversion, 'hash' | 'name'>, body: Buffer): Promise<void> {
    await this.#options.files
      .write(name, {}, body)
      .catch((error: unknown) => this.#logFailure({ hash, error }))
  }

  async #fetch(address: string, known: Original | null): Promise<FetchedPicture> {
    const host = toHost(address)
    this.#hosts.check(host)
    try {
      const fetched = await this.#options.fetcher.fetch(address, known)
      this.#hosts.record(host, undefined)
      return fetched
    } catch (error) {
      this.#hosts.record(host, error instanceof PictureError ? error.failure : undefined)
      throw error
    }
  }

  /** @throws PictureError if the version was deleted or replaced during the request */
  async #readVersion(name: string, known: Original | null): Promise<Buffer> {
    const stored = await this.#options.files.read(name)
    if (stored === undefined || stored.meta['digest'] !== known?.digest) throw new PictureError('busy')
    return stored.body
  }

  /** Log the host only: the path of a picture says nothing more, and its query can have a token. */
  #logFailure({ hash, address, error }: Readonly<{ hash: string; address?: string; error: unknown }>): void {
    const failure = error instanceof PictureError ? error.failure : undefined
    const { logger } = this.#options
    const level = failure === undefined || failure === 'disk' ? 'warn' : 'info'
    if (!logger.isLevelEnabled(level)) return
    const leftOut = this.#logLimiter.tryAcquire()
    if (leftOut === undefined) return
    const host = address === undefined ? undefined : toHost(address)
    const code = findConnectionCode((error as Error).cause ?? error)
    const bug = failure === undefined ? { err: error } : undefined
    logger[level](
      {
        hash,
        host,
        failure,
        reason: describeConnectionFailure(code),
        ...bug,
        ...(leftOut > 0 && { leftOut }),
      },
      'picture failed',
    )
  }
}
