import { describe, expect, test } from 'vitest'
import { fetchChannelView } from '../../../src/catalog-service/store/channel-view.ts'
import { fetchProductPage, findVisibleGtins } from '../../../src/catalog-service/store/products.ts'
import { PAGE_OF_SHOP } from '../../../src/catalog-service/store/schema.ts'
import { countStrands } from '../../../src/catalog-service/store/visible-gtins.ts'
import { openSqliteTestStore } from '../harness.ts'
import { CHANNEL, type Offer, putAccounts, putOffers, toGtin } from './offers-harness.ts'

type SqliteUnderTest = Awaited<ReturnType<typeof openSqliteTestStore>>

async function openWithAccounts(): Promise<SqliteUnderTest> {
  const under = await openSqliteTestStore()
  await under.store.write(putAccounts)
  return under
}

async function put({ store }: SqliteUnderTest, offers: readonly Offer[]): Promise<void> {
  await store.write((database) => putOffers(database, offers))
}

function refuse(): never {
  throw new Error('nothing is to be read')
}

describe('pages of a file, by what is read for them', () => {
  test('sparse channel - three of 5,000 products - are found without reading the others', async () => {
    const under = await openWithAccounts()
    const many = Array.from({ length: 5_000 }, (_, index) => index + 1)
    await under.store.write(async (transaction) => {
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
    await put(
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
