import { CompiledQuery, type Kysely, type QueryResult } from 'kysely'

/** Execute one statement once per list of values, in sequence on one connection. */
export async function executeEach<Tables>(
  database: Pick<Kysely<Tables>, 'getExecutor'>,
  text: string,
  lists: readonly (readonly unknown[])[],
): Promise<readonly QueryResult<unknown>[]> {
  const query = CompiledQuery.raw(text)
  return database.getExecutor().provideConnection(async (connection) => {
    const results: QueryResult<unknown>[] = []
    for (const parameters of lists) results.push(await connection.executeQuery({ ...query, parameters }))
    return results
  })
}
