import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ChannelView, fetchChannelView } from '../../../src/catalog-service/store/channel-view.ts'
import { fetchProductPage } from '../../../src/catalog-service/store/products.ts'
import { PAGE_OF_SHOP } from '../../../src/catalog-service/store/schema.ts'
import { countStrands, findVisibleGtins } from '../../../src/catalog-service/store/visible-gtins.ts'
import { type StoreUnderTest, openTestStore } from '../harness.ts'

const CHANNEL = '952a0000-0000-4000-8000-0000000000c1'
const OTHER = '952a0000-0000-4000-8000-0000000000c2'
const TEMPLATE = 'https://net.example/c?m={merchant}&p={publisher}&u={url}'

/** An offer by its numbers; `via` is the network channel of its link, or `PAGE_OF_SHOP`. */
type Offer = Readonly<{ gtin: number; network: number; merchant: number; via: number; currency?: string }>

const toGtin = (number: number): string => String(number).padStart(14, '0')

/**
 * Two channels of one organization. Network 1 has a template, network 2 none; the first channel has network channel n in
 * network n, the second one n + 10. Merchants 1 to 4; the first channel is approved for 1 and 2 alone, the second for all.
 */
async function openWithAccounts(): Promise<StoreUnderTest> {
  const under = await openTestStore()
  const { writer } = under.store
  await writer
    .insertInto('organizations')
    .values({ id: 'o', name: 'O', daily_limit: null, created_at_ms: 0 })
    .execute()
  for (const id of [CHANNEL, OTHER]) {
    const channel = {
      id,
      organization_id: 'o',
      name: id,
      kind: 'website',
      url: null,
      created_at_ms: 0,
    } as const
    await writer.insertInto('channels').values(channel).execute()
  }
  for (const id of [1, 2]) {
    const link_template = id === 1 ? TEMPLATE : null
    await writer
      .insertInto('networks')
      .values({ id, name: `N${id}`, link_template })
      .execute()
    for (const [place, channel_id] of [CHANNEL, OTHER].entries()) {
      const own = { id: id + 10 * place, organization_id: 'o', network_id: id, channel_id }
      await writer
        .insertInto('network_channels')
        .values({ ...own, reference: `pub-${own.id}` })
        .execute()
    }
  }
  for (const id of [1, 2, 3, 4]) {
    await writer
      .insertInto('merchants')
      .values({ id, name: `M${id}` })
      .execute()
    for (const network_channel_id of id <= 2 ? [1, 2, 11, 12] : [11, 12])
      await writer
        .insertInto('approvals')
        .values({ network_channel_id, merchant_id: id, revoked_at_ms: null })
        .execute()
  }
  return under
}

