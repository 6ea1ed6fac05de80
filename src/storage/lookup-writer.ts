import { setImmediate, setTimeout as wait } from 'node:timers/promises'
import { type Transaction, sql } from 'kysely'
import type { Product, Offer } from '../catalog/contract.ts'
import { type Clock, DAY_MS, isFuture, isNewer } from '../clock.ts'
import { createRowSource, execute, inList } from '../database/dialect.ts'
import { isLocked, isReadOnly, isUnavailable } from '../database/failures.ts'
import { readDatabaseTime } from '../database/leases.ts'
import { isConflict } from '../database/retries.ts'
import { createBatcher } from '../lib/concurrency.ts'
import { createPriceCheck } from '../offers/price-age.ts'
import { collectPrices, toDay } from '../offers/price-history.ts'
import { compareTexts } from '../offers/ranking.ts'
import type { CopyConnection } from './copy-database.ts'
import { toPageTime } from './lookups.ts'
import { type StoredProduct, toStoredProduct, toCanonicalProduct } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, getOrCreateCopy } from './copies.ts'
import {
  type FallFinder,
  createFallFinder,
  deleteHistories,
  findNoReference,
  refreshFalls,
} from './observed-deals.ts'
import {
  type HistoryRules,
  deleteObservedDays,
  readWalkedDays,
  recordObservedDays,
  recordSightings,
} from './price-history.ts'
import {
  LAPSED_RETENTION_MS,
  type Version,
  collectFirstSeen,
  deleteVersions,
  insertVersions,
  saveFirstSeen,
} from './versions.ts'
import type { CopyEntry, Lookup } from './store.ts'

/** Absences older than any page that is still being written are deleted. */
const ABSENCE_RETENTION_MS: number = DAY_MS

/** Bounds of one transaction, which blocks the event loop and the database. */
const MAX_LOOKUPS = 16
const MAX_OFFERS = 200

/** Pause between batches: a commit blocks the event loop, so calls that arrive meanwhile share one. */
const BATCH_DELAY_MS = 5

/** The look-ups of one call, written atomically. */
type LookupBatch = readonly Lookup[]

/**
 * Create the writer of look-ups. Calls that arrive during a transaction share the next one. Newer stored data is not
 * overwritten, unless its time is in the future.
 */
export function createLookupWriter(
  connection: CopyConnection,
  catalog: string,
  { clock, history }: Readonly<{ clock: Clock; history: HistoryRules }>,
): (lookups: LookupBatch) => Promise<void> {
  const put = (batches: readonly LookupBatch[]): Promise<void> =>
    connection.transact((transaction) =>
      putLookups(transaction, catalog, { lookups: batches.flat(), clock, history }),
    )
  const putBatches = createBatcher(
    async (batches: readonly LookupBatch[]) => {
      const failures = new Map<LookupBatch, unknown>()
      for (const group of splitBatches(batches)) {
        try {
          await put(group)
        } catch (error) {
          // One failing look-up must not fail the others of the group.
          for (const batch of group)
            if (failsForAll(error) || group.length === 1) failures.set(batch, error)
            else await put([batch]).catch((batchError: unknown) => failures.set(batch, batchError))
        }
        // Serve visitors between two transactions.
        await setImmediate()
      }
      return batches.map((batch) => failures.get(batch))
    },
    () => wait(BATCH_DELAY_MS),
  )
  return async (lookups) => {
    const failure = await putBatches(lookups)
    if (failure !== undefined) throw failure
  }
}

/** Whether the database failed, and not a look-up. */
function failsForAll(error: unknown): boolean {
  return isConflict(error) || isUnavailable(error) || isLocked(error) || isReadOnly(error)
}

/** Split calls into transactions of bounded size, each with at least one call. */
function splitBatches(batches: readonly LookupBatch[]): readonly (readonly LookupBatch[])[] {
  const transactions: LookupBatch[][] = []
  let lookups = Infinity
  let offers = 0
  for (const batch of batches) {
    const batchOffers = batch.reduce((sum, { entry }) => sum + (entry.product?.offers.length ?? 0), 0)
    if (lookups + batch.length > MAX_LOOKUPS || offers + batchOffers > MAX_OFFERS) {
      transactions.push([])
      lookups = 0
      offers = 0
    }
    transactions.at(-1)?.push(batch)
    lookups += batch.length
    offers += batchOffers
  }
  return transactions
}

