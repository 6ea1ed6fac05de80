import { type Kysely, sql } from 'kysely'
import { execute, inList } from '../database/dialect.ts'
import type { AskedProduct, ClickKeys, DayPeriod, PlacementClicks, PlacementCount } from './counts.ts'
import type { CopyTables } from './schema.ts'

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
