import { setImmediate, setTimeout as wait } from 'node:timers/promises'
import { type Kysely, type Transaction, sql } from 'kysely'
import type { Product } from '../catalog/contract.ts'
import { type Clock, DAY_MS, isFuture, isNewer } from '../clock.ts'
import { isPostgres } from '../database/is-postgres.ts'
import { isConflict, transact } from '../database/transact.ts'
import { createBatcher } from '../lib/batcher.ts'
import { compareTexts } from '../offers/ranking.ts'
import { type StoredShape, completeShape, toShownProduct } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, getCopy } from './sql-copies.ts'
import { readTime } from './sql-leases.ts'
import { toPageTime } from './sql-lookups.ts'
import {
  type Version,
  carryFirstSeen,
  deleteVersions,
  insertVersions,
  keepFirstSeen,
} from './sql-versions.ts'
import { execute, isIn } from './statements.ts'
import type { CopyEntry, Lookup } from './store.ts'
import { isUnavailable } from './unavailable.ts'

/** How long an absence is kept: no page under way is that old. */
const ABSENCE_KEPT_MS: number = DAY_MS

/** Look-ups in a transaction, and the offers in them: its statements block the event loop and the database. */
const MAX_LOOKUPS = 16
const MAX_OFFERS = 200

/** The pause after calls that came together: a commit blocks the event loop, so the next ones share one. */
const GATHER_MS = 5

/** What one call writes: all of it or nothing. */
type Lookups = readonly Lookup[]

/**
 * Create the writer of look-ups. Each call is one transaction, in which calls that came meanwhile share the next one. Newer
 * data stays, unless it is from the future.
 */
export function createLookupWriter(
  database: Kysely<CopyTables>,
  catalog: string,
  clock: Clock,
): (lookups: Lookups) => Promise<void> {
  const put = (calls: readonly Lookups[]): Promise<void> => putLookups(database, catalog, calls.flat(), clock)
  const putOrFail = createBatcher(
    async (calls: readonly Lookups[]) => {
      const failures = new Map<Lookups, unknown>()
      for (const some of splitCalls(calls)) {
        try {
          await put(some)
        } catch (error) {
          const isOfServer = isPostgres(database) && (isConflict(error) || isUnavailable(error))
          // A look-up that cannot be written takes no other with it.
          for (const call of some)
            if (isOfServer || some.length === 1) failures.set(call, error)
            else await put([call]).catch((own: unknown) => failures.set(call, own))
        }
        // Visitors are answered between two transactions.
        await setImmediate()
      }
      return calls.map((call) => failures.get(call))
    },
    () => wait(GATHER_MS),
  )
  return async (lookups) => {
    const failure = await putOrFail(lookups)
    if (failure !== undefined) throw failure
  }
}

/** Split calls into transactions of a bounded size, with one call at least in each. */
function splitCalls(calls: readonly Lookups[]): readonly (readonly Lookups[])[] {
  const transactions: Lookups[][] = []
  let lookups = Infinity
  let offers = 0
  for (const call of calls) {
    const callOffers = call.reduce((sum, { entry }) => sum + (entry.product?.offers.length ?? 0), 0)
    if (lookups + call.length > MAX_LOOKUPS || offers + callOffers > MAX_OFFERS) {
      transactions.push([])
      lookups = 0
      offers = 0
    }
    transactions.at(-1)?.push(call)
    lookups += call.length
    offers += callOffers
  }
  return transactions
}

async function putLookups(
  database: Kysely<CopyTables>,
  catalog: string,
  lookups: readonly Lookup[],
  clock: Clock,
): Promise<void> {
  await transact(database, async (transaction) => {
    // To a machine with a clock that is behind, newer look-ups of the others would be from the future.
    const nowMs = (await readTime(transaction)) ?? clock.nowMs()
    for (const [channelId, entries] of groupByChannel(lookups, nowMs)) {
      const copy = await getCopy(transaction, catalog, channelId)
      await putEntries(transaction, copy, { entries, nowMs })
    }
  })
}

/** What was found of some products, by GTIN. */
type Entries = ReadonlyMap<string, CopyEntry>

/**
 * Group look-ups by their channel; of those of one product, the last one that is not older than another. All in one order, so that
 * two machines that write the same ones do not wait for each other.
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

/** What entries change in the copy. */
type Changes = Readonly<{
  /** Products that no shop sells any more. */
  absences: Absence[]
  /** Versions that show what was found. */
  confirmed: Pick<Version, 'id' | 'as_of_ms'>[]
  /** What is new, and the ids of the versions that it replaces. */
  shapes: StoredShape[]
  replacedIds: number[]
  /** Products that were absent until now. */
  backGtins: string[]
}>

type Absence = Readonly<{ gtin: string; asOfMs: number; versions: readonly Version[] }>

