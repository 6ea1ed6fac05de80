import { setImmediate } from 'node:timers/promises'
import { type Kysely, type Transaction, sql } from 'kysely'
import type { Product } from '../catalog/contract.ts'
import { isFuture, toLatestMs } from '../clock.ts'
import { isPostgres } from '../database/is-postgres.ts'
import { transact } from '../database/transact.ts'
import { compareTexts } from '../offers/ranking.ts'
import { type Change, type Version, listChanges } from './page-changes.ts'
import type { CopyTables } from './schema.ts'
import type { CopyRow } from './sql-copies.ts'
import type { Guard } from './sql-leases.ts'
import {
  carryFirstSeen,
  countDealsOf,
  deleteVersions,
  insertVersions,
  keepFirstSeen,
  markUntil,
  takeLapsed,
  updateVersion,
} from './sql-versions.ts'
import { isIn } from './statements.ts'
import type { WalkPage } from './store.ts'

/** Most rows that one transaction writes: others who write to the same database never wait for long. */
export const MAX_TRANSACTION_ROWS = 500

/** Versions that one transaction looks at: a page that follows a gap of a million products is put in step by step. */
const MAX_VERSIONS_READ = 1_000

/** Above every GTIN: the last page covers the rest of the catalog. */
const END_OF_CATALOG = ':'

/** In place of a time of the future: any page is newer. */
const UNKNOWN_AGE_MS = 0

/** A step of a page: what is still to be put in, above `afterGtin` up to `untilGtin`. */
type Step = Readonly<{
  copyId: number
  page: WalkPage
  afterGtin: string
  untilGtin: string
  products: readonly Product[]
  nowMs: number
}>

/**
 * Puts a page into the copy under its walk's number: a read of what is known of its range, then only what changed, with the
 * page's own row in the last transaction. Doing so twice changes nothing.
 */
export async function applyPage(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { page, guard, nowMs }: Readonly<{ page: WalkPage; guard: Guard; nowMs: number }>,
): Promise<void> {
  const { afterGtin, products } = page
  const untilGtin = page.nextCursor === null ? END_OF_CATALOG : (products.at(-1)?.gtin ?? afterGtin)
  let step: Step | undefined = { copyId: copy.id, page, afterGtin, untilGtin, products, nowMs }
  while (step !== undefined) {
    const next: Step = step
    step = await transact(database, async (transaction) => {
      await guard(transaction)
      return applyStep(transaction, next)
    })
    // Meanwhile the next page arrives.
    await setImmediate()
  }
}

/** One transaction. Returns what is left, or `undefined` when the page is in the copy. */
async function applyStep(transaction: Transaction<CopyTables>, step: Step): Promise<Step | undefined> {
  const { versions, knownUntilGtin } = await readVersions(transaction, step)
  const absent = await readAbsences(transaction, step)
  const products = step.products.filter(({ gtin }) => gtin <= knownUntilGtin)
  const changes = listChanges({ page: step.page, products, versions, absent })
  const { taken, isCut } = await takeWithinRows(transaction, changes)
  await makeChanges(transaction, step, { changes: taken, versions })
  const doneGtin = isCut ? (taken.at(-1)?.gtin ?? step.afterGtin) : knownUntilGtin
  const undated = versions.filter(
    (version) => version.as_of_ms === UNKNOWN_AGE_MS && version.gtin <= doneGtin,
  )
  await dateAnew(
    transaction,
    step.page,
    undated.map(({ id }) => id),
  )
  if (doneGtin < step.untilGtin) {
    if (versions.length > 0) await dateSeen(transaction, step, doneGtin)
    return {
      ...step,
      afterGtin: doneGtin,
      products: step.products.filter(({ gtin }) => gtin > doneGtin),
    }
  }
  await putPageRow(transaction, step)
  return undefined
}

