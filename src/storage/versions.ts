import { type Selectable, type Transaction, sql } from 'kysely'
import { DAY_MS } from '../clock.ts'
import { createRowSource, execute, inList, insertRows, insertRowsForIds } from '../database/dialect.ts'
import { toOfferKey } from '../offers/deals.ts'
import { toPictureHash } from '../offers/pictures.ts'
import { compareTexts } from '../offers/ranking.ts'
import { type RowTimes, selectPageTime, toAsOfMs } from './lookups.ts'
import {
  type FirstSeen,
  type StoredProduct,
  type VersionContext,
  toDealRows,
  toFirstSeenKey,
} from './rows.ts'
import type { CopyTables, ProductsTable } from './schema.ts'
import type { CopyRow } from './copies.ts'
import { type FallFinder, addObservedDeals } from './observed-deals.ts'
import type { GtinRange } from './price-history.ts'
import { createSearchColumns } from './search.ts'
import { insertWithSearchWords } from './search-index.ts'

export type Version = Selectable<
  Pick<
    ProductsTable,
    'id' | 'gtin' | 'from_walk' | 'until_walk' | 'digest' | 'brand' | 'checked_at' | 'as_of_ms'
  >
>

/** `findReference`: for the deals of these products. */
export async function insertVersions(
  transaction: Transaction<CopyTables>,
  storedProducts: readonly StoredProduct[],
  { findReference, ...context }: VersionContext & Readonly<{ findReference: FallFinder }>,
): Promise<void> {
  if (storedProducts.length === 0) return
  const rows = storedProducts.map((storedProduct) => toProductRow(transaction, storedProduct, context))
  const target = { table: 'products', key: 'gtin' }
  const ids = await insertWithSearchWords(transaction, rows.length, () =>
    insertRowsForIds(transaction, target, rows),
  )
  const rowsOfDeals = storedProducts.flatMap((storedProduct, index) =>
    toDealRows(storedProduct, ids[index] ?? 0, context),
  )
  await insertRows(transaction, 'deals', addObservedDeals(rowsOfDeals, findReference))
}

function toProductRow(
  transaction: Transaction<CopyTables>,
  { content, imageUrl, searchText, asOfMs }: StoredProduct,
  { copyId, fromWalk }: VersionContext,
): Omit<ProductsTable, 'id'> {
  // The spreads are last because V8 is very slow with properties after a spread.
  return {
    copy_id: copyId,
    from_walk: fromWalk,
    until_walk: null,
    as_of_ms: asOfMs,
    search_text: searchText,
    picture_hash: imageUrl === null ? null : toPictureHash(imageUrl),
    ...createSearchColumns(transaction, searchText),
    ...content,
  }
}

/** The versioned tables, each with its column for the product id. */
const VERSION_TABLES = { products: 'id', deals: 'product_id' } as const

/** Set or clear the end of versions and of their deals. */
export async function setUntilWalk(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
  untilWalk: number | null,
): Promise<void> {
  if (productIds.length === 0) return
  for (const [table, column] of Object.entries(VERSION_TABLES))
    await sql`update ${sql.table(table)} set until_walk = ${untilWalk}
      where ${inList(transaction, column, productIds)}`.execute(transaction)
}

/** Replace the times of the prices of versions whose content is unchanged, in one statement. */
export async function setCheckedAt(
  transaction: Transaction<CopyTables>,
  versions: readonly Pick<Version, 'id' | 'checked_at'>[],
): Promise<void> {
  if (versions.length === 0) return
  const rows = versions.map(({ id, checked_at }) => ({ id, checked_at }))
  const source = createRowSource(transaction, 'products', ['id', 'checked_at'])
  const statement = `update products set checked_at = checked.checked_at from ${source} as checked
    where products.id = checked.id`
  await execute(transaction, statement, [JSON.stringify(rows)])
}

/** Delete versions with their deals. `endedByWalk`: only versions that ended at or before that walk. */
export async function deleteVersions(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
  endedByWalk?: number,
): Promise<void> {
  if (productIds.length === 0) return
  const isEnded = endedByWalk === undefined ? sql`` : sql`and until_walk <= ${endedByWalk}`
  for (const [table, column] of Object.entries(VERSION_TABLES))
    await sql`delete from ${sql.table(table)}
      where ${inList(transaction, column, productIds)} ${isEnded}`.execute(transaction)
}

export async function countDealsByVersion(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  if (productIds.length === 0) return new Map()
  const { rows } = await sql<{ product_id: number; count: number }>`
    select product_id, count(*) as count from deals
    where ${inList(transaction, 'product_id', productIds)} group by product_id`.execute(transaction)
  return new Map(rows.map((row) => [row.product_id, row.count]))
}

type OfferFirstSeen = Readonly<{ gtin: string; offer_key: string; first_seen_ms: number }>

function toFirstSeen(offers: readonly OfferFirstSeen[]): FirstSeen {
  return new Map(offers.map((offer) => [toFirstSeenKey(offer.gtin, offer.offer_key), offer.first_seen_ms]))
}

/**
 * Collect when offers were first seen on sale, from the replaced versions and from the times saved by `saveFirstSeen`.
 * Call it before the versions are deleted or ended.
 */
