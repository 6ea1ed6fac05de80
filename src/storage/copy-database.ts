import { setTimeout as wait } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { MINUTE_MS, SECOND_MS } from '../clock.ts'
import type { DatabaseAddress } from '../config/database-address.ts'
import { type Connection, openConnection } from '../database/connection.ts'
import type { MigrationListener } from '../database/migrate.ts'
import { type LockTimeouts, type OpenDatabase, openDatabase } from '../database/open-database.ts'
import type { CopyTables } from './schema.ts'
import { COPY_MIGRATIONS } from './tables.ts'

/**
 * Who uses the stored copy:
 * - `walk`: waits for other processes, and may read and write all of it
 * - `check`: fails soon, and reads as a server does
 * - `service`: serves visitors
 * - `write thread`: writes the look-ups of a service
 */
export type CopyAccess = 'walk' | 'check' | 'service' | 'write thread'

export type CopyConnection = Connection<CopyTables>

/** Shorter than the forced stop of a walk thread, which can crash the process when SQLite is a native addon. */
const WAITING_TIMEOUTS: LockTimeouts = { openingMs: 2 * SECOND_MS, openMs: 2 * SECOND_MS }

/** WAL sizes that trigger a checkpoint. A server's is larger, so that walks and its write thread do most checkpoints. */
const WALK_CHECKPOINT_BYTES: number = 12 * 1_024 * 1_024
const SERVER_CHECKPOINT_BYTES: number = 48 * 1_024 * 1_024

/** The stored copy's schema in a PostgreSQL database. */
const SCHEMA = 'vitrine_copy'

/** Writes get a longer statement timeout than reads, because no visitor waits for them. */
const WRITE_TIMEOUT_FACTOR = 2

/** A walk can count a whole catalog. */
const WALK_STATEMENT_MS: number = 2 * MINUTE_MS

/** Each of four channels writes a page, while another connection extends leases and counts calls. */
const WALK_CONNECTIONS = 5

/** Share of the pool for writes; the rest is for reads. */
const WRITER_SHARE = 1 / 3

/** If a machine loses its network inside a transaction, other machines wait for its locks this long. */
const IDLE_TRANSACTION_MS: number = 3 * SECOND_MS

/** Open and migrate the stored copy's database. @throws StoreError, StoreVersionError */
export function openCopyDatabase(
  address: DatabaseAddress,
  {
    access = 'walk',
    timeouts = WAITING_TIMEOUTS,
    onMigrated,
  }: Readonly<{
    access?: CopyAccess | undefined
    timeouts?: LockTimeouts | undefined
    onMigrated?: MigrationListener | undefined
  }> = {},
): Promise<OpenDatabase<CopyTables>> {
  const isWalk = access === 'walk'
  return openDatabase<CopyTables>({
    address,
    migrations: COPY_MIGRATIONS,
    onMigrated,
    file: {
      timeouts,
      writer: {
        canShrink: true,
        checkpointBytes:
          isWalk || access === 'write thread' ? WALK_CHECKPOINT_BYTES : SERVER_CHECKPOINT_BYTES,
      },
    },
    server: {
      schema: SCHEMA,
      ...(address.kind === 'sqlite' || isWalk
        ? { reader: { size: WALK_CONNECTIONS, statementTimeoutMs: WALK_STATEMENT_MS }, writer: null }
        : splitPool(address)),
    },
  })
}

/** Connect a command that uses the tables of all catalogs. @throws StoreError, StoreVersionError */
export function openCopyConnection(
  address: DatabaseAddress,
  access: Exclude<CopyAccess, 'service'>,
): Promise<CopyConnection> {
  return openConnection<CopyTables, OpenDatabase<CopyTables>>({
    open: () => openCopyDatabase(address, { access }),
    ...toConnectionKind(address),
  })
}

/** Return the options of all connections to a stored copy. */
export function toConnectionKind({ kind }: DatabaseAddress) {
  return {
    kind: kind === 'postgres' ? 'server' : 'file',
    table: 'copies',
    failure: 'the stored copy failed',
  } as const
}

function splitPool({
  poolSize,
  statementTimeoutMs,
}: Readonly<{ poolSize: number; statementTimeoutMs: number }>) {
  const size = Math.max(1, Math.floor(poolSize * WRITER_SHARE))
  return {
    reader: { size: poolSize - size, statementTimeoutMs },
    writer: {
      size,
      statementTimeoutMs: statementTimeoutMs * WRITE_TIMEOUT_FACTOR,
      idleTransactionMs: IDLE_TRANSACTION_MS,
    },
  }
}

/** The part of a file that may stay free: a walk that changes every product needs as many pages again. */
const MAX_FREE_SHARE = 1 / 2

/** Do not shrink a file by less than this. */
const MIN_EXCESS_PAGES = 256

/** Pages per transaction, and the pause afterwards, in which other processes can write. */
const STEP_PAGES = 64
const STEP_PAUSE_MS = 1

/** Maximum number of transactions after one walk (1 GB); the next walk continues. */
const MAX_STEPS = 4_096

/**
 * Return free pages of a SQLite file to the disk, in small transactions, until at most half of the file is free. Has no effect
 * on a file that was created without `canShrink`.
 */
export async function shrinkFile(database: Kysely<CopyTables>, signal?: AbortSignal): Promise<void> {
  let excess = await countExcess(database)
  for (let step = 0; excess > 0 && step < MAX_STEPS; step += 1) {
    if (signal?.aborted === true) return
    await sql`pragma incremental_vacuum(${sql.lit(Math.min(excess, STEP_PAGES))})`.execute(database)
    excess -= STEP_PAGES
    await wait(STEP_PAUSE_MS)
  }
}

async function countExcess(database: Kysely<CopyTables>): Promise<number> {
  const { rows } = await sql<{ pages: number; free: number; mode: number }>`
    select page_count as pages, freelist_count as free, auto_vacuum as mode
    from pragma_page_count, pragma_freelist_count, pragma_auto_vacuum`.execute(database)
  const { pages, free, mode } = rows[0] ?? { pages: 0, free: 0, mode: 0 }
  // After returning x pages, free - x of pages - x are free.
  const excess = Math.floor((free - MAX_FREE_SHARE * pages) / (1 - MAX_FREE_SHARE))
  return mode === 0 || excess < MIN_EXCESS_PAGES ? 0 : excess
}
