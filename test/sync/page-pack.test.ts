import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { packPage, unpackPage } from '../../src/sync/page-pack.ts'
import type { ReadPage } from '../../src/sync/page-source.ts'
import { toPageProduct } from '../../src/storage/rows.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'

/** Products without and with a brand, with any number of deals; an offer of the same price is none. */
const products = fc.array(
  fc.record({
    brand: fc.constantFrom(null, 'Brand', 'Crème'),
    oldPrices: fc.array(fc.constantFrom('99.00', '120.50', null), { maxLength: 3 }),
    priceDrops: fc.nat(2),
  }),
  { maxLength: 6 },
)

const page: fc.Arbitrary<ReadPage> = fc
  .record({ products, hasDeals: fc.boolean(), nextCursor: fc.constantFrom(null, 'next') })
  .map(({ products: wanted, hasDeals, nextCursor }) => ({
    products: wanted.map(({ brand, oldPrices, priceDrops }, index) => {
      const offers = oldPrices.map((oldPrice, at) => makeParsedOffer({ oldPrice, merchant: `Shop ${at}` }))
      const product = makeProduct({ gtin: toGtin(index), title: `Lamp ${index}`, brand, offers })
      const drops = { price: priceDrops }
      return toPageProduct(priceDrops === 0 ? product : { ...product, drops }, { hasDeals })
    }),
    nextCursor,
    drops: { price: wanted.length },
    droppedGtins: { price: [toGtin(0)] },
  }))

test('page - packed and cloned as between threads - comes out as it was', () => {
  fc.assert(
    fc.property(page, (read) => {
      // Without a product there are no deals to be missed.
      expect(unpackPage(structuredClone(packPage(read)))).toEqual(read)
    }),
  )
})
