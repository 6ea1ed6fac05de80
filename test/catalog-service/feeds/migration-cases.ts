import { describe, expect, it } from 'vitest'
import { fetchFeeds } from '../../../src/catalog-service/store/feeds.ts'
import { isSampleOnly } from '../../../src/catalog-service/store/meta.ts'
import type { Migrations } from '../../../src/database/migrate.ts'
import {
  GTINS,
  type StoreUnderTest,
  createOffer,
  createProduct,
  fetchProducts,
  importRows,
  importText,
} from '../harness.ts'

const [FIRST, SECOND, OTHER] = [
  '952a0000-0000-4000-8000-0000000000a1',
  '952a0000-0000-4000-8000-0000000000a2',
  '952a0000-0000-4000-8000-0000000000b1',
] as const

const [CUP, MUG, JUG, POT, PAN] = GTINS

const ACCOUNT_ROWS = [
  `insert into organizations values ('first', 'F', null, 0), ('other', 'O', null, 1)`,
  `insert into channels values ('${FIRST}', 'first', 'C', 'website', null, 0),
    ('${SECOND}', 'first', 'C', 'website', null, 1), ('${OTHER}', 'other', 'C', 'website', null, 2)`,
  `insert into networks values (101, 'Net', 'https://net.example/?p={publisher}&u={url}'), (102, 'Plain', null)`,
  `insert into network_channels values (201, 'first', 101, 'pub-1', '${FIRST}'),
    (202, 'first', 101, 'pub-2', '${SECOND}'), (203, 'other', 101, 'pub-3', '${OTHER}'),
    (204, 'first', 102, '', '${FIRST}'), (205, 'first', 102, '', null)`,
  `insert into merchants values (301, 'Shop A'), (302, 'Shop B'), (303, 'Shop C'), (304, 'Shop D')`,
  `insert into approvals values (201, 301, null), (201, 302, null), (202, 301, null), (202, 302, 5), (203, 302, null),
    (204, 303, null), (205, 303, null)`,
] as const

const OFFER_COLUMNS = `gtin, network_id, merchant_id, network_channel_id, currency, variant, price, old_price, availability,
  url, import_id`

/** Shop A has a product with a tracking link for each of two channels, and others with its pages (network channel 0). */
const OFFER_ROWS = [
  ...ACCOUNT_ROWS,
  `insert into products values ('${CUP}', 'Cup', 'Kopje', '["https://img.example/cup"]', 7, 'digest 1 t101.301.201'),
    ('${MUG}', 'Mug', null, '[]', 7, null), ('${JUG}', 'Jug', null, '[]', 7, null), ('${POT}', 'Pot', null, '[]', 7, null),
    ('${PAN}', 'Pan', null, '[]', 7, null)`,
  `insert into offers (${OFFER_COLUMNS}) values
    ('${CUP}', 101, 301, 201, 'EUR', 11, '10', '12', 'in_stock', 'https://t.example/1', 7),
    ('${CUP}', 101, 301, 202, 'EUR', 12, '11', null, 'in_stock', 'https://t.example/2', 6),
    ('${CUP}', 101, 302, 0, 'EUR', 13, '9', null, 'in_stock', 'https://b.example/', 7),
    ('${MUG}', 101, 301, 0, 'EUR', 14, '8', null, 'in_stock', 'https://a.example/', 7),
    ('${JUG}', 102, 303, 204, 'EUR', 15, '7', null, 'in_stock', 'https://t.example/3', 7),
    ('${JUG}', 102, 303, 205, 'EUR', 16, '6', null, 'in_stock', 'https://t.example/4', 7),
    ('${POT}', 101, 301, 201, 'EUR', 17, '5', null, 'in_stock', 'https://a.example/pot', 7),
    ('${POT}', 101, 301, 0, 'EUR', 17, '4', null, 'in_stock', 'https://a.example/pot', 7),
    ('${PAN}', 101, 304, 0, 'EUR', 18, '3', null, 'in_stock', 'https://d.example/', 5)`,
] as const

