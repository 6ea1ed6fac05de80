import { type Kysely, type Transaction, sql } from 'kysely'
import { DAY_SECONDS } from '../clock.ts'
import { execute, getJsonFunctions, inList, insertRows } from '../database/dialect.ts'
import {
  type MerchantPrices,
  type PriceChange,
  type PriceSeries,
  type Sighting,
  computeChange,
  listObservedDays,
  parseSeriesKey,
  toDay,
} from '../offers/price-history.ts'
import { findDueDay } from '../offers/price-pruning.ts'
import type { DayPeriod } from './counts.ts'
import type { CopyTables, ObservedDaysTable, PriceHistoriesTable } from './schema.ts'
import type { ObservedDayCounts } from './store.ts'

/** Days of observed prices that are kept, 0 for none, and the maximum age of a price that counts as seen. */
export type HistoryRules = Readonly<{ keptDays: number; priceMaxAgeSeconds: number }>

/** Nothing is observed. */
export const NO_HISTORY: HistoryRules = { keptDays: 0, priceMaxAgeSeconds: DAY_SECONDS }

/** The stored changes of a product by series key, each sorted by day. */
export type ProductHistory = ReadonlyMap<string, StoredSeries>
type StoredSeries = Omit<PriceSeries, 'days'> & Readonly<{ changes: readonly PriceChange[] }>

/** By GTIN. */
export type Histories = ReadonlyMap<string, ProductHistory>

/** The changes of a product by series key, sorted by day. By default `last` is `low`, and `untilDay` is `null`. */
type ChangesJson = Readonly<Record<string, readonly ChangeJson[]>>
type ChangeJson = readonly [day: number, low: number | null, last?: number | null, untilDay?: number | null]

function parseHistory(text: string): ProductHistory {
  const series = Object.entries(JSON.parse(text) as ChangesJson).map(([key, changes]) => {
    const stored = changes.map(([day, low, last = low, untilDay = null]) => ({ day, untilDay, low, last }))
    return [key, { ...parseSeriesKey(key), changes: stored }] as const
  })
  return new Map(series)
}

function toHistoryRow(copyId: number, gtin: string, history: ProductHistory): PriceHistoriesTable {
  const series = [...history].map(([key, { changes }]) => {
    return [key, changes.map(toChangeJson)] as const
  })
  const dueDay = Math.min(...[...history.values()].map(({ changes }) => findDueDay(changes)))
  return {
    copy_id: copyId,
    gtin,
    due_day: Number.isFinite(dueDay) ? dueDay : null,
    last_day: Math.max(...[...history.values()].map(({ changes }) => changes.at(-1)?.day ?? 0)),
    changes: JSON.stringify(Object.fromEntries(series)),
  }
}

function toChangeJson({ day, untilDay, low, last }: PriceChange): ChangeJson {
  if (untilDay !== null) return [day, low, last, untilDay]
  return last === low ? [day, low] : [day, low, last]
}

/** Read the histories of products. */
export async function readHistories(
  database: Kysely<CopyTables>,
  copyId: number,
  gtins: readonly string[],
): Promise<Histories> {
  if (gtins.length === 0) return new Map()
  const { rows } = await sql<Pick<PriceHistoriesTable, 'gtin' | 'changes'>>`
    select gtin, changes from price_histories
    where copy_id = ${copyId} and ${inList(database, 'gtin', gtins)}`.execute(database)
  return new Map(rows.map(({ gtin, changes }) => [gtin, parseHistory(changes)]))
}

/** Store histories of products, in place of those that are stored; one without changes is deleted. */
export async function putHistories(
  transaction: Transaction<CopyTables>,
  copyId: number,
  histories: Histories,
): Promise<void> {
  const rows: PriceHistoriesTable[] = []
  const emptyGtins: string[] = []
  for (const [gtin, history] of histories) {
    const kept = new Map([...history].filter(([, { changes }]) => changes.length > 0))
    if (kept.size === 0) emptyGtins.push(gtin)
    else rows.push(toHistoryRow(copyId, gtin, kept))
  }
  await insertRows(transaction, 'price_histories', rows, { keys: ['copy_id', 'gtin'] })
  if (emptyGtins.length > 0)
    await sql`delete from price_histories
      where copy_id = ${copyId} and ${inList(transaction, 'gtin', emptyGtins)}`.execute(transaction)
}

/** The prices of a product at one time; empty when no shop sells it. */
export type ProductSighting = Readonly<{ gtin: string; prices: MerchantPrices; sighting: Sighting }>

/** The histories of products after their prices were recorded, and the GTINs of those that already had one, which changed. */
export type RecordedHistories = Readonly<{ histories: Histories; changedGtins: ReadonlySet<string> }>