async function putLookups(
  transaction: Transaction<CopyTables>,
  catalog: string,
  { lookups, clock, history }: Readonly<{ lookups: readonly Lookup[]; clock: Clock; history: HistoryRules }>,
): Promise<void> {
  // Use the database's clock: to a machine whose clock is behind, newer look-ups of others would be in the future.
  const nowMs = (await readDatabaseTime(transaction)) ?? clock.nowMs()
  for (const [channelId, entries] of groupByChannel(lookups, nowMs)) {
    const copy = await getOrCreateCopy(transaction, catalog, channelId)
    await putEntries(transaction, copy, { entries, nowMs, history })
  }
}

/** By GTIN. */
type Entries = ReadonlyMap<string, CopyEntry>

/**
 * Group look-ups by channel and keep the newest of each product. Sorted, so that two machines that write the same products do
 * not deadlock.
 */
function groupByChannel(lookups: readonly Lookup[], nowMs: number): ReadonlyMap<string, Entries> {
  const channels = new Map<string, Map<string, CopyEntry>>()
  const sorted = lookups.toSorted(
    (a, b) => compareTexts(a.channelId, b.channelId) || compareTexts(a.gtin, b.gtin),
  )
  for (const { channelId, gtin, entry } of sorted) {
    const entries = channels.get(channelId) ?? new Map<string, CopyEntry>()
    channels.set(channelId, entries)
    const other = entries.get(gtin)
    if (other === undefined || !isNewer(other.asOfMs, entry.asOfMs, nowMs)) entries.set(gtin, entry)
  }
  return channels
}

type Changes = Readonly<{
  /** Products that no shop sells any longer. */
  absences: Absence[]
  /** Versions whose content is unchanged. */
  confirmed: Pick<Version, 'id' | 'checked_at' | 'as_of_ms'>[]
  /** New content, and the ids of the versions that it replaces. */
  storedProducts: StoredProduct[]
  replacedIds: number[]
  /** Products that were absent until now. */
  returnedGtins: string[]
  /** Every product, for the history of prices. */
  looked: LookedUpProduct[]
}>

type Absence = Readonly<{ gtin: string; asOfMs: number; versions: readonly Version[] }>

const CONFIRM_VERSION = 'update products set as_of_ms = ?, checked_at = ? where id = ?'

async function putEntries(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  { entries, nowMs, history }: Readonly<{ entries: Entries; nowMs: number; history: HistoryRules }>,
): Promise<void> {
  const known = await readKnownProducts(transaction, copy, [...entries.keys()])
  const { absences, confirmed, storedProducts, replacedIds, returnedGtins, looked } = compareWithCopy(
    entries,
    known,
    copy,
    nowMs,
  )
  await putAbsences(transaction, copy, { absences, nowMs })
  for (const { id, checked_at: checkedAt, as_of_ms: asOfMs } of confirmed)
    await execute(transaction, CONFIRM_VERSION, [asOfMs, checkedAt, id])
  if (returnedGtins.length > 0)
    await sql`delete from absences
      where copy_id = ${copy.id} and ${inList(transaction, 'gtin', returnedGtins)}`.execute(transaction)
  const firstSeen = await collectFirstSeen(transaction, copy.id, {
    replacedIds,
    storedProducts,
    lapsedSinceMs: nowMs - LAPSED_RETENTION_MS,
  })
  await deleteVersions(transaction, replacedIds)
  const findReference = await recordLookups(transaction, copy.id, { looked, nowMs, history })
  await insertVersions(transaction, storedProducts, {
    copyId: copy.id,
    fromWalk: copy.visibleWalk,
    firstSeen,
    findReference,
  })
}

