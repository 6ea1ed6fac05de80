import { statSync } from 'node:fs'
import { Client } from 'pg'
import { startPostgres } from './postgres.mjs'
import { readCpuSecondsOfAll } from './proc.mjs'
import { nameDatabase } from './vitrine.mjs'

/** Apart enough for PostgreSQL to have each of these products, and its deals, on other pages than the one before. */
const POSTGRES_SPREAD = 10

/**
 * Where stored copies are put, and what they take there.
 * @typedef {{
 *   name: string,
 *   spread: number,
 *   createUrl(): string,
 *   measureBytes(url: string): Promise<number>,
 *   measureLogBytes: (() => Promise<number>) | null,
 *   readCpuSeconds: (() => number) | null,
 *   checkpoint(): Promise<void>,
 *   stop(): Promise<void>,
 * }} Databases `spread`: how many products lie between two that are visited; `measureLogBytes`: written to the log so far,
 *   `null`: where that is not counted; `readCpuSeconds`: that a server of its own has used so far, `null`: where there is none
 *   or it was started by others; `checkpoint`: writes out all that has changed, so that each page that changes from here on is
 *   once more put into the log as a whole
 */

/**
 * A new SQLite file for each copy.
 * @param {import('./run.mjs').Run} run
 * @returns {Promise<Databases>}
 */
export async function createSqliteDatabases(run) {
  return {
    name: 'SQLite',
    spread: 1,
    createUrl: () => `sqlite:${nameDatabase(run)}`,
    measureBytes: async (url) => statSync(url.slice('sqlite:'.length)).size,
    measureLogBytes: null,
    readCpuSeconds: null,
    checkpoint: async () => {},
    stop: async () => {},
  }
}

/**
 * One PostgreSQL database for all copies, which belong to their catalogs' addresses: what one takes is the difference. Space
 * that is free again is given back to the next copy, so a database that was empty at first says most. Without `--database` a
 * server is started for the run, as PostgreSQL is by default.
 * @param {import('./run.mjs').Run} run
 * @returns {Promise<Databases>}
 */
export async function createPostgresDatabases(run) {
  const given = run.options.databaseUrl
  const own = given === null ? await startPostgres(run) : null
  const address = given ?? own.url
  return {
    name: 'PostgreSQL',
    spread: POSTGRES_SPREAD,
    createUrl: () => address,
    measureBytes: () => askPostgres(address, 'select pg_database_size(current_database())'),
    measureLogBytes: () => askPostgres(address, "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"),
    readCpuSeconds: own === null ? null : () => readCpuSecondsOfAll(own.pid),
    checkpoint: async () => void (await askPostgres(address, 'checkpoint')),
    stop: async () => own?.stop(),
  }
}

/** One number, over a connection of its own; `NaN` where the statement gives none. */
async function askPostgres(address, sql) {
  const client = new Client({ connectionString: address })
  await client.connect()
  try {
    const { rows } = await client.query({ text: sql, rowMode: 'array' })
    return Number(rows[0]?.[0])
  } finally {
    await client.end()
  }
}
