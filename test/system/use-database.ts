import type { PostgresAddress } from '../../src/config/database-address.ts'
import { addCleanup, setUpOnce } from '../helpers/cleanup.ts'
import { usePostgres } from '../helpers/postgres.ts'

/** A database of a test file's own. It is there from `beforeAll` on. */
export type FileDatabase = Readonly<{
  readonly url: string
  readonly address: PostgresAddress
  /** Removes every row, and nothing else. */
  truncate(): Promise<void>
  run(statement: string): Promise<readonly Record<string, unknown>[]>
}>

/** Makes a database before the tests of a file, on the server that all share, and drops it after them; `parameters` are put behind its address. */
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
