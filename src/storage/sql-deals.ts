import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import { toNewer } from '../clock.ts'
import { isPostgres } from '../database/postgres.ts'
import { findDealInRow } from './rows.ts'
import type { CopyTables, DealsTable } from './schema.ts'
import { type CopyRow, type CopyView, isVisibleAt } from './sql-copies.ts'
import { type DealPlan, planDeals, whereInTime, wherePassing, whereVisible } from './sql-deal-filters.ts'
import { selectPageTime } from './sql-lookups.ts'
import type { DealSort } from '../offers/deals.ts'
import { type DealEntry, type DealQuery, isShortRead } from './store.ts'

/** Order of grids; the GTIN at the end makes it the same every time. */
const ORDERS = {
  discount: ['ratio_key', 'price_key', 'gtin'],
  saving: ['saving_key', 'price_key', 'gtin'],
  price: ['price_key', 'ratio_key', 'gtin'],
  newest: ['first_seen_ms', 'ratio_key', 'price_key', 'gtin'],
} as const satisfies Record<DealSort, readonly (keyof DealsTable)[]>
const DESCENDING: ReadonlySet<keyof DealsTable> = new Set(['saving_key', 'first_seen_ms'])

/** Deals that are read in the order of a grid before all deals are searched: nearly every grid fills its page from them. */
const WINDOW_DEALS = 3_000

/** A page that begins further behind is not looked for in the window. */
const WINDOW_CARDS = 1_000

type Ids = readonly Readonly<{ id: number }>[]

/** The deals of the walk that readers see, one for each product: its best that passes the filters. */
export async function findDeals(
  database: Kysely<CopyTables>,
  copy: CopyView,
  query: DealQuery,
): Promise<readonly DealEntry[]> {
  const plan = await planDeals(database, copy, query)
  if (plan === null) return []
  const ids = await findIds(database, copy, plan)
  const entries = await readDeals(
    database,
    copy,
    ids.map((row) => row.id),
  )
  return ids.flatMap(({ id }) => entries.get(id) ?? [])
}

async function findIds(database: Kysely<CopyTables>, copy: CopyRow, plan: DealPlan): Promise<Ids> {
  const { query, rare } = plan
  const deals = database.selectFrom('deals')
  // The order by discount has an index that holds everything; without filters nearly every deal in any order is a card.
  if (rare === null && (query.sort === 'discount' || isShortRead({ ...query, offset: 0 })))
    return findPage(database, plan, whereInTime(database, whereVisible(deals, copy, query)))
  if (rare === null && query.offset + query.limit <= WINDOW_CARDS) {
    const ids = await findPage(database, plan, selectWindow(database, copy, query))
    if (ids.length === query.limit) return ids
  }
  // Find all deals that pass, by the rare filter or by going through all of them, and sort them.
  return findPage(database, plan, whereInTime(database, whereMatching(database, copy, plan)), {
    isSorted: !isPostgres(database),
  })
}

function findPage(
  database: Kysely<CopyTables>,
  plan: DealPlan,
  deals: DealsSelect,
  options?: Readonly<{ isSorted: boolean }>,
): Promise<Ids> {
  return paged(wherePassing(database, deals, plan), plan.query, options)
    .select('deals.id')
    .execute()
}

/** Select the first deals in the order of the grid. A page that is not full may have more behind them. */
function selectWindow(database: Kysely<CopyTables>, copy: CopyRow, query: DealQuery): DealsSelect {
  const first = paged(whereVisible(database.selectFrom('deals'), copy, query), {
    sort: query.sort,
    limit: WINDOW_DEALS,
    offset: 0,
  }).select([
    ...(['id', 'product_id', 'gtin', 'currency', 'offer_index', 'merchant_key', 'brand_key'] as const),
    ...(['is_in_stock', 'is_best', 'is_best_in_stock', 'discount_percent'] as const),
    ...(['ratio_key', 'price_key', 'saving_key', 'first_seen_ms', 'search_text'] as const),
  ])
  return database.selectFrom(first.as('deals'))
}

/** Select visible deals. Words give few products: a plus sign keeps SQLite from searching an index of the whole copy instead. */
function whereMatching(database: Kysely<CopyTables>, copy: CopyRow, { query, rare }: DealPlan): DealsSelect {
  const deals = database.selectFrom('deals')
  if (rare !== 'words' || isPostgres(database)) return whereVisible(deals, copy, query)
  return deals
    .where(sql<number>`+deals.copy_id`, '=', copy.id)
    .where(sql<string>`+deals.currency`, '=', query.currency)
    .where(isVisibleAt(copy.currentWalk))
}

type DealsSelect = SelectQueryBuilder<CopyTables, 'deals', object>

/** `isSorted`: SQLite is not to read the deals in the order of an index. */
function paged(
  deals: DealsSelect,
  { sort, limit, offset }: Pick<DealQuery, 'sort' | 'limit' | 'offset'>,
  { isSorted }: Readonly<{ isSorted: boolean }> = { isSorted: false },
): DealsSelect {
  let ordered = deals
  for (const column of ORDERS[sort]) {
    const key = sql.ref(`deals.${column}`)
    ordered = ordered.orderBy(isSorted ? sql`+${key}` : key, DESCENDING.has(column) ? 'desc' : 'asc')
  }
  return ordered.limit(limit).offset(offset)
}

/** Cards by the row of their deal; damaged ones are left out. */
async function readDeals(
  database: Kysely<CopyTables>,
  copy: CopyView,
  ids: readonly number[],
): Promise<ReadonlyMap<number, DealEntry>> {
  if (ids.length === 0) return new Map()
  const rows = await database
    .selectFrom('deals')
    .innerJoin('products', 'products.id', 'deals.product_id')
    .select(['deals.id', 'deals.offer', 'products.gtin', 'title', 'brand', 'images', 'as_of_ms'])
    .select(selectPageTime(copy))
    .where('deals.id', 'in', ids)
    .execute()
  return new Map(
    rows.flatMap((row): [number, DealEntry][] => {
      const card = findDealInRow(row)
      const asOfMs = toNewer(row.as_of_ms, row.page_as_of_ms ?? row.as_of_ms, copy.nowMs)
      return card === undefined ? [] : [[row.id, { ...card, asOfMs }]]
    }),
  )
}

/** The currency that most deals of a walk have, the first by alphabet at a tie. */
export async function computeDealCurrency(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<string | undefined> {
  const row = await database
    .selectFrom('deals')
    .select('currency')
    .where('copy_id', '=', copyId)
    .where(isVisibleAt(walk))
    .groupBy('currency')
    .orderBy(({ fn }) => fn.countAll(), 'desc')
    .orderBy('currency')
    .limit(1)
    .executeTakeFirst()
  return row?.currency
}

/** The currency of a grid that names none: that of the walk; look-ups may bring the first deal of a channel. */
export async function findDealCurrency(
  database: Kysely<CopyTables>,
  copy: CopyRow,
): Promise<string | undefined> {
  const row = await database
    .selectFrom('copies')
    .select('deal_currency')
    .where('id', '=', copy.id)
    .executeTakeFirst()
  return row?.deal_currency ?? computeDealCurrency(database, copy.id, copy.currentWalk)
}
