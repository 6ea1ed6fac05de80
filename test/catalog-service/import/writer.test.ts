import * as fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import type { FeedOffer, FeedProduct } from '../../../src/catalog-service/import/feed-row.ts'
import { type Offer, parseOffer } from '../../../src/catalog/contract.ts'
import { compareForBox, pickOnePerMerchant } from '../../../src/offers/ranking.ts'
import { findStaleOffers, removeStaleOffers } from '../../../src/catalog-service/import/import-statements.ts'
import { prepareTarget } from '../../../src/catalog-service/import/feed-target.ts'
import { createFeedWriter } from '../../../src/catalog-service/import/writer.ts'
import { insertChannel } from '../../../src/catalog-service/store/channels.ts'
import { type StoreUnderTest, fetchProducts, findProduct, openTestStore } from '../harness.ts'
import { toRunCount } from '../../helpers/property-runs.ts'
import { getReader } from '../store-handles.ts'

const TEMPLATE = 'https://net.example/c?m={merchant}&p={publisher}&u={url}'
const CHANNEL = '952a0000-0000-4000-8000-0000000000a1'
const OTHER_CHANNEL = '952a0000-0000-4000-8000-0000000000a2'

type Imported = Readonly<{
  products: number
  offers: number
  removedOffers: number
  channelId: string
  unassignedNetworks: readonly string[]
}>

const FEED_ID = 1

let importId = 0

/** Write products like an import, batch by batch. */
async function write(fixture: StoreUnderTest, ...batches: readonly FeedProduct[][]): Promise<Imported> {
  importId += 1
  return fixture.store.write(async (transaction) => {
    const target = await prepareTarget(transaction, { channelId: CHANNEL, nowMs: 0 })
    const writer = await createFeedWriter(transaction, target, { feedId: FEED_ID, importId })
    for (const batch of batches) await writer.write(batch.map((product) => ({ row: 1, product })))
    const counts = await writer.countOffers()
    return { ...counts, ...(await writer.finish(counts)), channelId: target.channelId }
  })
}

function createFeedProduct(gtin: number, ...offers: readonly Partial<FeedOffer>[]): FeedProduct {
  const offer: FeedOffer = {
    merchant: 'Shop',
    merchantReference: null,
    network: 'Net',
    price: '1',
    oldPrice: null,
    salePeriod: null,
    checkedAtMs: null,
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
  await store.write((database) =>
    database
      .insertInto('networks')
      .values({ name: 'Net', link_template })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ link_template }))
      .execute(),
  )
}

async function setPublisher({ store }: StoreUnderTest, reference: string): Promise<void> {
  await store.write((database) => database.updateTable('network_channels').set({ reference }).execute())
}

async function fetchLinks(fixture: StoreUnderTest): Promise<string[]> {
  return (await fetchProducts(fixture, CHANNEL)).flatMap(({ offers }) =>
    offers.map((offer) => offer.affiliate_url),
  )
}

async function openWithChannel(): Promise<StoreUnderTest> {
  const fixture = await openTestStore()
  // In an empty catalog, an import creates the given channel.
  await fixture.store.write((transaction) => prepareTarget(transaction, { channelId: CHANNEL, nowMs: 0 }))
  return fixture
}

/** Create a title that identifies its row. */
const toTitle = (merchant: string, link: string): string => `${merchant} ${link}`

