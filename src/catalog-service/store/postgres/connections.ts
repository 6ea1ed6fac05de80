import { CompiledQuery, type Kysely } from 'kysely'
import { MINUTE_MS } from '../../../clock.ts'
import type { PostgresAddress } from '../../../config/database-address.ts'
import { type OpenPostgres, openPostgres } from '../../../database/postgres.ts'
import type { CatalogRole } from '../open-store.ts'
import type { CatalogTables, UsageTables } from '../schema.ts'

/** Where the catalog's tables are: the stored copy may share the database. */
export const SCHEMA = 'vitrine_catalog'

/** A statement of a command or an import may read the whole catalog, and one of a migration make an index over it. */
const LONG_STATEMENT_MS: number = 10 * MINUTE_MS

/** An import rests while it reads its file, from a disk that may be slow. */
const LONG_REST_MS: number = 2 * MINUTE_MS

/** Of a service's connections, the part that counts; the rest reads. Counts of an organization follow each other. */
const COUNTING_PART = 1 / 3

/** Connections to the catalog's database, by what they are for. Each is made when it is needed. */
export type CatalogConnections = Readonly<{
  address: PostgresAddress
  reader: Kysely<CatalogTables>
  usage: Kysely<UsageTables>
  /** The one that writes: it may wait, and take, as long as an import does. */
  openWriter(): Kysely<CatalogTables>
  close(): Promise<void>
}>

/** Makes the pools. Nothing is connected yet. */
export function createConnections(address: PostgresAddress, role: CatalogRole): CatalogConnections {
  const isCommand = role === 'command'
  const statementTimeoutMs = isCommand ? LONG_STATEMENT_MS : address.statementTimeoutMs
  const counters = isCommand ? 1 : Math.max(1, Math.floor(address.poolSize * COUNTING_PART))
  const readers = isCommand ? 1 : Math.max(1, address.poolSize - counters - 1)
  const place = { address, schema: SCHEMA }
  const reader = openPostgres<CatalogTables>({ ...place, size: readers, statementTimeoutMs })
  const usage = openPostgres<UsageTables>({ ...place, size: counters, statementTimeoutMs })
  let writer: OpenPostgres<CatalogTables> | undefined
  return {
    address,
    reader: reader.database,
    usage: usage.database,
    openWriter() {
      writer ??= openPostgres<CatalogTables>({
        ...place,
        size: 1,
        statementTimeoutMs: LONG_STATEMENT_MS,
        idleTransactionMs: LONG_REST_MS,
      })
      return writer.database
    },
    async close() {
      await Promise.all([reader.close(), usage.close(), writer?.close()])
    },
  }
}

// oxlint-disable typescript/no-unnecessary-type-parameters -- only who writes a statement knows its rows
/** Runs a statement that is always the same text: nothing is built, and the server knows it already. */
export async function runText<Row>(
  database: Kysely<CatalogTables> | Kysely<UsageTables>,
  statement: string,
  parameters: readonly unknown[],
): Promise<readonly Row[]> {
  const query = CompiledQuery.raw(statement, [...parameters])
  return (await (database as Kysely<unknown>).executeQuery<Row>(query)).rows
}
// oxlint-enable typescript/no-unnecessary-type-parameters