async function putEntries(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  { entries, nowMs }: Readonly<{ entries: Entries; nowMs: number }>,
): Promise<void> {
  const known = await readKnown(transaction, copy, [...entries.keys()])
  const { absences, confirmed, shapes, replacedIds, backGtins } = compareToKnown(entries, known, copy, nowMs)
  await putAbsences(transaction, copy, { absences, nowMs })
  for (const { id, as_of_ms: asOfMs } of confirmed)
    await execute(transaction, 'update products set as_of_ms = ? where id = ?', [asOfMs, id])
  if (backGtins.length > 0)
    await sql`delete from absences
      where copy_id = ${copy.id} and ${isIn(transaction, 'gtin', backGtins)}`.execute(transaction)
  const firstSeen = await carryFirstSeen(transaction, copy.id, { replacedIds, shapes })
  await deleteVersions(transaction, replacedIds)
  await insertVersions(transaction, shapes, { copyId: copy.id, fromWalk: copy.visibleWalk, firstSeen })
}

function compareToKnown(
  entries: Entries,
  knownByGtin: ReadonlyMap<string, Known>,
  copy: CopyRow,
  nowMs: number,
): Changes {
  const changes: Changes = { absences: [], confirmed: [], shapes: [], replacedIds: [], backGtins: [] }
  for (const [gtin, { product, asOfMs }] of entries) {
    const known = knownByGtin.get(gtin)
    if (known === undefined || isOutdated(asOfMs, known, nowMs)) continue
    if (product === null) changes.absences.push({ gtin, asOfMs, versions: known.versions })
    else addProduct(changes, copy, { product, asOfMs, known })
  }
  return changes
}

/** Has a version, an absence or a page said something newer? To the last two, a look-up of the future is newer. */
function isOutdated(asOfMs: number, known: Known, nowMs: number): boolean {
  const { versions, absent_at_ms: absentMs, current_ms: currentMs, running_ms: runningMs } = known
  return (
    versions.some((version) => isNewer(version.as_of_ms, asOfMs, nowMs)) ||
    [absentMs, currentMs, runningMs].some((timeMs) => timeMs > asOfMs && !isFuture(timeMs, nowMs))
  )
}

function addProduct(
  changes: Changes,
  copy: CopyRow,
  { product, asOfMs, known }: Readonly<{ product: Product; asOfMs: number; known: Known }>,
): void {
  const { versions } = known
  if (known.absent_at_ms > 0) changes.backGtins.push(product.gtin)
  const shown = toShownProduct(product, versions.find(({ brand }) => brand !== null)?.brand)
  const [version] = versions
  const isSame = version?.digest === shown.content.digest && versions.length === 1
  // Nearly all refreshes find what is there, seen by readers now and after the running walk.
  if (isSame && version.from_walk <= copy.visibleWalk && version.until_walk === null) {
    changes.confirmed.push({ id: version.id, as_of_ms: asOfMs })
    return
  }
  changes.shapes.push(completeShape(shown, asOfMs))
  changes.replacedIds.push(...versions.map(({ id }) => id))
}

/** What the copy knows of one product: when a remembered absence and pages of walks told of it, 0 for never, and its versions. */
type Known = KnownTimes & Readonly<{ versions: readonly Version[] }>
type KnownTimes = Readonly<{ gtin: string; absent_at_ms: number; current_ms: number; running_ms: number }>

const SELECT_KNOWN_TIMES = `select p.gtin, coalesce((select a.as_of_ms from absences a where a.copy_id = ? and a.gtin = p.gtin), 0) as absent_at_ms,
  coalesce(${toPageTime('?', '?')}, 0) as current_ms, coalesce(${toPageTime('?', '?')}, 0) as running_ms`

/** Read what is known of each of these products, and the versions of it that readers see or will see. */
async function readKnown(
  transaction: Transaction<CopyTables>,
  { id, currentWalk, runningWalk, visibleWalk }: CopyRow,
  gtins: readonly string[],
): Promise<ReadonlyMap<string, Known>> {
  const { rows } = await sql<Version>`
    select id, gtin, from_walk, until_walk, digest, brand, as_of_ms from products
    where copy_id = ${id} and ${isIn(transaction, 'gtin', gtins)}
    and (until_walk is null or until_walk > ${visibleWalk})`.execute(transaction)
  const list = isPostgres(transaction) ? 'json_array_elements_text(?::json)' : 'json_each(?)'
  const values = [id, id, currentWalk, id, runningWalk, JSON.stringify(gtins)]
  const times = await execute<KnownTimes>(
    transaction,
    `${SELECT_KNOWN_TIMES} from (select value as gtin from ${list}) p`,
    values,
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
  // Walks clear absences, too; where none runs, this does. It reads all absences of the copy.
  const oldestMs = Math.min(nowMs, ...absences.map(({ asOfMs }) => asOfMs)) - ABSENCE_KEPT_MS
  await execute(transaction, 'delete from absences where copy_id = ? and as_of_ms < ?', [copyId, oldestMs])
  for (const { gtin, asOfMs, versions } of absences) {
    const ids = versions.map(({ id }) => id)
    await keepFirstSeen(transaction, ids, asOfMs)
    await deleteVersions(transaction, ids)
    const put = `insert into absences (copy_id, gtin, as_of_ms) values (?, ?, ?)
      on conflict (copy_id, gtin) do update set as_of_ms = excluded.as_of_ms`
    await execute(transaction, put, [copyId, gtin, asOfMs])
  }
}