/** Taking seven values of each row out of a database costs more than finding the rows: they come as one text. */
const COLUMNS = 'id, gtin, from_walk, until_walk, digest, brand, as_of_ms'
const IN_ONE_TEXT = {
  sqlite: sql.raw<string>(`json_group_array(json_array(${COLUMNS}))`),
  postgres: sql.raw<string>(`coalesce(json_agg(json_build_array(${COLUMNS})), '[]')::text`),
} as const

type VersionValues = [number, string, number, number | null, string, string | null, number]

/** In the order of GTINs: no database promises one within the text. */
function parseVersions(json: string, nowMs: number): readonly Version[] {
  const versions = (JSON.parse(json) as VersionValues[]).map(
    ([id, gtin, fromWalk, untilWalk, digest, brand, asOfMs]) => ({
      id,
      gtin,
      from_walk: fromWalk,
      until_walk: untilWalk,
      digest,
      brand,
      as_of_ms: isFuture(asOfMs, nowMs) ? UNKNOWN_AGE_MS : asOfMs,
    }),
  )
  return versions.sort((a, b) => compareTexts(a.gtin, b.gtin))
}

/** The versions of a range in the order of their GTINs, and up to where they are all of them. */
async function readVersions(
  transaction: Transaction<CopyTables>,
  { copyId, page, afterGtin, untilGtin, nowMs }: Step,
): Promise<Readonly<{ versions: readonly Version[]; knownUntilGtin: string }>> {
  const { rows } = await sql<{ json: string }>`
    select ${IN_ONE_TEXT[isPostgres(transaction) ? 'postgres' : 'sqlite']} as json from (
      select * from products where copy_id = ${copyId} and gtin > ${afterGtin} and gtin <= ${untilGtin}
      and (until_walk is null or until_walk = ${page.walk}) order by gtin limit ${MAX_VERSIONS_READ}
    ) versions`.execute(transaction)
  const versions = parseVersions(rows[0]?.json ?? '[]', nowMs)
  const last = versions.at(-1)
  if (last === undefined || versions.length < MAX_VERSIONS_READ)
    return { versions, knownUntilGtin: untilGtin }
  // The last product may have another version behind it.
  const whole = versions.filter(({ gtin }) => gtin < last.gtin)
  return { versions: whole, knownUntilGtin: whole.at(-1)?.gtin ?? untilGtin }
}

/** Products of the range of which something newer than the page says that no shop sells them. */
async function readAbsences(
  transaction: Transaction<CopyTables>,
  { copyId, page, afterGtin, untilGtin, nowMs }: Step,
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ gtin: string }>`
    select gtin from absences where copy_id = ${copyId} and gtin > ${afterGtin} and gtin <= ${untilGtin}
    and as_of_ms > ${page.asOfMs} and as_of_ms <= ${toLatestMs(nowMs)}`.execute(transaction)
  return new Set(rows.map((row) => row.gtin))
}

/** Take the first of the changes that one transaction may write, one at least; `isCut`: there are more. */
async function takeWithinRows(
  transaction: Transaction<CopyTables>,
  changes: Iterable<Change>,
): Promise<Readonly<{ taken: readonly Change[]; isCut: boolean }>> {
  const byNewRows = takeWhile(changes, countNewRows)
  const deals = await countDealsOf(
    transaction,
    byNewRows.taken.flatMap(({ version }) => version?.id ?? []),
  )
  const byAllRows = takeWhile(byNewRows.taken, (change) => {
    const { kind, version } = change
    const oldDeals = version === undefined ? 0 : (deals.get(version.id) ?? 0)
    // What ends leaves the first times of its deals behind.
    return countNewRows(change) + 1 + (kind === 'end' || kind === 'delete' ? 2 * oldDeals : oldDeals)
  })
  return { taken: byAllRows.taken, isCut: byNewRows.isCut || byAllRows.isCut }
}

/** A product, its words, and its deals. */
function countNewRows({ shape }: Change): number {
  return shape === undefined ? 0 : 2 + shape.deals.length
}

