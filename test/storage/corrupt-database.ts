import { createRequire } from 'node:module'

type NativeDatabase = Readonly<{
  /** Allows writes to the tables of an FTS5 index, which newer versions of SQLite protect. */
  enableDefensive?(isOn: boolean): void
  exec(text: string): void
  close(): void
}>
type NativeModule = Readonly<{ DatabaseSync: new (path: string) => NativeDatabase }>

/** Run a statement that changes the tables of an FTS5 index, as a broken disk would. */
export function runUnsafeStatement(path: string, statement: string): void {
  const { DatabaseSync } = (process.getBuiltinModule('node:sqlite' as 'node:fs') ??
    createRequire(import.meta.url)('@photostructure/sqlite')) as unknown as NativeModule
  const database = new DatabaseSync(path)
  try {
    database.enableDefensive?.(false)
    database.exec(statement)
  } finally {
    database.close()
  }
}

/** Overwrites the structure record of the search index, so that every search and write fails. */
export const CORRUPT_INDEX_SQL: string = `update product_words_data set block = x'ffffffffffffff' where id = 10`
