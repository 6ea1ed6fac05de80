import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely'
import { expect, test } from 'vitest'
import { createTables } from '../../src/database/tables.ts'

const STATEMENT =
  'create table texts (name text collate "C" primary key, other text collate "C") with (fillfactor = 80)'

test.each([
  ['PostgreSQL 18.4 on x86_64-pc-linux-gnu', STATEMENT],
  ['CockroachDB CCL v25.2.1 (x86_64-pc-linux-gnu)', 'create table texts (name text primary key, other text)'],
])('statement for %s - is one that the server supports', async (version, expected) => {
  const executed: string[] = []
  const query = (text: string): Promise<unknown> => {
    executed.push(text)
    return Promise.resolve({ rows: [{ version }] })
  }
  const client = { query, release: () => {} } as unknown as PostgresPoolClient
  const pool = { connect: () => Promise.resolve(client), end: () => Promise.resolve() }
  const database = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  await createTables(database, ({ text, updated, onSqlite }) => [
    `create table texts (name ${text} primary key, other ${text})${updated}`,
    onSqlite('vacuum'),
  ])
  expect(executed).toEqual(['select version() as version', expected])
})
