import type { DatabaseAddress } from '../config/database-address.ts'
import { MINUTE_MS, SECOND_MS } from '../clock.ts'
import type { Connection } from '../database/connection.ts'
import type { MigrationListener } from '../database/migrate.ts'
import { type LockTimeouts, type OpenDatabase, openDatabase } from '../database/open-database.ts'
import type { CopyTables } from './schema.ts'
import { COPY_MIGRATIONS } from './tables.ts'

/**
 * Who uses the stored copy:
 * - `walk`: waits for other processes, and may read and write all of it
 * - `check`: fails soon, and reads as a server does
 * - `service`: serves visitors
 */
export type CopyAccess = 'walk' | 'check' | 'service'

export type CopyConnection = Connection<CopyTables>

/** Shorter than the forced stop of a walk thread, which can crash the process when SQLite is a native addon. */
const WAITING_TIMEOUTS: LockTimeouts = { openingMs: 2 * SECOND_MS, openMs: 2 * SECOND_MS }

/** WAL sizes that trigger a checkpoint. A server's is larger, so that walks do most checkpoints. */
const WALK_CHECKPOINT_BYTES: number = 12 * 1_024 * 1_024
const SERVER_CHECKPOINT_BYTES: number = 48 * 1_024 * 1_024

/** The stored copy's schema in a PostgreSQL database. */
const SCHEMA = 'vitrine_copy'

/** Writes get a longer statement timeout than reads, because no visitor waits for them. */
const WRITE_TIMEOUT_FACTOR = 2

/** A walk can count a whole catalog. */
const WALK_STATEMENT_MS: number = 2 * MINUTE_MS

/** One connection writes a page while the other reads the copy's rows for the next page. */
const WALK_CONNECTIONS = 2

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
        checkpointBytes: isWalk ? WALK_CHECKPOINT_BYTES : SERVER_CHECKPOINT_BYTES,
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
