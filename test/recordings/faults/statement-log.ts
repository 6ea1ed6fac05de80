/** Statements that change a setting or read the version of the schema, as each opening does. */
const SETTING = /^\s*(?:pragma|set\b)|kysely_migration|migration_lock/i

const BEGIN = /^\s*(?:begin|start transaction)/i

/** The database counts what the program asks of it: the transactions begun, and the statements outside of one. */
export type StatementLog = Readonly<{
  /** Record a statement of one connection, before it runs. */
  record(connection: object, text: string): void
  /** A statement failed: if it was to begin a transaction, there is none. */
  recordFailure(connection: object, text: string): void
  recordConnection(): void
  attempts(): number
  connections(): number
}>

export function createStatementLog(): StatementLog {
  const inTransaction = new WeakSet<object>()
  let attempts = 0
  let connections = 0
  return {
    record(connection, text) {
      if (SETTING.test(text)) return
      if (/^\s*(?:commit|rollback)/i.test(text)) {
        inTransaction.delete(connection)
        return
      }
      if (!inTransaction.has(connection)) attempts += 1
      if (BEGIN.test(text)) inTransaction.add(connection)
    },
    recordFailure(connection, text) {
      if (BEGIN.test(text)) inTransaction.delete(connection)
    },
    recordConnection: () => void (connections += 1),
    attempts: () => attempts,
    connections: () => connections,
  }
}
