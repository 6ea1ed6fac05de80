import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { openCatalogStore } from '../../src/catalog-service/store/open-store.ts'
import { systemClock } from '../../src/clock.ts'
import type { DatabaseAddress } from '../../src/config/config.ts'
import { type PostgresAddress, parsePostgresAddress } from '../../src/config/postgres-address.ts'
import { type PostgresClient, usePostgres } from '../helpers/postgres.ts'

/** A server, and a catalog on it that is empty and never written. */
type Server = Readonly<{
  server: PostgresClient
  emptyUrl: string
  /** Copies of it. */
  names: string[]
  drop(): Promise<void>
}>

/** Where the catalogs of this file's tests are: in files, unless `useServer` says otherwise. */
let current: Server | undefined

/** A database for one catalog, which is empty; a file lies in the folder. */
export async function makeCatalogDatabase(folder: string): Promise<DatabaseAddress> {
  return current === undefined ? { kind: 'sqlite', path: join(folder, 'catalog.db') } : copyDatabase(current)
}

/** Everything in this group keeps its catalogs on one PostgreSQL server, a database each. */
export function useServer(): void {
  beforeAll(async () => {
    const server = usePostgres()
    const { url, address, drop } = await server.makeDatabase()
    await (await openCatalogStore({ database: address, clock: systemClock })).close()
    current = { server, emptyUrl: url, names: [], drop }
  })
  afterAll(async () => {
    const used = current
    current = undefined
    if (used === undefined) return
    for (const name of used.names) await used.server.run(used.emptyUrl, `drop database ${name}`)
    await used.drop()
  })
}

/** To copy one that has its tables is faster than to make them. */
async function copyDatabase({ server, emptyUrl, names }: Server): Promise<PostgresAddress> {
  const own = new URL(emptyUrl)
  const name = `vitrine_test_${randomBytes(6).toString('hex')}`
  own.pathname = `/${name}`
  names.push(name)
  await server.run(emptyUrl, `create database ${name} template ${new URL(emptyUrl).pathname.slice(1)}`)
  const address = parsePostgresAddress(own.href)
  if (address === undefined) throw new Error(`no address: ${own.href}`)
  return address
}
