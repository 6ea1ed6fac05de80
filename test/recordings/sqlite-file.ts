import { createRequire } from 'node:module'

export type Row = Readonly<Record<string, string | number | null>>

type Database = Readonly<{
  prepare(text: string): Readonly<{ all(): readonly Row[] }>
  close(): void
}>
type NativeModule = Readonly<{
  DatabaseSync: new (path: string, options: Readonly<{ readOnly: boolean }>) => Database
}>

const { DatabaseSync } = (process.getBuiltinModule('node:sqlite' as 'node:fs') ??
  createRequire(import.meta.url)('@photostructure/sqlite')) as unknown as NativeModule

/** Read a SQLite file without any code of the program. */
export function readSqliteFile<Result>(
  path: string,
  read: (select: (statement: string) => readonly Row[]) => Result,
): Result {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return read((statement) => database.prepare(statement).all())
  } finally {
    database.close()
  }
}

/** Order rows by their own content, so that neither insertion nor an index decides. */
export function toSortedLines(lines: Iterable<string>): readonly string[] {
  return [...lines].toSorted((one, other) => (one < other ? -1 : Number(one > other)))
}
