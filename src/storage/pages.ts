import { setImmediate } from 'node:timers/promises'
import { type Transaction, sql } from 'kysely'
import type { Offer, Product } from '../catalog/contract.ts'
import { isFuture, toLatestPlausibleMs } from '../clock.ts'
import { getJsonFunctions, inList } from '../database/dialect.ts'
import { compareTexts } from '../offers/ranking.ts'
import { type CanonicalProduct, type StoredProduct, toStoredProduct, toCanonicalProduct } from './rows.ts'
import type { CopyTables } from './schema.ts'
import type { CopyRow } from './copies.ts'
import { NO_RECORDED_PRICES, type PageHistory, readPageHistory } from './page-history.ts'
import type { GtinRange, HistoryRules } from './price-history.ts'
import type { WalkWriter } from './walk-leases.ts'
import type { WalkPage } from './store.ts'
import {
  keepTimes,
  readLeftOutMerchants,
  splitRange,
  type Version,
  collectFirstSeen,
  countDealsByVersion,
  deleteVersions,
  insertVersions,
  saveFirstSeen,
  setCheckedAt,
  setUntilWalk,
  takeSavedFirstSeen,
} from './versions.ts'

/** Most rows per transaction, so that other writers never wait long. */
export const MAX_TRANSACTION_ROWS = 500

/** Most versions read per transaction: a page can span a large range of removed products. */
const MAX_VERSIONS_READ = 1_000

/** Sorts after every GTIN: the last page covers the rest of the catalog. */
const END_OF_CATALOG = ':'

/** Replaces a time in the future, so that any page is newer. */
const UNKNOWN_AGE_MS = 0

/** The rest of a page that is not yet applied. */
type Step = GtinRange &
  Readonly<{
    copy: CopyRow
    copyId: number
    page: WalkPage
    products: readonly Product[]
    nowMs: number
    history: HistoryRules
  }>

/** Write the changes of a page to the copy, and the page's own row in the last transaction. Idempotent. */
export async function applyPage(
  { copy, write }: WalkWriter,
  page: WalkPage,
  { nowMs, history }: Readonly<{ nowMs: number; history: HistoryRules }>,
): Promise<void> {
  const { afterGtin, products } = page
  const untilGtin = page.nextCursor === null ? END_OF_CATALOG : (products.at(-1)?.gtin ?? afterGtin)
  const start = { copy, copyId: copy.id, page, afterGtin, untilGtin, products, nowMs, history }
  let step: Step | undefined = start
  while (step !== undefined) {
    const next: Step = step
    step = await write((transaction) => applyStep(transaction, next))
    // Let the next page arrive.
    await setImmediate()
  }
}

/** Apply one transaction. Return the rest, or `undefined` when the page is complete. */
async function applyStep(transaction: Transaction<CopyTables>, step: Step): Promise<Step | undefined> {
  const { copy, copyId, page, afterGtin, nowMs } = step
  const { leftOutGtins = [] } = page
  const { versions, completeUntilGtin } = await readVersions(transaction, step)
  const absentGtins = await readAbsences(transaction, step)
  const products = step.products.filter(({ gtin }) => gtin <= completeUntilGtin)
  const history = await readPageHistory(transaction, step)
  const changes = computeChanges(page, products, { versions, absentGtins, history })
  const { selected, isTruncated } = await selectWithinRowLimit(transaction, changes)
  if (selected.length > 0) await applyChanges(transaction, step, { changes: selected, versions, history })
  const doneGtin = isTruncated ? (selected.at(-1)?.gtin ?? afterGtin) : completeUntilGtin
  await correctFutureTimes(
    transaction,
    page,
    versions.filter((version) => version.as_of_ms === UNKNOWN_AGE_MS && version.gtin <= doneGtin),
  )
  if (doneGtin >= step.untilGtin) {
    await keepTimes(transaction, copy, { gtins: leftOutGtins, nowMs })
    await putPageRows(transaction, step)
    await history?.recordPage()
    return undefined
  }
  // Unchanged products get their time from the page's row, which the last step writes. Until then a look-up older than the
  // page would seem newer.
  if (versions.length > 0)
    await sql`update products set as_of_ms = ${page.asOfMs} where copy_id = ${copyId} and gtin > ${afterGtin}
      and gtin <= ${doneGtin} and until_walk is null and as_of_ms < ${page.asOfMs}
      and not ${inList(transaction, 'gtin', leftOutGtins)}`.execute(transaction)
  return { ...step, afterGtin: doneGtin, products: step.products.filter(({ gtin }) => gtin > doneGtin) }
}

/** In the order of `VersionValues`. */
const VERSION_COLUMNS = 'id, gtin, from_walk, until_walk, digest, brand, checked_at, as_of_ms'

