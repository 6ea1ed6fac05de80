import { join } from 'node:path'
import type { DatabaseAddress } from '../../src/config/database-address.ts'
import { toDatabaseText } from '../../src/config/database-address.ts'
import { makeCatalogDatabase } from '../catalog-service/engines.ts'
import { onTestFinished } from 'vitest'
import { putSampleData } from '../../src/catalog-service/sample/put-sample.ts'
import type { CatalogStore } from '../../src/catalog-service/store/catalog-store.ts'
import { openCatalogStore } from '../../src/catalog-service/store/open-store.ts'
import { systemClock } from '../../src/clock.ts'
import { type Ended, makeFolder, makeSettings, runHere } from './cli-harness.ts'
import { makeOffer, makeProduct, writeFeed } from '../catalog-service/harness.ts'

/** Somebody who has a catalog and types commands. */
export type Owner = {
  folder: string
  /** Where its catalog is. */
  getDatabase(): Promise<DatabaseAddress>
  /** Types `vitrine catalog …`. */
  type(...words: string[]): Promise<Ended>
  /** The same with `--json`, read. Throws when it did not end with 0. */
  ask<T = Record<string, unknown>>(...words: string[]): Promise<T>
  /** What is said of a command line that is refused; throws when it ends with another code than 64 or says anything on output. */
  refused(...words: string[]): Promise<string>
  /** The catalog's databases, open until the test ends. */
  open(): Promise<CatalogStore>
}

/** An owner of an empty catalog. */
export function makeOwner(): Owner {
  const folder = makeFolder()
  let making: Promise<DatabaseAddress> | undefined
  const getDatabase = (): Promise<DatabaseAddress> => (making ??= makeCatalogDatabase(folder))
  const type = async (...words: string[]): Promise<Ended> => {
    const VITRINE_CATALOG_DATABASE_URL = toDatabaseText(await getDatabase())
    return runHere(['catalog', ...words], makeSettings(folder, { VITRINE_CATALOG_DATABASE_URL }))
  }
  return {
    folder,
    getDatabase,
    type,
    async ask<T>(...words: string[]): Promise<T> {
      const { code, out, err } = await type(...words, '--json')
      if (code !== 0) throw new Error(`${words.join(' ')}: ${code} ${err}`)
      return JSON.parse(out) as T
    },
    async refused(...words) {
      const { code, out, err } = await type(...words)
      if (code !== 64 || out !== '') throw new Error(`${words.join(' ')}: ${code} ${out} ${err}`)
      return err
    },
    async open() {
      const store = await openCatalogStore({ database: await getDatabase(), clock: systemClock })
      onTestFinished(() => store.close())
      return store
    },
  }
}

/** An owner whose catalog holds the sample data. */
export async function makeSampleOwner(): Promise<Owner> {
  const owner = makeOwner()
  const store = await openCatalogStore({ database: await owner.getDatabase(), clock: systemClock })
  await putSampleData(store, 'http://127.0.0.1:3000')
  await store.close()
  return owner
}

/** A line of a feed: one product with an offer of each of these shops in each of these networks. */
export function makeRow(gtin: string, shops: readonly string[], networks: readonly string[]): unknown {
  const offers = shops.flatMap((name) =>
    networks.map((network) =>
      makeOffer({
        merchant: { name },
        network,
        affiliate_url: `https://links.example/${encodeURIComponent(`${network}/${name}`)}`,
      }),
    ),
  )
  return makeProduct(gtin, { offers })
}

/** Imports rows as a feed for a channel. */
export async function importFor(owner: Owner, channelId: string, rows: readonly unknown[]): Promise<void> {
  const file = writeFeed(join(owner.folder, 'feed.ndjson'), rows)
  await owner.ask('import', file, '--channel', channelId)
}
