import { type Kysely, type RawBuilder, type Selectable, type SqlBool, type Transaction, sql } from 'kysely'
import { type Clock, systemClock, toLatestPlausibleMs } from '../clock.ts'
import { readInSnapshot } from '../database/open-database.ts'
import type { ProductProblem } from '../catalog/contract.ts'
import { execute, getJsonFunctions } from '../database/dialect.ts'
import { parseDrops, parseMalformed } from './rows.ts'
import type { CopiesTable, CopyTables, WalkPagesTable } from './schema.ts'
import { type CopyState, HOLD_REASONS, type HeldWalk, type WalkFailure } from './store.ts'

export type CopyRow = Readonly<{
  id: number
  currentWalk: number
  /** Greater than `currentWalk` while a walk is unfinished. */
  runningWalk: number
  /** The walk that boxes read: the current one, or the running one before the first is complete. */
  visibleWalk: number
  /** The currency of most deals of the current walk; `null` without a walk or deals. */
  dealCurrency: string | null
}>

/** A copy with the time of the read, Unix milliseconds, against which stored times count as future. */
export type CopyView = CopyRow & Readonly<{ nowMs: number }>

/** Find the copy's row; `undefined` when nothing was ever stored for the channel. */
async function findCopy(
  database: Kysely<CopyTables>,
  catalog: string,
  channelId: string,
): Promise<CopyRow | undefined> {
  const statement =
    'select id, current_walk, running_walk, deal_currency from copies where catalog = ? and channel_id = ?'
  const [row] = await execute<Selectable<CopiesTable>>(database, statement, [catalog, channelId])
  if (row === undefined) return undefined
  const { id, current_walk: currentWalk, running_walk: runningWalk, deal_currency: dealCurrency } = row
  const visibleWalk = currentWalk > 0 ? currentWalk : runningWalk
  return { id, currentWalk, runningWalk, visibleWalk, dealCurrency }
}

export async function getOrCreateCopy(
  database: Kysely<CopyTables>,
  catalog: string,
  channelId: string,
): Promise<CopyRow> {
  const found = await findCopy(database, catalog, channelId)
  if (found !== undefined) return found
  await sql`insert into copies (catalog, channel_id) values (${catalog}, ${channelId})
    on conflict (catalog, channel_id) do nothing`.execute(database)
  return getOrCreateCopy(database, catalog, channelId)
}

/** Build the condition that a version is visible at `walk`. */
export function createVersionCondition(walk: number): RawBuilder<SqlBool> {
  const at = sql.lit(walk)
  return sql`from_walk <= ${at} and (until_walk is null or until_walk > ${at})`
}

/** Read a channel's copy in one snapshot; return `empty` when nothing was ever stored for the channel. */
export type CopyReader = <T>(
  channelId: string,
  empty: T,
  read: (snapshot: Transaction<CopyTables>, copy: CopyView) => Promise<T>,
) => Promise<T>

export function createCopyReader(
  reader: Kysely<CopyTables>,
  catalog: string,
  clock: Clock = systemClock,
): CopyReader {
  return (channelId, empty, read) =>
    readInSnapshot(reader, async (snapshot) => {
      const copy = await findCopy(snapshot, catalog, channelId)
      return copy === undefined ? empty : read(snapshot, { nowMs: clock.nowMs(), ...copy })
    })
}

const EMPTY_STATE: CopyState = {
  currentWalk: 0,
  completedAtMs: null,
  completedStartedAtMs: null,
  productCount: 0,
  hadProducts: false,
  hasProducts: false,
  dealCount: 0,
  drops: {},
  isMalformed: false,
  held: null,
  isRunning: false,
  failure: null,
  failedAtMs: null,
  failureReason: null,
  retry: null,
}

type StateRow = Selectable<CopiesTable> & Readonly<{ has_products: number }>

const READ_STATE = `select c.*, case when exists (select 1 from products p where p.copy_id = c.id) then 1 else 0 end
  as has_products from copies c where c.catalog = ? and c.channel_id = ?`

export async function readCopyState(
  database: Kysely<CopyTables>,
  catalog: string,
  channelId: string,
): Promise<CopyState> {
  const [row] = await execute<StateRow>(database, READ_STATE, [catalog, channelId])
  if (row === undefined) return EMPTY_STATE
  return {
    currentWalk: row.current_walk,
    completedAtMs: row.completed_at_ms,
    completedStartedAtMs: row.completed_started_at_ms,
    productCount: row.product_count,
    hadProducts: row.had_products === 1,
    hasProducts: row.has_products === 1,
    dealCount: row.deal_count,
    drops: parseDrops(row.drops),
    isMalformed: row.is_malformed === 1,
    held: toHeldWalk(row),
    isRunning: isRunning(row),
    failure: row.failure,
    failedAtMs: row.failed_at_ms,
    failureReason: row.failure === null ? null : row.failure_reason,
    retry: isRunning(row) && row.retry_code !== null ? toFailure(row.retry_code, row.failure_reason) : null,
  }
}

function isRunning(row: Selectable<CopiesTable>): boolean {
  return row.running_walk > row.current_walk && row.failure === null
}

function toFailure(code: string, reason: string | null): WalkFailure {
  return { code, reason: reason ?? '' }
}

function toHeldWalk(row: Selectable<CopiesTable>): HeldWalk | null {
  const reason = HOLD_REASONS.find((candidate) => candidate === row.held_reason)
  if (reason === undefined) return null
  return {
    reason,
    sinceMs: row.held_since_ms ?? 0,
    startedAtMs: row.held_started_at_ms ?? 0,
    productCount: row.held_product_count ?? 0,
  }
}

/** An entry at the end of a page can be after its last usable product, so it is in the row of its own GTIN or the one before. */
const FIND_MALFORMED = `select malformed from walk_pages
  where copy_id = ? and walk = ? and after_gtin < ? order by after_gtin desc limit 2`

export function findMalformedEntry(
  readCopy: CopyReader,
  channelId: string,
  gtin: string,
): Promise<ProductProblem | undefined> {
  return readCopy<ProductProblem | undefined>(channelId, undefined, async (snapshot, copy) => {
    const parameters = [copy.id, copy.visibleWalk, gtin]
    const rows = await execute<Pick<WalkPagesTable, 'malformed'>>(snapshot, FIND_MALFORMED, parameters)
    const problems = rows.map(({ malformed }) => parseMalformed(malformed ?? '{}')[gtin])
    return problems.find((problem) => problem !== undefined)
  })
}

export async function findFutureCopies(
  database: Kysely<CopyTables>,
  catalog: string,
  nowMs: number,
): Promise<readonly string[]> {
  const latestMs = toLatestPlausibleMs(nowMs)
  const { rows } = await sql<{ channel_id: string }>`select channel_id from copies where catalog = ${catalog}
    and (completed_started_at_ms > ${latestMs} or completed_at_ms > ${latestMs})`.execute(database)
  return rows.map((row) => row.channel_id)
}

export async function countOffers(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<number> {
  const { rows } = await sql<{ count: number | string | null }>`
    select sum(${sql.raw(getJsonFunctions(database).arrayLength('offers'))}) as count from products
    where copy_id = ${copyId} and ${createVersionCondition(walk)}`.execute(database)
  return Number(rows[0]?.count ?? 0)
}