/** The stored versions of products, and what a page adds to their history; `undefined`: nothing. */
type PageState = Readonly<{ versions: readonly Version[]; history: PageHistory | undefined }>

type VersionValues = [number, string, number, number | null, string, string | null, string | null, number]

/** Parse and sort by GTIN: no database guarantees an order within the aggregate. */
function parseVersions(json: string, nowMs: number): readonly Version[] {
  const versions = (JSON.parse(json) as VersionValues[]).map(
    ([id, gtin, fromWalk, untilWalk, digest, brand, checkedAt, asOfMs]) => ({
      id,
      gtin,
      from_walk: fromWalk,
      until_walk: untilWalk,
      digest,
      brand,
      checked_at: checkedAt,
      as_of_ms: isFuture(asOfMs, nowMs) ? UNKNOWN_AGE_MS : asOfMs,
    }),
  )
  return versions.sort((a, b) => compareTexts(a.gtin, b.gtin))
}

/** Read the versions of the range that did not end before this walk, and the GTIN up to which they are complete. */
async function readVersions(
  transaction: Transaction<CopyTables>,
  { copyId, page, afterGtin, untilGtin, nowMs }: Step,
): Promise<Readonly<{ versions: readonly Version[]; completeUntilGtin: string }>> {
  const { groupArray, array } = getJsonFunctions(transaction)
  // One JSON text for all rows, because reading seven values per row costs more than finding the rows.
  const versionsJson = sql.raw(`cast(${groupArray}(${array}(${VERSION_COLUMNS})) as text)`)
  const { rows } = await sql<{ json: string | null }>`select ${versionsJson} as json from (
      select * from products where copy_id = ${copyId} and gtin > ${afterGtin} and gtin <= ${untilGtin}
      and (until_walk is null or until_walk = ${page.walk}) order by gtin limit ${MAX_VERSIONS_READ}
    ) versions`.execute(transaction)
  const versions = parseVersions(rows[0]?.json ?? '[]', nowMs)
  const last = versions.at(-1)
  if (last === undefined || versions.length < MAX_VERSIONS_READ)
    return { versions, completeUntilGtin: untilGtin }
  // The last product can have another version that was not read.
  const completeVersions = versions.filter(({ gtin }) => gtin < last.gtin)
  return { versions: completeVersions, completeUntilGtin: completeVersions.at(-1)?.gtin ?? untilGtin }
}

/** Read the GTINs of the range with an absence that is newer than the page. */
async function readAbsences(
  transaction: Transaction<CopyTables>,
  { copyId, page, afterGtin, untilGtin, nowMs }: Step,
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ gtin: string }>`
    select gtin from absences where copy_id = ${copyId} and gtin > ${afterGtin} and gtin <= ${untilGtin}
    and as_of_ms > ${page.asOfMs} and as_of_ms <= ${toLatestPlausibleMs(nowMs)}`.execute(transaction)
  return new Set(rows.map((row) => row.gtin))
}

/**
 * One write: revive, recheck, end or delete the newest version of a product, or insert a new one that replaces it. `recheck`
 * writes only the times of the prices; a revived version has new ones too. `observe` only records prices.
 */
type Change = Readonly<{
  kind: 'revive' | 'recheck' | 'end' | 'delete' | 'insert' | 'observe'
  gtin: string
  version: Version | undefined
  storedProduct: StoredProduct | undefined
  /** The offers whose prices are recorded, empty when the product is gone; `null`: nothing to record. */
  seenOffers: readonly Offer[] | null
}>

/**
 * Compare a page with the copy, lazily.
 * @yields the changes by GTIN, of products on the page and of products that the page lacks
 */
function* computeChanges(
  page: WalkPage,
  products: readonly Product[],
  { versions, absentGtins, history }: PageState & Readonly<{ absentGtins: ReadonlySet<string> }>,
): Generator<Change> {
  const leftOutGtins = new Set(page.leftOutGtins)
  const findAbsence = (version: Version): readonly Change[] => {
    if (!leftOutGtins.has(version.gtin)) return findEnd(version, page)
    // An interrupted attempt of this walk may have found the product gone, or written another version.
    const isReplaced = versions.some(
      ({ gtin, from_walk: from }) => gtin === version.gtin && from === page.walk,
    )
    return isReplaced ? [] : findRevival(version)
  }
  let position = 0
  for (const product of products) {
    let version = versions[position]
    for (; version !== undefined && version.gtin < product.gtin; version = versions[++position])
      yield* findAbsence(version)
    const productVersions: Version[] = []
    for (; version?.gtin === product.gtin; version = versions[++position]) productVersions.push(version)
    if (!absentGtins.has(product.gtin))
      yield* findChange(product, { versions: productVersions, history }, page)
  }
  for (const version of versions.slice(position)) yield* findAbsence(version)
}

