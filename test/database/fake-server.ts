import {
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely'
import type { OpenDatabase } from '../../src/database/open-database.ts'
import type { CopyTables } from '../../src/storage/schema.ts'

/** Create an open database of a server that `respond` stands for: it gets the text of each statement. */
export function createFakeServer(respond: (text: string) => Promise<unknown>): OpenDatabase<CopyTables> {
  const connection: DatabaseConnection = {
    async executeQuery({ sql: text }) {
      await respond(text)
      return { rows: [] }
    },
    streamQuery() {
      throw new Error('nothing is streamed')
    },
  }
  class Driver extends DummyDriver {
    override acquireConnection(): Promise<DatabaseConnection> {
      return Promise.resolve(connection)
    }
  }
  const database = new Kysely<CopyTables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new Driver(),
      createIntrospector: (inner) => new PostgresIntrospector(inner),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
  return { reader: database, writer: database, close: () => Promise.resolve() }
}
