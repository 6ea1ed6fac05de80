import * as fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { FeedOffer, FeedProduct } from '../../../src/catalog-service/import/feed-product.ts'
import { removeOlder } from '../../../src/catalog-service/import/remove-older.ts'
import { createShops } from '../../../src/catalog-service/import/shops.ts'
import { prepareTarget } from '../../../src/catalog-service/import/target.ts'
import { createFeedWriter } from '../../../src/catalog-service/import/writer.ts'
import { type StoreUnderTest, fetchAll, openTestStore } from '../harness.ts'

const TEMPLATE = 'https://net.example/c?m={merchant}&p={publisher}&u={url}'
const CHANNEL = '952a0000-0000-4000-8000-0000000000a1'

/** What an import left, took away, and for which channel it was. */
type Imported = Readonly<{ products: number; offers: number; removedOffers: number; channelId: string }>

let importId = 0

/** Writes products as an import does, one batch after the other. */
async function write(under: StoreUnderTest, ...batches: readonly FeedProduct[][]): Promise<Imported> {
  importId += 1
  return under.store.writer.transaction().execute(async (transaction) => {
    const target = await prepareTarget(transaction, { channelId: CHANNEL, nowMs: 0 })
    const writer = await createFeedWriter(transaction, target, importId)
    for (const batch of batches) await writer.write(batch)
    return { ...(await writer.finish()), channelId: target.channelId }
  })
}

function makeFeedProduct(gtin: number, ...offers: readonly Partial<FeedOffer>[]): FeedProduct {
  const offer: FeedOffer = {
    merchant: 'Shop',
    merchantReference: null,
    network: 'Net',
    price: '1',
    oldPrice: null,
    currency: 'EUR',
    availability: 'in_stock',
    url: 'https://shop.example/p?a=1',
    link: 'page',
  }
  const title = `Product ${gtin}`
  return {
    gtin: String(gtin).padStart(14, '0'),
    title,
    brand: null,
    images: [],
    offers: offers.map((change) => ({ ...offer, ...change })),
  }
}

async function setTemplate({ store }: StoreUnderTest, link_template: string | null): Promise<void> {
  await store.writer
    .insertInto('networks')
    .values({ name: 'Net', link_template })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ link_template }))
    .execute()
}

function fetchLinks(under: StoreUnderTest): string[] {
  return fetchAll(under, CHANNEL).flatMap(({ offers }) => offers.map((offer) => offer.affiliate_url))
}

async function openWithChannel(): Promise<StoreUnderTest> {
  const under = await openTestStore()
  // An empty catalog makes the channel that an import names.
  await under.store.writer
    .transaction()
    .execute((transaction) => prepareTarget(transaction, { channelId: CHANNEL, nowMs: 0 }))
  return under
}

describe('links of a feed, to the pages of shops', () => {
  test('network without a template - taken as they are, for the one network channel', async () => {
    const under = await openWithChannel()
    await write(under, [makeFeedProduct(17, {})])
    expect(fetchLinks(under)).toEqual(['https://shop.example/p?a=1'])
    const rows = await under.store.reader.selectFrom('offers').select('network_channel_id').execute()
    expect(rows[0]?.network_channel_id).toBeGreaterThan(0)
  })

  test('network with a template - every network channel makes its own link of them', async () => {
    const under = await openWithChannel()
    await setTemplate(under, TEMPLATE)
    await write(under, [makeFeedProduct(17, { merchantReference: 'm 9' })])
    const page = 'https%3A%2F%2Fshop.example%2Fp%3Fa%3D1'
    expect(fetchLinks(under)).toEqual([`https://net.example/c?m=m%209&p=${CHANNEL}&u=${page}`])
    const rows = await under.store.reader.selectFrom('offers').select('network_channel_id').execute()
    expect(rows).toEqual([{ network_channel_id: 0 }])
  })

  test('network that has got its template since - the next import makes links by it, and leaves no double', async () => {
    const under = await openWithChannel()
    await write(under, [makeFeedProduct(17, {}), makeFeedProduct(24, {})])
    await setTemplate(under, TEMPLATE)
    expect(await write(under, [makeFeedProduct(17, {})])).toMatchObject({ offers: 1, removedOffers: 2 })
    expect(fetchLinks(under)).toEqual([expect.stringContaining('https://net.example/c?m=Shop&')])
  })

  test('tracking link - in a network with a template - stays as it is', async () => {
    const under = await openWithChannel()
    await setTemplate(under, TEMPLATE)
    await write(under, [makeFeedProduct(17, { link: 'tracked', url: 'https://track.example/?u=%2F' })])
    expect(fetchLinks(under)).toEqual(['https://track.example/?u=%2F'])
  })

  test('own name of a shop in its network - the one that was there first stays', async () => {
    const under = await openWithChannel()
    await write(under, [makeFeedProduct(17, { merchantReference: 'first' })])
    await write(under, [makeFeedProduct(17, { merchantReference: 'second' })])
    const rows = await under.store.reader.selectFrom('network_merchants').select('reference').execute()
    expect(rows).toEqual([{ reference: 'first' }])
  })
})