describe('rows of one product', () => {
  const url = fc
    .constantFrom('/a', '/a/b', '/ab', '/a?b', '/Z', '/é', '/a&c')
    .map((path) => `https://s.example${path}`)
  const row = fc.record({
    merchant: fc.constantFrom('Shop', 'Other'),
    price: fc.constantFrom('1', '1.00', '2'),
    oldPrice: fc.constantFrom(null, '3', '1'),
    availability: fc.constantFrom('in_stock', 'out_of_stock'),
    url,
  })
  // Each offer once: when an offer changes within a file, the title of its earlier row is lost.
  const rows = fc.uniqueArray(row, {
    minLength: 1,
    maxLength: 9,
    selector: ({ merchant, url }) => toTitle(merchant, url),
  })
  const batches = fc
    .tuple(rows, fc.integer({ min: 1, max: 4 }))
    .map(([all, size]) =>
      Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size)),
    )

  test.each([
    ['links from a template', TEMPLATE],
    ['links of the feed', null],
  ])(
    'any rows in any batches, %s - title and picture come from the row whose link a box shows first',
    async (_what, template) => {
      const fixture = await openWithChannel()
      await setTemplate(fixture, template)
      await write(fixture, [createFeedProduct(24, {})])
      await setPublisher(fixture, 'pub')
      let gtin = 100
      await fc.assert(
        fc.asyncProperty(batches, async (offers) => {
          // A new product each time: shops that are missing from a run keep their offers.
          gtin += 1
          const products = offers.map((batch) =>
            batch.map((offer) => ({
              ...createFeedProduct(gtin, offer),
              title: toTitle(offer.merchant, offer.url),
              images: [`https://i.example/?${toTitle(offer.merchant, offer.url)}`],
            })),
          )
          await write(fixture, ...products)
          const product = await findProduct(fixture, CHANNEL, String(gtin).padStart(14, '0'))
          const shown = (product?.offers ?? []).map(parseOffer) as Offer[]
          const [first] = pickOnePerMerchant(shown).toSorted(compareForBox)
          const link = new URL(first?.affiliateUrl ?? '')
          const title = toTitle(
            first?.merchant ?? '',
            link.searchParams.get('u') ?? first?.affiliateUrl ?? '',
          )
          expect(product).toMatchObject({ title, images: [{ url: `https://i.example/?${title}` }] })
        }),
        { numRuns: toRunCount(40) },
      )
    },
  )

  test('row with the first offer lacks brand and pictures - they come from another row', async () => {
    const fixture = await openWithChannel()
    const full = {
      ...createFeedProduct(17, { price: '2' }),
      title: 'Expensive',
      brand: 'Brand',
      images: ['https://i.example/1'],
    }
    const bare = { ...createFeedProduct(17, { price: '1', url: 'https://s.example/2' }), title: 'Cheap' }
    const merged = { title: 'Cheap', brand: 'Brand', images: [{ url: 'https://i.example/1' }] }
    for (const order of [[[full], [bare]], [[bare], [full]], [[bare, full]]]) {
      await write(fixture, ...order)
      expect((await fetchProducts(fixture, CHANNEL))[0]).toMatchObject(merged)
    }
  })
})

describe('feed links to shop pages', () => {
  test('network without a template - are used unchanged, for one network channel', async () => {
    const fixture = await openWithChannel()
    await write(fixture, [createFeedProduct(17, {})])
    expect(await fetchLinks(fixture)).toEqual(['https://shop.example/p?a=1'])
    const rows = await (
      await getReader(fixture.store)
    )
      .selectFrom('offers')
      .select('network_channel_id')
      .execute()
    expect(rows[0]?.network_channel_id).toBeGreaterThan(0)
  })

  test('network with a template - each network channel gets a separate link', async () => {
    const fixture = await openWithChannel()
    await setTemplate(fixture, TEMPLATE)
    await write(fixture, [createFeedProduct(17, { merchantReference: 'm 9' })])
    // The publisher's reference in the network is not set; a link without it would earn nothing.
    expect(await fetchLinks(fixture)).toEqual([])
    await setPublisher(fixture, 'pub')
    const page = 'https%3A%2F%2Fshop.example%2Fp%3Fa%3D1'
    expect(await fetchLinks(fixture)).toEqual([`https://net.example/c?m=m%209&p=pub&u=${page}`])
  })

  test('network that got a template since the last import - its links use it at once', async () => {
    const fixture = await openWithChannel()
    await write(fixture, [createFeedProduct(17, {})])
    expect(await fetchLinks(fixture)).toEqual(['https://shop.example/p?a=1'])
    await setTemplate(fixture, TEMPLATE)
    await setPublisher(fixture, 'pub')
    expect(await fetchLinks(fixture)).toEqual([expect.stringContaining('https://net.example/c?m=Shop&')])
    // An import changes nothing about that.
    await write(fixture, [createFeedProduct(17, {})])
    expect(await fetchLinks(fixture)).toHaveLength(1)
  })

  test('tracking link - in a network with a template - is unchanged', async () => {
    const fixture = await openWithChannel()
    await setTemplate(fixture, TEMPLATE)
    await write(fixture, [createFeedProduct(17, { link: 'tracked', url: 'https://track.example/?u=%2F' })])
    expect(await fetchLinks(fixture)).toEqual(['https://track.example/?u=%2F'])
  })

  test('reference of a shop in its network - another one in a later feed - the later one is used', async () => {
    const fixture = await openWithChannel()
    await write(fixture, [createFeedProduct(17, { merchantReference: 'first' })])
    await write(fixture, [createFeedProduct(17, { merchantReference: 'second' })])
    const rows = await (
      await getReader(fixture.store)
    )
      .selectFrom('network_merchants')
      .select('reference')
      .execute()
    expect(rows).toEqual([{ reference: 'second' }])
  })
})

