import { type Kysely, type RawBuilder, sql } from 'kysely'
import { inList, isPostgres } from '../database/dialect.ts'
import { createDeadlineCondition } from '../database/read-deadline.ts'
import type { DealSort } from '../offers/deals.ts'
import { NO_FALL_KEY, parseDealRow } from './rows.ts'
import type { CopyTables, DealsTable } from './schema.ts'
import { type CopyRow, type CopyView, createVersionCondition } from './sql-copies.ts'
import {
  type DealPlan,
  createFilterCondition,
  createVisibilityCondition,
  isDiscountRare,
  planDealQuery,
} from './sql-deal-filters.ts'
import { type RowTimes, selectPageTime, toAsOfMs } from './sql-lookups.ts'
import { type DealEntry, type DealQuery, isShortRead } from './store.ts'

/** Sort orders of grids; the GTIN at the end makes them deterministic. */
const ORDERS = {
  discount: ['ratio_key', 'price_key', 'gtin'],
  saving: ['saving_key', 'price_key', 'gtin'],
  price: ['price_key', 'ratio_key', 'gtin'],
  newest: ['first_seen_ms', 'ratio_key', 'price_key', 'gtin'],
  drop: ['drop_key', 'ratio_key', 'price_key', 'gtin'],
} as const satisfies Record<DealSort, readonly (keyof DealsTable)[]>
const DESCENDING: ReadonlySet<keyof DealsTable> = new Set(['saving_key', 'first_seen_ms'])

/** First deals in a grid's sort order. They fill nearly every page without a search of all deals. */
const WINDOW_DEALS = 3_000

/** Pages after this many cards skip the window. */
const WINDOW_CARDS = 1_000

/** Columns that filters and orders use. */
const WINDOW_COLUMNS = sql`id, product_id, gtin, currency, offer_index, merchant_key, brand_key, network_key, is_in_stock,
  is_best, is_best_in_stock, discount_percent, ratio_key, price_key, saving_key, first_seen_ms, search_text`

const DEALS = sql.table('deals')

/** Find the deals of the current walk, one per product: its best deal that passes the filters. */
export async function findDeals(
  database: Kysely<CopyTables>,
  copy: CopyView,
  query: DealQuery,
): Promise<readonly DealEntry[]> {
  const plan = await planDealQuery(database, copy, query)
  const ids = plan === null ? [] : await findIds(database, copy, plan)
  return ids.length === 0 ? [] : readDeals(database, copy, ids)
}

async function findIds(
  database: Kysely<CopyTables>,
  copy: CopyView,
  plan: DealPlan,
): Promise<readonly number[]> {
  const { query, rareFilter } = plan
  const findPage = async (
    source: RawBuilder<unknown>,
    condition: RawBuilder<unknown>,
    shouldSort = false,
  ): Promise<readonly number[]> => {
    const { rows } = await sql<{ id: number }>`select deals.id from ${source} as deals
      where ${condition} and ${createFilterCondition(database, copy, plan)}
      order by ${toOrderBy(query, shouldSort)} limit ${query.limit} offset ${query.offset}`.execute(database)
    return rows.map(({ id }) => id)
  }
  const isVisible = createVisibilityCondition(database, copy, query)
  // The indexes of these orders contain all filter columns; without filters, nearly every deal is a result in any order.
  const isCovered = query.sort === 'discount' || query.sort === 'drop'
  if (rareFilter === null && (isCovered || isShortRead({ ...query, offset: 0 })))
    return findPage(DEALS, sql`${createDeadlineCondition(database, 'deals.id')} and ${isVisible}`)
  if (rareFilter === null && query.offset + query.limit <= WINDOW_CARDS) {
    const window = sql`(select ${WINDOW_COLUMNS} from deals where ${isVisible}
      order by ${toOrderBy(query)} limit ${WINDOW_DEALS})`
    const ids = await findPage(window, sql`1 = 1`)
    // When the page is not full, there can be more deals after the window.
    if (ids.length === query.limit) return ids
  }
  // Find all matches, by the rare filter or a full scan, and sort them.
  const isVisibleMatch = createVisibilityCondition(database, copy, query, rareFilter !== 'words')
  return findPage(
    DEALS,
    sql`${createDeadlineCondition(database, 'deals.id')} and ${isVisibleMatch}`,
    await mustSort(database, copy, plan),
  )
}

/**
 * Return whether all matches must be sorted. PostgreSQL's statistics know no relation between columns: it would expect many
 * matches of a filter that is rare among observed deals only, and read all of these in order.
 */
async function mustSort(
  database: Kysely<CopyTables>,
  copy: CopyView,
  { query, rareFilter }: DealPlan,
): Promise<boolean> {
  if (rareFilter !== null) return rareFilter !== getOrder(query)[0]
  return !isPostgres(database) || isDiscountRare(database, copy, query)
}

/** An observed deal has its fall as its discount, so both orders are the same, and one index has them. */
function getOrder({ sort, evidence }: DealQuery): readonly (keyof DealsTable)[] {
  return ORDERS[sort === 'drop' && evidence === 'observed' ? 'discount' : sort]
}

/** `shouldSort` keeps the engine from reading the deals in the order of an index, because none has the first term. */
function toOrderBy(query: DealQuery, shouldSort = false): RawBuilder<unknown> {
  const terms = getOrder(query).map(
    (column) => sql`${sql.ref(`deals.${column}`)} ${sql.raw(DESCENDING.has(column) ? 'desc' : 'asc')}`,
  )
  return sql.join(shouldSort ? [sql`+deals.copy_id`, ...terms] : terms)
}

type DealRow = Parameters<typeof parseDealRow>[0] &
  RowTimes &
  Pick<DealsTable, 'drop_key' | 'first_seen_ms'> &
  Readonly<{ id: number }>

/** Read deals in the order of `ids`, without damaged rows. */
async function readDeals(
  database: Kysely<CopyTables>,
  copy: CopyView,
  ids: readonly number[],
): Promise<readonly DealEntry[]> {
  const { rows } = await sql<DealRow>`
    select deals.id, offer, offer_index, drop_key, first_seen_ms, p.gtin, title, brand, images, checked_at, p.as_of_ms, ${selectPageTime(copy)}
    from deals join products p on p.id = deals.product_id where ${inList(database, 'deals.id', ids)}`.execute(
    database,
  )
  const toEntry = (row: DealRow): DealEntry | undefined => {
    const card = parseDealRow(row)
    return (
      card && {
        asOfMs: toAsOfMs(row, copy.nowMs),
        hasFall: row.drop_key !== NO_FALL_KEY,
        firstSeenMs: row.first_seen_ms,
        ...card,
      }
    )
  }
  const byId = new Map(rows.map((row) => [row.id, toEntry(row)]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** Find the currency of most deals of a walk; alphabetical order breaks a tie. */
export async function computeDealCurrency(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<string | undefined> {
  const { rows } = await sql<{ currency: string }>`select currency from deals
    where copy_id = ${copyId} and is_observed = 0 and ${createVersionCondition(walk)}
    group by currency order by count(*) desc, currency limit 1`.execute(database)
  return rows[0]?.currency
}

/** Find the default currency of a grid. Compute it when the walk found no deals, because a look-up can add the first one. */
export async function findDealCurrency(
  database: Kysely<CopyTables>,
  { id, currentWalk, dealCurrency }: CopyRow,
): Promise<string | undefined> {
  return dealCurrency ?? computeDealCurrency(database, id, currentWalk)
}
