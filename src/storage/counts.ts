import { type Kysely, sql } from 'kysely'
import { execute, inList } from '../database/dialect.ts'
import type { CopyTables } from './schema.ts'

/** What readers got of a product in a widget. */
export const WIDGET_STATES = ['shown', 'hidden', 'unavailable'] as const
export type WidgetState = (typeof WIDGET_STATES)[number]

/** A product in a placement. `gtin` has 14 digits. `sub`: the sub-id of the placement, empty without one. */
export type CountedPlacement = Readonly<{ channelId: string; gtin: string; sub: string }>

/** `day`: the UTC day, as the number of days since 1970-01-01. */
type CountKey = CountedPlacement & Readonly<{ day: number }>

export type StateCounts = Readonly<Record<WidgetState, number>>

export function sumStates({ shown, hidden, unavailable }: StateCounts): number {
  return shown + hidden + unavailable
}

export type WidgetCount = CountKey & StateCounts
export type ClickCount = CountKey & Readonly<{ merchant: string; clicks: number }>

export type Counts = Readonly<{ widgets: readonly WidgetCount[]; clicks: readonly ClickCount[] }>

/** The first and the last day of a period. */
export type DayPeriod = Readonly<{ fromDay: number; untilDay: number }>

/** A product that readers' pages asked for. */
export type AskedProduct = StateCounts & Readonly<{ gtin: string }>

export type PlacementCount = StateCounts & Readonly<{ gtin: string; sub: string }>

export type PlacementClicks = Readonly<{ gtin: string; merchant: string; sub: string; clicks: number }>

export type ClickKeys = Readonly<{ by: 'gtin' | 'sub'; keys: readonly string[] }>

/** Counts of widgets and clicks (ADR 0034). */
export type CountStore = Readonly<{
  /**
   * Add counts, each to its day. Those of a product that is neither in the copy nor counted already are ignored. Return how many
   * were added without their sub-id, because the channel has too many of them on that day.
   */
  addCounts(counts: Counts): Promise<number>
  /** List the products of a period, the one with the most requests first. */
  listAskedProducts(
    channelId: string,
    request: DayPeriod & Readonly<{ limit: number }>,
  ): Promise<readonly AskedProduct[]>
  /** List the placements of products in a period, the one with the most requests first. */
  listPlacements(
    channelId: string,
    request: DayPeriod & Readonly<{ gtins: readonly string[]; limit?: number }>,
  ): Promise<readonly PlacementCount[]>
  /** List the clicks of a period by product, merchant and placement, the most first. */
  listClicks(
    channelId: string,
    request: DayPeriod & Readonly<{ limit: number }>,
  ): Promise<readonly PlacementClicks[]>
  /** Add up the clicks of a period for each key, which is a GTIN or sub-id. Those of all other keys are under `null`. */
  sumClicks(channelId: string, request: DayPeriod & ClickKeys): Promise<ReadonlyMap<string | null, number>>
  /** Find the last kept day on which a widget showed each product, by GTIN. */
  findLastShownDays(channelId: string, gtins: readonly string[]): Promise<ReadonlyMap<string, number>>
}>

/** Reads that may read every count of a period. */
export type CountReads = Omit<CountStore, 'addCounts'>

export function listAskedProducts(
  database: Kysely<CopyTables>,
  copyId: number,
  { fromDay, untilDay, limit }: DayPeriod & Readonly<{ limit: number }>,
): Promise<readonly AskedProduct[]> {
  const statement = `select gtin, sum(shown) as shown, sum(hidden) as hidden, sum(unavailable) as unavailable
    from widget_counts where copy_id = ? and day between ? and ? group by gtin
    order by sum(shown + hidden + unavailable) desc, gtin limit ?`
  return execute(database, statement, [copyId, fromDay, untilDay, limit])
}

export async function listPlacements(
  database: Kysely<CopyTables>,
  copyId: number,
  {
    fromDay,
    untilDay,
    gtins,
    limit = Number.MAX_SAFE_INTEGER,
  }: DayPeriod & Readonly<{ gtins: readonly string[]; limit?: number }>,
): Promise<readonly PlacementCount[]> {
  const { rows } = await sql<PlacementCount>`
    select gtin, sub, sum(shown) as shown, sum(hidden) as hidden, sum(unavailable) as unavailable
    from widget_counts where copy_id = ${copyId} and ${inList(database, 'gtin', gtins)}
      and day between ${fromDay} and ${untilDay} group by gtin, sub
    order by sum(shown + hidden + unavailable) desc, gtin, sub limit ${limit}`.execute(database)
  return rows
}

export function listClicks(
  database: Kysely<CopyTables>,
  copyId: number,
  { fromDay, untilDay, limit }: DayPeriod & Readonly<{ limit: number }>,
): Promise<readonly PlacementClicks[]> {
  const statement = `select gtin, merchant, sub, sum(clicks) as clicks from click_counts
    where copy_id = ? and day between ? and ? group by gtin, merchant, sub
    order by sum(clicks) desc, gtin, merchant, sub limit ?`
  return execute(database, statement, [copyId, fromDay, untilDay, limit])
}

export async function sumClicks(
  database: Kysely<CopyTables>,
  copyId: number,
  { fromDay, untilDay, by, keys }: DayPeriod & ClickKeys,
): Promise<ReadonlyMap<string | null, number>> {
  const { rows } = await sql<{ key: string | null; clicks: number }>`
    select case when ${inList(database, by, keys)} then ${sql.ref(by)} end as key, sum(clicks) as clicks
    from click_counts where copy_id = ${copyId} and day between ${fromDay} and ${untilDay}
    group by 1`.execute(database)
  return new Map(rows.map(({ key, clicks }) => [key, clicks]))
}

export async function findLastShownDays(
  database: Kysely<CopyTables>,
  copyId: number,
  gtins: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ gtin: string; day: number }>`select gtin, max(day) as day from widget_counts
    where copy_id = ${copyId} and ${inList(database, 'gtin', gtins)} and shown > 0
    group by gtin`.execute(database)
  return new Map(rows.map(({ gtin, day }) => [gtin, day]))
}
