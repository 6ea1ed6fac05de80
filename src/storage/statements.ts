import { CompiledQuery, type Expression, type Kysely, type SqlBool, type Transaction, sql } from 'kysely'
import { executeEach } from '../database/execute-each.ts'
import { isPostgres } from '../database/is-postgres.ts'
import type { CopyTables } from './schema.ts'

type Row = Readonly<Record<string, unknown>> & Readonly<{ gtin: string }>

/**
 * Insert rows that have the same columns in the same order.
 * @returns the ids in the order of the rows, valid only when each row has a different GTIN
 */
export async function insertRows(
  transaction: Transaction<CopyTables>,
  table: 'products' | 'deals',
  rows: readonly Row[],
): Promise<readonly number[]> {
  const names = Object.keys(rows[0] ?? {})
  if (names.length === 0) return []
  const columns = names.map((name) => `"${name}"`).join(', ')
  if (isPostgres(transaction)) {
    const text = `insert into ${table} (${columns}) select ${columns}
      from json_populate_recordset(null::${table}, ?::json) returning id, gtin`
    const inserted = await execute<{ id: number; gtin: string }>(transaction, text, [JSON.stringify(rows)])
    // PostgreSQL does not guarantee the order of returned rows.
    const ids = new Map(inserted.map(({ id, gtin }) => [gtin, id]))
    return rows.map(({ gtin }) => ids.get(gtin) ?? 0)
  }
  const text = `insert into "${table}" (${columns}) values (${names.map(() => '?').join(', ')})`
  const rowValues = rows.map((row) => names.map((name) => row[name]))
  // In SQLite, one statement with many rows costs twice as much, because of its many parameters.
  const results = await executeEach(transaction, text, rowValues)
  return results.map(({ insertId }) => Number(insertId))
}

/** Statements with PostgreSQL's numbered parameters, by the statement with question marks. */
const numberedTexts = new Map<string, string>()

/** Execute a constant statement with `?` parameters: building a query with Kysely costs more than executing it. */
export async function execute<Returned>(
  database: Kysely<CopyTables>,
  text: string,
  values: readonly unknown[],
): Promise<readonly Returned[]> {
  const query = isPostgres(database) ? toNumberedParameters(text) : text
  const compiled = CompiledQuery.raw(query, [...values]) as CompiledQuery<Returned>
  return (await database.executeQuery(compiled)).rows
}

function toNumberedParameters(text: string): string {
  let count = 0
  const result = numberedTexts.get(text) ?? text.replace(/\?/g, () => `$${(count += 1)}`)
  numberedTexts.set(text, result)
  return result
}

/** Build an `in` condition. All values are one parameter, so that a list of any length gives the same statement. */
export function createInCondition(
  database: Pick<Kysely<CopyTables>, 'getExecutor'>,
  column: string,
  values: readonly (string | number)[],
): Expression<SqlBool> {
  return isPostgres(database)
    ? sql<SqlBool>`${sql.ref(column)} = any(${values})`
    : sql<SqlBool>`${sql.ref(column)} in (select value from json_each(${JSON.stringify(values)}))`
}
