import { type Kysely, type Transaction, sql } from 'kysely'
import { toDay } from '../offers/price-history.ts'
import { compareTexts } from '../offers/ranking.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import { cleanText } from '../offers/text.ts'
import type { DayPeriod } from './counts.ts'
import type { EventDetails } from './events.ts'
import type { CopyTables } from './schema.ts'
import { createVersionCondition } from './sql-copies.ts'
import { listAskedProducts, listPlacements } from './sql-coverage-reads.ts'
import { insertEvents, insertJson } from './sql-events.ts'
import { createInCondition, execute } from './statements.ts'

/** Days in which a widget must have asked for a product. */
const WATCHED_DAYS = 28

/** The most requested products of a channel that are watched, so that a large catalog does not flood the editors. */
const MAX_WATCHED = 5_000

/** Placements that an event names. */
const MAX_NAMED_PLACEMENTS = 20

/** Bounds of texts of the catalog. */
const MAX_TITLE_CHARACTERS = 200
const MAX_NAME_CHARACTERS = 100

/** A walk with all its pages that is about to become current. `currentWalk`: the one before, 0 without one. */
export type EndedWalk = Readonly<{
  catalog: string
  channelId: string
  copyId: number
  currentWalk: number
  walk: number
  nowMs: number
  shops: ShopBook
}>

/**
 * Read what a walk changes. The returned function adds the events in the transaction that makes the walk current, so that a
 * change is reported once, whatever crashes.
 */
export async function prepareEvents(
  database: Kysely<CopyTables>,
  ended: EndedWalk,
): Promise<(transaction: Transaction<CopyTables>) => Promise<void>> {
  const { catalog, channelId, copyId, nowMs } = ended
  const untilDay = toDay(nowMs)
  const period = { fromDay: untilDay - WATCHED_DAYS + 1, untilDay }
  const watched = await listAskedProducts(database, copyId, { ...period, limit: MAX_WATCHED })
  const gtins = watched.map(({ gtin }) => gtin)
  const titles = await readSoldTitles(database, ended, gtins)
  const shopEvents = await findGoneShops(database, ended)
  return async (transaction) => {
    const changes = await updateProductStates(transaction, copyId, { gtins, titles })
    const productEvents = await addPlacements(transaction, copyId, { changes, period })
    const events = [...shopEvents, ...productEvents].map((details) => ({ channelId, details }))
    await insertEvents(transaction, { catalog, nowMs }, events)
  }
}

/** Read the titles of the products that have an offer in the walk. */
async function readSoldTitles(
  database: Kysely<CopyTables>,
  { copyId, walk }: EndedWalk,
  gtins: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ gtin: string; title: string }>`select gtin, title from products
    where copy_id = ${copyId} and ${createInCondition(database, 'gtin', gtins)}
      and ${createVersionCondition(walk)} and offers <> '[]'`.execute(database)
  return new Map(rows.map(({ gtin, title }) => [gtin, cleanText(title, MAX_TITLE_CHARACTERS)]))
}

type ProductChange = Readonly<{ type: 'product.gone' | 'product.back'; gtin: string; title: string }>

type StateRow = Readonly<{ copy_id: number; gtin: string; is_sold: number; title: string }>

/** Store the state of the watched products. Return those that were known and have changed, the most requested first. */
async function updateProductStates(
  transaction: Transaction<CopyTables>,
  copyId: number,
  { gtins, titles }: Readonly<{ gtins: readonly string[]; titles: ReadonlyMap<string, string> }>,
): Promise<readonly ProductChange[]> {
  const statement = 'select copy_id, gtin, is_sold, title from product_states where copy_id = ?'
  const rows = await execute<StateRow>(transaction, statement, [copyId])
  const known = new Map(rows.map((row) => [row.gtin, row]))
  const states = gtins.map((gtin) => {
    const title = titles.get(gtin)
    // A product that is gone keeps its last title.
    return {
      copy_id: copyId,
      gtin,
      is_sold: Number(title !== undefined),
      title: title ?? known.get(gtin)?.title ?? '',
    }
  })
  const changed = states.filter((state) => {
    const before = known.get(state.gtin)
    return before?.is_sold !== state.is_sold || before.title !== state.title
  })
  await insertJson(transaction, 'product_states', changed, ['copy_id', 'gtin'])
  const watched = new Set(gtins)
  const unwatched = rows.map(({ gtin }) => gtin).filter((gtin) => !watched.has(gtin))
  if (unwatched.length > 0)
    await sql`delete from product_states where copy_id = ${copyId}
      and ${createInCondition(transaction, 'gtin', unwatched)}`.execute(transaction)
  return changed
    .filter(({ gtin, is_sold: isSold }) => known.has(gtin) && known.get(gtin)?.is_sold !== isSold)
    .map(({ gtin, is_sold: isSold, title }) => ({
      type: isSold === 1 ? ('product.back' as const) : ('product.gone' as const),
      gtin,
      title,
    }))
}

async function addPlacements(
  transaction: Transaction<CopyTables>,
  copyId: number,
  { changes, period }: Readonly<{ changes: readonly ProductChange[]; period: DayPeriod }>,
): Promise<readonly EventDetails[]> {
  if (changes.length === 0) return []
  const gtins = changes.map(({ gtin }) => gtin)
  const subsByGtin = new Map<string, string[]>(gtins.map((gtin) => [gtin, []]))
  for (const { gtin, sub } of await listPlacements(transaction, copyId, { ...period, gtins }))
    if (sub !== '') subsByGtin.get(gtin)?.push(sub)
  return changes.map((change) => {
    const subs = subsByGtin.get(change.gtin) ?? []
    const placements = subs.slice(0, MAX_NAMED_PLACEMENTS)
    return { ...change, placements, morePlacements: subs.length - placements.length }
  })
}

/** Find the shops of the walk before that have no offer in this one. */
async function findGoneShops(
  database: Kysely<CopyTables>,
  { copyId, currentWalk, walk, shops }: EndedWalk,
): Promise<readonly EventDetails[]> {
  const before = await readMerchants(database, copyId, currentWalk)
  const after = await readMerchants(database, copyId, walk)
  if (before === undefined || after === undefined) return []
  const remaining = new Set([...after].map((merchant) => shops.toKey(merchant)))
  const gone = new Map<string, string>()
  for (const merchant of before) {
    const key = shops.toKey(merchant)
    if (!remaining.has(key) && !gone.has(key)) gone.set(key, merchant)
  }
  return [...gone.values()].sort(compareTexts).map((merchant) => ({
    type: 'shop.gone',
    merchant: cleanText(shops.toMainName(merchant), MAX_NAME_CHARACTERS),
    name: cleanText(shops.toShownName(merchant), MAX_NAME_CHARACTERS),
  }))
}

/** Read the merchants on the pages of a walk; `undefined` when not every page knows them. */
async function readMerchants(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<ReadonlySet<string> | undefined> {
  const statement = 'select merchants from walk_pages where copy_id = ? and walk = ?'
  const pages = await execute<{ merchants: string | null }>(database, statement, [copyId, walk])
  const merchants = new Set<string>()
  for (const page of pages) {
    if (page.merchants === null) return undefined
    for (const merchant of JSON.parse(page.merchants) as readonly string[]) merchants.add(merchant)
  }
  return merchants
}
