import type { PostgresAddress } from '../../src/config/database-address.ts'
import { addCleanup, setUpOnce } from '../helpers/cleanup.ts'
import { usePostgres } from '../helpers/postgres.ts'

/** A separate database for one test file, available from `beforeAll` on. */
export type FileDatabase = Readonly<{
  readonly url: string
  readonly address: PostgresAddress
  /** Delete all rows; the tables stay. */
  truncate(): Promise<void>
  run(statement: string): Promise<readonly Record<string, unknown>[]>
}>

/** Create a database on the shared server before the tests of a file, and drop it afterwards; `parameters` go into its URL. */
export function useDatabase(parameters?: string): FileDatabase {
  const server = usePostgres()
  const get = setUpOnce(async () => {
    const database = await server.makeDatabase(parameters)
    addCleanup(() => database.drop())
    return database
  })
  return {
    get url() {
      return get().url
    },
    get address() {
      return get().address
    },
    truncate: () => get().truncate(),
    run: (statement) => server.run(get().url, statement),
  }
}