function compareWithCopy(
  entries: Entries,
  knownByGtin: ReadonlyMap<string, KnownProduct>,
  copy: CopyRow,
  nowMs: number,
): Changes {
  const changes: Changes = {
    absences: [],
    confirmed: [],
    storedProducts: [],
    replacedIds: [],
    returnedGtins: [],
    looked: [],
  }
  for (const [gtin, { product, asOfMs }] of entries) {
    const known = knownByGtin.get(gtin)
    if (known === undefined || isOutdated(asOfMs, known, nowMs)) continue
    if (product === null) changes.absences.push({ gtin, asOfMs, versions: known.versions })
    else addProductChange(changes, copy, { product, asOfMs, known })
    const isStored = changes.storedProducts.at(-1)?.content.gtin === gtin
    const formerMs = Math.max(0, ...known.versions.map((version) => version.as_of_ms))
    changes.looked.push({ gtin, offers: product?.offers ?? [], asOfMs, formerMs, isStored })
  }
  return changes
}

/** `true` when a version, an absence or a page is newer. A look-up in the future is newer than the latter two. */
function isOutdated(asOfMs: number, known: KnownProduct, nowMs: number): boolean {
  const { versions, absent_at_ms: absentMs, current_ms: currentMs, running_ms: runningMs } = known
  return (
    versions.some((version) => isNewer(version.as_of_ms, asOfMs, nowMs)) ||
    [absentMs, currentMs, runningMs].some((timeMs) => timeMs > asOfMs && !isFuture(timeMs, nowMs))
  )
}

function addProductChange(
  changes: Changes,
  copy: CopyRow,
  { product, asOfMs, known }: Readonly<{ product: Product; asOfMs: number; known: KnownProduct }>,
): void {
  const { versions } = known
  if (known.absent_at_ms > 0) changes.returnedGtins.push(product.gtin)
  const canonical = toCanonicalProduct(product, versions.find(({ brand }) => brand !== null)?.brand)
  const [version] = versions
  const isSame = version?.digest === canonical.content.digest && versions.length === 1
  // The usual case: nothing changed, and the version is visible now and after the running walk.
  if (isSame && version.from_walk <= copy.visibleWalk && version.until_walk === null) {
    changes.confirmed.push({ id: version.id, checked_at: canonical.content.checked_at, as_of_ms: asOfMs })
    return
  }
  changes.storedProducts.push(toStoredProduct(canonical, asOfMs))
  changes.replacedIds.push(...versions.map(({ id }) => id))
}

/** The stored versions of a product, and the times of its absence and of its pages in both walks, 0 for never. */
type KnownProduct = KnownTimes & Readonly<{ versions: readonly Version[] }>
type KnownTimes = Readonly<{ gtin: string; absent_at_ms: number; current_ms: number; running_ms: number }>

const SELECT_KNOWN_TIMES = `select p.gtin, coalesce((select a.as_of_ms from absences a where a.copy_id = ? and a.gtin = p.gtin), 0) as absent_at_ms,
  coalesce(${toPageTime('?', '?')}, 0) as current_ms, coalesce(${toPageTime('?', '?')}, 0) as running_ms`

/** Read the times of each product, and its versions that are or will be visible. */
async function readKnownProducts(
  transaction: Transaction<CopyTables>,
  { id, currentWalk, runningWalk, visibleWalk }: CopyRow,
  gtins: readonly string[],
): Promise<ReadonlyMap<string, KnownProduct>> {
  const { rows } = await sql<Version>`
    select id, gtin, from_walk, until_walk, digest, brand, checked_at, as_of_ms from products
    where copy_id = ${id} and ${inList(transaction, 'gtin', gtins)}
    and (until_walk is null or until_walk > ${visibleWalk})`.execute(transaction)
  const given = JSON.stringify(gtins.map((gtin) => ({ gtin })))
  const times = await execute<KnownTimes>(
    transaction,
    `${SELECT_KNOWN_TIMES} from ${createRowSource(transaction, 'products', ['gtin'])} p`,
    [id, id, currentWalk, id, runningWalk, given],
  )
  return new Map(
    times.map((row) => [row.gtin, { ...row, versions: rows.filter(({ gtin }) => gtin === row.gtin) }]),
  )
}

