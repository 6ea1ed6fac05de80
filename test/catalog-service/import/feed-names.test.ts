import { join } from 'node:path'
import { writeFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { parseFeedName, toFeedName } from '../../../src/catalog-service/import/feed-target.ts'
import { importFile } from '../../../src/catalog-service/import/import-file.ts'
import { createOffer, createProduct, fetchProducts, openTestStore, writeFeed } from '../harness.ts'
import { addChannel, addFeed } from '../feeds/feed-fixture.ts'

test.each([
  ['data/Shop A.csv.gz', 'Shop-A'],
  ['kopje.ndjson', 'kopje'],
  ['/tmp/awin-main.2026.xml', 'awin-main.2026'],
  ['..hidden.csv', 'hidden'],
  ['Größe & Maß.csv', 'Gr-e-Ma'],
  ['.csv', 'feed'],
  ['???', 'feed'],
  [`${'x'.repeat(200)}.csv`, 'x'.repeat(60)],
])('toFeedName - %s gives %s, which is a valid name', (path, name) => {
  expect(toFeedName(path)).toBe(name)
  expect(parseFeedName(name)).toBe(name)
})

test.each(['', ' ', '-a', '../a', 'a/b', 'a b', 'ä', 'x'.repeat(65)])(
  'parseFeedName - %j - UsageError',
  (name) => {
    expect(() => parseFeedName(name)).toThrow('a name of a feed has at most 64')
  },
)

const FIRST = '952a0000-0000-4000-8000-0000000000a1'
const SECOND = '952a0000-0000-4000-8000-0000000000a2'

describe('feed of an import', () => {
  it('same file for two channels - a feed for each; neither touches the offers of the other', async () => {
    const fixture = await openTestStore()
    const file = join(fixture.folder, 'kopje.ndjson')
    const importFor = (channelId: string, price: string) => {
      writeFeed(file, [createProduct('17', { offers: [createOffer({ price })] })])
      return importFile({ store: fixture.store, file, channelId })
    }
    expect(await importFor(FIRST, '1.00')).toMatchObject({ feed: 'kopje' })
    await addChannel(fixture, SECOND)
    expect(await importFor(SECOND, '2.00')).toMatchObject({ feed: 'kopje-2', removedOffers: 0 })
    expect(await importFor(FIRST, '3.00')).toMatchObject({ feed: 'kopje', removedOffers: 0 })
    expect(await importFor(SECOND, '4.00')).toMatchObject({ feed: 'kopje-2' })
    const fetchPrices = async (channelId: string): Promise<readonly unknown[]> =>
      (await fetchProducts(fixture, channelId)).flatMap(({ offers }) => offers.map(({ price }) => price))
    expect(await fetchPrices(FIRST)).toEqual(['3.00'])
    expect(await fetchPrices(SECOND)).toEqual(['4.00'])
  })

  it('chosen name of another channel - UsageError, nothing changes', async () => {
    const fixture = await openTestStore()
    const file = writeFeed(join(fixture.folder, 'a.ndjson'), [createProduct('17')])
    await importFile({ store: fixture.store, file, channelId: FIRST, feedName: 'kopje' })
    await addChannel(fixture, SECOND)
    await expect(
      importFile({ store: fixture.store, file, channelId: SECOND, feedName: 'kopje' }),
    ).rejects.toMatchObject({
      code: 'VITRINE_USAGE',
      message: 'the feed kopje belongs to another channel; choose another name with --feed',
    })
  })

  it('file with the name of a feed with an address - another feed, unless the name is chosen', async () => {
    const fixture = await openTestStore()
    await addFeed(fixture, {
      name: 'kopje',
      url: 'https://kopje.example/',
      merchant: 'Kopje',
      channelId: FIRST,
    })
    const file = join(fixture.folder, 'kopje.csv')
    writeFileSync(file, 'gtin,title,link,price\n00000000000017,T,https://www.shop.example/p,1.00 EUR\n')
    expect(await importFile({ store: fixture.store, file })).toMatchObject({ feed: 'kopje-2' })
    expect(await importFile({ store: fixture.store, file, feedName: 'kopje' })).toMatchObject({
      feed: 'kopje',
      hasLinkMerchants: false,
    })
  })
})
