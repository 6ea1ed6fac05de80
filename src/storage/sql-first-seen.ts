import { type Kysely, type Transaction, sql } from 'kysely'
import { DAY_MS } from '../clock.ts'
import type { StoredShape } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { isIn } from './statements.ts'

/** How long the first times of a product's offers are kept while it is absent: it may come back. */
const KEPT_MS: number = 7 * DAY_MS

/** Rows that one statement removes, about. */
const MAX_STEP_ROWS = 100

/** When each offer of a product was first seen on sale, Unix milliseconds, by `toFirstSeenKey`. */
export type FirstSeen = ReadonlyMap<string, number>

type Place = Readonly<{ copyId: number; asOfMs: number }>

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
  const seen = await readOfVersions(transaction, replacedIds)
  const isUnseen = ({ content, deals }: StoredShape): boolean =>
    deals.some((deal) => !seen.has(toFirstSeenKey(content.gtin, deal.offer_key)))
  const gtins = shapes.filter(isUnseen).map(({ content }) => content.gtin)
  const known = [...(await takeLapsed(transaction, copyId, gtins)), ...seen.values()]
  return new Map(known.map((offer) => [toFirstSeenKey(offer.gtin, offer.offerKey), offer.firstSeenMs]))
}

/** Forget what is kept of products that are back as they were. */
export async function forgetLapsed(
  transaction: Transaction<CopyTables>,
  copyId: number,
  gtins: readonly string[],
): Promise<void> {
  await takeLapsed(transaction, copyId, gtins)
}

/** Keep the first times of the offers of versions whose product is absent from now on. Call it before they are deleted. */
export async function keepFirstSeen(
  transaction: Transaction<CopyTables>,
  place: Place,
  absentIds: readonly number[],
): Promise<void> {
  const seen = await readOfVersions(transaction, absentIds)
  await putLapsed(transaction, place, [...seen.values()])
}

/** Forget offers whose product has been absent for too long for it to be the same sale. */
export async function removeLapsedDeals(
  database: Kysely<CopyTables>,
  copyId: number,
  nowMs: number,
): Promise<void> {
  for (;;) {
    const rows = await database
      .selectFrom('lapsed_deals')
      .select('gtin')
      .where('copy_id', '=', copyId)
      .where('lapsed_at_ms', '<', nowMs - KEPT_MS)
      .limit(MAX_STEP_ROWS)
      .execute()
    if (rows.length === 0) return
    await database
      .deleteFrom('lapsed_deals')
      .where('copy_id', '=', copyId)
      .where(
        'gtin',
        'in',
        rows.map(({ gtin }) => gtin),
      )
      .where('lapsed_at_ms', '<', nowMs - KEPT_MS)
      .execute()
  }
}

type SeenOffer = Readonly<{ gtin: string; offerKey: string; firstSeenMs: number }>

/** The deals of some versions; the earliest time where two versions have the same offer. */
async function readOfVersions(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
): Promise<ReadonlyMap<string, SeenOffer>> {
  if (productIds.length === 0) return new Map()
  const rows = await transaction
    .selectFrom('deals')
    .select(['gtin', 'offer_key as offerKey', sql<number>`min(first_seen_ms)`.as('firstSeenMs')])
    .where(isIn(transaction, 'product_id', productIds))
    .groupBy(['gtin', 'offer_key'])
    .execute()
  return new Map(rows.map((offer) => [toFirstSeenKey(offer.gtin, offer.offerKey), offer]))
}

/** Read what is kept of products that are back, and forget it. */
async function takeLapsed(
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

async function putLapsed(
  transaction: Transaction<CopyTables>,
  { copyId, asOfMs }: Place,
  offers: readonly SeenOffer[],
): Promise<void> {
  for (const { gtin, offerKey, firstSeenMs } of offers) {
    const times = { first_seen_ms: firstSeenMs, lapsed_at_ms: asOfMs }
    await transaction
      .insertInto('lapsed_deals')
      .values({ copy_id: copyId, gtin, offer_key: offerKey, ...times })
      .onConflict((conflict) => conflict.columns(['copy_id', 'gtin', 'offer_key']).doUpdateSet(times))
      .execute()
  }
}
