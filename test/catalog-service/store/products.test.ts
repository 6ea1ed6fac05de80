import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ProductPage } from '../../../src/catalog-service/store/catalog-store.ts'
import { type StoreUnderTest, fetchProducts, openTestStore } from '../harness.ts'
import {
  CHANNEL,
  NO_NETWORK_CHANNEL,
  OTHER_CHANNEL,
  type OfferSpec,
  insertAccounts,
  replaceOffers,
  toGtin,
} from './offers-fixture.ts'
import { toRunCount } from '../../helpers/property-runs.ts'

async function openWithAccounts(): Promise<StoreUnderTest> {
  const fixture = await openTestStore()
  await fixture.store.write(insertAccounts)
  return fixture
}

async function replaceStoreOffers({ store }: StoreUnderTest, offers: readonly OfferSpec[]): Promise<void> {
  await store.write((database) => replaceOffers(database, offers))
}

/** A simple reference implementation of the visibility rule for the first channel. */
function isVisible({ network, merchant, networkChannel }: OfferSpec): boolean {
  const isApproved = merchant <= 2
  const hasLink = networkChannel === network || (networkChannel === NO_NETWORK_CHANNEL && network === 1)
  return isApproved && hasLink
}

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
  networkChannel: fc.constantFrom(NO_NETWORK_CHANNEL, 1, 2, 11, 12),
})

describe('pages of any catalog', () => {
  test('walk - any offers, any limit - every visible product exactly once, by GTIN', async () => {
    const fixture = await openWithAccounts()
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyOffer, { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        async (offers, limit) => {
          // A network channel belongs to one network.
          const consistentOffers = offers.filter(
            ({ network, networkChannel }) =>
              networkChannel === NO_NETWORK_CHANNEL || networkChannel % 10 === network,
          )
          await replaceStoreOffers(fixture, consistentOffers)
          const expected = [
            ...new Set(consistentOffers.filter(isVisible).map(({ gtin }) => toGtin(gtin))),
          ].sort()
          expect(await walk(fixture, limit)).toEqual(expected)
        },
      ),
      { numRuns: toRunCount(60) },
    )
  })
})

async function findLinks(fixture: StoreUnderTest, channelId: string): Promise<string[]> {
  const items = await fetchProducts(fixture, channelId)
  return items.flatMap(({ offers }) => offers.map((offer) => offer.affiliate_url))
}
const filled = (publisher: string, merchant: string): string =>
  `https://net.example/c?m=${merchant}&p=${publisher}&u=https%3A%2F%2Fshop.example%2F1`

describe('links', () => {
  test('shop with a page, and tracking links for one channel - tracking links there, the template elsewhere', async () => {
    const fixture = await openWithAccounts()
    const offer = { gtin: 1, network: 1, merchant: 1 }
    await replaceStoreOffers(fixture, [
      { ...offer, networkChannel: NO_NETWORK_CHANNEL },
      { ...offer, networkChannel: 1 },
    ])
    expect(await findLinks(fixture, CHANNEL)).toEqual(['https://shop.example/1'])
    expect(await findLinks(fixture, OTHER_CHANNEL)).toEqual([filled('pub-11', 'M1')])
  })

  test('shop with tracking links in one currency only - the template for the other currency', async () => {
    const fixture = await openWithAccounts()
    const offer = { gtin: 1, network: 1, merchant: 1 }
    await replaceStoreOffers(fixture, [
      { ...offer, networkChannel: NO_NETWORK_CHANNEL, currency: 'USD' },
      { ...offer, networkChannel: 1 },
    ])
    expect((await findLinks(fixture, CHANNEL)).toSorted()).toEqual([
      filled('pub-1', 'M1'),
      'https://shop.example/1',
    ])
  })

  test('merchant - with a reference in the network - the link has the reference', async () => {
    const fixture = await openWithAccounts()
    await replaceStoreOffers(fixture, [
      { gtin: 1, network: 1, merchant: 1, networkChannel: NO_NETWORK_CHANNEL },
    ])
    await fixture.store.write((database) =>
      database
        .insertInto('network_merchants')
        .values({ network_id: 1, merchant_id: 1, reference: '47 11' })
        .execute(),
    )
    expect(await findLinks(fixture, CHANNEL)).toEqual([filled('pub-1', '47%2011')])
  })
})
