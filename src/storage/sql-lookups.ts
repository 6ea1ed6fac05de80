import { type AliasedRawBuilder, type Kysely, sql } from 'kysely'
import type { Product } from '../catalog/contract.ts'
import { type Clock, isNewer, toNewer } from '../clock.ts'
import { findProductInRow } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, type CopyView, isVisibleAt } from './sql-copies.ts'
import { execute } from './statements.ts'
import type { CopyEntry } from './store.ts'

const PRODUCT_COLUMNS = ['id', 'gtin', 'title', 'brand', 'images', 'offers', 'drops', 'as_of_ms'] as const

/** A product's row. `page_as_of_ms`: when a walk last saw its page; the row of an unchanged product is older. */
type ProductRow = Parameters<typeof findProductInRow>[0] &
  Readonly<{ id: number; as_of_ms: number; page_as_of_ms: number | null }>

type FoundProduct = CopyEntry & Readonly<{ product: Product; id: number }>

function toPageTime(copyId: string | number, walk: string | number, gtin: string): string {
  return `(select w.as_of_ms from walk_pages w where w.copy_id = ${copyId} and w.walk = ${walk}
    and w.after_gtin < ${gtin} and w.until_gtin >= ${gtin} order by w.after_gtin desc limit 1)`
}

/** Select when a walk last saw the page of a visible row of `products`. */
export function selectPageTime(copy: CopyRow): AliasedRawBuilder<number | null, 'page_as_of_ms'> {
  return sql.raw<number | null>(toPageTime(copy.id, copy.visibleWalk, 'products.gtin')).as('page_as_of_ms')
}

/** What boxes read: the current walk, or the running one before there is any. */
const VISIBLE_WALK = 'case when c.current_walk > 0 then c.current_walk else c.running_walk end'

const FIND_PRODUCT = `select ${PRODUCT_COLUMNS.map((name) => `p.${name}`).join(', ')}, a.as_of_ms as absent_at_ms,
  ${toPageTime('c.id', VISIBLE_WALK, 'p.gtin')} as page_as_of_ms
  from copies c
  left join products p on p.copy_id = c.id and p.gtin = ? and p.from_walk <= ${VISIBLE_WALK}
    and (p.until_walk is null or p.until_walk > ${VISIBLE_WALK})
  left join absences a on a.copy_id = c.id and a.gtin = ?
  where c.catalog = ? and c.channel_id = ?`

type Nullable<T> = { readonly [K in keyof T]: T[K] | null }

/** What the copy knows of one product, in one statement: the newer of its row and its remembered absence. */
export async function findProduct(
  database: Kysely<CopyTables>,
  wanted: Readonly<{ catalog: string; channelId: string; gtin: string; clock: Clock }>,
): Promise<CopyEntry | undefined> {
  const { catalog, channelId, gtin, clock } = wanted
  const [row] = await execute<Nullable<ProductRow> & Readonly<{ absent_at_ms: number | null }>>(
    database,
    FIND_PRODUCT,
    [gtin, gtin, catalog, channelId],
  )
  if (row === undefined) return undefined
  const nowMs = clock.nowMs()
  const entry = isWhole(row) ? toEntries(row, nowMs)[0] : undefined
  const { absent_at_ms: absentAtMs } = row
  if (absentAtMs === null || (entry !== undefined && !isNewer(absentAtMs, entry.asOfMs, nowMs))) return entry
  return { product: null, asOfMs: absentAtMs }
}

/** A row that was joined has all of its columns, or none. */
function isWhole(row: Nullable<ProductRow>): row is ProductRow {
  return row.id !== null
}

/** Read visible products by the ids of their rows, in no particular order; damaged rows are left out. */
export async function readProducts(
  database: Kysely<CopyTables>,
  copy: CopyView,
  ids: readonly number[],
): Promise<readonly FoundProduct[]> {
  const rows = await database
    .selectFrom('products')
    .select([...PRODUCT_COLUMNS, selectPageTime(copy)])
    // Not by copy as well: SQLite would go through the whole copy to find a few rows.
    .where('id', 'in', ids)
    .where(isVisibleAt(copy.visibleWalk))
    .execute()
  return rows.flatMap((row) => toEntries(row, copy.nowMs))
}

/** The product of a row; none where that is damaged. */
function toEntries(row: ProductRow, nowMs: number): readonly FoundProduct[] {
  const product = findProductInRow(row)
  const asOfMs = toNewer(row.as_of_ms, row.page_as_of_ms ?? row.as_of_ms, nowMs)
  return product === undefined ? [] : [{ product, asOfMs, id: row.id }]
}
