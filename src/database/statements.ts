import { type QueryExecutorProvider, type RawBuilder, type SqlBool, sql } from 'kysely'

// Statements that are the same for both engines: `dialect.ts` has the others.

type Row = Readonly<Record<string, unknown>>

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
