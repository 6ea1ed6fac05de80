import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS, isWithin } from '../clock.ts'
import { PictureError, type PictureFailure } from '../errors.ts'
import type { QueueGroup } from '../lib/fair-queue.ts'
import { parseUrl } from '../lib/urls.ts'

/** A host that failed this often in a row is not asked for a while. */
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