async function putOffers({ store }: StoreUnderTest, offers: readonly Offer[]): Promise<void> {
  const { writer } = store
  await writer.deleteFrom('offers').execute()
  await writer.deleteFrom('products').execute()
  const gtins = [...new Set(offers.map(({ gtin }) => toGtin(gtin)))]
  for (const gtin of gtins)
    await writer
      .insertInto('products')
      .values({ gtin, title: gtin, brand: null, images: '[]' })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  for (const { gtin, network, merchant, via, currency = 'EUR' } of offers)
    await writer
      .insertInto('offers')
      .values({
        gtin: toGtin(gtin),
        network_id: network,
        merchant_id: merchant,
        network_channel_id: via,
        currency,
        variant: 0,
        price: '1',
        availability: 'in_stock',
        url: `https://shop.example/${merchant}`,
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
}

/** The rule of visibility once more, as plainly as it can be said, for the first channel. */
function isVisible({ network, merchant, via }: Offer): boolean {
  const isApproved = merchant <= 2
  const hasLink = via === network || (via === PAGE_OF_SHOP && network === 1)
  return isApproved && hasLink
}

/** Every page of a channel, one after the other. */
function walk({ store }: StoreUnderTest, view: ChannelView, limit: number): string[] {
  const gtins: string[] = []
  let afterGtin: string | null = ''
  while (afterGtin !== null) {
    const page = fetchProductPage(store.read, { view, afterGtin, limit })
    gtins.push(...page.items.map(({ gtin }) => gtin))
    afterGtin = page.lastGtin
  }
  return gtins
}

const anyOffer = fc.record({
  gtin: fc.integer({ min: 1, max: 60 }),
  network: fc.constantFrom(1, 2),
  merchant: fc.constantFrom(1, 2, 3, 4, 4, 4, 4),
  via: fc.constantFrom(PAGE_OF_SHOP, 1, 2, 11, 12),
})

function refuse(): never {
  throw new Error('nothing is to be read')
}

describe('pages of any catalog', () => {
  test('walk - any offers, any limit - every visible product exactly once, by GTIN', async () => {
    const under = await openWithAccounts()
    const view = fetchChannelView(under.store.read, CHANNEL)
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyOffer, { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        async (offers, limit) => {
          // A network channel is of one network.
          const sound = offers.filter(({ network, via }) => via === PAGE_OF_SHOP || via % 10 === network)
          await putOffers(under, sound)
          const expected = [...new Set(sound.filter(isVisible).map(({ gtin }) => toGtin(gtin)))].sort()
          expect(walk(under, view, limit)).toEqual(expected)
          expect(findVisibleGtins(under.store.read, { view, afterGtin: '', limit: 1_000 })).toEqual(expected)
          const some = findVisibleGtins(under.store.read, { view, afterGtin: toGtin(30), limit })
          expect(some).toEqual(expected.filter((gtin) => gtin > toGtin(30)).slice(0, limit))
        },
      ),
      { numRuns: 60 },
    )
  })

  test('sparse channel - three of 5,000 products - are found without reading the others', async () => {
    const under = await openWithAccounts()
    const many = Array.from({ length: 5_000 }, (_, index) => index + 1)
    await under.store.writer.transaction().execute(async (transaction) => {
      for (const number of many) {
        const merchant_id = number % 2_000 === 7 ? 1 : 4
        const own = {
          network_id: 1,
          merchant_id,
          network_channel_id: PAGE_OF_SHOP,
          currency: 'EUR',
          variant: 0,
        }
        const gtin = toGtin(number)
        await transaction
          .insertInto('products')
          .values({ gtin, title: 'T', brand: null, images: '[]' })
          .execute()
        await transaction
          .insertInto('offers')
          .values({ ...own, gtin, price: '1', availability: 'in_stock', url: 'https://shop.example/' })
          .execute()
      }
    })
    const view = fetchChannelView(under.store.read, CHANNEL)
    let productsRead = 0
    const read: typeof under.store.read = (statement, parameters) => {
      const rows = under.store.read(statement, parameters)
      if (statement.includes('from products p') || statement.includes('join products p'))
        productsRead += rows.length
      return rows as never
    }
    const page = fetchProductPage(read, { view, afterGtin: '', limit: 50 })
    expect(page.items.map(({ gtin }) => Number(gtin))).toEqual([7, 2_007, 4_007])
    expect(productsRead).toBeLessThan(60)
  })

  test('GTINs of many shops, one of them dense - each shop that ran out is read again, the others are not', async () => {
    const under = await openWithAccounts()
    const dense = Array.from({ length: 300 }, (_, index) => index + 1)
    await putOffers(
      under,
      dense
        .map((gtin) => ({ gtin, network: 1, merchant: 1, via: PAGE_OF_SHOP }))
        .concat({ gtin: 999, network: 1, merchant: 2, via: PAGE_OF_SHOP }),
    )
    const view = fetchChannelView(under.store.read, CHANNEL)
    let strandsRead = 0
    const read: typeof under.store.read = (statement, parameters) => {
      strandsRead += (JSON.parse(String(parameters[1])) as unknown[]).length
      return under.store.read(statement, parameters)
    }
    const found = findVisibleGtins(read, { view, afterGtin: '', limit: 250 })
    expect(found).toEqual(dense.slice(0, 250).map(toGtin))
    expect(strandsRead).toBeLessThanOrEqual(countStrands(view) + 2)
  })

  test('page of a channel without any network - empty, and reads nothing', () => {
    expect(fetchProductPage(refuse, { view: new Map(), afterGtin: '', limit: 5 })).toEqual({
      items: [],
      lastGtin: null,
    })
  })
})

function findLinks(under: StoreUnderTest, channelId: string): string[] {
  const view = fetchChannelView(under.store.read, channelId)
  const { items } = fetchProductPage(under.store.read, { view, afterGtin: '', limit: 5 })
  return items.flatMap(({ offers }) => offers.map((offer) => offer.affiliate_url))
}
const filled = (publisher: string, merchant: string): string =>
  `https://net.example/c?m=${merchant}&p=${publisher}&u=https%3A%2F%2Fshop.example%2F1`

describe('links', () => {
  test('shop with a page and with own links for one channel - own links there, the template elsewhere', async () => {
    const under = await openWithAccounts()
    const offer = { gtin: 1, network: 1, merchant: 1 }
    await putOffers(under, [
      { ...offer, via: PAGE_OF_SHOP },
      { ...offer, via: 1 },
    ])
    expect(findLinks(under, CHANNEL)).toEqual(['https://shop.example/1'])
    expect(findLinks(under, OTHER)).toEqual([filled('pub-11', 'M1')])
  })

  test('shop with own links in one currency alone - its pages stand for the other', async () => {
    const under = await openWithAccounts()
    const offer = { gtin: 1, network: 1, merchant: 1 }
    await putOffers(under, [
      { ...offer, via: PAGE_OF_SHOP, currency: 'USD' },
      { ...offer, via: 1 },
    ])
    expect(findLinks(under, CHANNEL).toSorted()).toEqual([filled('pub-1', 'M1'), 'https://shop.example/1'])
  })

  test('merchant - with a name of its own in the network - the link has that one', async () => {
    const under = await openWithAccounts()
    await putOffers(under, [{ gtin: 1, network: 1, merchant: 1, via: PAGE_OF_SHOP }])
    await under.store.writer
      .insertInto('network_merchants')
      .values({ network_id: 1, merchant_id: 1, reference: '47 11' })
      .execute()
    expect(findLinks(under, CHANNEL)).toEqual([filled('pub-1', '47%2011')])
  })
})
