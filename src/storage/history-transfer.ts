import type { Transaction } from 'kysely'
import type { Clock } from '../clock.ts'
import { execute } from '../database/dialect.ts'
import { type PriceChange, listObservedDays, toSeriesKey } from '../offers/price-history.ts'
import { type PriceRun, clipRun, replaceRuns, toRuns } from '../offers/price-runs.ts'
import { compareTexts } from '../offers/ranking.ts'
import type { CopyConnection } from './copy-database.ts'
import type { DayPeriod } from './counts.ts'
import type { CopyTables } from './schema.ts'
import { createCopyReader, getOrCreateCopy } from './copies.ts'
import { refreshFalls } from './observed-deals.ts'
import {
  type HistoryRules,
  type ProductHistory,
  putHistories,
  readHistories,
  readWalkedDays,
  recordObservedDays,
  toKeptPeriod,
} from './price-history.ts'

/** A run of days of one merchant's price of a product. */
export type HistoryRun = PriceRun & Readonly<{ gtin: string; merchantKey: string; currency: string }>

/** The runs of some products, sorted by GTIN, series and day. Continue after `untilGtin`; `null`: there are no more. */
export type HistoryPage = Readonly<{ runs: readonly HistoryRun[]; untilGtin: string | null }>

/**
 * What became of runs: `imported` ones were stored, at least in part. `old` ones are older than the kept days. `observed` ones are
 * not older than the first own observation of their series, which stays.
 */
export type ImportedRuns = Readonly<{ imported: number; old: number; observed: number }>

/** Export and import of observed prices. */
export type HistoryTransfer = Readonly<{
  /** List the ids of all channels that the copy has data of, sorted. */
  listCopiedChannels(): Promise<readonly string[]>
  /** Read the kept runs of the next products after a GTIN, all in one snapshot. Start with `''`. */
  readHistoryPage(channelId: string, afterGtin: string): Promise<HistoryPage>
  /**
   * Store runs as imported, in one transaction. They replace what was imported for the same days. Runs of one series must not
   * overlap, and must not be in the future.
   */
  importRuns(channelId: string, runs: readonly HistoryRun[]): Promise<ImportedRuns>
}>

/** Products of one page of an export. */
const PAGE_PRODUCTS = 100

export function createHistoryTransfer(
  connection: CopyConnection,
  catalog: string,
  { clock, history }: Readonly<{ clock: Clock; history: HistoryRules }>,
): HistoryTransfer {
  return {
    async listCopiedChannels() {
      const text = 'select channel_id from copies where catalog = ?'
      const rows = await connection.read(({ reader }) =>
        execute<{ channel_id: string }>(reader, text, [catalog]),
      )
      return rows.map((row) => row.channel_id).sort(compareTexts)
    },
    readHistoryPage: (channelId, afterGtin) =>
      connection.read(({ reader }) =>
        createCopyReader(reader, catalog, clock)<HistoryPage>(
          channelId,
          { runs: [], untilGtin: null },
          (snapshot, { id, nowMs }) => readPage(snapshot, id, { afterGtin, ...toKeptPeriod(history, nowMs) }),
        ),
      ),
    importRuns: (channelId, runs) =>
      connection.transact(async (transaction) => {
        const { id } = await getOrCreateCopy(transaction, catalog, channelId)
        return storeRuns(transaction, id, { runs, period: toKeptPeriod(history, clock.nowMs()) })
      }),
  }
}

async function readPage(
  snapshot: Transaction<CopyTables>,
  copyId: number,
  { afterGtin, ...period }: DayPeriod & Readonly<{ afterGtin: string }>,
): Promise<HistoryPage> {
  const text = 'select gtin from price_histories where copy_id = ? and gtin > ? order by gtin limit ?'
  const rows = await execute<{ gtin: string }>(snapshot, text, [copyId, afterGtin, PAGE_PRODUCTS])
  const gtins = rows.map(({ gtin }) => gtin)
  const histories = await readHistories(snapshot, copyId, gtins)
  const walkedDays = await readWalkedDays(snapshot, copyId, period)
  const runs: HistoryRun[] = []
  for (const gtin of gtins) {
    const productDays = walkedDays.list(gtin)
    const allSeries = [...(histories.get(gtin) ?? [])].sort(([a], [b]) => compareTexts(a, b))
    for (const [, { merchantKey, currency, changes }] of allSeries)
      for (const run of toRuns(listObservedDays(changes, productDays))) {
        const kept = clipRun(run, period.fromDay, period.untilDay)
        if (kept !== undefined) runs.push({ gtin, merchantKey, currency, ...kept })
      }
  }
  return { runs, untilGtin: gtins.at(-1) ?? null }
}

