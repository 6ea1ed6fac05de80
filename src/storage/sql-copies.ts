import {
  type Expression,
  type ExpressionBuilder,
  type Kysely,
  type Selectable,
  type SqlBool,
  type Transaction,
  sql,
} from 'kysely'
import { type Clock, systemClock, toLatestMs } from '../clock.ts'
import { isPostgres } from '../database/postgres.ts'
import { parseDrops } from './rows.ts'
import type { CopiesTable, CopyTables } from './schema.ts'
import { executeOnce } from './statements.ts'
import { type CopyState, HOLD_REASONS, type HeldWalk } from './store.ts'

/** The copy of a channel and which walks matter to whom. */
export type CopyRow = Readonly<{
  id: number
  currentWalk: number
  /** Above `currentWalk` while a walk is unfinished. */
  runningWalk: number
  /** What boxes read: the current walk, or the running one before there is any. */
  visibleWalk: number
}>

/** The same at a time, Unix milliseconds, which tells what is of the future. */
export type CopyView = CopyRow & Readonly<{ nowMs: number }>

/** The copy's row; `undefined` while nothing was ever stored of the channel. */
export async function findCopy(
  database: Kysely<CopyTables>,
  catalog: string,
  channelId: string,
): Promise<CopyRow | undefined> {
  const [row] = await executeOnce(database, 'find copy', {
    values: [catalog, channelId],
    build: () =>
      database
        .selectFrom('copies')
        .select(['id', 'current_walk', 'running_walk'])
        .where('catalog', '=', catalog)
        .where('channel_id', '=', channelId),
  })
  if (row === undefined) return undefined
  const visibleWalk = row.current_walk > 0 ? row.current_walk : row.running_walk
  return { id: row.id, currentWalk: row.current_walk, runningWalk: row.running_walk, visibleWalk }
}

/** The copy's row, made where there is none. */
export async function getCopy(
  database: Kysely<CopyTables>,
  catalog: string,
  channelId: string,
): Promise<CopyRow> {
  const found = await findCopy(database, catalog, channelId)
  if (found !== undefined) return found
  await database
    .insertInto('copies')
    .values({
      catalog,
      channel_id: channelId,
      current_walk: 0,
      running_walk: 0,
      product_count: 0,
      deal_count: 0,
      drops: '{}',
      lease_until_ms: 0,
      lease_fence: 0,
    })
    .onConflict((conflict) => conflict.columns(['catalog', 'channel_id']).doNothing())
    .execute()
  const made = await findCopy(database, catalog, channelId)
  return made ?? { id: 0, currentWalk: 0, runningWalk: 0, visibleWalk: 0 }
}

/** Rows of a table with versions that a reader at `walk` sees. */
export function isVisibleAt<T extends 'products' | 'deals'>(
  walk: number,
): (builder: ExpressionBuilder<CopyTables, T>) => Expression<SqlBool> {
  return () =>
    sql<SqlBool>`from_walk <= ${sql.lit(walk)} and (until_walk is null or until_walk > ${sql.lit(walk)})`
}

/** Read one channel of a catalog's copy; `empty` when nothing was ever stored of the channel. */
export type ReadCopy = <T>(
  channelId: string,
  empty: T,
  read: (view: Transaction<CopyTables>, copy: CopyView) => Promise<T>,
) => Promise<T>

/** Let all statements of one read see the same data: a walk that completes meanwhile removes what it replaced. */
export function readInOneView<T>(
  reader: Kysely<CopyTables>,
  read: (view: Transaction<CopyTables>) => Promise<T>,
): Promise<T> {
  return reader.transaction().setIsolationLevel('repeatable read').execute(read)
}

/** Create the reader of a catalog's copies, each read in one view. */
export function createReadCopy(
  reader: Kysely<CopyTables>,
  catalog: string,
  clock: Clock = systemClock,
): ReadCopy {
  return (channelId, empty, read) =>
    readInOneView(reader, async (view) => {
      const copy = await findCopy(view, catalog, channelId)
      return copy === undefined ? empty : read(view, { ...copy, nowMs: clock.nowMs() })
    })
}

/** What `/studio`, `vitrine check` and the freshness rules ask of a copy. */
export async function readCopyState(
  database: Kysely<CopyTables>,
  catalog: string,
  channelId: string,
): Promise<CopyState> {
  const [row] = await executeOnce(database, 'read copy state', {
    values: [catalog, channelId],
    build: () =>
      database
        .selectFrom('copies')
        .selectAll()
        .where('catalog', '=', catalog)
        .where('channel_id', '=', channelId),
  })
  if (row === undefined) return EMPTY_STATE
  return {
    currentWalk: row.current_walk,
    completedAtMs: row.completed_at_ms,
    completedStartedAtMs: row.completed_started_at_ms,
    productCount: row.product_count,
    dealCount: row.deal_count,
    drops: parseDrops(row.drops),
    isMalformed: row.is_malformed === 1,
    held: toHeldWalk(row),
    isRunning: row.running_walk > row.current_walk && row.failure === null,
    failure: row.failure,
    failedAtMs: row.failed_at_ms,
  }
}

function toHeldWalk(row: Selectable<CopiesTable>): HeldWalk | null {
  const reason = HOLD_REASONS.find((known) => known === row.held_reason)
  if (reason === undefined) return null
  return {
    reason,
    sinceMs: row.held_since_ms ?? 0,
    startedAtMs: row.held_started_at_ms ?? 0,
    productCount: row.held_product_count ?? 0,
  }
}

/** Channels whose current walk began or ended, by its own account, in the future. */
export async function findFutureCopies(
  database: Kysely<CopyTables>,
  catalog: string,
  nowMs: number,
): Promise<readonly string[]> {
  const rows = await database
    .selectFrom('copies')
    .select('channel_id')
    .where('catalog', '=', catalog)
    .where(({ or, eb }) =>
      or([
        eb('completed_started_at_ms', '>', toLatestMs(nowMs)),
        eb('completed_at_ms', '>', toLatestMs(nowMs)),
      ]),
    )
    .execute()
  return rows.map((row) => row.channel_id)
}

const EMPTY_STATE: CopyState = {
  currentWalk: 0,
  completedAtMs: null,
  completedStartedAtMs: null,
  productCount: 0,
  dealCount: 0,
  drops: {},
  isMalformed: false,
  held: null,
  isRunning: false,
  failure: null,
  failedAtMs: null,
}

/** Count the offers of all products of a copy at a walk; it reads every one of them. */
export async function countOffers(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<number> {
  const length = isPostgres(database)
    ? sql<number>`json_array_length(offers::json)`
    : sql<number>`json_array_length(offers)`
  const row = await database
    .selectFrom('products')
    .select(sql<number | string | null>`sum(${length})`.as('count'))
    .where('copy_id', '=', copyId)
    .where(isVisibleAt<'products'>(walk))
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}
