import { type AliasedRawBuilder, type Kysely, type RawBuilder, sql } from 'kysely'
import type { Product } from '../catalog/contract.ts'
import { type Clock, isNewer, toNewer } from '../clock.ts'
import { findProductInRow } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, type CopyView, isVisibleAt } from './sql-copies.ts'
import { executeOnce } from './statements.ts'
import type { CopyEntry } from './store.ts'

/** Columns of a product and, from its page, when an unchanged one was last seen by a walk. */
const productColumns = ['id', 'gtin', 'title', 'brand', 'images', 'offers', 'drops', 'as_of_ms'] as const

/** What boxes read: the current walk, or the running one before there is any. */
const visibleWalk = sql<number>`case when c.current_walk > 0 then c.current_walk else c.running_walk end`

/** When a walk last saw the page of a product: an unchanged product's own row is older. */
function toPageTime({ copyId, walk, gtin }: PagePlace): RawBuilder<number | null> {
  return sql`(select w.as_of_ms from walk_pages w where w.copy_id = ${copyId} and w.walk = ${walk}
    and w.after_gtin < ${gtin} and w.until_gtin >= ${gtin} order by w.after_gtin desc limit 1)`
}

/** Columns or values. */
type PagePlace = Readonly<{ copyId: unknown; walk: unknown; gtin: unknown }>

const pageTime = toPageTime({ copyId: sql.ref('c.id'), walk: visibleWalk, gtin: sql.ref('p.gtin') })

type WantedProduct = Readonly<{ catalog: string; channelId: string; gtin: string; clock: Clock }>

/** What the copy knows of one product, in one statement: the newer of its row and its remembered absence. */
export async function findProduct(
  database: Kysely<CopyTables>,
  { catalog, channelId, gtin, clock }: WantedProduct,
): Promise<CopyEntry | undefined> {
  const [row] = await executeOnce(database, 'find product', {
    values: [gtin, gtin, catalog, channelId],
    build: () =>
      database
        .selectFrom('copies as c')
        .leftJoin('products as p', (join) =>
          join
            .onRef('p.copy_id', '=', 'c.id')
            .on('p.gtin', '=', gtin)
            .on(
              sql<boolean>`p.from_walk <= ${visibleWalk} and (p.until_walk is null or p.until_walk > ${visibleWalk})`,
            ),
        )
        .leftJoin('absences as a', (join) => join.onRef('a.copy_id', '=', 'c.id').on('a.gtin', '=', gtin))
        .select(['p.id', 'p.gtin', 'p.title', 'p.brand', 'p.images', 'p.offers', 'p.drops', 'p.as_of_ms'])
        .select(['a.as_of_ms as absent_at_ms', pageTime.as('page_as_of_ms')])
        .where('c.catalog', '=', catalog)
        .where('c.channel_id', '=', channelId),
  })
  if (row === undefined) return undefined
  const nowMs = clock.nowMs()
  const entry = isWhole(row) ? toEntries(row, nowMs)[0] : undefined
  const { absent_at_ms: absentAtMs } = row
  if (absentAtMs === null || (entry !== undefined && !isNewer(absentAtMs, entry.asOfMs, nowMs))) return entry
  return { product: null, asOfMs: absentAtMs }
}

type Nullable<T> = { readonly [K in keyof T]: T[K] | null }

/** A row that was joined has all of its columns, or none. */
function isWhole(row: Nullable<ProductRow>): row is ProductRow {
  return row.id !== null
}

/** Visible products by GTIN, or by row of this copy, in no particular order; damaged rows are left out. */
export async function readProducts(
  database: Kysely<CopyTables>,
  copy: CopyView,
  wanted: Readonly<{ gtins: readonly string[] } | { ids: readonly number[] }>,
): Promise<readonly (CopyEntry & Readonly<{ product: Product; id: number }>)[]> {
  const rows = await database
    .selectFrom('products')
    .select([...productColumns, selectPageTime(copy)])
    // Not with rows: SQLite would go through the whole copy to find a few of them.
    .$if('gtins' in wanted, (query) =>
      query.where('copy_id', '=', copy.id).where('gtin', 'in', 'gtins' in wanted ? wanted.gtins : []),
    )
    .$if('ids' in wanted, (query) => query.where('id', 'in', 'ids' in wanted ? wanted.ids : []))
    .where(isVisibleAt<'products'>(copy.visibleWalk))
    .execute()
  return rows.flatMap((row) => toEntries(row, copy.nowMs))
}

type ProductRow = Parameters<typeof findProductInRow>[0] &
  Readonly<{ id: number; as_of_ms: number; page_as_of_ms: number | null }>

/** The product of a row; none where that is damaged. */
function toEntries(
  row: ProductRow,
  nowMs: number,
): (CopyEntry & Readonly<{ product: Product; id: number }>)[] {
  const product = findProductInRow(row)
  const asOfMs = toNewer(row.as_of_ms, row.page_as_of_ms ?? row.as_of_ms, nowMs)
  return product === undefined ? [] : [{ product, asOfMs, id: row.id }]
}

/** The same for a visible row of `products` of one copy. */
export function selectPageTime(copy: CopyRow): AliasedRawBuilder<number | null, 'page_as_of_ms'> {
  const gtin = sql.ref('products.gtin')
  return toPageTime({ copyId: copy.id, walk: copy.visibleWalk, gtin }).as('page_as_of_ms')
}
