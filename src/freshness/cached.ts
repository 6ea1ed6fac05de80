import type { Watch } from '../lib/lru-cache.ts'

/**
 * - `hit`: younger than `freshSeconds`
 * - `miss`: fetched for this call
 * - `stale`: older than `freshSeconds`; a refresh runs behind, unless a failure is remembered
 * - `rescued`: the catalog failed, is late or may not be called; the stored copy is served
 */
export type CacheStatus = 'hit' | 'miss' | 'stale' | 'rescued'

/**
 * How long whoever asks the same again gets the same, without a look at store or catalog: before `untilMs` (Unix
 * milliseconds), as long as `isCurrent` says so.
 */
export type Hold = Readonly<{
  untilMs: number
  /** Speaks for the data while it is there; nothing has to be looked up then. `null`: `isSame` is asked each time. */
  watch: Watch | null
  /** Are the data still those at hand? */
  isSame(): boolean
  /** Is the channel still the one at hand? Of one list of channels it is the same function for all. */
  isServed(): boolean
}>

/** Is what is held still current? Ten thousand holds are more than a processor has at hand, so little of one is touched. */
export function isCurrent(hold: Hold): boolean {
  return (hold.watch?.isThere === true || hold.isSame()) && hold.isServed()
}

/** One answer of the catalog and its age. Never `undefined`: with nothing usable, `get…` throws. */
export type Cached<T> = Readonly<{
  value: T
  /** When the catalog gave `value`, Unix milliseconds. Readers see it as "prices checked". */
  asOfMs: number
  status: CacheStatus
  /** `null`: the next one has to ask again. */
  hold: Hold | null
}>

/** A hold that ends earlier: `untilMs` at the latest, and with its channel. */
export function narrowHold(
  hold: Hold | null,
  { untilMs, isServed }: Pick<Hold, 'untilMs' | 'isServed'>,
): Hold | null {
  return hold === null ? null : { ...hold, untilMs: Math.min(hold.untilMs, untilMs), isServed }
}
