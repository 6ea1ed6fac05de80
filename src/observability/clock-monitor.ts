import { type Clock, MINUTE_MS, SECOND_MS, isFuture } from '../clock.ts'
import type { Logger } from './logger.ts'

/** Whose clock this machine's is compared with. */
type OtherClock = 'catalog' | 'database'

/** `readTime`: Unix milliseconds, or `null` for a file, which has no clock. */
type ClockSource = Readonly<{ readDatabaseTime(): Promise<number | null> }>

/** How often a database server is asked for its time. */
const READ_INTERVAL_MS: number = 5 * MINUTE_MS

/** An answer that took longer tells the time too badly. */
const MAX_READ_MS: number = 10 * SECOND_MS

/** Do the clocks differ by more than a minute? */
export function isClockSkewed(skewMs: number): boolean {
  return isFuture(Math.abs(skewMs), 0)
}

/** Compares clocks: data are dated by them, and one that is wrong makes them look old, or of the future. */
export type ClockMonitor = ReturnType<typeof createClockMonitor>

/** Start to compare; the log has one line when a difference begins, and one when it ends. */
export function createClockMonitor({
  clock,
  logger,
  store,
}: Readonly<{ clock: Clock; logger: Logger; store: ClockSource }>) {
  const stopping = new AbortController()
  /** By how much the other clocks are ahead of this machine's, as last seen, in milliseconds. */
  const skewsMs = new Map<OtherClock, number>()
  /** `differenceMs`: by how much the other one is ahead; `undefined` when it did not say. */
  const recordSkew = (other: OtherClock, skewMs: number | undefined): void => {
    if (skewMs === undefined) return
    const wasSkewed = isClockSkewed(skewsMs.get(other) ?? 0)
    skewsMs.set(other, skewMs)
    const isSkewed = isClockSkewed(skewMs)
    if (isSkewed === wasSkewed) return
    const fields = { other, differenceSeconds: Math.round(skewMs / SECOND_MS) }
    if (isSkewed)
      logger.warn(
        fields,
        `the clocks of this machine and of the ${other} differ by more than a minute; set the wrong one by NTP`,
      )
    else logger.info(fields, `the clocks of this machine and of the ${other} agree again`)
  }
  const pollDatabaseClock = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const skewMs = await readDatabaseClockSkewMs(store, clock).catch(() => undefined)
      // A file has no clock.
      if (skewMs === null) return
      recordSkew('database', skewMs)
      await clock.wait(READ_INTERVAL_MS, stopping.signal)
    }
  }
  void pollDatabaseClock()
  return {
    recordSkew,
    getSkewsMs: (): Readonly<Record<string, number>> => Object.fromEntries(skewsMs),
    stop: (): void => stopping.abort(),
  }
}

/** By how much the database's clock is ahead, in milliseconds; `null`: it has none, `undefined`: it said so too late. */
export async function readDatabaseClockSkewMs(
  store: ClockSource,
  clock: Clock,
): Promise<number | null | undefined> {
  const startedAtMs = clock.nowMs()
  const timeMs = await store.readDatabaseTime()
  const nowMs = clock.nowMs()
  if (timeMs === null) return null
  return Math.abs(nowMs - startedAtMs) > MAX_READ_MS ? undefined : timeMs - (startedAtMs + nowMs) / 2
}