const SAMPLE_ROWS = [
  ...ACCOUNT_ROWS,
  `insert into meta values ('sample_base', 'http://127.0.0.1')`,
  `insert into products values ('${CUP}', 'Cup', 'Kopje', '["https://img.example/cup"]', null, null)`,
  `insert into offers (${OFFER_COLUMNS}) values
    ('${CUP}', 101, 302, 0, 'EUR', 0, '9', null, 'in_stock', 'https://b.example/', null)`,
] as const

/** Keep the migrations up to this name. */
export function selectMigrations(migrations: Migrations, last: string): Migrations {
  const names = Object.keys(migrations).toSorted()
  return Object.fromEntries(Object.entries(migrations).slice(0, names.indexOf(last) + 1))
}

/** Return `title: price link, …` for each product. */
async function fetchTexts(fixture: StoreUnderTest, channelId: string): Promise<string[]> {
  const products = await fetchProducts(fixture, channelId)
  return products.map(({ title, offers }) => {
    const texts = offers.map(({ price, affiliate_url }) => `${price} ${affiliate_url}`)
    return `${title}: ${texts.toSorted().join(', ')}`
  })
}

const toTracked = (publisher: string, page: string): string =>
  `https://net.example/?p=${publisher}&u=${encodeURIComponent(page)}`

async function listFeedNames({ store }: StoreUnderTest): Promise<string[]> {
  return (await fetchFeeds(store.reader)).map(({ name }) => name)
}

