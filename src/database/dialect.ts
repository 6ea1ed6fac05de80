import {
  CompiledQuery,
  PostgresAdapter,
  type QueryExecutorProvider,
  type QueryResult,
  type RawBuilder,
  type SqlBool,
  sql,
} from 'kysely'

// Where statements differ by engine (ADR 0010), and helpers for those that do not. Do not import `pg` here: SQLite must never load it.

type Row = Readonly<Record<string, unknown>>

/** Whether a database or transaction uses PostgreSQL's protocol. */
export function isPostgres(database: QueryExecutorProvider): boolean {
  return database.getExecutor().adapter instanceof PostgresAdapter
}

/** Statements with PostgreSQL's numbered parameters, by the statement with question marks. */
const numberedTexts = new Map<string, string>()

/** Execute a constant statement with `?` parameters: building a query with Kysely costs more than executing it. */
export async function execute<Returned>(
  database: QueryExecutorProvider,
  text: string,
  values: readonly unknown[],
): Promise<readonly Returned[]> {
  const query = isPostgres(database) ? toNumberedParameters(text) : text
  const compiled = CompiledQuery.raw(query, [...values]) as CompiledQuery<Returned>
  return (await database.getExecutor().executeQuery(compiled)).rows
}

function toNumberedParameters(text: string): string {
  let count = 0
  const result = numberedTexts.get(text) ?? text.replace(/\?/g, () => `$${(count += 1)}`)
  numberedTexts.set(text, result)
  return result
}

/**
 * `keys`: columns of a unique index; a row replaces the stored one. `types`: PostgreSQL types of the columns; with them, it reads
 * the rows in half the time.
 */
export type InsertOptions = Readonly<{ keys?: readonly string[]; types?: Readonly<Record<string, string>> }>

/** Insert any number of rows that have the same columns in the same order. */
export async function insertRows(
  database: QueryExecutorProvider,
  table: string,
  rows: readonly Row[],
  { keys = [], types }: InsertOptions = {},
): Promise<void> {
  const updates = Object.keys(rows[0] ?? {})
    .filter((name) => !keys.includes(name))
    .map((name) => `"${name}" = excluded."${name}"`)
  const conflict = `on conflict (${keys.join(', ')}) do update set ${updates.join(', ')}`
  await executeInsert(database, { table, rows, clause: keys.length === 0 ? '' : conflict, types })
}

/** Insert rows like `insertRows`, without those that exist already. Return how many are new. */
export async function insertNewRows(
  database: QueryExecutorProvider,
  table: string,
  rows: readonly Row[],
): Promise<number> {
  const results = await executeInsert(database, { table, rows, clause: 'on conflict do nothing' })
  return results.reduce((sum, { numAffectedRows = 0n }) => sum + Number(numAffectedRows), 0)
}

/** Insert rows like `insertRows`. Return their generated ids, in the order of the rows; no two may have the same `key`. */
export async function insertRowsForIds(
  database: QueryExecutorProvider,
  { table, key }: Readonly<{ table: string; key: string }>,
  rows: readonly Row[],
): Promise<readonly number[]> {
  if (!isPostgres(database)) {
    const results = await executeInsert(database, { table, rows, clause: '' })
    return results.map(({ insertId }) => Number(insertId))
  }
  // PostgreSQL does not guarantee the order of returned rows.
  const [result] = await executeInsert(database, { table, rows, clause: `returning id, "${key}" as key` })
  const inserted = (result?.rows ?? []) as readonly Readonly<{ id: number; key: unknown }>[]
  const ids = new Map(inserted.map((row) => [row.key, row.id]))
  return rows.map((row) => ids.get(row[key]) ?? 0)
}

type Insert = Readonly<{
  table: string
  rows: readonly Row[]
  clause: string
  types?: InsertOptions['types'] | undefined
}>

/**
 * PostgreSQL gets all rows as one JSON text. SQLite gets a prepared statement per row: one for many rows would cost twice as
 * much because of its many parameters, and of a JSON text it would parse each row again for each column.
 */
async function executeInsert(
  database: QueryExecutorProvider,
  { table, rows, clause, types }: Insert,
): Promise<readonly QueryResult<unknown>[]> {
  const names = Object.keys(rows[0] ?? {})
  if (names.length === 0) return []
  const columns = names.map((name) => `"${name}"`).join(', ')
  const into = `insert into "${table}" (${columns})`
  if (isPostgres(database) && types === undefined) {
    const text = `${into} select ${columns} from json_populate_recordset(null::"${table}", $1::json) ${clause}`
    return executeEach(database, text, [[JSON.stringify(rows)]])
  }
  const lists = rows.map((row) => names.map((name) => row[name]))
  if (isPostgres(database)) {
    const values = names.map((name, index) => `cast(given.value ->> ${index} as ${types?.[name]})`)
    const source = `select ${values.join(', ')} from jsonb_array_elements($1::jsonb) as given (value)`
    return executeEach(database, `${into} ${source} ${clause}`, [[JSON.stringify(lists)]])
  }
  return executeEach(database, `${into} values (${names.map(() => '?').join(', ')}) ${clause}`, lists)
}

