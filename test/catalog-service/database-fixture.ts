import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { openCatalogStore } from '../../src/catalog-service/store/open-store.ts'
import { systemClock } from '../../src/clock.ts'
import type { DatabaseAddress } from '../../src/config/database-address.ts'
import { type PostgresAddress, databaseAddressParser } from '../../src/config/database-address.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { type PostgresClient, usePostgres } from '../helpers/postgres.ts'

/** An empty template catalog that is never written, and copies of it. */
type DatabasePool = Readonly<{
  server: PostgresClient
  emptyUrl: string
  /** Statements that empty a used database. */
  resetStatements: string
  structure: string
  /** Databases that no test is using. */
  free: string[]
  names: string[]
  drop(): Promise<void>
}>

/** Set by `usePostgresCatalogs`; without it, catalogs are SQLite files. */
let currentPool: DatabasePool | undefined

/** Create an empty database for one catalog: on PostgreSQL, or a file in `folder`. */
export async function createCatalogDatabase(folder: string): Promise<DatabaseAddress> {
  return currentPool === undefined
    ? { kind: 'sqlite', path: join(folder, 'catalog.db') }
    : acquireDatabase(currentPool)
}

/** Give each test of this group its own database on one PostgreSQL server. */
export function usePostgresCatalogs(): void {
  beforeAll(async () => {
    const server = usePostgres()
    const { url, address, drop } = await server.makeDatabase()
    await (await openCatalogStore({ database: address, clock: systemClock })).close()
    const [resetStatements, structure] = await Promise.all([
      createResetStatements(server, url),
      readStructure(server, url),
    ])
    currentPool = { server, emptyUrl: url, resetStatements, structure, free: [], names: [], drop }
  })
  afterAll(async () => {
    const pool = currentPool
    currentPool = undefined
    if (pool === undefined) return
    for (const name of pool.names) await pool.server.run(pool.emptyUrl, `drop database ${name} with (force)`)
    await pool.drop()
  })
}

/** Remove all rows except those of an empty catalog. Do not wait for connections that are still open. */
async function createResetStatements(server: PostgresClient, url: string): Promise<string> {
  const tables = await server.run(
    url,
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname like 'vitrine%' and tablename not in ('kysely_migration', 'migration_lock')`,
  )
  const names = tables.map(({ name }) => String(name))
  const statements = [`set lock_timeout = '5s'`, `truncate ${names.join(', ')} restart identity`]
  for (const name of names) {
    const [found] = await server.run(url, `select json_agg(t)::text as rows from ${name} t`)
    if (typeof found?.['rows'] !== 'string') continue
    const rows = found['rows'].replaceAll("'", "''")
    statements.push(`insert into ${name} select * from json_populate_recordset(null::${name}, '${rows}')`)
  }
  return statements.join('; ')
}

/** SQLSTATEs of a database that cannot be reused: a connection is still open, or a table is missing. */
const NOT_REUSABLE_CODES: ReadonlySet<unknown> = new Set(['55P03', '42P01'])

/** Reuse or copy a database, which is faster than to migrate a new one. It is released after the test. */
async function acquireDatabase(pool: DatabasePool): Promise<PostgresAddress> {
  const { server, emptyUrl, free, names } = pool
  const databaseUrl = new URL(emptyUrl)
  const name = free.pop() ?? `vitrine_test_${randomBytes(6).toString('hex')}`
  databaseUrl.pathname = `/${name}`
  if (!names.includes(name)) {
    names.push(name)
    await server.run(emptyUrl, `create database ${name} template ${new URL(emptyUrl).pathname.slice(1)}`)
  }
  addCleanup(() =>
    releaseDatabase(pool, databaseUrl).catch((error: unknown) => {
      if (!NOT_REUSABLE_CODES.has((error as { code?: unknown }).code)) throw error
    }),
  )
  const address = databaseAddressParser.parse(databaseUrl.href)
  if (address?.kind !== 'postgres') throw new Error(`no address: ${databaseUrl.href}`)
  return address
}

/** Reuse the database unless a test has changed its tables. */
async function releaseDatabase(
  { server, resetStatements, structure, free }: DatabasePool,
  databaseUrl: URL,
): Promise<void> {
  await server.run(databaseUrl.href, resetStatements)
  if ((await readStructure(server, databaseUrl.href)) === structure) free.push(databaseUrl.pathname.slice(1))
}

async function readStructure(server: PostgresClient, url: string): Promise<string> {
  const [found] = await server.run(
    url,
    `with own as (select c.oid, c.relname from pg_class c join pg_namespace n on n.oid = relnamespace where nspname like 'vitrine%'),
    parts as (
      select format('%s.%s %s %s', relname, attname, atttypid, attnotnull) as part from own join pg_attribute on attrelid = oid
      union all select conname from pg_constraint where conrelid in (select oid from own)
      union all select tgname from pg_trigger where tgrelid in (select oid from own) and not tgisinternal
    )
    select string_agg(part, ' ' order by part) as structure from parts`,
  )
  return String(found?.['structure'])
}
