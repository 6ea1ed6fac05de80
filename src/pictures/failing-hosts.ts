import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS, isWithin } from '../clock.ts'
import { PictureError, type PictureFailure } from '../errors.ts'

/** A host that failed this often in a row is not asked for a while. */
const MAX_FAILURES_IN_A_ROW = 3
const PAUSE_MS: number = MINUTE_MS

const MAX_HOSTS = 1_000

/** Failures that keep a slot busy, and that all pictures of a host share. */
const HOST_FAILURES: ReadonlySet<PictureFailure> = new Set(['timeout', 'unreachable'])

export type FailingHosts = Readonly<{
  /** @throws PictureError `busy` while the host is not asked */
  check(host: string): void
  /** Record the result of a fetch; `undefined`: the host responded. */
  record(host: string, failure: PictureFailure | undefined): void
}>

/** Create the memory of hosts that do not respond, so that they do not delay pictures of others. */
export function createFailingHosts(clock: Clock): FailingHosts {
  const hosts = new LRUCache<string, Readonly<{ count: number; atMs: number }>>({ max: MAX_HOSTS })
  return {
    check(host) {
      const found = hosts.get(host)
      const isPaused = found !== undefined && found.count >= MAX_FAILURES_IN_A_ROW
      if (isPaused && isWithin(found.atMs, PAUSE_MS, clock.nowMs())) throw new PictureError('busy')
    },
    record(host, failure) {
      if (failure === undefined || !HOST_FAILURES.has(failure)) hosts.delete(host)
      else hosts.set(host, { count: (hosts.get(host)?.count ?? 0) + 1, atMs: clock.nowMs() })
    },
  }
}