/** Execute one statement once per list of values, in sequence on one connection. */
async function executeEach(
  database: QueryExecutorProvider,
  text: string,
  lists: readonly (readonly unknown[])[],
): Promise<readonly QueryResult<unknown>[]> {
  const query = CompiledQuery.raw(text)
  return database.getExecutor().provideConnection(async (connection) => {
    const results: QueryResult<unknown>[] = []
    for (const parameters of lists) results.push(await connection.executeQuery({ ...query, parameters }))
    return results
  })
}

/** Return the text of a table expression with rows of a table: one `?` parameter, their JSON. */
export function createRowSource(
  database: QueryExecutorProvider,
  table: string,
  columns: readonly string[],
): string {
  if (isPostgres(database)) return `json_populate_recordset(null::"${table}", ?::json)`
  const values = columns.map((column) => `json_extract(value, '$.${column}') as ${column}`)
  return `(select ${values.join(', ')} from json_each(?))`
}

/** Build an `in` condition. All values are one parameter, so that a list of any length gives the same statement. */
export function inList(
  database: QueryExecutorProvider,
  column: string,
  values: readonly (string | number)[],
): RawBuilder<SqlBool> {
  return isPostgres(database)
    ? sql<SqlBool>`${sql.ref(column)} = any(${values})`
    : sql<SqlBool>`${sql.ref(column)} in (select value from json_each(${JSON.stringify(values)}))`
}

/** Build a table expression with the column `value`. All texts are one parameter. */
export function createTextSource(
  database: QueryExecutorProvider,
  alias: string,
  texts: readonly string[],
): RawBuilder<unknown> {
  return isPostgres(database)
    ? sql`unnest(${texts}::text[]) as ${sql.ref(alias)} (value)`
    : sql`json_each(${JSON.stringify(texts)}) as ${sql.ref(alias)}`
}

type JsonFunctions = Readonly<{
  array: string
  object: string
  groupArray: string
  /** Return the length of a JSON array in a text column. */
  arrayLength(column: string): string
}>

const SQLITE_JSON: JsonFunctions = {
  array: 'json_array',
  object: 'json_object',
  groupArray: 'json_group_array',
  arrayLength: (column) => `json_array_length(${column})`,
}
const POSTGRES_JSON: JsonFunctions = {
  array: 'json_build_array',
  object: 'json_build_object',
  groupArray: 'json_agg',
  arrayLength: (column) => `json_array_length(${column}::json)`,
}

/** Return the names of SQL functions for JSON. Without rows, PostgreSQL's `groupArray` gives null instead of `[]`. */
export function getJsonFunctions(database: QueryExecutorProvider): JsonFunctions {
  return isPostgres(database) ? POSTGRES_JSON : SQLITE_JSON
}

/** The clause that locks the rows of a `select` until the end of the transaction. SQLite has only one writer. */
export function createRowLock(database: QueryExecutorProvider): RawBuilder<unknown> {
  return isPostgres(database) ? sql`for update` : sql``
}

/** Name a column so that SQLite uses no index for it. PostgreSQL has statistics of the values, and chooses itself. */
export function withoutIndex(database: QueryExecutorProvider, column: string): RawBuilder<unknown> {
  return isPostgres(database) ? sql.ref(column) : sql`+${sql.ref(column)}`
}

/** Tell SQLite that few rows meet a condition, which PostgreSQL knows from its statistics. */
export function asRare(database: QueryExecutorProvider, condition: RawBuilder<SqlBool>): RawBuilder<SqlBool> {
  return isPostgres(database) ? condition : sql<SqlBool>`likelihood(${condition}, 0.01)`
}

/**
 * Make PostgreSQL plan each statement of the transaction anew: a plan cached for empty tables would scan them when they are
 * full. Some compatible servers lack this setting.
 */
export async function disablePlanCache(transaction: QueryExecutorProvider): Promise<void> {
  if (isPostgres(transaction))
    await sql`select set_config('plan_cache_mode', 'force_custom_plan', true) from pg_settings
      where name = 'plan_cache_mode'`.execute(transaction)
}

/** Insert one row. Return its generated id. */
export async function insertRowForId(
  database: QueryExecutorProvider,
  table: string,
  row: Row,
): Promise<number> {
  const columns = Object.keys(row).map((column) => sql.ref(column))
  const { rows } = await sql<{ id: number }>`insert into ${sql.table(table)} (${sql.join(columns)})
    values (${sql.join(Object.values(row))}) returning id`.execute(database)
  return (rows[0] as { id: number }).id
}

/** Change the row with this `id`. A column whose value is `undefined` stays as it is. */
export async function updateRow(
  database: QueryExecutorProvider,
  table: string,
  id: string | number,
  change: Row,
): Promise<void> {
  const changed = Object.entries(change).filter(([, value]) => value !== undefined)
  const assignments = changed.map(([column, value]) => sql`${sql.ref(column)} = ${value}`)
  await sql`update ${sql.table(table)} set ${sql.join(assignments)} where id = ${id}`.execute(database)
}

/** Build the condition that a column has a value; always true without one. */
export function isEqual(column: string, value: string | number | undefined): RawBuilder<SqlBool> {
  return value === undefined ? sql<SqlBool>`1 = 1` : sql<SqlBool>`${sql.ref(column)} = ${value}`
}
