import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCopyDatabase } from '../../src/storage/copy-database.ts'
import { ALLOWED_COUNT_COLUMNS } from './conformance/count-columns.ts'

test('tables of counts in SQLite - have no column that could hold anything about a visitor', async () => {
  const { writer, close } = await openCopyDatabase({ kind: 'sqlite', path: ':memory:' })
  const { rows } = await sql<{ name: string }>`select m.name || '.' || c.name as name
    from sqlite_master m join pragma_table_info(m.name) c
    where m.type = 'table' and (m.name like '%count%' or m.name like '%click%')`.execute(writer)
  await close()
  expect(rows.map(({ name }) => name).sort()).toEqual(ALLOWED_COUNT_COLUMNS)
})
