import { createRequire } from 'node:module'

type NativeDatabase = Readonly<{
  /** Where SQLite guards the tables behind an index; older versions do not. */
  enableDefensive?(isOn: boolean): void
  exec(text: string): void
  close(): void
}>
type NativeModule = Readonly<{ DatabaseSync: new (path: string) => NativeDatabase }>

/** Changes a database by a statement that no program may run: the tables behind an index, as a broken disk does. */
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

/** What takes the index of words down for every search and every write: its list of parts is no such list. */
export const CORRUPT_INDEX_SQL: string = `update product_words_data set block = x'ffffffffffffff' where id = 10`
