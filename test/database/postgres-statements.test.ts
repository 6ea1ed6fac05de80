import { expect, test } from 'vitest'
import { ROOM, TEXT, adaptStatement } from '../../src/database/postgres-statements.ts'

const STATEMENT = `create table texts (name ${TEXT} primary key, other ${TEXT})${ROOM}`

test.each([
  ['PostgreSQL 18.4 on x86_64-pc-linux-gnu', STATEMENT],
  ['CockroachDB CCL v25.2.1 (x86_64-pc-linux-gnu)', 'create table texts (name text primary key, other text)'],
])('statement for %s - is one that it takes', (version, expected) => {
  expect(adaptStatement(STATEMENT, version)).toBe(expected)
})
