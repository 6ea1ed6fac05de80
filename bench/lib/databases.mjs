import { statSync } from 'node:fs'
import { Client } from 'pg'
import { nameDatabase } from './vitrine.mjs'

/**
 * Where stored copies are put, and what they take there.
 * @typedef {{
 *   name: string,
 *   createUrl(): string,
 *   measureBytes(url: string): Promise<number>,
 *   measureLogBytes: (() => Promise<number>) | null,
 * }} Databases `measureLogBytes`: written to the log so far; `null`: where that is not counted
 */

/**
 * A new SQLite file for each copy.
 * @param {import('./run.mjs').Run} run
 * @returns {Databases}
 */
export function createSqliteDatabases(run) {
  return {
    name: 'SQLite',
    createUrl: () => `sqlite:${nameDatabase(run)}`,
    measureBytes: async (url) => statSync(url.slice('sqlite:'.length)).size,
    measureLogBytes: null,
  }
}

/**
 * One PostgreSQL database for all copies, which belong to their catalogs' addresses: what one takes is the difference. Space
 * that is free again is given back to the next copy, so a database that was empty at first says most.
 * @param {import('./run.mjs').Run} run
 * @returns {Databases}
 */
export function createPostgresDatabases(run) {
  const address = run.options.databaseUrl
  if (address === null)
    throw new Error('--database postgres://… names the empty database that this scenario fills')
  return {
    name: 'PostgreSQL',
    createUrl: () => address,
    measureBytes: () => askPostgres(address, 'select pg_database_size(current_database())'),
    measureLogBytes: () => askPostgres(address, "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"),
  }
}

/** One number, over a connection of its own. */
async function askPostgres(address, sql) {
  const client = new Client({ connectionString: address })
  await client.connect()
  try {
    const { rows } = await client.query({ text: sql, rowMode: 'array' })
    return Number(rows[0][0])
  } finally {
    await client.end()
  }
}
