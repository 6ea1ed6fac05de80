import { afterAll, beforeAll } from 'vitest'
import type { PostgresAddress } from '../../src/config/postgres-address.ts'
import { type TestDatabase, usePostgres } from '../helpers/postgres.ts'

/** A database of a test file's own. It is there from `beforeAll` on. */
export type FileDatabase = Readonly<{
  readonly url: string
  readonly address: PostgresAddress
  /** Removes every row, and nothing else. */
  empty(): Promise<void>
  run(statement: string): Promise<readonly Record<string, unknown>[]>
}>

/** Makes a database before the tests of a file, on the server that all share, and drops it after them; `parameters` are put behind its address. */
export function useDatabase(parameters?: string): FileDatabase {
  const server = usePostgres()
  const made: { database?: TestDatabase } = {}
  const get = (): TestDatabase => {
    if (made.database === undefined) throw new Error('there is no database before the tests')
    return made.database
  }
  beforeAll(async () => {
    made.database = await server.makeDatabase(parameters)
  })
  afterAll(() => made.database?.drop())
  return {
    get url() {
      return get().url
    },
    get address() {
      return get().address
    },
    empty: () => get().empty(),
    run: (statement) => server.run(get().url, statement),
  }
}