async function putAbsences(
  transaction: Transaction<CopyTables>,
  { id: copyId }: CopyRow,
  { absences, nowMs }: Readonly<{ absences: readonly Absence[]; nowMs: number }>,
): Promise<void> {
  if (absences.length === 0) return
  // Walks delete old absences, too, but there may be no walks. This reads all absences of the copy.
  const oldestMs = Math.min(nowMs, ...absences.map(({ asOfMs }) => asOfMs)) - ABSENCE_RETENTION_MS
  await execute(transaction, 'delete from absences where copy_id = ? and as_of_ms < ?', [copyId, oldestMs])
  for (const { gtin, asOfMs, versions } of absences) {
    const ids = versions.map(({ id }) => id)
    await saveFirstSeen(transaction, ids, asOfMs)
    await deleteVersions(transaction, ids)
    const put = `insert into absences (copy_id, gtin, as_of_ms) values (?, ?, ?)
      on conflict (copy_id, gtin) do update set as_of_ms = excluded.as_of_ms`
    await execute(transaction, put, [copyId, gtin, asOfMs])
  }
}

/**
 * A product that a look-up found, with its offers, empty when no shop sells it. `asOfMs`, `formerMs`: when the catalog returned it,
 * now and before, Unix milliseconds; `formerMs` is 0 without a stored version. `isStored`: whether its content changed.
 */
export type LookedUpProduct = Readonly<{
  gtin: string
  offers: readonly Offer[]
  asOfMs: number
  formerMs: number
  isStored: boolean
}>

/** Record the prices of look-ups. Return the finder of reference prices for the deals of changed products. */
async function recordLookups(
  transaction: Transaction<CopyTables>,
  copyId: number,
  {
    looked,
    nowMs,
    history,
  }: Readonly<{ looked: readonly LookedUpProduct[]; nowMs: number; history: HistoryRules }>,
): Promise<FallFinder> {
  const { keptDays, priceMaxAgeSeconds } = history
  if (keptDays === 0) {
    // Otherwise the last recorded price would seem to go on when observation is turned on again. Without days, the next walk then
    // records every product.
    await deleteObservedDays(transaction, copyId)
    await deleteHistories(
      transaction,
      copyId,
      looked.map(({ gtin }) => gtin),
    )
    return findNoReference
  }
  const dated = looked.filter(({ asOfMs }) => !isFuture(asOfMs, nowMs))
  const days = [...new Set(dated.map(({ asOfMs }) => toDay(asOfMs)))]
  if (days.length === 0) return findNoReference
  const [fromDay, untilDay] = [Math.min(...days), Math.max(...days)]
  const walked = await readWalkedDays(transaction, copyId, { fromDay, untilDay })
  const sightings = dated.map(({ gtin, offers, asOfMs, formerMs }) => {
    const day = toDay(asOfMs)
    const isDayWalked = walked.has(gtin, day)
    const isPriced = createPriceCheck(asOfMs, { nowMs: asOfMs, priceMaxAgeSeconds })
    const wasSeenBefore = isDayWalked || toDay(formerMs) === day
    return { gtin, prices: collectPrices(offers, isPriced), sighting: { day, wasSeenBefore, isDayWalked } }
  })
  const { histories } = await recordSightings(transaction, copyId, sightings)
  await recordObservedDays(transaction, copyId, { days, isImported: false })
  const period = { fromDay: untilDay - keptDays, untilDay }
  const gtins = dated.flatMap(({ gtin, isStored }, index) =>
    isStored || sightings[index]?.sighting.wasSeenBefore === true ? [] : gtin,
  )
  // A product that was not seen for long has no known fall any longer.
  await refreshFalls(transaction, copyId, { gtins, ...period })
  if (dated.every(({ isStored }) => !isStored)) return findNoReference
  return createFallFinder(histories, await readWalkedDays(transaction, copyId, period), untilDay)
}