describe('network channel of an import', () => {
  test('unassigned from the channel by its owner - is used, and stays unassigned, with its approvals', async () => {
    const fixture = await openWithChannel()
    const reader = await getReader(fixture.store)
    await write(fixture, [createFeedProduct(17, {})])
    await fixture.store.write((writer) => writer.updateTable('approvals').set({ revoked_at_ms: 1 }).execute())
    await fixture.store.write((writer) =>
      writer.updateTable('network_channels').set({ channel_id: null }).execute(),
    )
    const imported = await write(fixture, [createFeedProduct(17, {}), createFeedProduct(24, {})])
    expect(imported).toMatchObject({ offers: 2, unassignedNetworks: ['Net'] })
    expect(await fetchLinks(fixture)).toEqual([])
    const rows = await reader.selectFrom('network_channels').select(['channel_id', 'reference']).execute()
    expect(rows).toEqual([{ channel_id: null, reference: '' }])
    await fixture.store.write((writer) =>
      writer.updateTable('network_channels').set({ channel_id: CHANNEL }).execute(),
    )
    expect(await fetchLinks(fixture)).toEqual([])
    await fixture.store.write((writer) =>
      writer.updateTable('approvals').set({ revoked_at_ms: null }).execute(),
    )
    expect(await fetchLinks(fixture)).toHaveLength(2)
  })

  test('assigned to another channel - is unchanged, and a new one is created', async () => {
    const fixture = await openWithChannel()
    await write(fixture, [createFeedProduct(17, {})])
    const { id: organizationId } = await (
      await getReader(fixture.store)
    )
      .selectFrom('organizations')
      .select('id')
      .executeTakeFirstOrThrow()
    const other = { id: OTHER_CHANNEL, name: 'Other', kind: 'website', url: null } as const
    await fixture.store.write((database) =>
      insertChannel(database, { ...other, organizationId, createdAtMs: 1 }),
    )
    await fixture.store.write((database) =>
      database.updateTable('network_channels').set({ channel_id: OTHER_CHANNEL }).execute(),
    )
    expect(await write(fixture, [createFeedProduct(17, {})])).toMatchObject({ unassignedNetworks: [] })
    expect(await fetchLinks(fixture)).toHaveLength(1)
  })
})

describe('texts that PostgreSQL cannot store', () => {
  test('U+0000 and half a surrogate pair - every database stores the same', async () => {
    const fixture = await openWithChannel()
    const offer = { link: 'tracked', url: 'https://shop.example/\ud83d?a=\u0000b' } as const
    const images = ['https://shop.example/\udd25\u0000.jpg']
    await write(fixture, [
      { ...createFeedProduct(17, offer), title: 'a\u0000b\ud83d \u{1f525}', brand: '\u0000', images },
    ])
    const reader = await getReader(fixture.store)
    const product = await reader
      .selectFrom('products')
      .select(['title', 'brand', 'images'])
      .executeTakeFirst()
    const storedImages = '["https://shop.example/\\udd25\\u0000.jpg"]'
    expect(product).toEqual({ title: 'ab\ufffd \u{1f525}', brand: '', images: storedImages })
    const stored = await reader.selectFrom('offers').select('url').executeTakeFirst()
    expect(stored?.url).toBe('https://shop.example/\ufffd?a=b')
  })
})

