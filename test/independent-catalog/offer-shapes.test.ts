import { describe, expect, test } from 'vitest'
import { setUpOnce } from '../helpers/cleanup.ts'
import { toGtin } from '../helpers/products.ts'
import { CHANNEL, type Entry, makeOffer, makeProduct } from './catalog.ts'
import { type Session, type Shown, startSession } from './observe.ts'

/** What the row of an offer shows after the name of its shop, or why the offer is left out. */
type Expected =
  string | Readonly<{ leftOut: 'price' | 'currency' | 'merchant' | 'link' | 'shape' | 'filter' }>

/** `{link}` stands for the plain link of the shop. */
type Case = readonly [name: string, change: Entry, expected: Expected]

const PLAIN = '€49.90 was €99.80 −50% {link}'
const NO_SALE = '€49.90 {link}'
const leftOut = (reason: Exclude<Expected, string>['leftOut']): Expected => ({ leftOut: reason })

/** Section 2, Offer: "decimal number written as a string, e.g. two decimals". A price that could be read in two ways is not guessed. */
const PRICES: readonly Case[] = [
  ['price without decimals', { price: '49' }, '€49.00 was €99.80 −51% {link}'],
  ['price with one decimal', { price: '49.9' }, PLAIN],
  ['price with four decimals', { price: '49.9000' }, PLAIN],
  ['price with leading zeros', { price: '0049.90' }, PLAIN],
  ['price as a number', { price: 49.9 }, PLAIN],
  ['price as an integer', { price: 49 }, '€49.00 was €99.80 −51% {link}'],
  ['price with an exponent', { price: '4.99e1' }, leftOut('price')],
  ['price with a comma', { price: '49,90' }, leftOut('price')],
  ['price with thousands', { price: '1,249.90' }, leftOut('price')],
  ['price with its currency', { price: '49.90 EUR' }, leftOut('price')],
  ['price of zero', { price: '0.00' }, leftOut('price')],
  ['negative price', { price: '-49.90' }, leftOut('price')],
  ['empty price', { price: '' }, leftOut('price')],
  ['price null', { price: null }, leftOut('shape')],
  ['no price', { price: undefined }, leftOut('shape')],
  ['price as an object', { price: { amount: '49.90' } }, leftOut('shape')],
  ['price as cents of a float', { price: 49.900000000000006 }, leftOut('price')],
]

/** "present only when the merchant gives a previous price", rule 1: "present and greater than `price`". */
const OLD_PRICES: readonly Case[] = [
  ['old price null', { old_price: null }, NO_SALE],
  ['no old price', { old_price: undefined }, NO_SALE],
  ['empty old price', { old_price: '' }, NO_SALE],
  ['old price of zero', { old_price: '0.00' }, NO_SALE],
  ['old price equal to the price', { old_price: '49.90' }, NO_SALE],
  ['old price below the price', { old_price: '9.90' }, NO_SALE],
  ['old price as a number', { old_price: 99.8 }, PLAIN],
  ['malformed old price', { old_price: '99,80' }, NO_SALE],
]

/** "currency code", rule 3: "Offers in different currencies can occur in one product". */
const CURRENCIES: readonly Case[] = [
  ['currency in lower case', { currency: 'eur' }, PLAIN],
  ['another currency', { currency: 'USD' }, leftOut('filter')],
  ['currency as a symbol', { currency: '€' }, leftOut('currency')],
  ['empty currency', { currency: '' }, leftOut('currency')],
  ['currency null', { currency: null }, leftOut('shape')],
  ['currency as an ISO number', { currency: 978 }, leftOut('shape')],
]

/** "Allowed values of `availability` other than `in_stock`: not shown", the same for `network`. */
const STATES: readonly Case[] = [
  ['unknown availability', { availability: 'ships in 3 days' }, PLAIN],
  ['availability in capitals', { availability: 'IN_STOCK' }, PLAIN],
  ['availability null', { availability: null }, PLAIN],
  ['no availability', { availability: undefined }, PLAIN],
  ['availability as a boolean', { availability: true }, PLAIN],
  ['unknown network', { network: 'Händlernetz / DE' }, PLAIN],
  ['network null', { network: null }, PLAIN],
  ['no network', { network: undefined }, PLAIN],
  ['network as a number', { network: 7 }, PLAIN],
]