async function storeRuns(
  transaction: Transaction<CopyTables>,
  copyId: number,
  { runs, period }: Readonly<{ runs: readonly HistoryRun[]; period: DayPeriod }>,
): Promise<ImportedRuns> {
  const allSeries = groupBySeries(runs)
  const histories = await readHistories(transaction, copyId, [...new Set(runs.map(({ gtin }) => gtin))])
  const counts = { imported: 0, old: 0, observed: 0 }
  const stored = new Map<string, ProductHistory>()
  const days = new Set<number>()
  for (const { gtin, merchantKey, currency, runs: seriesRuns } of allSeries) {
    const history = stored.get(gtin) ?? histories.get(gtin) ?? new Map<string, never>()
    const key = toSeriesKey({ merchantKey, currency })
    const changes = history.get(key)?.changes ?? []
    const plan = planSeries(changes, seriesRuns, period)
    counts.old += plan.old
    counts.imported += plan.taken.length
    counts.observed += seriesRuns.length - plan.old - plan.taken.length
    if (plan.changes !== null)
      stored.set(gtin, new Map([...history, [key, { merchantKey, currency, changes: plan.changes }]]))
    for (const { day: fromDay, untilDay } of plan.taken)
      for (let day = fromDay; day <= untilDay; day += 1) days.add(day)
  }
  await putHistories(transaction, copyId, stored)
  await recordNewDays(transaction, copyId, days)
  await refreshFalls(transaction, copyId, { gtins: [...stored.keys()], ...period })
  return counts
}

type SeriesRuns = Pick<HistoryRun, 'gtin' | 'merchantKey' | 'currency'> & Readonly<{ runs: HistoryRun[] }>

function groupBySeries(runs: readonly HistoryRun[]): readonly SeriesRuns[] {
  const allSeries = new Map<string, SeriesRuns>()
  for (const run of runs) {
    const { gtin, merchantKey, currency } = run
    const key = `${gtin} ${toSeriesKey(run)}`
    const series = allSeries.get(key)
    if (series === undefined) allSeries.set(key, { gtin, merchantKey, currency, runs: [run] })
    else series.runs.push(run)
  }
  return [...allSeries.values()]
}

/** `taken`: the parts of the runs that are imported; `changes`: those of the series with them, `null` when they are the same as before. */
type SeriesPlan = Readonly<{
  old: number
  taken: readonly PriceRun[]
  changes: readonly PriceChange[] | null
}>

function planSeries(
  changes: readonly PriceChange[],
  runs: readonly HistoryRun[],
  { fromDay, untilDay }: DayPeriod,
): SeriesPlan {
  const firstOwnDay = changes.find((change) => change.untilDay === null)?.day ?? Infinity
  const lastDay = Math.min(untilDay, firstOwnDay - 1)
  const kept = runs.filter((run) => run.untilDay >= fromDay)
  const taken = kept.flatMap((run) => clipRun(run, fromDay, lastDay) ?? []).sort((a, b) => a.day - b.day)
  const imported = changes.flatMap((change) => toImportedRun(change) ?? [])
  const existing = imported.flatMap((run) => clipRun(run, run.day, lastDay) ?? [])
  const result = taken.length === 0 ? imported : replaceRuns(existing, taken)
  const own = changes.filter((change) => toImportedRun(change) === undefined)
  return {
    old: runs.length - kept.length,
    taken,
    changes: areSameRuns(imported, result) ? null : [...result, ...own].sort((a, b) => a.day - b.day),
  }
}

function toImportedRun({ day, untilDay, low, last }: PriceChange): PriceRun | undefined {
  return untilDay === null || low === null ? undefined : { day, untilDay, low, last, isImported: true }
}

function areSameRuns(before: readonly PriceRun[], after: readonly PriceRun[]): boolean {
  return before.length === after.length && before.every((run, index) => isSameRun(run, after[index]))
}

function isSameRun(a: PriceRun, b: PriceRun | undefined): boolean {
  return a.day === b?.day && a.untilDay === b.untilDay && a.low === b.low && a.last === b.last
}

/** Record imported days that have no observation yet. */
async function recordNewDays(
  transaction: Transaction<CopyTables>,
  copyId: number,
  days: ReadonlySet<number>,
): Promise<void> {
  const text = 'select distinct day from observed_days where copy_id = ?'
  const known = new Set((await execute<{ day: number }>(transaction, text, [copyId])).map(({ day }) => day))
  const newDays = [...days].filter((day) => !known.has(day))
  await recordObservedDays(transaction, copyId, { days: newDays, isImported: true })
}
