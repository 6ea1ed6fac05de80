import { createRequire } from 'node:module'

type NativeDatabase = Readonly<{
  /** Newer SQLite versions protect the internal tables of an index. Older versions lack this method. */
  enableDefensive?(isOn: boolean): void
  exec(text: string): void
  close(): void
}>
type NativeModule = Readonly<{ DatabaseSync: new (path: string) => NativeDatabase }>

/** Corrupt a database as a broken disk would: run a statement on the internal tables of an index. */
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

/** Make every search and write of the word index fail: overwrite its list of segments with invalid data. */
export const CORRUPT_INDEX_SQL: string = `update product_words_data set block = x'ffffffffffffff' where id = 10`
