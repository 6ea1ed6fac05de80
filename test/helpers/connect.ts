import type { Kysely } from 'kysely'
import { type Connection, openConnection } from '../../src/database/connection.ts'
import type { OpenDatabase } from '../../src/database/open-database.ts'

const close = (): Promise<void> => Promise.resolve()

/** Connect the functions of a store to a database that the test has opened and closes. */
export function connect<Tables>(database: Kysely<Tables>): Promise<Connection<Tables>> {
  return openConnection<Tables, OpenDatabase<Tables>>({
    open: () => Promise.resolve({ reader: database, writer: database, close }),
    kind: 'file',
    table: 'copies',
    failure: 'failed',
  })
}
