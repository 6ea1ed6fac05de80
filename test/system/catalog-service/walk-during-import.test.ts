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

/** The GTIN of a place in the catalog; a later place has the greater one. */
function toGtin(index: number): string {
  const first = String(400_000_000_000 + index).padStart(13, '0')
  return `${first}${computeCheckDigit(first)}`
}

/** Of every three products the first is in both feeds, the second in feed 0 alone, the third in feed 1 alone. */
function createFeed(feed: 0 | 1): unknown[] {
  const indexes = Array.from({ length: PRODUCTS }, (_, index) => index)
  return indexes
    .filter((index) => index % 3 === 0 || index % 3 === feed + 1)
    .map((index) => createProduct(toGtin(index)))
}

const KEPT: readonly string[] = Array.from({ length: PRODUCTS }, (_, index) => index)
  .filter((index) => index % 3 === 0)
  .map(toGtin)

/** Every page of the channel, by its cursors; `between` is called before each page but the first. */
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

function expectSound(gtins: readonly string[]): void {
  expect(gtins).toEqual([...new Set(gtins)].toSorted())
  const seen = new Set(gtins)
  expect(KEPT.filter((gtin) => !seen.has(gtin))).toEqual([])
}

describe('contract, section 4.2: a walk of a channel while an import runs', () => {
  it('import of another process - any walk beside it - every product that was there all along, once', async () => {
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
      const running = { is: true }
      const imported = runBuilt(['catalog', 'import', file], settings).finally(() => (running.is = false))
      do expectSound(await walk(fixture, channelId))
      while (running.is)
      expect(await imported).toMatchObject({ code: 0 })
    }
    expect(await walk(fixture, channelId)).toEqual(
      createFeed(0).map((product) => (product as { gtin: string }).gtin),
    )
  })

  it('imports between the pages - one after each of the first four - every product that was there all along, once', async () => {
    const fixture = await startTestService()
    const { channelId } = await importRows(fixture, createFeed(0))
    let imports = 0
    const seen = await walk(fixture, channelId, async (page) => {
      if (page > 4) return
      await importRows(fixture, createFeed(page % 2 === 0 ? 0 : 1))
      imports += 1
    })
    expect(imports).toBe(4)
    expectSound(seen)
  })
})
