import { isClockWrong, readDatabaseDifference } from '../observability/clock-watch.ts'
import { type Clock, SECOND_MS } from '../clock.ts'
import type { CopyStore } from '../storage/store.ts'
import { type Finding, bad, good } from './findings.ts'

/** What is compared. `catalogAheadMs`: by how much the catalog's clock is ahead of this machine's; `undefined`: it did not say. */
type JudgedClocks = Readonly<{
  clock: Clock
  store: Pick<CopyStore, 'readTime'> | undefined
  catalogAheadMs: number | undefined
}>

/** Compare the clocks of this machine, the catalog and a database server. No finding where none tells its time. */
export async function judgeClocks({
  clock,
  store,
  catalogAheadMs,
}: JudgedClocks): Promise<readonly Finding[]> {
  const databaseAheadMs = store && (await readDatabaseDifference(store, clock).catch(() => null))
  const others = [
    { name: 'the catalog', aheadMs: catalogAheadMs },
    { name: 'the database', aheadMs: databaseAheadMs ?? undefined },
  ].flatMap(({ name, aheadMs }) => (aheadMs === undefined ? [] : [{ name, aheadMs }]))
  if (others.length === 0) return []
  const wrong = others.filter(({ aheadMs }) => isClockWrong(aheadMs))
  const subject = 'clock'
  if (wrong.length === 0) {
    const names = others.map(({ name }) => name).join(' and ')
    return [good(subject, `it agrees with that of ${names} within a minute`)]
  }
  const found = wrong
    .map(({ name, aheadMs }) => `that of ${name} is ${describeDifference(aheadMs)} that of this machine`)
    .join(', ')
  return [bad(subject, found, findCure(others))]
}

type Other = Readonly<{ name: string; aheadMs: number }>

/** Where two others agree with each other and not with this machine, its clock is the wrong one. */
function findCure(others: readonly Other[]): string {
  const [first, second] = others
  const wrong = others.filter(({ aheadMs }) => isClockWrong(aheadMs))
  if (first !== undefined && second !== undefined) {
    const doAgree = !isClockWrong(first.aheadMs - second.aheadMs)
    if (doAgree) return 'The clock of this machine is wrong: set it by NTP (timedatectl set-ntp true).'
    if (wrong.length === 1 && wrong[0] === second)
      return 'The clock of the database is wrong: set it by NTP on its machine.'
  }
  return 'Compare "date -u" on each of them, and set the wrong one by NTP. A cache before the catalog that sends no Age makes its clock look late, too.'
}

function describeDifference(aheadMs: number): string {
  const seconds = Math.round(Math.abs(aheadMs) / SECOND_MS).toLocaleString('en')
  return aheadMs > 0 ? `${seconds} s ahead of` : `${seconds} s behind`
}
