import { SHARED_SERVER_VARIABLE, startPostgres } from '../helpers/postgres.ts'

/** Start the PostgreSQL that all system tests share, unless one is running; return the function that stops it. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  /* oxlint-disable node/no-process-env -- test processes read it from there */
  if (process.env[SHARED_SERVER_VARIABLE] !== undefined) return undefined
  const server = await startPostgres()
  process.env[SHARED_SERVER_VARIABLE] = server.url
  /* oxlint-enable node/no-process-env */
  return server.dispose
}