/**
 * Store the changes of prices, in the transaction that stores the prices. The sightings are newer than the stored prices, so later
 * changes come from a wrong clock and are deleted.
 */
export async function recordSightings(
  transaction: Transaction<CopyTables>,
  copyId: number,
  sightings: readonly ProductSighting[],
): Promise<RecordedHistories> {
  const before = await readHistories(
    transaction,
    copyId,
    sightings.map(({ gtin }) => gtin),
  )
  const after = new Map(before)
  const stored = new Map<string, ProductHistory>()
  const changedGtins = new Set<string>()
  for (const { gtin, prices, sighting } of sightings) {
    const former = before.get(gtin)
    const { history, hasNewChange } = addSighting(former, prices, sighting)
    after.set(gtin, history)
    if (hasNewChange && former !== undefined) changedGtins.add(gtin)
    if (hasNewChange || hasLaterChanges(former, sighting.day)) stored.set(gtin, history)
  }
  await putHistories(transaction, copyId, stored)
  return { histories: after, changedGtins }
}

/** Return the history of a product without changes after the sighting, and with the prices that are seen. */
function addSighting(
  former: ProductHistory | undefined,
  prices: MerchantPrices,
  sighting: Sighting,
): Readonly<{ history: ProductHistory; hasNewChange: boolean }> {
  const history = removeLaterChanges(former, sighting.day)
  let hasNewChange = false
  for (const [key, { merchantKey, currency }] of new Map<string, Omit<PriceSeries, 'days'>>([
    ...history,
    ...prices,
  ])) {
    const changes = history.get(key)?.changes ?? []
    const change = computeChange(changes.at(-1), prices.get(key)?.price, sighting)
    if (change === undefined) continue
    hasNewChange = true
    const kept = changes.filter(({ day }) => day !== change.day)
    history.set(key, { merchantKey, currency, changes: [...kept, change] })
  }
  return { history, hasNewChange }
}

function hasLaterChanges(history: ProductHistory | undefined, day: number): boolean {
  return [...(history?.values() ?? [])].some(({ changes }) => (changes.at(-1)?.day ?? 0) > day)
}

/** Return a copy of a history without the changes after a day. */
function removeLaterChanges(history: ProductHistory | undefined, day: number): Map<string, StoredSeries> {
  const series = [...(history ?? [])]
  if (!hasLaterChanges(history, day)) return new Map(series)
  return new Map(
    series.map(([key, one]) => [key, { ...one, changes: one.changes.filter((change) => change.day <= day) }]),
  )
}

/** A range of GTINs that a walk saw on a day. */
type WalkedRange = Pick<ObservedDaysTable, 'day' | 'after_gtin' | 'until_gtin'>

/** Products with GTINs above `afterGtin`, up to `untilGtin`. */
export type GtinRange = Readonly<{ afterGtin: string; untilGtin: string }>

/** Sorts after every GTIN. */
const END_OF_GTINS = ':'

const ALL_GTINS: GtinRange = { afterGtin: '', untilGtin: END_OF_GTINS }

/**
 * Which products walks saw on which days. `lastWholeDay`: the last day on which one walk saw the whole range of GTINs; `undefined`:
 * never in the period.
 */
export type WalkedDays = Readonly<{
  has(gtin: string, day: number): boolean
  list(gtin: string): readonly number[]
  lastWholeDay: number | undefined
}>

/** JSON texts for all rows, because reading the values of each row costs more than finding the rows. */
type WalkedJson = Readonly<{ whole: string | null; part: string | null }>

/** Read the walked days of a period, of the products in a range. */
export async function readWalkedDays(
  database: Kysely<CopyTables>,
  copyId: number,
  { fromDay, untilDay }: DayPeriod,
  { afterGtin, untilGtin }: GtinRange = ALL_GTINS,
): Promise<WalkedDays> {
  const { groupArray, array } = getJsonFunctions(database)
  const isWhole = 'after_gtin <= ? and until_gtin >= ?'
  const text = `select cast(${groupArray}(day) filter (where ${isWhole}) as text) as whole,
    cast(${groupArray}(${array}(day, after_gtin, until_gtin)) filter (where not (${isWhole})) as text) as part
    from observed_days
    where copy_id = ? and day >= ? and day <= ? and after_gtin < until_gtin and after_gtin < ? and until_gtin > ?`
  const range = [afterGtin, untilGtin]
  const values = [...range, ...range, copyId, fromDay, untilDay, untilGtin, afterGtin]
  const [row] = await execute<WalkedJson>(database, text, values)
  return toWalkedDays(row)
}

