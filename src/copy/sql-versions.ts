import { type Transaction, sql } from 'kysely'
import type { CopyTables, DealsTable } from './schema.ts'
import type { StoredShape } from './rows.ts'

/** Rows of one statement at most: every database takes that many parameters. */
const DEALS_PER_INSERT = 40

/** Where a version belongs, and when it was seen. */
export type VersionPlace = Readonly<{ copyId: number; fromWalk: number; asOfMs: number }>

/** When each offer of a product was first seen on sale, by its key. */
export type FirstSeen = ReadonlyMap<string, number>

/** Adds a version of a product with its deals. */
export async function insertVersion(
  transaction: Transaction<CopyTables>,
  shape: StoredShape,
  details: VersionPlace & Readonly<{ firstSeen: FirstSeen }>,
): Promise<void> {
  const { id } = await transaction
    .insertInto('products')
    .values({
      ...shape.content,
      copy_id: details.copyId,
      from_walk: details.fromWalk,
      until_walk: null,
      as_of_ms: details.asOfMs,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await insertDeals(transaction, shape, { ...details, productId: id })
}

/** Overwrites a version in place: it is current again, and its deals keep the time at which they were first seen. */
export async function updateVersion(
  transaction: Transaction<CopyTables>,
  shape: StoredShape,
  details: VersionPlace & Readonly<{ productId: number }>,
): Promise<void> {
  const firstSeen = await readFirstSeen(transaction, [details.productId])
  await transaction
    .updateTable('products')
    .set({ ...shape.content, as_of_ms: details.asOfMs, until_walk: null })
    .where('id', '=', details.productId)
    .execute()
  await transaction.deleteFrom('deals').where('product_id', '=', details.productId).execute()
  await insertDeals(transaction, shape, { ...details, firstSeen })
}

/** Sets or takes back the end of versions and of their deals. */
export async function markUntil(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
  untilWalk: number | null,
): Promise<void> {
  if (productIds.length === 0) return
  await transaction
    .updateTable('products')
    .set({ until_walk: untilWalk })
    .where('id', 'in', productIds)
    .execute()
  await transaction
    .updateTable('deals')
    .set({ until_walk: untilWalk })
    .where('product_id', 'in', productIds)
    .execute()
}

/** Removes versions with their deals. */
export async function deleteVersions(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
): Promise<void> {
  if (productIds.length === 0) return
  await transaction.deleteFrom('deals').where('product_id', 'in', productIds).execute()
  await transaction.deleteFrom('products').where('id', 'in', productIds).execute()
}

/** The first times of the deals of some versions; the earliest where two versions have the same offer. */
export async function readFirstSeen(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
): Promise<FirstSeen> {
  if (productIds.length === 0) return new Map()
  const rows = await transaction
    .selectFrom('deals')
    .select(['gtin', 'offer_key', sql<number>`min(first_seen_ms)`.as('first_seen_ms')])
    .where('product_id', 'in', productIds)
    .groupBy(['gtin', 'offer_key'])
    .execute()
  return new Map(rows.map((row) => [toFirstSeenKey(row.gtin, row.offer_key), row.first_seen_ms]))
}

function toFirstSeenKey(gtin: string, offerKey: string): string {
  return `${gtin} ${offerKey}`
}

async function insertDeals(
  transaction: Transaction<CopyTables>,
  shape: StoredShape,
  details: VersionPlace & Readonly<{ productId: number; firstSeen: FirstSeen }>,
): Promise<void> {
  const rows: Omit<DealsTable, 'id'>[] = shape.deals.map((deal) => ({
    ...deal,
    product_id: details.productId,
    copy_id: details.copyId,
    from_walk: details.fromWalk,
    until_walk: null,
    first_seen_ms: details.firstSeen.get(toFirstSeenKey(deal.gtin, deal.offer_key)) ?? details.asOfMs,
  }))
  for (let start = 0; start < rows.length; start += DEALS_PER_INSERT) {
    await transaction
      .insertInto('deals')
      .values(rows.slice(start, start + DEALS_PER_INSERT))
      .execute()
  }
}
