import { type Kysely, type Transaction, sql } from 'kysely'
import { execute, inList, insertRows, isPostgres } from '../database/dialect.ts'
import { toDay } from '../offers/price-history.ts'
import { compareTexts } from '../offers/ranking.ts'
import type { ShopBook } from '../offers/shop-book.ts'
import { cleanText } from '../offers/text.ts'
import { type DayPeriod, sumStates, listPlacements } from './counts.ts'
import { type EventDetails, insertEvents } from './events.ts'
import type { CopyTables } from './schema.ts'
import { createVersionCondition } from './copies.ts'

/** Days in which widgets must have asked for a product, on at least two of them: a bot's requests are seldom repeated. */
const WATCHED_DAYS = 28

/** The products of a channel with the most placements are watched, so that a large catalog does not flood the editors. */
const MAX_WATCHED = 2_000

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
 * change is reported once, whatever crashes. Only that transaction writes the states, so they can be read before it.
 */
export async function prepareEvents(
  database: Kysely<CopyTables>,
  ended: EndedWalk,
): Promise<(transaction: Transaction<CopyTables>) => Promise<void>> {
  const { catalog, channelId, copyId, nowMs } = ended
  const untilDay = toDay(nowMs)
  const period = { fromDay: untilDay - WATCHED_DAYS + 1, untilDay }
  const gtins = await listWatchedProducts(database, copyId, period)
  const titles = await readSoldTitles(database, ended, gtins)
  const known = await readProductStates(database, copyId)
  const { changes, states } = compareProducts({ copyId, gtins, titles, known })
  const shopEvents = await findGoneShops(database, ended)
  const productEvents = await addPlacements(database, copyId, { changes, period })
  const events = [...shopEvents, ...productEvents].map((details) => ({ channelId, details }))
  const isWatched = new Set(gtins)
  const unwatched = [...known.keys()].filter((gtin) => !isWatched.has(gtin))
  return async (transaction) => {
    await insertRows(transaction, 'product_states', states, { keys: ['copy_id', 'gtin'] })
    if (unwatched.length > 0)
      await sql`delete from product_states where copy_id = ${copyId}
        and ${inList(transaction, 'gtin', unwatched)}`.execute(transaction)
    await insertEvents(transaction, { catalog, nowMs }, events)
  }
}

/** List the products to watch. SQLite reads all rows of the index only when too many products qualify. */
async function listWatchedProducts(
  database: Kysely<CopyTables>,
  copyId: number,
  period: DayPeriod,
): Promise<readonly string[]> {
  if (!isPostgres(database)) {
    const repeated = await listRepeatedProducts(database, copyId, period)
    if (repeated.length <= MAX_WATCHED) return repeated
  }
  // `+day` keeps SQLite from the primary key: the index by product has all columns that are needed.
  const statement = `select gtin from widget_counts where copy_id = ? and +day between ? and ?
    group by gtin having min(day) < max(day) order by count(*) desc, gtin limit ?`
  const values = [copyId, period.fromDay, period.untilDay, MAX_WATCHED]
  return toGtins(await execute(database, statement, values))
}

/** List the products that were asked for on two days or more: one row of each and two of its days are read from SQLite's index. */
async function listRepeatedProducts(
  database: Kysely<CopyTables>,
  copyId: number,
  { fromDay, untilDay }: DayPeriod,
): Promise<readonly string[]> {
  const isOfProduct = sql`c.copy_id = ${copyId} and c.gtin = asked.gtin and c.day between ${fromDay} and ${untilDay}`
  const { rows } = await sql<{ gtin: string }>`
    with recursive asked (gtin) as (
      select min(gtin) from widget_counts where copy_id = ${copyId}
      union all select (select min(gtin) from widget_counts where copy_id = ${copyId} and gtin > asked.gtin)
      from asked where gtin is not null)
    select gtin from asked where (select min(day) from widget_counts c where ${isOfProduct})
      < (select max(day) from widget_counts c where ${isOfProduct})`.execute(database)
  return toGtins(rows)
}

