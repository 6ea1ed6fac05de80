import { type Transaction, sql } from 'kysely'
import { isPostgres } from '../database/postgres.ts'
import type { CopyTables, DealsTable } from './schema.ts'
import type { StoredShape } from './rows.ts'
import { type FirstSeen, toFirstSeenKey } from './sql-first-seen.ts'
import { toWordList } from './search-words.ts'
import { insertWithWords } from './sqlite-words.ts'
import { type Inserted, executeOnce, insertRows, splitList } from './statements.ts'

/** From here on, putting words in at once costs less than letting the trigger do it product by product. */
const MANY_PRODUCTS = 8

/** Where a version belongs, and when it was seen. */
export type VersionPlace = Readonly<{ copyId: number; fromWalk: number; asOfMs: number }>

/** Adds a version of some products with their deals. */
export async function insertVersions(
  transaction: Transaction<CopyTables>,
  shapes: readonly StoredShape[],
  details: VersionPlace & Readonly<{ firstSeen: FirstSeen }>,
): Promise<void> {
  if (shapes.length === 0) return
  const ids: number[] = []
  const insert = async (): Promise<Readonly<{ firstId: number; lastId: number }>> => {
    ids.push(...(await insertProducts(transaction, shapes, details)))
    return { firstId: ids[0] ?? 0, lastId: ids.at(-1) ?? 0 }
  }
  if (shapes.length < MANY_PRODUCTS || isPostgres(transaction)) await insert()
  else await insertWithWords(transaction, insert)
  const deals = shapes.flatMap((shape, index) =>
    toDealRows(shape, { ...details, productId: ids[index] ?? 0 }),
  )
  await insertDeals(transaction, deals)
}

/** Answers the ids, in the order of the products. */
async function insertProducts(
  transaction: Transaction<CopyTables>,
  shapes: readonly StoredShape[],
  { copyId, fromWalk, asOfMs }: VersionPlace,
): Promise<number[]> {
  const isServer = isPostgres(transaction)
  const inserted = await insertRows(transaction, 'insert products', {
    rows: shapes.map(({ content }) => ({
      // Its columns always come in one order (rows.ts, page-pack.ts).
      ...content,
      copy_id: copyId,
      from_walk: fromWalk,
      until_walk: null,
      as_of_ms: asOfMs,
      ...(isServer && { words: toWordList(content.search_text) }),
    })),
    build: (rows) =>
      transaction
        .insertInto('products')
        .values(rows)
        .$if(isServer, (query) => query.returning(['id', 'gtin'])),
  })
  return isServer ? matchIds(inserted, shapes) : inserted.flatMap(countIds)
}

/** SQLite counts them up within a statement, and nobody else writes. */
function countIds({ size, result }: Inserted<unknown>): number[] {
  const last = Number(result.insertId ?? 0n)
  return Array.from({ length: size }, (_, index) => last - size + 1 + index)
}

/** A server promises no order; a GTIN stands once in what is inserted. */
function matchIds(inserted: readonly Inserted<unknown>[], shapes: readonly StoredShape[]): number[] {
  const rows = inserted.flatMap(({ result }) => result.rows as readonly { id: number; gtin: string }[])
  const ids = new Map(rows.map(({ id, gtin }) => [gtin, id]))
  return shapes.map(({ content }) => ids.get(content.gtin) ?? 0)
}

/** Overwrites a version in place: it is current again. */
export async function updateVersion(
  transaction: Transaction<CopyTables>,
  shape: StoredShape,
  details: VersionPlace & Readonly<{ productId: number; firstSeen: FirstSeen }>,
): Promise<void> {
  await transaction
    .updateTable('products')
    .set({
      ...shape.content,
      as_of_ms: details.asOfMs,
      until_walk: null,
      ...(isPostgres(transaction) && { words: toWordList(shape.content.search_text) }),
    })
    .where('id', '=', details.productId)
    .execute()
  await transaction.deleteFrom('deals').where('product_id', '=', details.productId).execute()
  await insertDeals(transaction, toDealRows(shape, details))
}