/** Changes that are not taken are not made: shaping a product costs as much as writing it. */
function takeWhile(
  changes: Iterable<Change>,
  countRows: (change: Change) => number,
): Readonly<{ taken: readonly Change[]; isCut: boolean }> {
  const taken: Change[] = []
  // The page's own row.
  let rows = 1
  for (const change of changes) {
    rows += countRows(change)
    if (rows > MAX_TRANSACTION_ROWS && taken.length > 0) return { taken, isCut: true }
    taken.push(change)
  }
  return { taken, isCut: false }
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
  await sql`update products set as_of_ms = ${page.asOfMs} where copy_id = ${copyId}
    and gtin > ${afterGtin} and gtin <= ${doneGtin} and until_walk is null and as_of_ms < ${page.asOfMs}`.execute(
    transaction,
  )
}

/** Give what is still current and was dated while a clock was wrong the page's time: the future would arrive some day. */
async function dateAnew(
  transaction: Transaction<CopyTables>,
  { asOfMs }: WalkPage,
  productIds: readonly number[],
): Promise<void> {
  if (productIds.length === 0) return
  await sql`update products set as_of_ms = ${asOfMs}
    where ${isIn(transaction, 'id', productIds)} and until_walk is null`.execute(transaction)
  await sql`update deals set first_seen_ms = ${asOfMs}
    where ${isIn(transaction, 'product_id', productIds)} and first_seen_ms > ${asOfMs}`.execute(transaction)
}

async function makeChanges(
  transaction: Transaction<CopyTables>,
  { copyId, page }: Step,
  { changes, versions }: Readonly<{ changes: readonly Change[]; versions: readonly Version[] }>,
): Promise<void> {
  if (changes.length === 0) return
  const place = { copyId, fromWalk: page.walk, asOfMs: page.asOfMs }
  const listOf = (kind: Change['kind']): readonly Change[] => changes.filter((change) => change.kind === kind)
  const listIds = (kind: Change['kind']): number[] => listOf(kind).flatMap(({ version }) => version?.id ?? [])
  const replacedIds = listIds('insert')
  const updates = listOf('update')
  // A version of this walk that is written over has replaced another one, which has the first times.
  const updated = new Set(updates.map(({ gtin }) => gtin))
  const updatedIds = versions.filter(({ gtin }) => updated.has(gtin)).map(({ id }) => id)
  const firstSeen = await carryFirstSeen(transaction, copyId, {
    replacedIds: [...replacedIds, ...updatedIds],
    shapes: changes.flatMap(({ shape }) => shape ?? []),
  })
  await keepFirstSeen(transaction, [...listIds('end'), ...listIds('delete')], page.asOfMs)
  await markUntil(transaction, listIds('revive'), null)
  const revivedGtins = listOf('revive').map(({ gtin }) => gtin)
  await takeLapsed(transaction, copyId, revivedGtins)
  await deleteVersions(transaction, listIds('delete'))
  for (const { version, shape } of updates)
    if (version !== undefined && shape !== undefined)
      await updateVersion(transaction, shape, { ...place, firstSeen, productId: version.id })
  await markUntil(transaction, [...listIds('end'), ...replacedIds], page.walk)
  const inserted = listOf('insert').flatMap(({ shape }) => shape ?? [])
  await insertVersions(transaction, inserted, { ...place, firstSeen })
}

async function putPageRow(
  transaction: Transaction<CopyTables>,
  { copyId, page, untilGtin }: Step,
): Promise<void> {
  const { walk, afterGtin, asOfMs, nextCursor } = page
  const drops = JSON.stringify(page.drops)
  await sql`insert into "walk_pages"
    (copy_id, walk, after_gtin, until_gtin, as_of_ms, next_cursor, product_count, drops)
    values (${copyId}, ${walk}, ${afterGtin}, ${untilGtin}, ${asOfMs}, ${nextCursor}, ${page.products.length}, ${drops})
    on conflict (copy_id, walk, after_gtin) do update set until_gtin = excluded.until_gtin,
    as_of_ms = excluded.as_of_ms, next_cursor = excluded.next_cursor, product_count = excluded.product_count,
    drops = excluded.drops`.execute(transaction)
}
