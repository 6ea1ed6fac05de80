import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createFolder, openSqliteTestStore } from '../catalog-service/harness.ts'
import { makeCopyFixture } from '../storage/conformance/sql-fixture.ts'
import { type Row, readSqliteFile, toSortedLines } from './sqlite-file.ts'

// Record for "One of each": a fresh SQLite database keeps its tables, columns, indexes and triggers, whatever creates it.
// `test/system/recordings/schema.test.ts` records PostgreSQL.

type Select = (statement: string) => readonly Row[]

/** Clauses that no pragma reports: a statement with one is recorded whole. */
const OTHER_CLAUSES = /\b(?:check|collate|generated|deferrable|on conflict)\b/i

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/** Remove line breaks and what only renaming a table adds. */
function toPlainSql(sql: Row[string] | undefined): string {
  return String(sql)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/"(\w+)"/g, '$1')
    .replace(/^create (unique |virtual )?(\w+)(?: if not exists)?/i, (text) =>
      text.toLowerCase().replace(' if not exists', ''),
    )
}

function describeColumn({ name, type, notnull, dflt_value: value, pk, hidden }: Row): string {
  return [
    `  ${name} ${String(type).toLowerCase()}`,
    ...(notnull === 1 ? ['not null'] : []),
    ...(value === null ? [] : [`default ${value}`]),
    ...(pk === 0 ? [] : [`primary key ${pk}`]),
    ...(hidden === 0 ? [] : [`hidden ${hidden}`]),
  ].join(' ')
}

function describeForeignKey({ from, table, to, on_update: onUpdate, on_delete: onDelete }: Row): string {
  return `  foreign key ${from} references ${table} (${to}) on update ${onUpdate} on delete ${onDelete}`
}

/** An index of a constraint has no statement. */
function describeConstraint(select: Select, { name }: Row): string {
  const columns = select(`pragma index_xinfo("${name}")`).filter(({ key }) => key === 1)
  const names = columns.map(
    (column) => `${column['name']}${column['desc'] === 1 ? ' desc' : ''} collate ${column['coll']}`,
  )
  return `  unique (${names.join(', ')})`
}

function describeTable(select: Select, { name, type, wr, strict }: Row): readonly string[] {
  const [{ sql } = {}] = select(`select sql from sqlite_master where name = '${name}' and type = 'table'`)
  const text = toPlainSql(sql)
  if (type === 'virtual') return [text]
  const objects = select(
    `select sql from sqlite_master where tbl_name = '${name}' and type in ('index', 'trigger') and sql is not null`,
  )
  const uniques = select(`pragma index_list("${name}")`).filter(({ origin }) => origin === 'u')
  const options = [
    ...(/\bautoincrement\b/i.test(text) ? ['autoincrement'] : []),
    ...(wr === 1 ? ['without rowid'] : []),
    ...(strict === 1 ? ['strict'] : []),
  ]
  return [
    [`table ${name}`, ...options].join(', '),
    ...toSortedLines(select(`pragma table_xinfo("${name}")`).map(describeColumn)),
    ...toSortedLines(uniques.map((index) => describeConstraint(select, index))),
    ...toSortedLines(select(`pragma foreign_key_list("${name}")`).map(describeForeignKey)),
    ...(OTHER_CLAUSES.test(text) ? [`  ${text}`] : []),
    ...toSortedLines(objects.map((object) => `  ${toPlainSql(object['sql'])}`)),
  ]
}

function describeRows(select: Select, table: string): readonly string[] {
  const rows = select(`select * from "${table}"`)
  const names = [...toSortedLines(Object.keys(rows[0] ?? {}))]
  return toSortedLines(
    rows.map((row) => `row of ${table}: ${JSON.stringify(row, names).replaceAll(UUID, '<uuid>')}`),
  )
}

/** Tables of the search index belong to SQLite, and rows of migrations to the history. */
function describeSchema(path: string): string {
  return readSqliteFile(path, (select) => {
    const tables = select('pragma table_list')
      .filter(
        ({ schema, name, type }) =>
          schema === 'main' && type !== 'shadow' && !String(name).startsWith('sqlite_'),
      )
      .toSorted((one, other) => (String(one['name']) < String(other['name']) ? -1 : 1))
    const pragmas = ['application_id', 'auto_vacuum', 'encoding', 'journal_mode', 'user_version'].map(
      (name) => `${name} ${Object.values(select(`pragma ${name}`)[0] ?? {}).join('')}`,
    )
    const names = tables.filter(({ type }) => type === 'table').map(({ name }) => String(name))
    return [
      pragmas.join(', '),
      ...tables.flatMap((table) => describeTable(select, table)),
      ...names.filter((name) => !name.includes('migration')).flatMap((name) => describeRows(select, name)),
    ].join('\n')
  })
}

it('fresh SQLite databases - have the recorded schema', async () => {
  const copyPath = join(createFolder(), 'copy.db')
  const copies = makeCopyFixture({ address: { kind: 'sqlite', path: copyPath }, isShared: false }, () =>
    Promise.resolve(),
  )
  await copies.open('catalog')
  await copies.dispose()
  const { store, path } = await openSqliteTestStore()
  await store.close()
  const files = { 'stored copy': copyPath, catalog: path, usage: path.replace('.db', '-usage.db') }
  const record = Object.entries(files).map(([name, file]) => `# ${name}\n${describeSchema(file)}\n`)
  await expect(record.join('\n')).toMatchFileSnapshot('schema-sqlite.txt')
})
