import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS, isWithin, HOUR_MS, SECOND_MS } from '../clock.ts'
import { PictureError, type PictureFailure } from '../errors.ts'
import type { QueueGroup } from '../lib/fair-queue.ts'
import { parseUrl } from '../lib/urls.ts'

/** A host that failed this often in a row is not contacted for a while. */
const MAX_FAILURES_IN_A_ROW = 3
const PAUSE_MS: number = MINUTE_MS

/** How long a failure slows down the other hosts of a site. */
const SITE_FAILURE_MS: number = MINUTE_MS

/** Most hosts, and sites, that are remembered. */
const MAX_HOSTS = 1_000

/** Fetches at once from one host, or from all unproven hosts of a site. */
const MAX_FETCHES_PER_HOST = 2

/** Fetches at once from unproven hosts: half of all, so that hosts which never respond do not delay the others. */
const MAX_UNPROVEN_FETCHES = 3

/** Failures that keep a place busy, and that all pictures of a host share. */
const HOST_FAILURES: ReadonlySet<PictureFailure> = new Set(['timeout', 'unreachable'])

export type PictureHosts = Readonly<{
  /** @throws PictureError `busy` while the host is not asked */
  check(host: string): void
  /** Return the groups in which fetches from a host wait for each other. */
  getGroups(host: string): readonly QueueGroup[]
  /** Record the result of a fetch; `undefined`: the host responded. */
  record(host: string, failure: PictureFailure | undefined): void
}>

/**
 * Create the memory of what hosts of pictures did. Hosts that do not respond must not delay pictures of others. A host is proven
 * when it responded last, and no host of its site failed within a minute; otherwise it shares places with its site. It is never
 * refused for another host of its site, because shops share the names of content networks.
 */
export function createPictureHosts(clock: Clock): PictureHosts {
  const hosts = new LRUCache<string, Readonly<{ failures: number; atMs: number }>>({ max: MAX_HOSTS })
  /** When a host of the site failed last. */
  const failedSites = new LRUCache<string, number>({ max: MAX_HOSTS })
  const isProven = (host: string, site: string): boolean => {
    const failedAtMs = failedSites.get(site)
    const isSiteFailing = failedAtMs !== undefined && isWithin(failedAtMs, SITE_FAILURE_MS, clock.nowMs())
    return hosts.get(host)?.failures === 0 && !isSiteFailing
  }
  return {
    check(host) {
      const found = hosts.get(host)
      const isPaused = found !== undefined && found.failures >= MAX_FAILURES_IN_A_ROW
      if (isPaused && isWithin(found.atMs, PAUSE_MS, clock.nowMs())) throw new PictureError('busy')
    },
    getGroups(host) {
      const site = toSite(host)
      if (isProven(host, site)) return [{ name: `host ${host}`, parallelTasks: MAX_FETCHES_PER_HOST }]
      return [
        { name: `site ${site}`, parallelTasks: MAX_FETCHES_PER_HOST },
        { name: 'unproven', parallelTasks: MAX_UNPROVEN_FETCHES },
      ]
    },
    record(host, failure) {
      const atMs = clock.nowMs()
      const isFailure = failure !== undefined && HOST_FAILURES.has(failure)
      hosts.set(host, { failures: isFailure ? (hosts.get(host)?.failures ?? 0) + 1 : 0, atMs })
      if (isFailure) failedSites.set(toSite(host), atMs)
    },
  }
}

/** Return the host of an address, with its port unless it is the usual one. */
export function toHost(address: string): string {
  return parseUrl(address)?.host ?? ''
}

/** The last two labels, and one more after those under which countries register names (`co.uk`). */
const SITE = /[^.]+\.(?:(?:ac|co|com|edu|go|gov|ne|net|or|org)\.[a-z]{2}|[^.]+)$/

/**
 * Return the part of a host name that somebody registered. Without the Public Suffix List some names are too short, such as those
 * of content networks. IP addresses are one site.
 */
export function toSite(host: string): string {
  if (/^\[|^[\d.]+$/.test(host)) return 'addresses'
  return SITE.exec(host.replace(/\.$/, ''))?.[0] ?? host
}

/** How long a failure is remembered. */
const FAILURE_MS: number = HOUR_MS
const MAX_FAILURES = 20_000

/** These failures depend on the load of this server, not on the picture. */
const TRANSIENT_FAILURES: ReadonlySet<PictureFailure> = new Set(['busy', 'disk'])

type Failure = Readonly<{ failure: PictureFailure; atMs: number }>

/** Failures of pictures in the last hour, by a key. */
export class RememberedFailures {
  readonly #clock: Clock
  readonly #failures = new LRUCache<string, Failure>({ maxSize: MAX_FAILURES, sizeCalculation: () => 1 })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  has(key: string): boolean {
    return this.#find(key) !== undefined
  }

  /** @throws PictureError when there was a failure */
  check(key: string): void {
    const found = this.#find(key)
    if (found !== undefined) throw new RememberedFailure(found)
  }

  /** Remember an error, unless it says nothing about the picture. */
  remember(key: string, error: unknown): void {
    if (!(error instanceof PictureError) || TRANSIENT_FAILURES.has(error.failure)) return
    this.#failures.set(key, { failure: error.failure, atMs: this.#clock.nowMs() })
  }

  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** Return how long clients may use the stand-in: until the server tries again, but at least a minute. */
  getPauseSeconds(error: PictureError): number {
    if (TRANSIENT_FAILURES.has(error.failure)) return 0
    const nowMs = this.#clock.nowMs()
    const failedAtMs = error instanceof RememberedFailure ? error.atMs : nowMs
    const remainingMs = failedAtMs + FAILURE_MS - nowMs
    return Math.ceil(Math.min(FAILURE_MS, Math.max(MINUTE_MS, remainingMs)) / SECOND_MS)
  }

  #find(key: string): Failure | undefined {
    const found = this.#failures.get(key)
    return found && isWithin(found.atMs, FAILURE_MS, this.#clock.nowMs()) ? found : undefined
  }
}

/** A failure that happened before, at `atMs`. */
class RememberedFailure extends PictureError {
  readonly atMs: number

  constructor({ failure, atMs }: Failure) {
    super(failure)
    this.atMs = atMs
  }
}
