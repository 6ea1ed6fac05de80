import { setImmediate } from 'node:timers/promises'
import type { Kysely, Transaction } from 'kysely'
import type { Product } from '../catalog/contract.ts'
import { transact } from '../database/transact.ts'
import { type Change, type Comparison, isOvertaken, listChanges, listDoubtful } from './page-changes.ts'
import { type PageProduct, toPageProduct } from './rows.ts'
import type { CopyTables } from './schema.ts'
import type { CopyRow } from './sql-copies.ts'
import { carryFirstSeen, forgetLapsed, keepFirstSeen } from './sql-first-seen.ts'
import { UNKNOWN_AGE_MS, type Version, readAbsences, readContents, readVersions } from './sql-page-range.ts'
import {
  countDealsOf,
  deleteVersions,
  insertVersions,
  markUntil,
  setDigest,
  updateVersion,
} from './sql-versions.ts'
import { MAX_TRANSACTION_ROWS } from './sql-walk.ts'
import { executeOnce, splitList } from './statements.ts'
import type { WalkPage } from './store.ts'

/** Throws where somebody else has the walk by now; first thing in a transaction. */
export type Guard = (transaction: Transaction<CopyTables>) => Promise<void>

/** Above every GTIN: the last page covers the rest of the catalog. */
const END_OF_CATALOG = ':'

/** A step of a page: what is still to be put in, between two GTINs. */
type Step = Readonly<{
  copyId: number
  page: WalkPage
  afterGtin: string
  untilGtin: string
  shapes: readonly PageProduct[]
  nowMs: number
}>

/**
 * Puts a page into the copy under its walk's number: a read of what is known of its range, then only what changed, with the
 * page's own row in the last transaction. Doing so twice changes nothing. `false`: look-ups have overtaken what the page takes
 * for known; its row was not put in, and it has to be read once more, whole.
 */
export async function applyPage(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { page, guard, nowMs }: Readonly<{ page: WalkPage; guard: Guard; nowMs: number }>,
): Promise<boolean> {
  const shapes = page.products.map(toShape)
  const untilGtin = page.nextCursor === null ? END_OF_CATALOG : (toLastGtin(shapes) ?? page.afterGtin)
  let step: Step | 'overtaken' | undefined = {
    copyId: copy.id,
    page,
    afterGtin: page.afterGtin,
    untilGtin,
    shapes,
    nowMs,
  }
  while (step !== undefined && step !== 'overtaken') {
    const next: Step = step
    step = await transact(database, async (transaction) => {
      await guard(transaction)
      return applyStep(transaction, next)
    })
    // Meanwhile the next page arrives.
    await setImmediate()
  }
  return step === undefined
}

function toShape(product: Product | PageProduct): PageProduct {
  return 'content' in product ? product : toPageProduct(product, { hasDeals: false })
}

function toLastGtin(shapes: readonly PageProduct[]): string | undefined {
  return shapes.at(-1)?.gtin
}

/** One transaction. Answers what is left, or `undefined` when the page is in the copy. */
async function applyStep(
  transaction: Transaction<CopyTables>,
  step: Step,
): Promise<Step | 'overtaken' | undefined> {
  const { versions, knownUntilGtin } = await readVersions(transaction, step)
  const absent = await readAbsences(transaction, step)
  const shapes = step.shapes.filter(({ gtin }) => gtin <= knownUntilGtin)
  const comparison: Comparison = { page: step.page, shapes, versions, absent }
  if (isOvertaken(comparison)) return 'overtaken'
  const contents = await readContents(transaction, listDoubtful(comparison))
  const changes = listChanges(comparison, contents)
  const taken = await takeWithinRows(transaction, changes)
  await makeChanges(transaction, step, { changes: taken, versions })
  const doneGtin = taken.length < changes.length ? (taken.at(-1)?.gtin ?? step.afterGtin) : knownUntilGtin
  const undated = versions.filter(
    (version) => version.as_of_ms === UNKNOWN_AGE_MS && version.gtin <= doneGtin,
  )
  await dateAnew(
    transaction,
    step.page,
    undated.map(({ id }) => id),
  )
  if (doneGtin < step.untilGtin) {
    await dateSeen(transaction, step, doneGtin)
    return {
      ...step,
      afterGtin: doneGtin,
      shapes: step.shapes.filter(({ gtin }) => gtin > doneGtin),
    }
  }
  await putPageRow(transaction, step)
  return undefined
}

/** A version that had ended and is current again, perhaps with another digest. */
function isRevived({ kind, version }: Change): boolean {
  return (kind === 'revive' || kind === 'sign') && version?.until_walk !== null
}