function toWalkedDays(row: WalkedJson | undefined): WalkedDays {
  const wholeDays = new Set((JSON.parse(row?.whole ?? '[]') as number[]).sort((a, b) => a - b))
  const parts = JSON.parse(row?.part ?? '[]') as [number, string, string][]
  const sortedWholeDays = [...wholeDays]
  const listParts = (gtin: string): readonly number[] =>
    parts.flatMap(([day, after, until]) => (after < gtin && gtin <= until ? day : []))
  return {
    has: (gtin, day) => wholeDays.has(day) || listParts(gtin).includes(day),
    list(gtin) {
      const partDays = listParts(gtin)
      if (partDays.length === 0) return sortedWholeDays
      return [...new Set([...sortedWholeDays, ...partDays])].sort((a, b) => a - b)
    },
    lastWholeDay: sortedWholeDays.at(-1),
  }
}

/**
 * Record that a walk has seen the products of a range: extend the range of the page before it, or add one. Days after the next one
 * come from a wrong clock; at midnight, a page can be older than the one before it.
 */
export async function recordWalkedRange(
  transaction: Transaction<CopyTables>,
  copyId: number,
  { day, after_gtin: after, until_gtin: until }: WalkedRange,
): Promise<void> {
  await execute(transaction, 'delete from observed_days where copy_id = ? and day > ?', [copyId, day + 1])
  const extend = `update observed_days set until_gtin = ?, is_imported = 0
    where copy_id = ? and day = ? and after_gtin <= ? and until_gtin >= ? and until_gtin < ?`
  await execute(transaction, extend, [until, copyId, day, after, after, until])
  const add = `insert into observed_days (copy_id, day, after_gtin, until_gtin, is_imported)
    select cast(? as bigint), cast(? as integer), ?, ?, 0 where not exists (select 1 from observed_days
      where copy_id = ? and day = ? and after_gtin <= ? and until_gtin >= ?)`
  await execute(transaction, add, [copyId, day, after, until, copyId, day, after, until])
}

/** Forget on which days there was an observation. */
export async function deleteObservedDays(
  transaction: Transaction<CopyTables>,
  copyId: number,
): Promise<void> {
  await execute(transaction, 'delete from observed_days where copy_id = ?', [copyId])
}

/** Record that there was an observation on some days, without saying of which products. */
export async function recordObservedDays(
  transaction: Transaction<CopyTables>,
  copyId: number,
  { days, isImported }: Readonly<{ days: readonly number[]; isImported: boolean }>,
): Promise<void> {
  const add = `insert into observed_days (copy_id, day, after_gtin, until_gtin, is_imported)
    select cast(? as bigint), cast(? as integer), '', '', ? where not exists (select 1 from observed_days
      where copy_id = ? and day = ?)`
  for (const day of days) await execute(transaction, add, [copyId, day, Number(isImported), copyId, day])
}

/** Read the series of a product, without days before `fromDay` or after `untilDay`. */
export async function readPriceSeries(
  database: Kysely<CopyTables>,
  copyId: number,
  { gtin, ...period }: DayPeriod & Readonly<{ gtin: string }>,
): Promise<readonly PriceSeries[]> {
  if (period.fromDay > period.untilDay) return []
  const histories = await readHistories(database, copyId, [gtin])
  const history = histories.get(gtin)
  if (history === undefined) return []
  const walkedDays = (await readWalkedDays(database, copyId, period)).list(gtin)
  return [...history.values()].flatMap(({ merchantKey, currency, changes }) => {
    const observed = listObservedDays(changes, walkedDays)
    const days = observed.filter(({ day }) => day >= period.fromDay && day <= period.untilDay)
    return days.length === 0 ? [] : { merchantKey, currency, days }
  })
}

/** The kept days until today. */
export function toKeptPeriod({ keptDays }: HistoryRules, nowMs: number): DayPeriod {
  const untilDay = toDay(nowMs)
  return { fromDay: untilDay - keptDays + 1, untilDay }
}

/** Count the days with an observation, also those of look-ups and imports. */
export async function countObservedDays(
  database: Kysely<CopyTables>,
  copyId: number,
  { fromDay, untilDay }: DayPeriod,
): Promise<ObservedDayCounts> {
  const { rows } = await sql<{ all_days: number | string; own_days: number | string }>`
    select count(distinct day) as all_days, count(distinct case when is_imported = 0 then day end) as own_days
    from observed_days where copy_id = ${copyId} and day >= ${fromDay} and day <= ${untilDay}`.execute(
    database,
  )
  const all = Number(rows[0]?.all_days ?? 0)
  return { all, imported: all - Number(rows[0]?.own_days ?? 0) }
}
