import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { seedSampleData } from '../../../src/catalog-service/sample/seed-sample-data.ts'
import { createDemo, getSampleData, toPageUrl } from '../../../src/catalog-service/sample/sample-data.ts'
import { fetchOwnedChannels } from '../../../src/catalog-service/store/channels.ts'
import { getCatalogId } from '../../../src/catalog-service/store/meta.ts'
import { parseProduct } from '../../../src/catalog/parse.ts'
import type { WireProduct } from '../../../src/catalog/contract.ts'
import { isCheckDigitValid } from '../../../src/offers/gtin.ts'
import { computeDiscountPercent, isOnSale } from '../../../src/offers/sale.ts'
import {
  type StoreUnderTest,
  fetchProducts,
  findProduct,
  importRows,
  createProduct,
  openTestStore,
} from '../harness.ts'
import { getReader } from '../store-handles.ts'

const BASE = 'http://127.0.0.1:3000'
const SAMPLE = getSampleData()
const DEMO = createDemo(BASE, {})
const OFFERS = SAMPLE.products.flatMap(({ gtin, offers }) => offers.map((offer) => ({ gtin, ...offer })))

/** The product that all ten shops sell, with three offers each. */
const EVERYWHERE_GTIN = '09520003001015'

async function openWithSample(): Promise<StoreUnderTest> {
  const fixture = await openTestStore()
  await seedSampleData(fixture.store, BASE)
  return fixture
}

async function fetchChannelProducts(
  fixture: StoreUnderTest,
  index: 0 | 1 | 2,
): Promise<readonly WireProduct[]> {
  return fetchProducts(fixture, SAMPLE.channels[index].id)
}

describe('sample data, as served by the catalog', () => {
  it('products - first channel - all products, and every offer is usable', async () => {
    const products = await fetchChannelProducts(await openWithSample(), 0)
    expect(products.length).toBe(SAMPLE.products.length)
    expect(products.length).toBeGreaterThanOrEqual(120)
    for (const wire of products) {
      const product = parseProduct(wire, wire.gtin, { ownOrigin: BASE })
      expect(product).not.toHaveProperty('drops')
      expect(product.images).toHaveLength(wire.images.length)
    }
  })

  it('channels - three - see different shares of the offers', async () => {
    const fixture = await openWithSample()
    const counts: number[] = []
    for (const index of [0, 1, 2] as const) {
      const products = await fetchChannelProducts(fixture, index)
      counts.push(products.reduce((sum, product) => sum + product.offers.length, 0))
    }
    expect(counts[0]).toBe(OFFERS.length)
    expect(counts[1]).toBeLessThan(counts[0] ?? 0)
    expect(counts[2]).toBeLessThan(counts[1] ?? 0)
    expect(counts[2]).toBeGreaterThan(20)
    const channels = await fetchOwnedChannels(await getReader(fixture.store))
    expect(channels.map(({ kind }) => kind)).toEqual(['website', 'website', 'youtube'])
    expect(channels.map(({ url }) => url === null)).toEqual([false, false, true])
  })

  it('showcase - the start page - a picture, at least seven euro offers in stock, three on sale', async () => {
    const fixture = await openWithSample()
    const product = await findProduct(fixture, DEMO.showcase.channelId, DEMO.showcase.gtin)
    const euros = product?.offers.filter((offer) => offer.currency === 'EUR') ?? []
    expect(product?.images).toHaveLength(1)
    expect(euros).toHaveLength(8)
    expect(euros.filter((offer) => offer.availability === 'in_stock')).toHaveLength(7)
    expect(euros.filter((offer) => offer.old_price !== undefined)).toHaveLength(4)
  })

  it("link - each network - leads to the demonstration shop with the address of the shop's page", async () => {
    const fixture = await openWithSample()
    const products = await fetchChannelProducts(fixture, 0)
    const links = products.flatMap((product) => product.offers.map((offer) => new URL(offer.affiliate_url)))
    expect(new Set(links.map((link) => link.searchParams.get('network')))).toEqual(
      new Set(SAMPLE.networks.map((network) => network.name.toLowerCase())),
    )
    for (const link of links) {
      expect(`${link.origin}${link.pathname}`).toBe(`${BASE}/demo/shop`)
      expect(DEMO.findDemoProduct(link.searchParams.get('url') ?? '')).toBeDefined()
    }
  })
})

