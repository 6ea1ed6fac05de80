import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Reject } from '../../../src/catalog-service/import/feed-row.ts'
import { importFile } from '../../../src/catalog-service/import/import-file.ts'
import { CHANNEL, dumpCatalog, runTestFeed, startFeed } from '../../catalog-service/feeds/feed-fixture.ts'
import { send } from '../../catalog-service/feeds/feed-server.ts'
import { fetchProducts, openTestStore } from '../../catalog-service/harness.ts'
import { getReader } from '../../catalog-service/store-handles.ts'

const REAL_FEEDS = fileURLToPath(new URL('../../../../shared/data/feeds/', import.meta.url))
const ADVERTISER = 'themeowpicks-awin-advertiser.csv.gz'
const PUBLISHER = 'lululemon-us-awin-publisher-sample.csv'
const REAL_FEED = fileURLToPath(
  new URL('../../../../shared/data/datafiniti-electronics.ndjson.gz', import.meta.url),
)

function readRejects(path: string | null): Reject[] {
  const lines = readFileSync(path ?? '', 'utf8').trimEnd()
  return lines.split('\n').map((line) => JSON.parse(line) as Reject)
}

function countReasons(rejects: readonly Reject[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { field, reason } of rejects) {
    const key = `${field}: ${reason}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

describe('import of real feeds', () => {
  it.skipIf(!existsSync(join(REAL_FEEDS, ADVERTISER)))(
    'themeowpicks (skipped where ../shared/data is absent) - imports 375 products from 400 rows, and rejects 2,329 rows with a reason',
    async () => {
      const fixture = await openTestStore()
      const file = join(fixture.folder, ADVERTISER)
      copyFileSync(join(REAL_FEEDS, ADVERTISER), file)
      const summary = await importFile({ store: fixture.store, file, currentFolder: fixture.folder })
      expect(summary).toMatchObject({ format: 'awin-csv', products: 375, offers: 400, rejected: 2_329 })
      const rejects = readRejects(summary.rejectsPath)
      expect(countReasons(rejects)).toEqual({
        'gtin: there is no gtin': 2_309,
        'ean: not 8, 12, 13 or 14 digits': 20,
      })
      expect(new Set(rejects.map(({ row }) => row)).size).toBe(2_329)
      const merchants = await (
        await getReader(fixture.store)
      )
        .selectFrom('merchants')
        .select('name')
        .execute()
      expect(merchants).toEqual([{ name: 'themeowpicks.com' }])
    },
  )

  it.skipIf(!existsSync(join(REAL_FEEDS, PUBLISHER)))(
    'lululemon (skipped where ../shared/data is absent) - has no GTIN column - is refused, with the columns that it has',
    async () => {
      const fixture = await openTestStore()
      const file = join(fixture.folder, PUBLISHER)
      copyFileSync(join(REAL_FEEDS, PUBLISHER), file)
      await expect(importFile({ store: fixture.store, file, currentFolder: fixture.folder })).rejects.toThrow(
        /has no column "product_gtin" or .* its columns are data_feed_id, merchant_id, .*; nothing was changed$/,
      )
      expect(existsSync(`${file}.rejects`)).toBe(false)
    },
  )

  it.skipIf(!existsSync(REAL_FEED))(
    'datafiniti electronics (skipped where ../shared/data is absent) - imports 1,236 products with 4,649 offers, rejects none',
    async () => {
      const fixture = await openTestStore()
      const file = join(fixture.folder, 'electronics.ndjson.gz')
      copyFileSync(REAL_FEED, file)
      const summary = await importFile({ store: fixture.store, file })
      expect(summary).toMatchObject({ products: 1_236, offers: 4_649, rejected: 0, rejectsPath: null })
      expect(await fetchProducts(fixture, summary.channelId)).toHaveLength(200)
    },
  )

  it.skipIf(!existsSync(REAL_FEED)).each([join(REAL_FEEDS, ADVERTISER), REAL_FEED])(
    '%s (skipped where ../shared/data is absent) - by address, gives what an import gives; the second run writes nothing',
    async (file) => {
      const imported = await openTestStore()
      await importFile({ store: imported.store, file, channelId: CHANNEL, currentFolder: imported.folder })
      const fixture = await startFeed(send(readFileSync(file)))
      await runTestFeed(fixture, fixture.feedId)
      const dump = await dumpCatalog(fixture.store, { isWithFeeds: false })
      expect(dump).toBe(await dumpCatalog(imported.store, { isWithFeeds: false }))
      expect(await runTestFeed(fixture, fixture.feedId)).toMatchObject({ kind: 'unchanged' })
      expect(await dumpCatalog(fixture.store, { isWithFeeds: false })).toBe(dump)
    },
  )
})