/** Define tests of a catalog in the schema before feeds. `openFormer` inserts the rows, then opens it as this version does. */
export function describeFeedMigration(
  database: string,
  openFormer: (rows: readonly string[]) => Promise<StoreUnderTest>,
): void {
  describe(`catalog from before feeds on ${database}`, () => {
    it('opened - each channel shows the same products and offers', async () => {
      const fixture = await openFormer(OFFER_ROWS)
      const [cup] = await fetchProducts(fixture, FIRST)
      const common = { network: 'Net', currency: 'EUR', availability: 'in_stock' }
      expect(cup).toEqual({
        gtin: CUP,
        title: 'Cup',
        brand: 'Kopje',
        images: [{ url: 'https://img.example/cup' }],
        offers: [
          {
            ...common,
            merchant: { name: 'Shop A' },
            price: '10',
            old_price: '12',
            affiliate_url: 'https://t.example/1',
          },
          {
            ...common,
            merchant: { name: 'Shop B' },
            price: '9',
            affiliate_url: toTracked('pub-1', 'https://b.example/'),
          },
        ],
      })
      expect(await fetchTexts(fixture, FIRST)).toEqual([
        `Cup: 10 https://t.example/1, 9 ${toTracked('pub-1', 'https://b.example/')}`,
        `Mug: 8 ${toTracked('pub-1', 'https://a.example/')}`,
        'Jug: 7 https://t.example/3',
        `Pot: 4 ${toTracked('pub-1', 'https://a.example/pot')}`,
      ])
      expect(await fetchTexts(fixture, SECOND)).toEqual([
        'Cup: 11 https://t.example/2',
        `Mug: 8 ${toTracked('pub-2', 'https://a.example/')}`,
        `Pot: 4 ${toTracked('pub-2', 'https://a.example/pot')}`,
      ])
      expect(await fetchTexts(fixture, OTHER)).toEqual([`Cup: 9 ${toTracked('pub-3', 'https://b.example/')}`])
    })

    it('opened - has a feed without a time for each network channel with offers', async () => {
      const { store } = await openFormer(OFFER_ROWS)
      const feed = { isMigrated: true, organizationId: 'first', fetchedAtMs: null, url: null }
      expect(await fetchFeeds(store.reader)).toMatchObject([
        { ...feed, name: 'imported-201', channelId: FIRST, productCount: 3, offerCount: 4 },
        { ...feed, name: 'imported-202', channelId: SECOND, productCount: 1, offerCount: 1 },
        { ...feed, name: 'imported-204', channelId: FIRST, productCount: 1, offerCount: 1 },
        { ...feed, name: 'imported-205', channelId: null, productCount: 1, offerCount: 1 },
      ])
    })

    it('offer of a shop that no network channel may advertise - opened - is removed with its product', async () => {
      const { reader } = (await openFormer(OFFER_ROWS)).store
      const isPan = ['gtin', '=', PAN] as const
      expect(
        await reader
          .selectFrom('offers')
          .selectAll()
          .where(...isPan)
          .execute(),
      ).toEqual([])
      expect(
        await reader
          .selectFrom('products')
          .selectAll()
          .where(...isPan)
          .execute(),
      ).toEqual([])
      expect(await reader.selectFrom('feed_shops').selectAll().where('feed_id', '=', 0).execute()).toEqual([])
    })

    it('imports in a channel - replace the former offers of their shops only', async () => {
      const fixture = await openFormer(OFFER_ROWS)
      const offer = createOffer({ network: 'Net', price: '10.50', affiliate_url: 'https://t.example/new' })
      const rows = [createProduct(CUP, { title: 'New cup', offers: [offer] })]
      expect(await importRows(fixture, rows, { channelId: FIRST })).toMatchObject({ removedOffers: 3 })
      expect(await fetchTexts(fixture, FIRST)).toEqual([
        `Cup: 10.50 https://t.example/new, 9 ${toTracked('pub-1', 'https://b.example/')}`,
        'Jug: 7 https://t.example/3',
      ])
      expect(await fetchTexts(fixture, SECOND)).toEqual(['Cup: 11 https://t.example/2'])
      expect(await listFeedNames(fixture)).toContain('imported-201')

      const table = `gtin,title,link,price\n${CUP},Page cup,https://b.example/new,8.50 EUR\n`
      const shop = { network: 'Net', merchant: 'Shop B', channelId: FIRST, feedName: 'pages' }
      expect(await importText(fixture, table, shop)).toMatchObject({ removedOffers: 1 })
      expect(await fetchTexts(fixture, OTHER)).toEqual([
        `Page cup: 8.50 ${toTracked('pub-3', 'https://b.example/new')}`,
      ])
      expect(await listFeedNames(fixture)).toEqual([
        'feed',
        'imported-202',
        'imported-204',
        'imported-205',
        'pages',
      ])
    })

    it('import in another channel of the organization - replaces offers of no channel, and of its own', async () => {
      const fixture = await openFormer(OFFER_ROWS)
      const before = await fetchTexts(fixture, FIRST)
      const offers = [
        createOffer({ network: 'Net', affiliate_url: 'https://t.example/new' }),
        createOffer({ network: 'Plain', merchant: { name: 'Shop C' } }),
      ]
      await importRows(fixture, [createProduct(CUP, { offers })], { channelId: SECOND })
      expect(await listFeedNames(fixture)).toEqual(['feed', 'imported-201', 'imported-204'])
      expect(await fetchTexts(fixture, FIRST)).toEqual(before)
    })

    it('import in a channel of another organization - replaces nothing', async () => {
      const fixture = await openFormer(OFFER_ROWS)
      const before = await Promise.all([FIRST, SECOND].map((id) => fetchTexts(fixture, id)))
      const offers = ['Shop A', 'Shop B'].map((name) => createOffer({ network: 'Net', merchant: { name } }))
      const rows = [createProduct(CUP, { offers })]
      expect(await importRows(fixture, rows, { channelId: OTHER })).toMatchObject({ removedOffers: 0 })
      expect(await Promise.all([FIRST, SECOND].map((id) => fetchTexts(fixture, id)))).toEqual(before)
    })

    it('sample data - stays sample data, and the first import replaces it', async () => {
      const fixture = await openFormer(SAMPLE_ROWS)
      const { reader } = fixture.store
      expect(await isSampleOnly(reader)).toBe(true)
      expect(await listFeedNames(fixture)).toEqual([])
      expect(await reader.selectFrom('feed_shops').selectAll().execute()).toEqual([
        { feed_id: 0, network_id: 101, merchant_id: 302, network_channel_id: 0, is_page: 1, import_id: null },
      ])
      expect(await fetchTexts(fixture, FIRST)).toEqual([`Cup: 9 ${toTracked('pub-1', 'https://b.example/')}`])
      const summary = await importRows(fixture, [createProduct(MUG)], { channelId: FIRST })
      expect(summary).toMatchObject({ replacedSample: true, removedOffers: 0 })
      const products = await reader.selectFrom('products').select('gtin').execute()
      expect(products).toEqual([{ gtin: MUG }])
    })
  })
}