describe('variety of the sample data', () => {
  const onSale = OFFERS.flatMap(({ gtin, price, oldPrice = null }) =>
    isOnSale({ price, oldPrice }) ? [{ gtin, percent: computeDiscountPercent(price, String(oldPrice)) }] : [],
  )

  it('gtins - demonstration prefix - unique, with valid check digits', () => {
    const gtins = SAMPLE.products.map((product) => product.gtin)
    expect(new Set(gtins).size).toBe(gtins.length)
    expect(gtins.every((gtin) => /^0952\d{10}$/.test(gtin) && isCheckDigitValid(gtin))).toBe(true)
  })

  it('shops and networks - ten and four - all have offers', () => {
    expect(SAMPLE.shops).toHaveLength(10)
    expect(SAMPLE.networks).toHaveLength(4)
    expect(new Set(OFFERS.map((offer) => offer.shop)).size).toBe(10)
    expect(new Set(OFFERS.map((offer) => offer.network)).size).toBe(4)
    expect(SAMPLE.shops.every((shop) => shop.host.endsWith('.example'))).toBe(true)
  })

  it('discounts - 3 to 60 percent - several products have the same', () => {
    const percents = onSale.map(({ percent }) => percent)
    expect(Math.min(...percents)).toBe(3)
    expect(Math.max(...percents)).toBe(60)
    const at20 = new Set(onSale.filter(({ percent }) => percent === 20).map(({ gtin }) => gtin))
    expect(at20.size).toBeGreaterThan(5)
    expect(onSale.length).toBeLessThan(OFFERS.length / 2)
  })

  it('offers - one to thirty per product', () => {
    const counts = SAMPLE.products.map(({ offers }) => offers.length)
    const everywhere = SAMPLE.products.find(({ gtin }) => gtin === EVERYWHERE_GTIN)
    expect(counts.filter((number) => number === 1).length).toBeGreaterThan(5)
    expect(everywhere?.offers).toHaveLength(30)
    expect(Math.min(...counts)).toBe(1)
  })

  it('currencies and availability - three currencies, and unknown availabilities', () => {
    expect(new Set(OFFERS.map((offer) => offer.currency))).toEqual(new Set(['EUR', 'USD', 'GBP']))
    const availabilities = new Set(OFFERS.map((offer) => offer.availability ?? 'in_stock'))
    expect([...availabilities].sort()).toEqual([
      'backorder',
      'in_stock',
      'out_of_stock',
      'preorder',
      'ships_in_5_days',
    ])
  })

  it('titles - one of about 200 characters, German, Arabic, Japanese', () => {
    const titles = SAMPLE.products.map((product) => product.title)
    expect(Math.max(...titles.map((title) => title.length))).toBeGreaterThanOrEqual(190)
    expect(titles.filter((title) => /[äöüß]/.test(title)).length).toBeGreaterThan(3)
    expect(titles.filter((title) => /\p{Script=Arabic}/u.test(title))).toHaveLength(1)
    expect(titles.filter((title) => /\p{Script=Katakana}/u.test(title))).toHaveLength(1)
  })

  it('pages - one price each, regardless of the network', () => {
    const prices = new Map<string, string>()
    for (const offer of OFFERS) {
      const page = toPageUrl(offer.gtin, offer)
      expect(prices.get(page) ?? offer.price).toBe(offer.price)
      prices.set(page, offer.price)
    }
  })
})

const PICTURE_NAMES = readdirSync('src/catalog-service/sample/pictures')

/** A picture is small: pages with many boxes load several. */
const MAX_PICTURE_BYTES = 45_000

describe('sample pictures', () => {
  it('products - every picture exists and is used; some products have none', () => {
    const names = SAMPLE.products.map((product) => product.picture)
    expect(names.filter((name) => name === undefined).length).toBeGreaterThan(3)
    expect([...new Set(names)].filter((name) => name !== undefined).sort()).toEqual([...PICTURE_NAMES].sort())
  })

  it.each(PICTURE_NAMES)('picture - %s - small WebP', (name) => {
    const picture = DEMO.findPicture(name)
    expect(picture?.toString('latin1', 0, 4)).toBe('RIFF')
    expect(picture?.toString('latin1', 8, 12)).toBe('WEBP')
    expect(picture?.byteLength).toBeLessThan(MAX_PICTURE_BYTES)
  })

  it.each(['headphones-0.webp', 'headphones-7.webp', 'headphones-1', '../products.json', '__proto__', ''])(
    'picture - "%s" - undefined',
    (name) => {
      expect(DEMO.findPicture(name)).toBeUndefined()
    },
  )
})

describe('product of a sample shop page', () => {
  it('page of a shop - usual currency - price, title and picture', () => {
    const page = `https://novabrueck.example/p/${DEMO.showcase.gtin}`
    expect(DEMO.findDemoProduct(page)).toEqual({
      shop: 'Novabrück',
      title: 'Sonderby Arne 2 Wireless Over-Ear Headphones, Sand',
      price: '199.00',
      oldPrice: '249.00',
      currency: 'EUR',
      pictureUrl: `${BASE}/demo/pictures/headphones-4.webp`,
    })
  })

  it.each(['', 'https://novabrueck.example/p/1', 'https://example.com/', 'javascript:1'])(
    'page - "%s" - undefined',
    (page) => {
      expect(DEMO.findDemoProduct(page)).toBeUndefined()
    },
  )
})

describe('seedSampleData', () => {
  it('catalog with imported products - changes nothing', async () => {
    const fixture = await openTestStore()
    await importRows(fixture, [createProduct('17')])
    const catalogId = await getCatalogId(await getReader(fixture.store))
    expect(await seedSampleData(fixture.store, BASE)).toBe(false)
    expect(await fetchOwnedChannels(await getReader(fixture.store))).toHaveLength(1)
    expect(await getCatalogId(await getReader(fixture.store))).toBe(catalogId)
  })

  it('sample data - same address - changes nothing; another one - new links, same products, new catalog id', async () => {
    const fixture = await openWithSample()
    const catalogId = await getCatalogId(await getReader(fixture.store))
    expect(await seedSampleData(fixture.store, BASE)).toBe(false)
    expect(await getCatalogId(await getReader(fixture.store))).toBe(catalogId)
    expect(await seedSampleData(fixture.store, 'https://widgets.example/v')).toBe(true)
    expect(await getCatalogId(await getReader(fixture.store))).not.toBe(catalogId)
    const products = await fetchChannelProducts(fixture, 0)
    expect(products).toHaveLength(SAMPLE.products.length)
    expect(products[0]?.images[0]?.url).toMatch(/^https:\/\/widgets\.example\/v\/demo\/pictures\//)
    expect(products[0]?.offers[0]?.affiliate_url).toMatch(/^https:\/\/widgets\.example\/v\/demo\/shop\?/)
  })
})