/** "has `name` (string)"; "Fields of `merchant` beyond `name` … not shown". */
const MERCHANTS: readonly Case[] = [
  ['merchant with other fields', { merchant: { id: 7, name: 'Shop with fields', logo: null } }, PLAIN],
  ['merchant with spaces around its name', { merchant: { name: '  Shop with\n spaces ' } }, PLAIN],
  ['merchant with markup', { merchant: { name: '<b>Shop</b> & Söhne' } }, PLAIN],
  ['merchant without a name', { merchant: { name: '' } }, leftOut('merchant')],
  ['merchant null', { merchant: null }, leftOut('shape')],
  ['merchant as a string', { merchant: 'Shop as a string' }, leftOut('shape')],
]

/** Fields that the interface does not have, and fields that this server gives a meaning of its own. */
const OTHER_FIELDS: readonly Case[] = [
  ['unknown fields', { sku: 7, condition: 'new', rating: { value: 4.5 }, toString: null }, PLAIN],
  ['checked_at as a number', { checked_at: 1_795_000_000 }, PLAIN],
  ['checked_at without a zone', { checked_at: '2026-11-28T10:00:00' }, PLAIN],
  ['checked_at null', { checked_at: null, sale_ends_at: null }, PLAIN],
  ['sale_ends_at in words', { sale_ends_at: 'Sunday' }, PLAIN],
  ['shipping in another form', { shipping: 'free', shipping_cost: 4.99 }, PLAIN],
]

const CASES = [...PRICES, ...OLD_PRICES, ...CURRENCIES, ...STATES, ...MERCHANTS, ...OTHER_FIELDS]

const toShop = (index: number): string => `Shop ${index}`
const OFFERS = CASES.map(([, change], index) =>
  makeOffer(toShop(index), '49.90', { old_price: '99.80', ...change }),
)

const countLeftOut = (reason: string): number =>
  CASES.filter(([, , expected]) => typeof expected === 'object' && expected.leftOut === reason).length

const BOX = `/fragments/${CHANNEL}/where-to-buy/${toGtin(1)}?limit=50`

type Seen = Readonly<{ session: Session; cold: Shown; walk: string; copy: Shown }>

/** One product has all offers, so that one look-up and one page show every case. */
const getSeen = setUpOnce(async (): Promise<Seen> => {
  const session = await startSession({ products: [makeProduct(1, { offers: OFFERS })] })
  const cold = await session.show(BOX)
  const walk = await session.walk()
  await session.restart()
  return { session, cold, walk: walk.outcome, copy: await session.show(BOX) }
})

describe('offer of another catalog, in a look-up and from the stored copy', () => {
  test.each(CASES.map(([name, change, expected], index) => ({ name, change, expected, index })))(
    '$name',
    ({ change, expected, index }) => {
      const merchant = (change['merchant'] as { name?: string } | null | undefined)?.name
      const shop = (merchant ?? toShop(index)).trim().replace(/\s+/g, ' ')
      const link = `https://links.example/c?shop=${encodeURIComponent(toShop(index))}`
      const rows = typeof expected === 'string' ? [`${shop} ${expected.replace('{link}', link)}`] : []
      const find = ({ rows: all }: Shown): readonly string[] => all.filter((row) => row.endsWith(link))
      expect({ cold: find(getSeen().cold), copy: find(getSeen().copy) }).toEqual({ cold: rows, copy: rows })
    },
  )
})

test('offers of unusual shapes - one call for the box, none for the stored copy', () => {
  const { cold, copy } = getSeen()
  expect([cold.state, cold.calls, copy.state, copy.calls]).toEqual(['shown', 'channels look-up', 'shown', ''])
})

test('offers of unusual shapes - those in stock come first', () => {
  const { rows } = getSeen().cold
  const withoutStock = STATES.slice(0, 5).map(([, change]) => CASES.findIndex((one) => one[1] === change))
  const last = rows.slice(-withoutStock.length).map((row) => Number(/^Shop (\d+) /.exec(row)?.[1]))
  expect(last.toSorted((a, b) => a - b)).toEqual(withoutStock)
})

test('malformed offers - check counts them by kind, explain says that the rest is shown', async () => {
  const { session, walk } = getSeen()
  const counts = ['price', 'shape', 'currency', 'merchant'].map((kind) => `${countLeftOut(kind)} ${kind}`)
  expect(walk).toBe(`complete, ${counts.join(', ')}`)
  const { wrong, calls } = await session.check()
  expect([wrong, calls]).toEqual([
    [
      expect.stringMatching(
        `malformed: ${countLeftOut('price')} offers without a usable price, .* -> Correct the catalog`,
      ),
    ],
    'channels',
  ])
  const shown = CASES.filter(([, , expected]) => typeof expected === 'string').length
  expect(await session.explain(toGtin(1))).toEqual({
    says: `A box is shown: ${shown} offers.`,
    calls: 'look-up',
  })
  expect(session.catalog.complaints).toEqual([])
})
