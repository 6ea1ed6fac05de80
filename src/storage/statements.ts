import { type Compilable, CompiledQuery, type Kysely, type QueryResult } from 'kysely'
import type { CopyTables } from './schema.ts'

/** Rows, or values of a list, in one statement: few sizes, so that each statement is prepared once and found again. */
const SIZES = [64, 16, 4, 1] as const

/** Values of a list in a read or an update; a shorter list is filled up with its last value. */
const LIST_SIZE = 64

type Row = Readonly<Record<string, unknown>>

/** Texts of statements by database, name and number of rows. */
const texts = new WeakMap<object, Map<string, string>>()

/**
 * Inserts rows, many in a statement. `build` makes the statement for some of them; it is asked once for each number of rows,
 * and what it makes is executed again with other values: building a query costs more than executing it. All rows have the
 * same columns in the same order. Answers what each statement did, and for how many rows it was.
 */
export async function insertRows<R extends Row, Returned>(
  database: Kysely<CopyTables>,
  name: string,
  insert: Readonly<{ rows: readonly R[]; build(rows: readonly R[]): Compilable<Returned> }>,
): Promise<readonly Inserted<Returned>[]> {
  const { rows, build } = insert
  const inserted: Inserted<Returned>[] = []
  let start = 0
  for (const size of SIZES) {
    for (; rows.length - start >= size; start += size) {
      const some = rows.slice(start, start + size)
      const text = getText(database, `${name} ${size}`, () => build(some))
      const query = CompiledQuery.raw(text, listValues(some)) as CompiledQuery<Returned>
      inserted.push({ size, result: await database.executeQuery(query) })
    }
  }
  return inserted
}

/** What a statement that inserted `size` rows answered. */
export type Inserted<Returned> = Readonly<{ size: number; result: QueryResult<Returned> }>

/** A list in parts of one size, for `in (…)`: the last is filled up with its own last value. */
export function splitList<T>(values: readonly T[]): readonly (readonly T[])[] {
  const parts: T[][] = []
  for (let start = 0; start < values.length; start += LIST_SIZE) {
    const part = values.slice(start, start + LIST_SIZE)
    const last = part.at(-1) as T
    parts.push(values.length === 1 ? part : [...part, ...Array<T>(LIST_SIZE - part.length).fill(last)])
  }
  return parts
}

/** Executes a statement that was built before under this name with other values, or builds it. */
export async function executeOnce<Returned>(
  database: Kysely<CopyTables>,
  name: string,
  query: Readonly<{ values: readonly unknown[]; build(): Compilable<Returned> }>,
): Promise<readonly Returned[]> {
  const text = getText(database, name, () => checkValues(name, query))
  const raw = CompiledQuery.raw(text, [...query.values]) as CompiledQuery<Returned>
  return (await database.executeQuery(raw)).rows
}

/** Values of another order would be a silent mistake: they have to be the ones that the statement was built with. */
function checkValues<Returned>(
  name: string,
  { values, build }: Readonly<{ values: readonly unknown[]; build(): Compilable<Returned> }>,
): Compilable<Returned> {
  const query = build()
  const built = JSON.stringify(query.compile().parameters)
  if (built !== JSON.stringify(values))
    throw new Error(`the values of "${name}" are not those of its statement`)
  return query
}

function getText(database: Kysely<CopyTables>, key: string, build: () => Compilable): string {
  // The adapter is the same for a database and its transactions.
  const { adapter } = database.getExecutor()
  const known = texts.get(adapter) ?? new Map<string, string>()
  texts.set(adapter, known)
  const text = known.get(key) ?? build().compile().sql
  known.set(key, text)
  return text
}

function listValues(rows: readonly Row[]): unknown[] {
  const values: unknown[] = []
  const names = Object.keys(rows[0] ?? {})
  for (const row of rows) for (const name of names) values.push(row[name])
  return values
}