describe('counting', () => {
  test('product in two batches, offer twice, two offers of a shop - what is in the catalog afterwards', async () => {
    const under = await openWithChannel()
    const other = { url: 'https://shop.example/other' }
    const imported = await write(
      under,
      [makeFeedProduct(17, {}, {}, other), makeFeedProduct(24, {})],
      [makeFeedProduct(17, { price: '2' }), makeFeedProduct(31, {}), makeFeedProduct(31, { price: '3' })],
    )
    expect(imported).toMatchObject({ products: 3, offers: 4, removedOffers: 0 })
    const prices = fetchAll(under, CHANNEL).map(({ offers }) => offers.map(({ price }) => price).toSorted())
    expect(prices).toEqual([['1', '2'], ['1'], ['3']])
  })
})

async function readRows({ store }: StoreUnderTest): Promise<string[]> {
  const found = await sql<{ name: string }>`
    select ltrim(o.gtin, '0') || ' ' || n.name || ' ' || m.name as name
    from offers o join networks n on n.id = o.network_id join merchants m on m.id = o.merchant_id`.execute(
    store.reader,
  )
  return found.rows.map(({ name }) => name).toSorted()
}

describe('replacing', () => {
  const anyOffer = fc.record({
    gtin: fc.integer({ min: 1, max: 9 }),
    merchant: fc.constantFrom('A', 'B', 'C'),
    network: fc.constantFrom('N', 'O'),
    link: fc.constantFrom<'page' | 'tracked'>('page', 'tracked'),
  })
  const anyFeed = fc.array(anyOffer, { maxLength: 15 })
  type Row = Readonly<{ gtin: number; merchant: string; network: string; link: 'page' | 'tracked' }>

  const toKey = ({ gtin, merchant, network }: Row): string => `${gtin} ${network} ${merchant}`
  const toShop = ({ merchant, network }: Row): string => `${network} ${merchant}`

  test('any feed after any other - its shops have what it says, the others what they had, and no product is left over', async () => {
    const under = await openWithChannel()
    await fc.assert(
      fc.asyncProperty(anyFeed, anyFeed, async (first, second) => {
        for (const table of ['offers', 'products'] as const)
          await under.store.writer.deleteFrom(table).execute()
        await write(
          under,
          first.map((row) => makeFeedProduct(row.gtin, row)),
        )
        const before = await readRows(under)
        const { removedOffers, offers } = await write(
          under,
          second.map((row) => makeFeedProduct(row.gtin, row)),
        )
        const shops = new Set(second.map(toShop))
        const kept = first.filter((row) => !shops.has(toShop(row)))
        const expected = [...new Set([...kept, ...second].map(toKey))].toSorted()
        expect(await readRows(under)).toEqual(expected)
        expect(offers).toBe(new Set(second.map(toKey)).size)
        expect(removedOffers).toBe(before.filter((key) => !expected.includes(key)).length)
        const products = await under.store.reader.selectFrom('products').select('gtin').execute()
        expect(products).toHaveLength(new Set([...kept, ...second].map(({ gtin }) => gtin)).size)
      }),
      { numRuns: 50 },
    )
  })

  test.each([0, Number.POSITIVE_INFINITY])(
    'older offers - looked for from %d offers on in the whole table - the same ones go',
    async (manyOffers) => {
      const under = await openWithChannel()
      const both = [makeFeedProduct(17, {}, { merchant: 'Other' }), makeFeedProduct(24, {})]
      await write(under, both)
      const left = await under.store.writer.transaction().execute(async (transaction) => {
        const target = await prepareTarget(transaction, { channelId: CHANNEL, nowMs: 0 })
        const shops = await createShops(transaction, target)
        await shops.make({ network: 'Net', merchant: 'Shop', merchantReference: null, link: 'page' })
        const removed = await removeOlder(transaction, { importId: importId + 1, offers: 0, manyOffers })
        const products = await transaction.selectFrom('products').select('gtin').execute()
        return { removed, products: products.map(({ gtin }) => Number(gtin)) }
      })
      expect(left).toEqual({ removed: 2, products: [17] })
      expect(await readRows(under)).toEqual(['17 Net Other'])
    },
  )
})
