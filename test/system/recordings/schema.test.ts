import { expect, it } from 'vitest'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { toSortedLines } from '../../recordings/sqlite-file.ts'
import { makeCopyFixture } from '../../storage/conformance/sql-fixture.ts'
import { useDatabase } from '../use-database.ts'

// Record for "One of each": a fresh PostgreSQL database keeps its tables, columns, indexes and sequences, whatever creates it.

/** Lines of a schema's objects by table. Server 18 also lists not-null constraints, which `columns` has. */
const OBJECTS = `
  with own as (
    select oid, relname, relkind, relpersistence, coalesce(array_to_string(reloptions, ', '), '') as options
    from pg_class where relnamespace = $SCHEMA
  )
  select relname as name, 0 as part, concat_ws(' ', case relkind when 'r' then 'table' else 'relation of kind ' || relkind::text end,
    relname, 'persistence ' || relpersistence::text, nullif(options, '')) as line
    from own where relkind not in ('i', 'S')
  union all
  select relname, 1, concat_ws(' ', attname, format_type(atttypid, atttypmod),
    case when attcollation not in (0, 100) then 'collate ' || (select collname from pg_collation where oid = attcollation) end,
    case when attnotnull then 'not null' end, 'default ' || pg_get_expr(adbin, adrelid),
    'identity ' || nullif(attidentity::text, ''), 'generated ' || nullif(attgenerated::text, ''),
    'storage ' || nullif(attstorage::text, typstorage::text))
    from own join pg_attribute on attrelid = own.oid join pg_type on pg_type.oid = atttypid
    left join pg_attrdef on adrelid = own.oid and adnum = attnum
    where relkind in ('r', 'p', 'v', 'm') and attnum > 0 and not attisdropped
  union all
  select relname, 2, 'constraint ' || conname || ' ' || pg_get_constraintdef(c.oid)
    from own join pg_constraint c on conrelid = own.oid where contype <> 'n'
  union all
  select relname, 3, pg_get_indexdef(indexrelid) from own join pg_index on indrelid = own.oid
  union all
  select relname, 4, pg_get_triggerdef(t.oid) from own join pg_trigger t on tgrelid = own.oid where not tgisinternal
  union all
  select relname, 5, 'policy ' || polname from own join pg_policy on polrelid = own.oid
  union all
  select sequencename, 6, concat_ws(' ', 'sequence', sequencename, data_type, 'start', start_value, 'increment', increment_by,
    'from', min_value, 'to', max_value, 'cache', cache_size, case when cycle then 'cycle' end)
    from pg_sequences where schemaname = '$NAME'
  union all
  select proname, 7, pg_get_functiondef(oid) from pg_proc where pronamespace = $SCHEMA
  union all
  select typname, 8, 'type ' || typname from pg_type where typnamespace = $SCHEMA and typtype in ('e', 'd', 'r')`

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

const database = useDatabase()

async function readObjects(schema: string): Promise<readonly string[]> {
  const statement = OBJECTS.replaceAll('$SCHEMA', `'${schema}'::regnamespace`).replaceAll('$NAME', schema)
  const rows = await database.run(`select name, part, line from (${statement}) objects`)
  const keyed = rows.map(
    ({ name, part, line }) => `${String(name)}\t${String(part)}\t${String(line).replaceAll(/\s+/g, ' ')}`,
  )
  return toSortedLines(keyed).map((text) => {
    const [, part = '', line = ''] = text.split('\t')
    return `${['0', '6', '7', '8'].includes(part) ? '' : '  '}${line.replaceAll(`${schema}.`, '')}`
  })
}

/** Rows of migrations belong to the history. */
async function readRows(schema: string): Promise<readonly string[]> {
  const tables = await database.run(
    `select tablename as name from pg_tables where schemaname = '${schema}' and tablename not like '%migration%'`,
  )
  const statements = tables.map(
    ({ name }) =>
      `select '${String(name)}' as name, to_jsonb(t)::text as row from ${schema}.${String(name)} t`,
  )
  const rows = await database.run(statements.join(' union all '))
  return toSortedLines(
    rows.map(({ name, row }) => `row of ${String(name)}: ${String(row).replaceAll(UUID, '<uuid>')}`),
  )
}

it('fresh PostgreSQL database - has the recorded schemas', async () => {
  const { address } = database
  const copies = makeCopyFixture({ address, isShared: true }, () => Promise.resolve())
  await copies.open('catalog')
  await copies.dispose()
  const catalog = await openCatalogStore({ database: address, clock: createFakeClock(0) })
  await catalog.close()
  const schemas = await database.run(
    `select nspname as name from pg_namespace where nspname not in ('public', 'information_schema') and nspname not like 'pg_%' order by 1`,
  )
  const extensions = await database.run(`select extname from pg_extension order by 1`)
  const record = [`extensions: ${extensions.map(({ extname }) => String(extname)).join(', ')}`]
  for (const { name } of schemas) {
    const schema = String(name)
    record.push('', `# ${schema}`, ...(await readObjects(schema)), ...(await readRows(schema)))
  }
  await expect(`${record.join('\n')}\n`).toMatchFileSnapshot('schema-postgres.txt')
})
