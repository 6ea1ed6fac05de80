import { expect, test } from 'vitest'
import type { Offer } from '../../src/catalog/contract.ts'
import { parseBoxOptions } from '../../src/widgets/options.ts'
import type { BoxView } from '../../src/widgets/box.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, makeProduct } from '../helpers/products.ts'
import { VIEW_CONTEXT, toBoxView } from '../helpers/shown-views.ts'

function view(offers: readonly Offer[]): BoxView | undefined {
  const options = parseBoxOptions(new URLSearchParams(), { locale: 'en', currency: null }, 'fragment')
  return toBoxView({ product: makeProduct({ offers }), asOfMs: NOON_MS }, options, VIEW_CONTEXT)
}

test('no shop in stock - the order is that of the prices', () => {
  const offers = ['a', 'b'].map((merchant) =>
    makeParsedOffer({ merchant, price: '1', availability: 'out_of_stock' }),
  )
  expect(view(offers)?.notices.order).toEqual(['Lowest price first'])
})

test.each(['out_of_stock', 'discontinued'])('%s - no former price and no reduction', (availability) => {
  const offer = makeParsedOffer({ merchant: 'a', price: '7.5', oldPrice: '10', availability })
  const price = { oldPrice: null, discount: null, exact: { oldAmount: null, discountPercent: 0 } }
  expect(view([offer])?.offers).toMatchObject([{ availability: { kind: 'out' }, price }])
})