function toGtins(rows: readonly Readonly<{ gtin: string }>[]): readonly string[] {
  return rows.map(({ gtin }) => gtin)
}

/** Read the titles of the products that have an offer in the walk. */
async function readSoldTitles(
  database: Kysely<CopyTables>,
  { copyId, walk }: EndedWalk,
  gtins: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ gtin: string; title: string }>`select gtin, title from products
    where copy_id = ${copyId} and ${inList(database, 'gtin', gtins)}
      and ${createVersionCondition(walk)} and offers <> '[]'`.execute(database)
  return new Map(rows.map(({ gtin, title }) => [gtin, cleanText(title, MAX_TITLE_CHARACTERS)]))
}

type ProductChange = Readonly<{ type: 'product.gone' | 'product.back'; gtin: string; title: string }>

type StateRow = Readonly<{ copy_id: number; gtin: string; is_sold: number; title: string }>

type KnownStates = ReadonlyMap<string, StateRow>

async function readProductStates(database: Kysely<CopyTables>, copyId: number): Promise<KnownStates> {
  const statement = 'select copy_id, gtin, is_sold, title from product_states where copy_id = ?'
  const rows = await execute<StateRow>(database, statement, [copyId])
  return new Map(rows.map((row) => [row.gtin, row]))
}

/** Return the states to store, and the products that were known and have changed. */
function compareProducts({
  copyId,
  gtins,
  titles,
  known,
}: Readonly<{
  copyId: number
  gtins: readonly string[]
  titles: ReadonlyMap<string, string>
  known: KnownStates
}>): Readonly<{ states: readonly StateRow[]; changes: readonly ProductChange[] }> {
  const toState = (gtin: string): StateRow => {
    const title = titles.get(gtin)
    // A product that is gone keeps its last title.
    const knownTitle = title ?? known.get(gtin)?.title ?? ''
    return { copy_id: copyId, gtin, is_sold: Number(title !== undefined), title: knownTitle }
  }
  const states = gtins.map(toState).filter((state) => {
    const before = known.get(state.gtin)
    return before?.is_sold !== state.is_sold || before.title !== state.title
  })
  const changes = states
    .filter(({ gtin, is_sold: isSold }) => known.has(gtin) && known.get(gtin)?.is_sold !== isSold)
    .map(({ gtin, is_sold: isSold, title }): ProductChange => {
      const type = isSold === 1 ? 'product.back' : 'product.gone'
      return { type, gtin, title }
    })
  return { states, changes }
}

/** Add the placements of each product. The most requested product is first. */
async function addPlacements(
  database: Kysely<CopyTables>,
  copyId: number,
  { changes, period }: Readonly<{ changes: readonly ProductChange[]; period: DayPeriod }>,
): Promise<readonly EventDetails[]> {
  if (changes.length === 0) return []
  const asked = new Map(changes.map(({ gtin }) => [gtin, { requests: 0, subs: new Array<string>() }]))
  for (const count of await listPlacements(database, copyId, { ...period, gtins: [...asked.keys()] })) {
    const product = asked.get(count.gtin)
    if (product === undefined) continue
    product.requests += sumStates(count)
    if (count.sub !== '') product.subs.push(count.sub)
  }
  const toRequests = ({ gtin }: ProductChange): number => asked.get(gtin)?.requests ?? 0
  const ranked = changes.toSorted((a, b) => toRequests(b) - toRequests(a) || compareTexts(a.gtin, b.gtin))
  return ranked.map((change) => {
    const subs = asked.get(change.gtin)?.subs ?? []
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

/** Read the merchants on the pages of a walk. */
async function readMerchants(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<ReadonlySet<string>> {
  const statement = 'select merchants from walk_pages where copy_id = ? and walk = ?'
  const pages = await execute<{ merchants: string }>(database, statement, [copyId, walk])
  return new Set(pages.flatMap(({ merchants }) => JSON.parse(merchants) as readonly string[]))
}