describe('counts', () => {
  test('product in two batches, offer twice, two offers of a shop - the counts match the catalog', async () => {
    const fixture = await openWithChannel()
    const other = { url: 'https://shop.example/other' }
    const imported = await write(
      fixture,
      [createFeedProduct(17, {}, {}, other), createFeedProduct(24, {})],
      [
        createFeedProduct(17, { price: '2' }),
        createFeedProduct(31, {}),
        createFeedProduct(31, { price: '3' }),
      ],
    )
    expect(imported).toMatchObject({ products: 3, offers: 4, removedOffers: 0 })
    const prices = (await fetchProducts(fixture, CHANNEL)).map(({ offers }) =>
      offers.map(({ price }) => price).toSorted(),
    )
    expect(prices).toEqual([['1', '2'], ['1'], ['3']])
  })
})

async function readRows({ store }: StoreUnderTest): Promise<string[]> {
  const found = await sql<{ name: string }>`
    select ltrim(o.gtin, '0') || ' ' || n.name || ' ' || m.name as name
    from offers o join networks n on n.id = o.network_id join merchants m on m.id = o.merchant_id`.execute(
    await getReader(store),
  )
  return found.rows.map(({ name }) => name).toSorted()
}

describe('replacement of offers', () => {
  const anyOffer = fc.record({
    gtin: fc.integer({ min: 1, max: 9 }),
    merchant: fc.constantFrom('A', 'B', 'C'),
    network: fc.constantFrom('N', 'O'),
    link: fc.constantFrom<'page' | 'tracked'>('page', 'tracked'),
  })
  const anyFeed = fc.array(anyOffer, { maxLength: 15 })
  type Row = Readonly<{ gtin: number; merchant: string; network: string; link: 'page' | 'tracked' }>

  const toKey = ({ gtin, merchant, network }: Row): string => `${gtin} ${network} ${merchant}`

  test('any file after any other of the same feed - the feed has the new offers only, and no product is without offers', async () => {
    const fixture = await openWithChannel()
    await fc.assert(
      fc.asyncProperty(anyFeed, anyFeed, async (first, second) => {
        for (const table of ['offers', 'products', 'feed_shops'] as const)
          await fixture.store.write((database) => database.deleteFrom(table).execute())
        await write(
          fixture,
          first.map((row) => createFeedProduct(row.gtin, row)),
        )
        const before = await readRows(fixture)
        const { removedOffers, offers } = await write(
          fixture,
          second.map((row) => createFeedProduct(row.gtin, row)),
        )
        const expected = [...new Set(second.map(toKey))].toSorted()
        expect(await readRows(fixture)).toEqual(expected)
        expect(offers).toBe(new Set(second.map(toKey)).size)
        expect(removedOffers).toBe(before.filter((key) => !expected.includes(key)).length)
        const products = await (
          await getReader(fixture.store)
        )
          .selectFrom('products')
          .select('gtin')
          .execute()
        expect(products).toHaveLength(new Set(second.map(({ gtin }) => gtin)).size)
      }),
      { numRuns: toRunCount(50) },
    )
  })

  test.each([0, Number.POSITIVE_INFINITY])(
    'stale offers - full table scan from %d offers on - the same offers are removed',
    async (manyOffers) => {
      const fixture = await openWithChannel()
      const both = [createFeedProduct(17, {}, { merchant: 'Other' }), createFeedProduct(24, {})]
      await write(fixture, both)
      const left = await fixture.store.write(async (transaction) => {
        const target = await prepareTarget(transaction, { channelId: CHANNEL, nowMs: 0 })
        const run = { feedId: FEED_ID, importId: importId + 1 }
        const writer = await createFeedWriter(transaction, target, run)
        await writer.write([{ row: 1, product: createFeedProduct(17, { merchant: 'Other' }) }])
        const options = { current: 1, fullScanOffers: manyOffers }
        const { total: removed } = await findStaleOffers(transaction, run, options)
        await removeStaleOffers(transaction, run)
        return removed
      })
      expect(left).toBe(2)
      expect(await readRows(fixture)).toEqual(['17 Net Other'])
    },
  )
})
