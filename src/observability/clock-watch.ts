import { type Clock, MINUTE_MS, SECOND_MS, isFuture } from '../clock.ts'
import type { Logger } from './logger.ts'

/** Whose clock this machine's is compared with. */
type OtherClock = 'catalog' | 'database'

/** `readTime`: Unix milliseconds, or `null` for a file, which has no clock. */
type Database = Readonly<{ readTime(): Promise<number | null> }>

/** How often a database server is asked for its time. */
const READ_EVERY_MS: number = 5 * MINUTE_MS

/** An answer that took longer tells the time too badly. */
const LONGEST_READ_MS: number = 10 * SECOND_MS

/** Do the clocks differ by more than a minute? */
export function isClockWrong(differenceMs: number): boolean {
  return isFuture(Math.abs(differenceMs), 0)
}

/** Compares clocks: data are dated by them, and one that is wrong makes them look old, or of the future. */
export type ClockWatch = ReturnType<typeof createClockWatch>

/** Start to compare; the log has one line when a difference begins, and one when it ends. */
export function createClockWatch({
  clock,
  logger,
  store,
}: Readonly<{ clock: Clock; logger: Logger; store: Database }>) {
  const stopping = new AbortController()
  /** By how much the other clocks are ahead of this machine's, as last seen, in milliseconds. */
  const differences = new Map<OtherClock, number>()
  /** `differenceMs`: by how much the other one is ahead; `undefined` when it did not say. */
  const note = (other: OtherClock, differenceMs: number | undefined): void => {
    if (differenceMs === undefined) return
    const wasWrong = isClockWrong(differences.get(other) ?? 0)
    differences.set(other, differenceMs)
    const isWrong = isClockWrong(differenceMs)
    if (isWrong === wasWrong) return
    const fields = { other, differenceSeconds: Math.round(differenceMs / SECOND_MS) }
    if (isWrong)
      logger.warn(
        fields,
        `the clocks of this machine and of the ${other} differ by more than a minute; set the wrong one by NTP`,
      )
    else logger.info(fields, `the clocks of this machine and of the ${other} agree again`)
  }
  const readAgainAndAgain = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const differenceMs = await readDatabaseDifference(store, clock).catch(() => undefined)
      // A file has no clock.
      if (differenceMs === null) return
      note('database', differenceMs)
      await clock.wait(READ_EVERY_MS, stopping.signal)
    }
  }
  void readAgainAndAgain()
  return {
    note,
    differences: (): Readonly<Record<string, number>> => Object.fromEntries(differences),
    stop: (): void => stopping.abort(),
  }
}

/** By how much the database's clock is ahead, in milliseconds; `null`: it has none, `undefined`: it said so too late. */
export async function readDatabaseDifference(
  store: Database,
  clock: Clock,
): Promise<number | null | undefined> {
  const askedAtMs = clock.nowMs()
  const timeMs = await store.readTime()
  const nowMs = clock.nowMs()
  if (timeMs === null) return null
  return Math.abs(nowMs - askedAtMs) > LONGEST_READ_MS ? undefined : timeMs - (askedAtMs + nowMs) / 2
}
