import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ProductPage } from '../../../src/catalog-service/store/catalog-store.ts'
import { PAGE_OF_SHOP } from '../../../src/catalog-service/store/schema.ts'
import { type StoreUnderTest, fetchAll, openTestStore } from '../harness.ts'
import { CHANNEL, OTHER, type Offer, putAccounts, putOffers, toGtin } from './offers-harness.ts'
import { toRuns } from '../../helpers/property-runs.ts'

async function openWithAccounts(): Promise<StoreUnderTest> {
  const under = await openTestStore()
  await under.store.write(putAccounts)
  return under
}

async function put({ store }: StoreUnderTest, offers: readonly Offer[]): Promise<void> {
  await store.write((database) => putOffers(database, offers))
}

/** The rule of visibility once more, as plainly as it can be said, for the first channel. */
function isVisible({ network, merchant, via }: Offer): boolean {
  const isApproved = merchant <= 2
  const hasLink = via === network || (via === PAGE_OF_SHOP && network === 1)
  return isApproved && hasLink
}

/** Every page of a channel, one after the other. */
async function walk({ store }: StoreUnderTest, limit: number): Promise<string[]> {
  const gtins: string[] = []
  let afterGtin: string | null = ''
  while (afterGtin !== null) {
    const page: ProductPage | undefined = await store.fetchPage({
      organizationId: 'o',
      channelId: CHANNEL,
      afterGtin,
      limit,
    })
    if (page === undefined) throw new Error('there is no such channel')
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

describe('pages of any catalog', () => {
  test('walk - any offers, any limit - every visible product exactly once, by GTIN', async () => {
    const under = await openWithAccounts()
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyOffer, { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        async (offers, limit) => {
          // A network channel is of one network.
          const sound = offers.filter(({ network, via }) => via === PAGE_OF_SHOP || via % 10 === network)
          await put(under, sound)
          const expected = [...new Set(sound.filter(isVisible).map(({ gtin }) => toGtin(gtin)))].sort()
          expect(await walk(under, limit)).toEqual(expected)
        },
      ),
      { numRuns: toRuns(60) },
    )
  })
})

async function findLinks(under: StoreUnderTest, channelId: string): Promise<string[]> {
  const items = await fetchAll(under, channelId)
  return items.flatMap(({ offers }) => offers.map((offer) => offer.affiliate_url))
}
const filled = (publisher: string, merchant: string): string =>
  `https://net.example/c?m=${merchant}&p=${publisher}&u=https%3A%2F%2Fshop.example%2F1`

describe('links', () => {
  test('shop with a page and with own links for one channel - own links there, the template elsewhere', async () => {
    const under = await openWithAccounts()
    const offer = { gtin: 1, network: 1, merchant: 1 }
    await put(under, [
      { ...offer, via: PAGE_OF_SHOP },
      { ...offer, via: 1 },
    ])
    expect(await findLinks(under, CHANNEL)).toEqual(['https://shop.example/1'])
    expect(await findLinks(under, OTHER)).toEqual([filled('pub-11', 'M1')])
  })

  test('shop with own links in one currency alone - its pages stand for the other', async () => {
    const under = await openWithAccounts()
    const offer = { gtin: 1, network: 1, merchant: 1 }
    await put(under, [
      { ...offer, via: PAGE_OF_SHOP, currency: 'USD' },
      { ...offer, via: 1 },
    ])
    expect((await findLinks(under, CHANNEL)).toSorted()).toEqual([
      filled('pub-1', 'M1'),
      'https://shop.example/1',
    ])
  })

  test('merchant - with a name of its own in the network - the link has that one', async () => {
    const under = await openWithAccounts()
    await put(under, [{ gtin: 1, network: 1, merchant: 1, via: PAGE_OF_SHOP }])
    await under.store.write((database) =>
      database
        .insertInto('network_merchants')
        .values({ network_id: 1, merchant_id: 1, reference: '47 11' })
        .execute(),
    )
    expect(await findLinks(under, CHANNEL)).toEqual([filled('pub-1', '47%2011')])
  })
})