function findChange(product: Product, { versions, history }: PageState, page: WalkPage): readonly Change[] {
  const newest = versions.find((version) => version.from_walk === page.walk) ?? versions[0]
  if (newest !== undefined && newest.as_of_ms > page.asOfMs) return findRevival(newest)
  const canonical = toCanonicalProduct(product, newest?.brand)
  if (newest?.digest === canonical.content.digest) return findConfirmation(newest, canonical, history)
  return [
    {
      kind: 'insert',
      gtin: product.gtin,
      version: newest,
      storedProduct: toStoredProduct(canonical, page.asOfMs),
      seenOffers: canonical.offers,
    },
  ]
}

function findRevival(version: Version): readonly Change[] {
  if (version.until_walk === null) return []
  return [{ kind: 'revive', gtin: version.gtin, version, storedProduct: undefined, seenOffers: null }]
}

function findConfirmation(
  version: Version,
  { content, offers }: CanonicalProduct,
  history: PageHistory | undefined,
): readonly Change[] {
  const { gtin, checked_at: checkedAt } = content
  const isRevived = version.until_walk !== null
  const isRechecked = version.checked_at !== checkedAt
  // What a wrong clock stored was not recorded.
  const isRecorded =
    isRevived ||
    version.as_of_ms === UNKNOWN_AGE_MS ||
    history?.hasChanged(offers, version.checked_at) === true
  if (!isRevived && !isRechecked && !isRecorded) return []
  const kind = isRevived ? 'revive' : isRechecked ? 'recheck' : 'observe'
  const checkedVersion = { ...version, checked_at: checkedAt }
  const seenOffers = isRecorded ? offers : null
  return [{ kind, gtin, version: checkedVersion, storedProduct: undefined, seenOffers }]
}

/** A product that the page lacks is gone, unless a look-up has found it since. */
function findEnd(version: Version, page: WalkPage): readonly Change[] {
  if (version.until_walk !== null || version.as_of_ms > page.asOfMs) return []
  const kind = version.from_walk === page.walk ? 'delete' : 'end'
  return [{ kind, gtin: version.gtin, version, storedProduct: undefined, seenOffers: [] }]
}

/** Select the first changes that fit into one transaction, at least one. `isTruncated`: there are more. */
async function selectWithinRowLimit(
  transaction: Transaction<CopyTables>,
  changes: Iterable<Change>,
): Promise<Readonly<{ selected: readonly Change[]; isTruncated: boolean }>> {
  const byNewRows = selectUntilRowLimit(changes, countNewRows)
  const deals = await countDealsByVersion(
    transaction,
    byNewRows.selected.flatMap(({ kind, version }) =>
      kind === 'recheck' || kind === 'observe' ? [] : (version?.id ?? []),
    ),
  )
  const byAllRows = selectUntilRowLimit(byNewRows.selected, (change) => {
    const { kind, version } = change
    const oldDeals = version === undefined ? 0 : (deals.get(version.id) ?? 0)
    // Ending a version also saves the first-seen times of its deals, and records that their prices are gone.
    return countNewRows(change) + 1 + (kind === 'end' || kind === 'delete' ? 3 * oldDeals : oldDeals)
  })
  return { selected: byAllRows.selected, isTruncated: byNewRows.isTruncated || byAllRows.isTruncated }
}

/** Count the rows of a product, its words, its deals and its prices. */
function countNewRows({ storedProduct, seenOffers }: Change): number {
  const prices = seenOffers?.length ?? 0
  return storedProduct === undefined ? prices : 2 + storedProduct.deals.length + prices
}

/** Consume the iterable only up to the limit: building a change costs as much as writing it. */
function selectUntilRowLimit(
  changes: Iterable<Change>,
  countRows: (change: Change) => number,
): Readonly<{ selected: readonly Change[]; isTruncated: boolean }> {
  const selected: Change[] = []
  // The page's own row.
  let rows = 1
  for (const change of changes) {
    rows += countRows(change)
    if (rows > MAX_TRANSACTION_ROWS && selected.length > 0) return { selected, isTruncated: true }
    selected.push(change)
  }
  return { selected, isTruncated: false }
}

function toIds(versions: readonly Version[]): readonly number[] {
  return versions.map(({ id }) => id)
}

