import { type Clock, MINUTE_MS, SECOND_MS, isFuture } from '../clock.ts'
import type { Logger } from './logger.ts'

/** The clocks that are compared with the clock of this machine. */
type OtherClock = 'catalog' | 'database'

/** `readDatabaseTime` resolves to Unix milliseconds, or to `null` for a SQLite file, which has no clock. */
type ClockSource = Readonly<{ readDatabaseTime(): Promise<number | null> }>

const READ_INTERVAL_MS: number = 5 * MINUTE_MS

/** A response that takes longer is too imprecise. */
const MAX_READ_MS: number = 10 * SECOND_MS

/** Whether the clocks differ by more than a minute. */
export function isClockSkewed(skewMs: number): boolean {
  return isFuture(Math.abs(skewMs), 0)
}

/** Compares clocks, because data with dates of a wrong clock seem to be old or from the future. */
export type ClockMonitor = ReturnType<typeof createClockMonitor>

/** Create a monitor that logs when a difference begins and when it ends. */
export function createClockMonitor({
  clock,
  logger,
  store,
}: Readonly<{ clock: Clock; logger: Logger; store: ClockSource }>) {
  const stopping = new AbortController()
  /** Latest known lead of the other clocks over this machine, in milliseconds. */
  const skewsMs = new Map<OtherClock, number>()
  /** `skewMs`: lead of the other clock; `undefined`: unknown. */
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
        `clock of the ${other} differs from this machine by more than a minute; synchronize both with NTP`,
      )
    else logger.info(fields, `clock of the ${other} agrees with this machine again`)
  }
  const pollDatabaseClock = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const skewMs = await readDatabaseClockSkewMs(store, clock).catch(() => undefined)
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

/** Return the lead of the database clock in milliseconds; `null`: it has no clock, `undefined`: the response came too late. */
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
