import { createRequire } from 'node:module'

/**
 * Rows of a question to a SQLite file, which is only read.
 * @param {string} path
 * @param {string} sql
 * @returns {Record<string, unknown>[]}
 */
export function queryFile(path, sql) {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return database.prepare(sql).all()
  } finally {
    database.close()
  }
}

function loadSqlite() {
  const require = createRequire(import.meta.url)
  const warn = process.emitWarning
  process.emitWarning = () => {}
  try {
    return process.getBuiltinModule('node:sqlite') ?? require('@photostructure/sqlite')
  } finally {
    process.emitWarning = warn
  }
}
