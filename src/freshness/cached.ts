/**
 * - `hit`: younger than `freshSeconds`
 * - `miss`: fetched for this call
 * - `stale`: older than `freshSeconds`; a refresh runs behind, unless a failure is remembered
 * - `rescued`: the catalog failed, is late or may not be called; the stored copy is served
 */
export type CacheStatus = 'hit' | 'miss' | 'stale' | 'rescued'

/** One answer of the catalog and its age. Never `undefined`: with nothing usable, `get…` throws. */
export type Cached<T> = Readonly<{
  value: T
  /** When the catalog gave `value`, Unix milliseconds. Readers see it as "prices checked". */
  asOfMs: number
  status: CacheStatus
}>