/** The first of the changes that one transaction may write; one at least. */
async function takeWithinRows(
  transaction: Transaction<CopyTables>,
  changes: readonly Change[],
): Promise<readonly Change[]> {
  const deals = await countDealsOf(
    transaction,
    changes.flatMap(({ version }) => version?.id ?? []),
  )
  // The page's own row is the one more.
  let rows = 1
  const end = changes.findIndex((change, index) => {
    const { kind, version, shape } = change
    // One that is only signed leaves its deals as they are.
    const isAlone = kind === 'sign' && !isRevived(change)
    if (version !== undefined) rows += 1 + (isAlone ? 0 : (deals.get(version.id) ?? 0))
    if (shape !== undefined) rows += 1 + shape.deals.length
    return rows > MAX_TRANSACTION_ROWS && index > 0
  })
  return end === -1 ? changes : changes.slice(0, end)
}

/**
 * What did not change has its date from the page's row, which comes with the last step: until then a look-up that is older than
 * the page would be taken for newer.
 */
async function dateSeen(
  transaction: Transaction<CopyTables>,
  { copyId, page, afterGtin }: Step,
  doneGtin: string,
): Promise<void> {
  await executeOnce(transaction, 'date seen products', {
    values: [page.asOfMs, copyId, afterGtin, doneGtin, page.asOfMs],
    build: () =>
      transaction
        .updateTable('products')
        .set({ as_of_ms: page.asOfMs })
        .where('copy_id', '=', copyId)
        .where('gtin', '>', afterGtin)
        .where('gtin', '<=', doneGtin)
        .where('until_walk', 'is', null)
        .where('as_of_ms', '<', page.asOfMs),
  })
}

/** What is still current and was dated while a clock was wrong has the page's time, or the future would arrive some day. */
async function dateAnew(
  transaction: Transaction<CopyTables>,
  { asOfMs }: WalkPage,
  productIds: readonly number[],
): Promise<void> {
  for (const ids of splitList(productIds)) {
    await executeOnce(transaction, `date ${ids.length} anew`, {
      values: [asOfMs, ...ids],
      build: () =>
        transaction
          .updateTable('products')
          .set({ as_of_ms: asOfMs })
          .where('id', 'in', ids)
          .where('until_walk', 'is', null),
    })
    await transaction
      .updateTable('deals')
      .set({ first_seen_ms: asOfMs })
      .where('product_id', 'in', ids)
      .where('first_seen_ms', '>', asOfMs)
      .execute()
  }
}

async function makeChanges(
  transaction: Transaction<CopyTables>,
  { copyId, page }: Step,
  { changes, versions }: Readonly<{ changes: readonly Change[]; versions: readonly Version[] }>,
): Promise<void> {
  const place = { copyId, fromWalk: page.walk, asOfMs: page.asOfMs }
  const idsOf = (kind: Change['kind']): number[] =>
    changes.flatMap((change) => (change.kind === kind ? (change.version?.id ?? []) : []))
  const replacedIds = idsOf('insert')
  const shapes = changes.flatMap(({ shape }) => shape ?? [])
  // A version of this walk that is written over has replaced another one, which has the first times.
  const updated = new Set(changes.flatMap(({ kind, gtin }) => (kind === 'update' ? [gtin] : [])))
  const updatedIds = versions.filter(({ gtin }) => updated.has(gtin)).map(({ id }) => id)
  const firstSeen = await carryFirstSeen(transaction, copyId, {
    replacedIds: [...replacedIds, ...updatedIds],
    shapes,
  })
  await keepFirstSeen(transaction, place, [...idsOf('end'), ...idsOf('delete')])
  const revived = changes.filter(isRevived).flatMap(({ version }) => version?.id ?? [])
  await markUntil(transaction, revived, null)
  await forgetLapsed(
    transaction,
    copyId,
    changes.filter(isRevived).map(({ gtin }) => gtin),
  )
  for (const { version, digest } of changes)
    if (version !== undefined && digest !== undefined) await setDigest(transaction, version.id, digest)
  await deleteVersions(transaction, idsOf('delete'))
  for (const { kind, version, shape } of changes) {
    if (kind === 'update' && version !== undefined && shape !== undefined)
      await updateVersion(transaction, shape, { ...place, firstSeen, productId: version.id })
  }
  await markUntil(transaction, [...idsOf('end'), ...replacedIds], page.walk)
  const inserted = changes.flatMap(({ kind, shape }) =>
    kind === 'insert' && shape !== undefined ? [shape] : [],
  )
  await insertVersions(transaction, inserted, { ...place, firstSeen })
}

async function putPageRow(
  transaction: Transaction<CopyTables>,
  { copyId, page, untilGtin }: Step,
): Promise<void> {
  const content = {
    until_gtin: untilGtin,
    as_of_ms: page.asOfMs,
    next_cursor: page.nextCursor,
    product_count: page.products.length,
    drops: JSON.stringify(page.drops),
  }
  await transaction
    .insertInto('walk_pages')
    .values({ copy_id: copyId, walk: page.walk, after_gtin: page.afterGtin, ...content })
    .onConflict((conflict) => conflict.columns(['copy_id', 'walk', 'after_gtin']).doUpdateSet(content))
    .execute()
}
