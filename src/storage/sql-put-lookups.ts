import { setTimeout as wait } from 'node:timers/promises'
import type { Kysely, SqlBool, Transaction } from 'kysely'
import type { Product } from '../catalog/contract.ts'
import { type Clock, DAY_MS, isNewer, toLatestMs } from '../clock.ts'
import { isPostgres } from '../database/is-postgres.ts'
import { isConflict, transact } from '../database/transact.ts'
import { createBatcher } from '../lib/batcher.ts'
import { completeShape, toShownProduct } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, getCopy } from './sql-copies.ts'
import { readTime } from './sql-leases.ts'
import {
  type Version,
  carryFirstSeen,
  deleteVersions,
  insertVersions,
  keepFirstSeen,
  updateVersion,
} from './sql-versions.ts'
import { execute } from './statements.ts'
import type { Lookup } from './store.ts'
import { isUnavailable } from './unavailable.ts'

/** How long an absence is kept: no page under way is that old. */
const ABSENCE_KEPT_MS: number = DAY_MS

/** Look-ups in a transaction, and the offers in them: its statements block the event loop and the database. */
const MAX_LOOKUPS = 16
const MAX_OFFERS = 200

/** The pause after a transaction: a commit blocks the event loop, so look-ups that come close together share one. */
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
  const putOrFail = createBatcher(async (calls: readonly Lookups[]) => {
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
      await wait(GATHER_MS)
    }
    return calls.map((call) => failures.get(call))
  })
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
    const copies = new Map<string, CopyRow>()
    // To a machine with a clock that is behind, newer look-ups of the others would be from the future.
    const nowMs = (await readTime(transaction)) ?? clock.nowMs()
    for (const lookup of lookups) {
      const { channelId } = lookup
      const copy = copies.get(channelId) ?? (await getCopy(transaction, catalog, channelId))
      copies.set(channelId, copy)
      await putLookup(transaction, copy, { nowMs, ...lookup })
    }
  })
}

const FIND_VERSIONS = `select id, gtin, from_walk, until_walk, digest, brand, as_of_ms from products
  where copy_id = ? and gtin = ? and (until_walk is null or until_walk > ?)`

/** Is an absence remembered, and has it, or a page whose range holds the product, said something newer? */
const FIND_NEWER = `select exists (select 1 from absences where copy_id = ? and gtin = ?) as is_absent,
  exists (select 1 from absences where copy_id = ? and gtin = ? and as_of_ms > ? and as_of_ms <= ?)
  or exists (select 1 from walk_pages where copy_id = ? and walk >= ? and after_gtin < ? and until_gtin >= ?
    and as_of_ms > ? and as_of_ms <= ?) as is_outdated`
type Newer = Readonly<{ is_absent: SqlBool; is_outdated: SqlBool }>

async function putLookup(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  { gtin, entry: { product, asOfMs }, nowMs }: Lookup & Readonly<{ nowMs: number }>,
): Promise<void> {
  const { id, currentWalk, visibleWalk } = copy
  const versions = await execute<Version>(transaction, FIND_VERSIONS, [id, gtin, visibleWalk])
  if (versions.some((version) => isNewer(version.as_of_ms, asOfMs, nowMs))) return
  const latestMs = toLatestMs(nowMs)
  const ofAbsence = [id, gtin, id, gtin, asOfMs, latestMs]
  const ofPage = [id, currentWalk, gtin, gtin, asOfMs, latestMs]
  const [newer] = await execute<Newer>(transaction, FIND_NEWER, [...ofAbsence, ...ofPage])
  if (newer?.is_outdated) return
  if (product === null) return putAbsence(transaction, gtin, { copy, versions, asOfMs })
  await putProduct(transaction, product, { copy, versions, asOfMs })
  if (newer?.is_absent)
    await execute(transaction, 'delete from absences where copy_id = ? and gtin = ?', [id, gtin])
}

type Put = Readonly<{ copy: CopyRow; versions: readonly Version[]; asOfMs: number }>

async function putAbsence(
  transaction: Transaction<CopyTables>,
  gtin: string,
  { copy, versions, asOfMs }: Put,
): Promise<void> {
  const ids = versions.map((version) => version.id)
  await keepFirstSeen(transaction, ids, asOfMs)
  await deleteVersions(transaction, ids)
  // Walks clear absences, too; where none runs, this does.
  const oldestMs = asOfMs - ABSENCE_KEPT_MS
  await execute(transaction, 'delete from absences where copy_id = ? and as_of_ms < ?', [copy.id, oldestMs])
  const put = `insert into absences (copy_id, gtin, as_of_ms) values (?, ?, ?)
    on conflict (copy_id, gtin) do update set as_of_ms = excluded.as_of_ms`
  await execute(transaction, put, [copy.id, gtin, asOfMs])
}

async function putProduct(
  transaction: Transaction<CopyTables>,
  product: Product,
  { copy, versions, asOfMs }: Put,
): Promise<void> {
  const visible = versions.find((version) => version.from_walk <= copy.visibleWalk)
  const shown = toShownProduct(product, versions.find((version) => version.brand !== null)?.brand)
  const isAlone = versions.length === 1 && visible?.until_walk === null
  if (isAlone && visible.digest === shown.content.digest) {
    // Nearly all refreshes find what is there.
    await execute(transaction, 'update products set as_of_ms = ? where id = ?', [asOfMs, visible.id])
    return
  }
  const shape = completeShape(shown)
  const ids = versions.map((version) => version.id)
  const firstSeen = await carryFirstSeen(transaction, copy.id, { replacedIds: ids, shapes: [shape] })
  const place = { copyId: copy.id, fromWalk: visible?.from_walk ?? copy.visibleWalk, asOfMs, firstSeen }
  const staged = ids.filter((id) => id !== visible?.id)
  await deleteVersions(transaction, staged)
  if (visible === undefined) await insertVersions(transaction, [shape], place)
  else await updateVersion(transaction, shape, { ...place, productId: visible.id })
}
