import { setTimeout as wait } from 'node:timers/promises'
import type { Kysely, Transaction } from 'kysely'
import type { Product } from '../catalog/contract.ts'
import { type Clock, DAY_MS, isNewer, toLatestMs } from '../clock.ts'
import { isPostgres } from '../database/postgres.ts'
import { isConflict, transact } from '../database/transact.ts'
import { createBatcher } from '../lib/batcher.ts'
import { type ComparedContent, type StoredShape, isSameContent, toStoredShape } from './rows.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, getCopy } from './sql-copies.ts'
import { readTime } from './sql-time.ts'
import { carryFirstSeen, keepFirstSeen } from './sql-first-seen.ts'
import { confirmVersion, deleteVersions, insertVersions, updateVersion } from './sql-versions.ts'
import { executeOnce } from './statements.ts'
import type { Lookup } from './store.ts'
import { isUnavailable } from './unavailable.ts'

/** How long an absence is kept: no page under way is that old. */
const ABSENCE_KEPT_MS: number = DAY_MS

/** Look-ups in a transaction, and the offers in them: its statements block the event loop and the database. */
const MAX_LOOKUPS = 16
const MAX_OFFERS = 200

/** The pause after a transaction: a commit blocks the event loop, so look-ups that come close together share one. */
const GATHER_MS = 5

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
  const put = (calls: readonly Lookups[]): Promise<void> =>
    putLookups(database, catalog, { lookups: calls.flat(), clock })
  const putOrFail = createBatcher(async (calls: readonly Lookups[]) => {
    const failures = new Map<Lookups, unknown>()
    for (const some of splitCalls(calls)) {
      await put(some).catch(async (error: unknown) => {
        // A look-up that cannot be written takes no other with it.
        const isOfServer = isPostgres(database) && (isConflict(error) || isUnavailable(error))
        const mayBeOne = some.length > 1 && !isOfServer
        if (!mayBeOne) for (const call of some) failures.set(call, error)
        else for (const call of some) await put([call]).catch((own: unknown) => failures.set(call, own))
      })
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
  { lookups, clock }: Readonly<{ lookups: Lookups; clock: Clock }>,
): Promise<void> {
  await transact(database, async (transaction) => {
    const copies = new Map<string, CopyRow>()
    // To a machine with a clock that is behind, newer look-ups of the others would be from the future.
    const nowMs = (await readTime(transaction)) ?? clock.nowMs()
    for (const lookup of lookups) {
      const { channelId } = lookup
      const copy = copies.get(channelId) ?? (await getCopy(transaction, catalog, channelId))
      copies.set(channelId, copy)
      await putLookup(transaction, copy, { ...lookup, nowMs })
    }
  })
}

async function putLookup(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  { gtin, entry, nowMs }: Lookup & Readonly<{ nowMs: number }>,
): Promise<void> {
  const { product, asOfMs } = entry
  const versions = await executeOnce(transaction, 'find versions', {
    values: [copy.id, gtin, copy.visibleWalk],
    build: () =>
      transaction
        .selectFrom('products')
        .select(['id', 'from_walk', 'until_walk', 'title', 'brand', 'images', 'offers', 'drops', 'as_of_ms'])
        .where('copy_id', '=', copy.id)
        .where('gtin', '=', gtin)
        .where((builder) =>
          builder.or([builder('until_walk', 'is', null), builder('until_walk', '>', copy.visibleWalk)]),
        ),
  })
  if (versions.some((version) => isNewer(version.as_of_ms, asOfMs, nowMs))) return
  if (await isOutdated(transaction, copy, { gtin, asOfMs, latestMs: toLatestMs(nowMs) })) return
  if (product === null) await putAbsence(transaction, { copy, gtin, versions, asOfMs })
  else await putProduct(transaction, { copy, product, versions, asOfMs })
}

/** Has a remembered absence, or a page whose range holds the product, said something newer? */
async function isOutdated(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  lookup: Readonly<{ gtin: string; asOfMs: number; latestMs: number }>,
): Promise<boolean> {
  const [found] = await executeOnce(transaction, 'find newer', {
    values: [
      copy.id,
      lookup.gtin,
      lookup.asOfMs,
      lookup.latestMs,
      copy.id,
      copy.currentWalk,
      lookup.gtin,
      lookup.gtin,
      lookup.asOfMs,
      lookup.latestMs,
    ],
    build: () =>
      transaction.selectNoFrom(({ exists, or, selectFrom }) =>
        or([
          exists(
            selectFrom('absences')
              .select('gtin')
              .where('copy_id', '=', copy.id)
              .where('gtin', '=', lookup.gtin)
              .where('as_of_ms', '>', lookup.asOfMs)
              .where('as_of_ms', '<=', lookup.latestMs),
          ),
          exists(
            selectFrom('walk_pages')
              .select('walk')
              .where('copy_id', '=', copy.id)
              .where('walk', '>=', copy.currentWalk)
              .where('after_gtin', '<', lookup.gtin)
              .where('until_gtin', '>=', lookup.gtin)
              .where('as_of_ms', '>', lookup.asOfMs)
              .where('as_of_ms', '<=', lookup.latestMs),
          ),
        ]).as('is_outdated'),
      ),
  })
  return Boolean(found?.is_outdated)
}

type Version = ComparedContent &
  Readonly<{ id: number; from_walk: number; until_walk: number | null; as_of_ms: number }>
type Put = Readonly<{ copy: CopyRow; versions: readonly Version[]; asOfMs: number }>

async function putAbsence(
  transaction: Transaction<CopyTables>,
  put: Put & Readonly<{ gtin: string }>,
): Promise<void> {
  const ids = put.versions.map((version) => version.id)
  await keepFirstSeen(transaction, ids, put.asOfMs)
  await deleteVersions(transaction, ids)
  // Walks clear absences, too; where none runs, this does.
  await transaction
    .deleteFrom('absences')
    .where('copy_id', '=', put.copy.id)
    .where('as_of_ms', '<', put.asOfMs - ABSENCE_KEPT_MS)
    .execute()
  await transaction
    .insertInto('absences')
    .values({ copy_id: put.copy.id, gtin: put.gtin, as_of_ms: put.asOfMs })
    .onConflict((conflict) => conflict.columns(['copy_id', 'gtin']).doUpdateSet({ as_of_ms: put.asOfMs }))
    .execute()
}

async function putProduct(
  transaction: Transaction<CopyTables>,
  put: Put & Readonly<{ product: Product }>,
): Promise<void> {
  const { copy, asOfMs } = put
  const visible = put.versions.find((version) => version.from_walk <= copy.visibleWalk)
  const knownBrand = put.versions.find((version) => version.brand !== null)?.brand ?? null
  const shape = toStoredShape(put.product, knownBrand)
  const isAlone = put.versions.length === 1 && visible?.until_walk === null
  // Nearly all refreshes find what is there.
  if (isAlone && isSameContent(visible, shape.content)) await confirmVersion(transaction, visible.id, asOfMs)
  else await putVersion(transaction, put, { visible, shape })
  await executeOnce(transaction, 'delete absence', {
    values: [copy.id, put.product.gtin],
    build: () =>
      transaction.deleteFrom('absences').where('copy_id', '=', copy.id).where('gtin', '=', put.product.gtin),
  })
}

async function putVersion(
  transaction: Transaction<CopyTables>,
  put: Put,
  { visible, shape }: Readonly<{ visible: Version | undefined; shape: StoredShape }>,
): Promise<void> {
  const { copy, asOfMs } = put
  const staged = put.versions.filter((version) => version !== visible)
  const place = { copyId: copy.id, asOfMs }
  const firstSeen = await carryFirstSeen(transaction, copy.id, {
    replacedIds: put.versions.map((version) => version.id),
    shapes: [shape],
  })
  await deleteVersions(
    transaction,
    staged.map((version) => version.id),
  )
  if (visible === undefined) {
    await insertVersions(transaction, [shape], {
      ...place,
      fromWalk: copy.visibleWalk,
      firstSeen,
    })
  } else {
    await updateVersion(transaction, shape, {
      ...place,
      fromWalk: visible.from_walk,
      firstSeen,
      productId: visible.id,
    })
  }
}
