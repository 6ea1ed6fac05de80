import { type Kysely, type Transaction, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { type Clock, MINUTE_MS } from '../clock.ts'
import { createRowSource, createTextSource, execute } from '../database/dialect.ts'
import { toDay } from '../offers/price-history.ts'
import { compareTexts } from '../offers/ranking.ts'
import type { CopyConnection } from './copy-database.ts'
import { type ClickCount, type Counts, type WidgetCount, WIDGET_STATES, sumStates } from './counts.ts'
import type { ClickCountsTable, CopyTables, CountDaysTable, WidgetCountsTable } from './schema.ts'

/** Days of counts that are kept. */
export const KEPT_COUNT_DAYS = 100

/**
 * Bounds of a channel on one day: its sub-ids, and the rows with a sub-id in each table. Counts beyond lose their sub-id. New
 * sub-ids, which no box had on an earlier day, have a share only, and half of it until they are confirmed (`SubSightings`):
 * invented ones must not displace those of the pages.
 */
export type CountBounds = Readonly<Record<'maxSubs' | 'maxSubRows' | 'maxNewSubs' | 'maxNewSubRows', number>>

const COUNT_BOUNDS: CountBounds = {
  maxSubs: 10_000,
  maxSubRows: 100_000,
  maxNewSubs: 2_000,
  maxNewSubRows: 20_000,
}

/** Part of the share of new sub-ids that those have which are not confirmed. */
const UNCONFIRMED_PART = 0.5

/** Rows of each table that are deleted together: SQLite delays visitors meanwhile. */
const PRUNED_ROWS = 500

type CountTable = Readonly<{
  name: 'widget_counts' | 'click_counts'
  keys: readonly string[]
  sums: readonly string[]
}>

const WIDGETS: CountTable = {
  name: 'widget_counts',
  keys: ['copy_id', 'day', 'sub', 'gtin'],
  sums: WIDGET_STATES,
}
const CLICKS: CountTable = {
  name: 'click_counts',
  keys: ['copy_id', 'day', 'sub', 'gtin', 'merchant'],
  sums: ['clicks'],
}

type CountRow = WidgetCountsTable | ClickCountsTable

/** Create the function that adds counts to the copies of a catalog (`CountStore.addCounts`). `bounds` is for tests. */
export function createCountWriter(
  connection: CopyConnection,
  catalog: string,
  { clock, bounds = COUNT_BOUNDS }: Readonly<{ clock: Clock; bounds?: CountBounds }>,
): (counts: Counts) => Promise<number> {
  const prune = createPruning(connection, clock)
  const sightings = createSubSightings(clock)
  return async (counts) => {
    await prune()
    // One transaction, so that a failed one adds nothing. Only a commit whose confirmation is lost is counted twice.
    const work = async (transaction: Transaction<CopyTables>): Promise<number> => {
      let movedCount = 0
      for (const day of groupByDay(counts))
        movedCount += await addDay(transaction, catalog, { day, bounds, sightings })
      return movedCount
    }
    return connection.transact(work, 'read committed')
  }
}

type AdmissionRules = Readonly<{ bounds: CountBounds; sightings: SubSightings }>

/** The counts of a channel on one day. */
type DayCounts = Readonly<{ channelId: string; day: number; widgets: WidgetCount[]; clicks: ClickCount[] }>

/** Sorted, because each day is locked: transactions must not wait for each other. */
function groupByDay({ widgets, clicks }: Counts): readonly DayCounts[] {
  const days = new Map<string, DayCounts>()
  const getDay = ({ channelId, day }: WidgetCount | ClickCount): DayCounts => {
    const key = `${channelId} ${day}`
    const found = days.get(key) ?? { channelId, day, widgets: [], clicks: [] }
    days.set(key, found)
    return found
  }
  for (const count of widgets) getDay(count).widgets.push(count)
  for (const count of clicks) getDay(count).clicks.push(count)
  return [...days].sort(([a], [b]) => compareTexts(a, b)).map(([, day]) => day)
}

/** Add the counts of one day. Return how many lost their sub-id. */
async function addDay(
  transaction: Transaction<CopyTables>,
  catalog: string,
  { day: { channelId, day, widgets, clicks }, ...rules }: Readonly<{ day: DayCounts }> & AdmissionRules,
): Promise<number> {
  const statement = 'select id from copies where catalog = ? and channel_id = ?'
  const [copy] = await execute<{ id: number }>(transaction, statement, [catalog, channelId])
  if (copy === undefined) return 0
  const isKnown = await createKnownCheck(
    transaction,
    copy.id,
    [...widgets, ...clicks].map(({ gtin }) => gtin),
  )
  const key = { copy_id: copy.id, day }
  const widgetRows = widgets.filter(isKnown).map((count) => toWidgetRow(key, count))
  const clickRows = clicks.filter(isKnown).map((count) => toClickRow(key, count))
  if (widgetRows.length + clickRows.length === 0) return 0
  const totals = await lockDay(transaction, key)
  const admission = await openAdmission(transaction, {
    rows: [...widgetRows, ...clickRows],
    totals,
    ...rules,
  })
  const movedWidgets = await addRows(transaction, WIDGETS, { rows: widgetRows, admission })
  const movedClicks = await addRows(transaction, CLICKS, { rows: clickRows, admission })
  await saveTotals(transaction, admission.totals)
  return movedWidgets + movedClicks
}

type DayKey = Readonly<{ copy_id: number; day: number }>

function toWidgetRow(key: DayKey, { sub, gtin, shown, hidden, unavailable }: WidgetCount): WidgetCountsTable {
  return { copy_id: key.copy_id, day: key.day, sub, gtin, shown, hidden, unavailable }
}

function toClickRow(key: DayKey, { sub, gtin, merchant, clicks }: ClickCount): ClickCountsTable {
  return { copy_id: key.copy_id, day: key.day, sub, gtin, merchant, clicks }
}

/** Requests with invented GTINs must not create rows. A product that has vanished is still counted. */
async function createKnownCheck(
  transaction: Transaction<CopyTables>,
  copyId: number,
  gtins: readonly string[],
): Promise<(count: Readonly<{ gtin: string }>) => boolean> {
  const { rows } = await selectKnownGtins(transaction, copyId, [...new Set(gtins)]).execute(transaction)
  const known = new Set(rows.map(({ gtin }) => gtin))
  return ({ gtin }) => known.has(gtin)
}

/**
 * Select the GTINs that have a product or a count. Each needs two index look-ups: a product may have a million counts. For
 * `exists`, PostgreSQL may choose to scan the table when most rows have one GTIN; for the next value of an index, never.
 */
export function selectKnownGtins(database: Kysely<CopyTables>, copyId: number, gtins: readonly string[]) {
  return sql<{ gtin: string }>`select given.value as gtin from ${createTextSource(database, 'given', gtins)}
    where exists (select 1 from products where copy_id = ${copyId} and gtin = given.value)
      or given.value = (select min(gtin) from widget_counts where copy_id = ${copyId} and gtin >= given.value)`
}

/** Lock the day of a channel, so that several processes respect its bounds together. SQLite has only one writer. */
async function lockDay(transaction: Transaction<CopyTables>, { copy_id: copyId, day }: DayKey) {
  const statement = `insert into count_days (copy_id, day, subs, widget_rows, click_rows) values (?, ?, 0, 0, 0)
    on conflict (copy_id, day) do update set subs = count_days.subs returning *`
  const [row] = await execute<CountDaysTable>(transaction, statement, [copyId, day])
  return row as CountDaysTable
}

const TOTALS = [
  'subs',
  'widget_rows',
  'click_rows',
  'new_subs',
  'new_widget_rows',
  'new_click_rows',
] as const satisfies readonly (keyof CountDaysTable)[]
type TotalColumn = (typeof TOTALS)[number]

async function saveTotals(transaction: Transaction<CopyTables>, totals: CountDaysTable): Promise<void> {
  const changes = TOTALS.map((column) => `${column} = ?`).join(', ')
  const statement = `update count_days set ${changes} where copy_id = ? and day = ?`
  const values = TOTALS.map((column) => totals[column])
  await execute(transaction, statement, [...values, totals.copy_id, totals.day])
}

/** Decides which new rows keep their sub-id, and counts them. */
type Admission = Readonly<{ admit(table: CountTable, row: CountRow): boolean; totals: CountDaysTable }>

async function openAdmission(
  transaction: Transaction<CopyTables>,
  details: Readonly<{ rows: readonly CountRow[]; totals: CountDaysTable }> & AdmissionRules,
): Promise<Admission> {
  const { bounds, sightings } = details
  const totals = { ...details.totals }
  const subs = new Set(details.rows.map(({ sub }) => sub))
  subs.delete('')
  const { rows } = await selectKnownSubs(transaction, totals, [...subs]).execute(transaction)
  const subsOfDay = new Set(rows.flatMap(({ sub, is_of_day: isOfDay }) => (isOfDay === 1 ? sub : [])))
  const earlierSubs = new Set(rows.flatMap(({ sub, is_earlier: isEarlier }) => (isEarlier === 1 ? sub : [])))
  const newSubs = [...subs].filter((sub) => !earlierSubs.has(sub))
  const unconfirmedSubs = new Set(newSubs.filter((sub) => !sightings.record(totals.copy_id, totals.day, sub)))
  return {
    totals,
    admit({ name }, { sub }) {
      const limits = listLimits(name, bounds).filter(
        ({ isOfNew, isOfSubs }) => !(isOfNew && earlierSubs.has(sub)) && !(isOfSubs && subsOfDay.has(sub)),
      )
      const part = unconfirmedSubs.has(sub) ? UNCONFIRMED_PART : 1
      if (limits.some(({ column, max, isOfNew }) => totals[column] >= max * (isOfNew ? part : 1)))
        return false
      for (const { column } of limits) totals[column] += 1
      subsOfDay.add(sub)
      return true
    },
  }
}

type Limit = Readonly<{ column: TotalColumn; max: number; isOfNew: boolean; isOfSubs: boolean }>

function listLimits(table: CountTable['name'], bounds: CountBounds): readonly Limit[] {
  const rows = table === 'widget_counts' ? 'widget_rows' : 'click_rows'
  return [
    { column: rows, max: bounds.maxSubRows, isOfNew: false, isOfSubs: false },
    { column: `new_${rows}`, max: bounds.maxNewSubRows, isOfNew: true, isOfSubs: false },
    { column: 'subs', max: bounds.maxSubs, isOfNew: false, isOfSubs: true },
    { column: 'new_subs', max: bounds.maxNewSubs, isOfNew: true, isOfSubs: true },
  ]
}

/** Select which sub-ids have a count on the day, and which had a box on an earlier one. Each needs three index look-ups. */
export function selectKnownSubs(
  database: Kysely<CopyTables>,
  { copy_id: copyId, day }: DayKey,
  subs: readonly string[],
) {
  const isOfDay = sql`copy_id = ${copyId} and day = ${day} and sub >= given.value`
  return sql<{ sub: string; is_of_day: number; is_earlier: number }>`select given.value as sub,
    case when given.value = (select min(sub) from widget_counts where ${isOfDay})
      or given.value = (select min(sub) from click_counts where ${isOfDay}) then 1 else 0 end as is_of_day,
    case when (given.value, ${day}) > (select sub, day from widget_counts
      where copy_id = ${copyId} and sub >= given.value order by sub, day limit 1) then 1 else 0 end as is_earlier
    from ${createTextSource(database, 'given', subs)}`
}

/** Add rows to a table. Return how many counts lost their sub-id. */
async function addRows(
  transaction: Transaction<CopyTables>,
  table: CountTable,
  { rows, admission }: Readonly<{ rows: readonly CountRow[]; admission: Admission }>,
): Promise<number> {
  if (rows.length === 0) return 0
  const existing = await findExisting(transaction, table, rows)
  let movedCount = 0
  const placed = rows.map((row) => {
    if (row.sub === '' || existing.has(toRowKey(row)) || admission.admit(table, row)) {
      existing.add(toRowKey(row))
      return row
    }
    movedCount += sumRow(row)
    return { ...row, sub: '' }
  })
  const { name, keys, sums } = table
  await execute(
    transaction,
    `insert into ${name} (${[...keys, ...sums].join(', ')})
      select ${[...keys, ...sums.map((sum) => `sum(${sum})`)].join(', ')}
      from ${createRowSource(transaction, name, [...keys, ...sums])} as given where true group by ${keys.join(', ')}
      on conflict (${keys.join(', ')}) do update set ${sums.map((sum) => `${sum} = ${name}.${sum} + excluded.${sum}`).join(', ')}`,
    [JSON.stringify(placed)],
  )
  return movedCount
}

function sumRow(row: CountRow): number {
  return 'clicks' in row ? row.clicks : sumStates(row)
}

async function findExisting(
  transaction: Transaction<CopyTables>,
  table: CountTable,
  rows: readonly CountRow[],
): Promise<Set<string>> {
  const { name, keys } = table
  const columns = keys.map((key) => `stored.${key}`).join(', ')
  const found = await execute<CountRow>(
    transaction,
    `select ${columns} from ${createRowSource(transaction, name, keys)} given join ${name} stored
      on ${keys.map((key) => `stored.${key} = given.${key}`).join(' and ')}`,
    [JSON.stringify(rows)],
  )
  return new Set(found.map(toRowKey))
}

function toRowKey(row: CountRow): string {
  return `${row.sub} ${row.gtin} ${'merchant' in row ? row.merchant : ''}`
}

/** Create the function that deletes days that are no longer kept, a few rows at a time, until the day ends. */
function createPruning(connection: CopyConnection, clock: Clock): () => Promise<void> {
  let prunedDay: number | undefined
  return async () => {
    const today = toDay(clock.nowMs())
    if (today === prunedDay) return
    const statement = 'select copy_id, day from count_days where day <= ? order by day, copy_id limit 1'
    const [oldest] = await connection.write(({ writer }) =>
      execute<DayKey>(writer, statement, [today - KEPT_COUNT_DAYS]),
    )
    if (oldest === undefined) prunedDay = today
    else await connection.transact((transaction) => pruneRows(transaction, oldest), 'read committed')
  }
}

async function pruneRows(
  transaction: Transaction<CopyTables>,
  { copy_id: copyId, day }: DayKey,
): Promise<void> {
  const values = [copyId, day]
  for (const { name, keys } of [WIDGETS, CLICKS]) {
    const columns = keys.join(', ')
    const statement = `delete from ${name} where (${columns}) in
      (select ${columns} from ${name} where copy_id = ? and day = ? order by ${columns} limit ${PRUNED_ROWS})`
    await execute(transaction, statement, values)
  }
  const statement = `delete from count_days where copy_id = ? and day = ?
    and not exists (select 1 from widget_counts where copy_id = ? and day = ?)
    and not exists (select 1 from click_counts where copy_id = ? and day = ?)`
  await execute(transaction, statement, [...values, ...values, ...values])
}

/** A sub-id that was counted in so many different minutes is in use: invented ones rarely come back. */
const CONFIRMING_MINUTES = 3

/** About 2 MB. */
const MAX_SUBS = 10_000

export type SubSightings = Readonly<{
  /** Record that a sub-id is counted now. Return whether it was counted in enough different minutes of the day. */
  record(copyId: number, day: number, sub: string): boolean
}>

/** Create the memory of new sub-ids, by copy and day. It knows nothing about visitors. */
function createSubSightings(clock: Clock): SubSightings {
  const sightings = new LRUCache<string, Readonly<{ minutes: number; lastMinute: number }>>({ max: MAX_SUBS })
  return {
    record(copyId, day, sub) {
      const key = `${copyId} ${day} ${sub}`
      const minute = Math.floor(clock.nowMs() / MINUTE_MS)
      const found = sightings.get(key)
      if (found?.lastMinute === minute) return found.minutes >= CONFIRMING_MINUTES
      const minutes = (found?.minutes ?? 0) + 1
      sightings.set(key, { minutes, lastMinute: minute })
      return minutes >= CONFIRMING_MINUTES
    },
  }
}
