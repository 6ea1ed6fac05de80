import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { computeCheckDigit } from '../../../src/offers/gtin.ts'
import { serializeDatabaseAddress } from '../../../src/config/database-address.ts'
import { runBuilt } from '../../cli/run-cli.ts'
import {
  type ServiceUnderTest,
  importRows,
  createProduct,
  startTestService,
  writeFeed,
} from '../../catalog-service/harness.ts'

const PRODUCTS = 2_000

/** Return the GTIN of a product; a greater index has a greater GTIN. */
function toGtin(index: number): string {
  const first = String(400_000_000_000 + index).padStart(13, '0')
  return `${first}${computeCheckDigit(first)}`
}

/** Create a feed. Of every three products, the first is in both feeds, the second only in feed 0, the third only in feed 1. */
function createFeed(feed: 0 | 1): unknown[] {
  const indexes = Array.from({ length: PRODUCTS }, (_, index) => index)
  return indexes
    .filter((index) => index % 3 === 0 || index % 3 === feed + 1)
    .map((index) => createProduct(toGtin(index)))
}

const IN_BOTH_FEEDS: readonly string[] = Array.from({ length: PRODUCTS }, (_, index) => index)
  .filter((index) => index % 3 === 0)
  .map(toGtin)

/** Read every page of the channel and return the GTINs. Calls `between` before each page except the first. */
async function walk(
  fixture: ServiceUnderTest,
  channelId: string,
  between: (page: number) => Promise<void> = async () => {},
): Promise<string[]> {
  const gtins: string[] = []
  let query = ''
  for (let page = 1; ; page += 1) {
    const { body } = await fixture.get(`/v0/channels/${channelId}/products?limit=100${query}`).expect(200)
    gtins.push(...body.items.map((item: { gtin: string }) => item.gtin))
    if (body.next_cursor === null) return gtins
    query = `&cursor=${body.next_cursor}`
    await between(page)
  }
}

function expectSortedAndComplete(gtins: readonly string[]): void {
  expect(gtins).toEqual([...new Set(gtins)].toSorted())
  const seen = new Set(gtins)
  expect(IN_BOTH_FEEDS.filter((gtin) => !seen.has(gtin))).toEqual([])
}

describe('contract, section 4.2: a walk of a channel while an import runs', () => {
  it('walks during imports of another process - each product of both feeds is returned once', async () => {
    const fixture = await startTestService()
    const { channelId } = await importRows(fixture, createFeed(0))
    const feeds = ([0, 1] as const).map((feed) =>
      writeFeed(join(fixture.folder, `${feed}.ndjson`), createFeed(feed)),
    )
    const settings = {
      VITRINE_CATALOG_DATABASE_URL: serializeDatabaseAddress(fixture.database),
      VITRINE_LOG_LEVEL: 'silent',
    }
    for (const file of [feeds[1] ?? '', feeds[0] ?? '']) {
      const state = { isImporting: true }
      const imported = runBuilt(['catalog', 'import', file, '--feed', 'feed'], settings).finally(
        () => (state.isImporting = false),
      )
      do expectSortedAndComplete(await walk(fixture, channelId))
      while (state.isImporting)
      expect(await imported).toMatchObject({ code: 0 })
    }
    expect(await walk(fixture, channelId)).toEqual(
      createFeed(0).map((product) => (product as { gtin: string }).gtin),
    )
  })

  it('imports after each of the first four pages - each product of both feeds is returned once', async () => {
    const fixture = await startTestService()
    const { channelId } = await importRows(fixture, createFeed(0))
    let imports = 0
    const seen = await walk(fixture, channelId, async (page) => {
      if (page > 4) return
      await importRows(fixture, createFeed(page % 2 === 0 ? 0 : 1))
      imports += 1
    })
    expect(imports).toBe(4)
    expectSortedAndComplete(seen)
  })
})