async function applyChanges(
  transaction: Transaction<CopyTables>,
  { copyId, page }: Step,
  { changes, versions, history }: PageState & Readonly<{ changes: readonly Change[] }>,
): Promise<void> {
  const { walk, asOfMs } = page
  const listVersions = (...kinds: readonly Change['kind'][]): readonly Version[] =>
    changes.flatMap(({ kind, version }) => (kinds.includes(kind) ? (version ?? []) : []))
  const listIds = (kind: Change['kind']): readonly number[] => toIds(listVersions(kind))
  const storedProducts = changes.flatMap(({ storedProduct }) => storedProduct ?? [])
  const writtenGtins = new Set(storedProducts.map(({ content }) => content.gtin))
  // Delete a version that this walk already wrote; the version before it has the first-seen times.
  const replaced = versions.filter(({ gtin }) => writtenGtins.has(gtin))
  const rewritten = replaced.filter((version) => version.from_walk === walk)
  const outdated = replaced.filter((version) => version.from_walk < walk && version.until_walk === null)
  const firstSeen = await collectFirstSeen(transaction, copyId, {
    replacedIds: toIds(replaced),
    storedProducts,
  })
  await saveFirstSeen(transaction, [...listIds('end'), ...listIds('delete')], asOfMs)
  await setUntilWalk(transaction, listIds('revive'), null)
  await setCheckedAt(transaction, listVersions('revive', 'recheck'))
  const revivedGtins = changes.flatMap(({ kind, gtin }) => (kind === 'revive' ? gtin : []))
  await takeSavedFirstSeen(transaction, copyId, revivedGtins)
  await deleteVersions(transaction, [...listIds('delete'), ...toIds(rewritten)])
  await setUntilWalk(transaction, [...listIds('end'), ...toIds(outdated)], walk)
  const { findReference, changedGtins } = (await history?.record(changes)) ?? NO_RECORDED_PRICES
  await insertVersions(transaction, storedProducts, { copyId, fromWalk: walk, firstSeen, findReference })
  // The prices of these products changed only in age, or they were gone for a while.
  await history?.refreshFalls([...changedGtins].filter((gtin) => !writtenGtins.has(gtin)))
}

/** Replace times in the future, from a wrong clock, by the page's time: they would become valid some day. */
async function correctFutureTimes(
  transaction: Transaction<CopyTables>,
  { asOfMs }: WalkPage,
  futureDated: readonly Version[],
): Promise<void> {
  if (futureDated.length === 0) return
  const ids = toIds(futureDated)
  await sql`update products set as_of_ms = ${asOfMs}
    where ${inList(transaction, 'id', ids)} and until_walk is null`.execute(transaction)
  await sql`update deals set first_seen_ms = ${asOfMs}
    where ${inList(transaction, 'product_id', ids)} and first_seen_ms > ${asOfMs}`.execute(transaction)
}

/** Write the page's row, or one for each part of its range between products that are left out. */
async function putPageRows(
  transaction: Transaction<CopyTables>,
  { copyId, page, untilGtin }: Step,
): Promise<void> {
  const { walk, afterGtin, asOfMs, nextCursor, leftOutGtins = [] } = page
  const merchants = await readLeftOutMerchants(transaction, copyId, leftOutGtins)
  const malformed = toMalformedJson(page.malformed)
  const ranges = splitRange({ afterGtin, untilGtin }, leftOutGtins)
  for (const [index, range] of ranges.entries()) {
    // The last row counts for the whole page: a walk resumes after it.
    const isLast = index === ranges.length - 1
    const drops = JSON.stringify(isLast ? page.drops : {})
    const rowMerchants = JSON.stringify(isLast ? [...listMerchants(page.products), ...merchants] : [])
    await sql`insert into "walk_pages"
      (copy_id, walk, after_gtin, until_gtin, as_of_ms, next_cursor, product_count, drops, merchants, malformed)
      values (${copyId}, ${walk}, ${range.afterGtin}, ${range.untilGtin}, ${asOfMs}, ${nextCursor},
        ${isLast ? page.products.length : 0}, ${drops}, ${rowMerchants}, ${malformed})
      on conflict (copy_id, walk, after_gtin) do update set until_gtin = excluded.until_gtin,
      as_of_ms = excluded.as_of_ms, next_cursor = excluded.next_cursor, product_count = excluded.product_count,
      drops = excluded.drops, merchants = excluded.merchants, malformed = excluded.malformed`.execute(
      transaction,
    )
  }
}

/** A page without a usable product adds its malformed ones to the next page, so there can be many. */
const MAX_MALFORMED = 500

function toMalformedJson(malformed: WalkPage['malformed']): string | null {
  if (malformed === undefined || malformed.size === 0) return null
  return JSON.stringify(Object.fromEntries([...malformed].slice(0, MAX_MALFORMED)))
}

function listMerchants(products: readonly Product[]): readonly string[] {
  const merchants = new Set<string>()
  for (const { offers } of products) for (const { merchant } of offers) merchants.add(merchant)
  return [...merchants]
}
