/**
 * - `hit`: younger than `freshSeconds`
 * - `miss`: fetched for this call
 * - `stale`: older than `freshSeconds`; a refresh runs behind, unless a failure is remembered
 * - `rescued`: the catalog failed, is late or may not be called; the stored copy is served
 */
export type CacheStatus = 'hit' | 'miss' | 'stale' | 'rescued'

/**
 * How long whoever asks the same again gets the same, without a look at store or catalog: before `untilMs` (Unix
 * milliseconds), as long as `isCurrent` says so. Asking costs next to nothing.
 */
export type Hold = Readonly<{ untilMs: number; isCurrent(): boolean }>

/** One answer of the catalog and its age. Never `undefined`: with nothing usable, `get…` throws. */
export type Cached<T> = Readonly<{
  value: T
  /** When the catalog gave `value`, Unix milliseconds. Readers see it as "prices checked". */
  asOfMs: number
  status: CacheStatus
  /** `null`: the next one has to ask again. */
  hold: Hold | null
}>

/** Both holds at once. */
export function joinHolds(a: Hold | null, b: Hold | null): Hold | null {
  if (a === null || b === null) return null
  return { untilMs: Math.min(a.untilMs, b.untilMs), isCurrent: () => a.isCurrent() && b.isCurrent() }
}
