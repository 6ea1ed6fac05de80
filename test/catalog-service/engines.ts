import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { openCatalogStore } from '../../src/catalog-service/store/open-store.ts'
import { systemClock } from '../../src/clock.ts'
import type { DatabaseAddress } from '../../src/config/database-address.ts'
import { type PostgresAddress, databaseAddress } from '../../src/config/database-address.ts'
import { atEnd } from '../helpers/at-end.ts'
import { type PostgresClient, usePostgres } from '../helpers/postgres.ts'

/** A catalog that is empty and never written, and databases like it. */
type Server = Readonly<{
  server: PostgresClient
  emptyUrl: string
  /** What makes a used database an empty one again. */
  reset: string
  structure: string
  /** Databases that no test uses now. */
  free: string[]
  names: string[]
  drop(): Promise<void>
}>

/** Where the catalogs of this file's tests are: in files, unless `useCatalogDatabases` says otherwise. */
let current: Server | undefined

/** A database for one catalog, which is empty; a file lies in the folder. */
export async function makeCatalogDatabase(folder: string): Promise<DatabaseAddress> {
  return current === undefined ? { kind: 'sqlite', path: join(folder, 'catalog.db') } : takeDatabase(current)
}

/** Everything in this group keeps its catalogs on one PostgreSQL server, a database each. */
export function useCatalogDatabases(): void {
  beforeAll(async () => {
    const server = usePostgres()
    const { url, address, drop } = await server.makeDatabase()
    await (await openCatalogStore({ database: address, clock: systemClock })).close()
    const [reset, structure] = await Promise.all([writeReset(server, url), readStructure(server, url)])
    current = { server, emptyUrl: url, reset, structure, free: [], names: [], drop }
  })
  afterAll(async () => {
    const used = current
    current = undefined
    if (used === undefined) return
    for (const name of used.names) await used.server.run(used.emptyUrl, `drop database ${name} with (force)`)
    await used.drop()
  })
}

/** Removes all rows but those that an empty catalog has. One whose connections are still open is not waited for. */
async function writeReset(server: PostgresClient, url: string): Promise<string> {
  const tables = await server.run(
    url,
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname like 'vitrine%' and tablename not in ('kysely_migration', 'migration_turn')`,
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

/** PostgreSQL's codes for a database that is not used again: a connection of the test is still open, or a table is gone. */
const NOT_GIVEN_BACK: ReadonlySet<unknown> = new Set(['55P03', '42P01'])

/** To empty one is faster than to copy one, and that is faster than to make one. It is given back after the test. */
async function takeDatabase(place: Server): Promise<PostgresAddress> {
  const { server, emptyUrl, free, names } = place
  const own = new URL(emptyUrl)
  const name = free.pop() ?? `vitrine_test_${randomBytes(6).toString('hex')}`
  own.pathname = `/${name}`
  if (!names.includes(name)) {
    names.push(name)
    await server.run(emptyUrl, `create database ${name} template ${new URL(emptyUrl).pathname.slice(1)}`)
  }
  atEnd(() =>
    giveBack(place, own).catch((error: unknown) => {
      if (!NOT_GIVEN_BACK.has((error as { code?: unknown }).code)) throw error
    }),
  )
  const address = databaseAddress.read(own.href)
  if (address?.kind !== 'postgres') throw new Error(`no address: ${own.href}`)
  return address
}

/** A database whose tables a test has changed is not used again. */
async function giveBack({ server, reset, structure, free }: Server, own: URL): Promise<void> {
  await server.run(own.href, reset)
  if ((await readStructure(server, own.href)) === structure) free.push(own.pathname.slice(1))
}

/** Columns, constraints, indexes and triggers of all tables. */
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