export async function collectFirstSeen(
  transaction: Transaction<CopyTables>,
  copyId: number,
  {
    replacedIds,
    storedProducts,
    lapsedSinceMs,
  }: Readonly<{
    replacedIds: readonly number[]
    storedProducts: readonly StoredProduct[]
    lapsedSinceMs?: number
  }>,
): Promise<FirstSeen> {
  const knownTimes = await readFirstSeen(transaction, replacedIds)
  const unseenGtins = storedProducts.flatMap(({ content: { gtin }, deals }) =>
    deals.some(({ offer }) => !knownTimes.has(toFirstSeenKey(gtin, toOfferKey(offer)))) ? gtin : [],
  )
  return new Map([
    ...(await takeSavedFirstSeen(transaction, copyId, unseenGtins, lapsedSinceMs)),
    ...knownTimes,
  ])
}

/** Read the first-seen times of some versions; the earliest when two versions have the same offer. */
async function readFirstSeen(
  transaction: Transaction<CopyTables>,
  productIds: readonly number[],
): Promise<FirstSeen> {
  if (productIds.length === 0) return new Map()
  const { rows } = await sql<OfferFirstSeen>`
    select gtin, offer_key, min(first_seen_ms) as first_seen_ms from deals
    where ${inList(transaction, 'product_id', productIds)} group by gtin, offer_key`.execute(transaction)
  return toFirstSeen(rows)
}

/** Save the first-seen times of versions whose product is absent from now on. Call it before they are deleted. */
export async function saveFirstSeen(
  transaction: Transaction<CopyTables>,
  absentIds: readonly number[],
  asOfMs: number,
): Promise<void> {
  if (absentIds.length === 0) return
  await sql`insert into lapsed_deals (copy_id, gtin, offer_key, first_seen_ms, lapsed_at_ms)
    select copy_id, gtin, offer_key, min(first_seen_ms), cast(${asOfMs} as bigint) from deals
    where ${inList(transaction, 'product_id', absentIds)} group by copy_id, gtin, offer_key
    on conflict (copy_id, gtin, offer_key) do update
    set first_seen_ms = excluded.first_seen_ms, lapsed_at_ms = excluded.lapsed_at_ms`.execute(transaction)
}

/** How long the first-seen times of an absent product's deals are kept. A deal that returns later counts as new. */
export const LAPSED_RETENTION_MS: number = 7 * DAY_MS

/**
 * Read and delete the saved first-seen times of products that have returned; those that lapsed before `lapsedSinceMs` do not count.
 * Each walk deletes old ones, but there may be no walks.
 */
export async function takeSavedFirstSeen(
  transaction: Transaction<CopyTables>,
  copyId: number,
  gtins: readonly string[],
  lapsedSinceMs = 0,
): Promise<FirstSeen> {
  if (gtins.length === 0) return new Map()
  const hasReturned = sql`copy_id = ${copyId} and ${inList(transaction, 'gtin', gtins)}`
  const { rows } = await sql<OfferFirstSeen & { lapsed_at_ms: number }>`
    select gtin, offer_key, first_seen_ms, lapsed_at_ms from lapsed_deals where ${hasReturned}`.execute(
    transaction,
  )
  if (rows.length > 0) await sql`delete from lapsed_deals where ${hasReturned}`.execute(transaction)
  return toFirstSeen(rows.filter((row) => row.lapsed_at_ms >= lapsedSinceMs))
}

// Products that a walk leaves out because they are too large. Their stored data stay and age (ADR 0007).

const GTIN_DIGITS = 14

/** Split a range into the parts without some of its GTINs, sorted; at least one. */
export function splitRange(
  { afterGtin, untilGtin }: GtinRange,
  gtins: readonly string[],
): readonly GtinRange[] {
  const starts = [afterGtin, ...gtins]
  return starts
    .map((start, index) => {
      const next = gtins[index]
      return { afterGtin: start, untilGtin: next === undefined ? untilGtin : findPrevious(next) }
    })
    .filter((range) => range.untilGtin > range.afterGtin)
}

/** Return the largest number below a GTIN; the empty text when there is none. */
function findPrevious(gtin: string): string {
  const number = BigInt(gtin)
  return number === 0n ? '' : String(number - 1n).padStart(GTIN_DIGITS, '0')
}

/** Give the stored versions the time that the current walk gives them: its pages are deleted when the next walk is complete. */
export async function keepTimes(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  { gtins, nowMs }: Readonly<{ gtins: readonly string[]; nowMs: number }>,
): Promise<void> {
  if (gtins.length === 0) return
  const { rows } = await sql<RowTimes & { id: number }>`select p.id, p.as_of_ms, ${selectPageTime(copy)}
    from products p where p.copy_id = ${copy.id} and ${inList(transaction, 'p.gtin', gtins)}
      and p.until_walk is null`.execute(transaction)
  for (const { id, ...times } of rows) {
    const asOfMs = toAsOfMs(times, nowMs)
    if (asOfMs !== times.as_of_ms)
      await sql`update products set as_of_ms = ${asOfMs} where id = ${id}`.execute(transaction)
  }
}

/** Read the merchants of the stored offers: they still sell these products. */
export async function readLeftOutMerchants(
  transaction: Transaction<CopyTables>,
  copyId: number,
  gtins: readonly string[],
): Promise<readonly string[]> {
  if (gtins.length === 0) return []
  const { rows } = await sql<{ offers: string }>`select offers from products
    where copy_id = ${copyId} and ${inList(transaction, 'gtin', gtins)} and until_walk is null`.execute(
    transaction,
  )
  const merchants = rows.flatMap(
    ({ offers }) => JSON.parse(offers) as readonly Readonly<{ merchant: string }>[],
  )
  return [...new Set(merchants.map(({ merchant }) => merchant))].sort(compareTexts)
}
