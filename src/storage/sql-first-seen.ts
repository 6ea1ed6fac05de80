import { type Transaction, sql } from 'kysely'
import type { StoredShape } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { isIn } from './statements.ts'

/** When each offer of a product was first seen on sale, Unix milliseconds, by `toFirstSeenKey`. */
export type FirstSeen = ReadonlyMap<string, number>

/** Return the key of an offer in `FirstSeen`. */
export function toFirstSeenKey(gtin: string, offerKey: string): string {
  return `${gtin} ${offerKey}`
}

/**
 * Return the first times of the offers that some shapes have: from the versions that they replace, and from products that were
 * absent until now. Call it before the versions are deleted or written over.
 */
export async function carryFirstSeen(
  transaction: Transaction<CopyTables>,
  copyId: number,
  { replacedIds, shapes }: Readonly<{ replacedIds: readonly number[]; shapes: readonly StoredShape[] }>,
): Promise<FirstSeen> {
  const seen = new Map<string, number>()
  const add = ({ gtin, offerKey, firstSeenMs }: SeenOffer): unknown =>
    seen.set(toFirstSeenKey(gtin, offerKey), firstSeenMs)
  const replaced = await readOfVersions(transaction, replacedIds)
  replaced.forEach(add)
  const isUnseen = ({ content, deals }: StoredShape): boolean =>
    deals.some((deal) => !seen.has(toFirstSeenKey(content.gtin, deal.offer_key)))
  const gtins = shapes.filter(isUnseen).map(({ content }) => content.gtin)
  for (const offer of [...(await takeLapsed(transaction, copyId, gtins)), ...replaced]) add(offer)
  return seen
}

/** Keep the first times of the offers of versions whose product is absent from now on. Call it before they are deleted. */
export async function keepFirstSeen(
  transaction: Transaction<CopyTables>,
  absentIds: readonly number[],
  asOfMs: number,
): Promise<void> {
  if (absentIds.length === 0) return
  await sql`insert into lapsed_deals (copy_id, gtin, offer_key, first_seen_ms, lapsed_at_ms)
    select copy_id, gtin, offer_key, min(first_seen_ms), cast(${asOfMs} as bigint) from deals
    where ${isIn(transaction, 'product_id', absentIds)} group by copy_id, gtin, offer_key
    on conflict (copy_id, gtin, offer_key) do update
    set first_seen_ms = excluded.first_seen_ms, lapsed_at_ms = excluded.lapsed_at_ms`.execute(transaction)
}

type SeenOffer = Readonly<{ gtin: string; offerKey: string; firstSeenMs: number }>

/** The deals of some versions; the earliest time where two versions have the same offer. */
async function readOfVersions(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
): Promise<readonly SeenOffer[]> {
  if (productIds.length === 0) return []
  return transaction
    .selectFrom('deals')
    .select(['gtin', 'offer_key as offerKey', sql<number>`min(first_seen_ms)`.as('firstSeenMs')])
    .where(isIn(transaction, 'product_id', productIds))
    .groupBy(['gtin', 'offer_key'])
    .execute()
}

/** Read what is kept of products that are back, and forget it. */
export async function takeLapsed(
  transaction: Transaction<CopyTables>,
  copyId: number,
  gtins: readonly string[],
): Promise<readonly SeenOffer[]> {
  if (gtins.length === 0) return []
  const taken = await transaction
    .selectFrom('lapsed_deals')
    .select(['gtin', 'offer_key as offerKey', 'first_seen_ms as firstSeenMs'])
    .where('copy_id', '=', copyId)
    .where(isIn(transaction, 'gtin', gtins))
    .execute()
  if (taken.length > 0)
    await transaction
      .deleteFrom('lapsed_deals')
      .where('copy_id', '=', copyId)
      .where(isIn(transaction, 'gtin', gtins))
      .execute()
  return taken
}