/** Sets or takes back the end of versions and of their deals. */
export async function markUntil(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
  untilWalk: number | null,
): Promise<void> {
  for (const ids of splitList(productIds)) {
    const values = [untilWalk, ...ids]
    await executeOnce(transaction, `mark ${ids.length} products`, {
      values,
      build: () => transaction.updateTable('products').set({ until_walk: untilWalk }).where('id', 'in', ids),
    })
    await executeOnce(transaction, `mark deals of ${ids.length}`, {
      values,
      build: () =>
        transaction.updateTable('deals').set({ until_walk: untilWalk }).where('product_id', 'in', ids),
    })
  }
}

/** A look-up has found a version as it is: it was seen a moment ago. */
export async function confirmVersion(
  transaction: Transaction<CopyTables>,
  productId: number,
  asOfMs: number,
): Promise<void> {
  await executeOnce(transaction, 'confirm product', {
    values: [asOfMs, productId],
    build: () => transaction.updateTable('products').set({ as_of_ms: asOfMs }).where('id', '=', productId),
  })
}

/** Puts in a version's digest anew: what it shows stays. */
export async function setDigest(
  transaction: Transaction<CopyTables>,
  productId: number,
  digest: string,
): Promise<void> {
  await executeOnce(transaction, 'set digest', {
    values: [digest, productId],
    build: () => transaction.updateTable('products').set({ digest }).where('id', '=', productId),
  })
}

/** Removes versions with their deals. `endedBy`: only those that still have ended at or before that walk. */
export async function deleteVersions(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
  endedBy?: number,
): Promise<void> {
  for (const ids of splitList(productIds)) {
    let deals = transaction.deleteFrom('deals').where('product_id', 'in', ids)
    let products = transaction.deleteFrom('products').where('id', 'in', ids)
    if (endedBy !== undefined) {
      deals = deals.where('until_walk', '<=', endedBy)
      products = products.where('until_walk', '<=', endedBy)
    }
    await products.execute()
    await deals.execute()
  }
}

/** How many deals some versions have, by the version. */
export async function countDealsOf(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>()
  for (const ids of splitList(productIds)) {
    const rows = await executeOnce(transaction, `deals of ${ids.length}`, {
      values: ids,
      build: () =>
        transaction
          .selectFrom('deals')
          .select(['product_id', sql<number>`count(*)`.as('count')])
          .where('product_id', 'in', ids)
          .groupBy('product_id'),
    })
    for (const row of rows) counts.set(row.product_id, row.count)
  }
  return counts
}

type DealRow = Omit<DealsTable, 'id'>

/** In the order of the columns: statements are made for the first rows and used for all. */
function toDealRows(
  shape: StoredShape,
  details: VersionPlace & Readonly<{ productId: number; firstSeen: FirstSeen }>,
): DealRow[] {
  return shape.deals.map((deal) => ({
    product_id: details.productId,
    copy_id: details.copyId,
    gtin: deal.gtin,
    from_walk: details.fromWalk,
    until_walk: null,
    offer_index: deal.offer_index,
    offer: deal.offer,
    offer_key: deal.offer_key,
    currency: deal.currency,
    merchant_key: deal.merchant_key,
    brand_key: deal.brand_key,
    search_text: deal.search_text,
    is_in_stock: deal.is_in_stock,
    is_best: deal.is_best,
    is_best_in_stock: deal.is_best_in_stock,
    discount_percent: deal.discount_percent,
    ratio_key: deal.ratio_key,
    price_key: deal.price_key,
    saving_key: deal.saving_key,
    first_seen_ms: Math.min(
      details.firstSeen.get(toFirstSeenKey(deal.gtin, deal.offer_key)) ?? Infinity,
      details.asOfMs,
    ),
  }))
}

async function insertDeals(transaction: Transaction<CopyTables>, rows: readonly DealRow[]): Promise<void> {
  await insertRows(transaction, 'insert deals', {
    rows,
    build: (some) => transaction.insertInto('deals').values(some),
  })
}
