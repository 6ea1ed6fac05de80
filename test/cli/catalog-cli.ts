import { join } from 'node:path'
import type { DatabaseAddress } from '../../src/config/database-address.ts'
import { serializeDatabaseAddress } from '../../src/config/database-address.ts'
import { createCatalogDatabase } from '../catalog-service/database-fixture.ts'
import { onTestFinished } from 'vitest'
import { seedSampleData } from '../../src/catalog-service/sample/seed-sample-data.ts'
import type { CatalogStore } from '../../src/catalog-service/store/catalog-store.ts'
import { openCatalogStore } from '../../src/catalog-service/store/open-store.ts'
import { systemClock } from '../../src/clock.ts'
import { type CommandResult, makeFolder, makeSettings, runInProcess } from './run-cli.ts'
import { createOffer, createProduct, writeFeed } from '../catalog-service/harness.ts'

/** Runs `vitrine catalog` commands on a test catalog. */
export type CatalogCli = {
  folder: string
  /** Folder of the catalog. */
  getDatabase(): Promise<DatabaseAddress>
  /** Run `vitrine catalog …`. */
  run(...args: string[]): Promise<CommandResult>
  /** The same with `--json`, parsed. Throws unless the exit code is 0. */
  runJson<T = Record<string, unknown>>(...args: string[]): Promise<T>
  /** Return the error message of a rejected command line. Throws unless the exit code is 64 and standard output is empty. */
  runRejected(...args: string[]): Promise<string>
  /** The catalog's databases, closed after the test. */
  openStore(): Promise<CatalogStore>
}

/** Create the commands of an empty catalog. */
export function createCatalogCli(): CatalogCli {
  const folder = makeFolder()
  let databasePromise: Promise<DatabaseAddress> | undefined
  const getDatabase = (): Promise<DatabaseAddress> => (databasePromise ??= createCatalogDatabase(folder))
  const run = async (...args: string[]): Promise<CommandResult> => {
    const VITRINE_CATALOG_DATABASE_URL = serializeDatabaseAddress(await getDatabase())
    return runInProcess(['catalog', ...args], makeSettings(folder, { VITRINE_CATALOG_DATABASE_URL }))
  }
  return {
    folder,
    getDatabase,
    run,
    async runJson<T>(...args: string[]): Promise<T> {
      const { code, out, err } = await run(...args, '--json')
      if (code !== 0) throw new Error(`${args.join(' ')}: ${code} ${err}`)
      return JSON.parse(out) as T
    },
    async runRejected(...args) {
      const { code, out, err } = await run(...args)
      if (code !== 64 || out !== '') throw new Error(`${args.join(' ')}: ${code} ${out} ${err}`)
      return err
    },
    async openStore() {
      const store = await openCatalogStore({ database: await getDatabase(), clock: systemClock })
      onTestFinished(() => store.close())
      return store
    },
  }
}

/** Create the commands of a catalog with sample data. */
export async function createSampleCatalogCli(): Promise<CatalogCli> {
  const cli = createCatalogCli()
  const store = await openCatalogStore({ database: await cli.getDatabase(), clock: systemClock })
  await seedSampleData(store, 'http://127.0.0.1:3000')
  await store.close()
  return cli
}

/** A line of a feed: one product with an offer of each shop in each network. */
export function makeFeedRow(gtin: string, shops: readonly string[], networks: readonly string[]): unknown {
  const offers = shops.flatMap((name) =>
    networks.map((network) =>
      createOffer({
        merchant: { name },
        network,
        affiliate_url: `https://links.example/${encodeURIComponent(`${network}/${name}`)}`,
      }),
    ),
  )
  return createProduct(gtin, { offers })
}

/** Import rows as a feed for a channel. */
export async function importFeedFor(
  cli: CatalogCli,
  channelId: string,
  rows: readonly unknown[],
): Promise<void> {
  const file = writeFeed(join(cli.folder, 'feed.ndjson'), rows)
  await cli.runJson('import', file, '--channel', channelId)
}
