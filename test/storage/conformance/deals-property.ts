import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Offer, Product } from '../../../src/catalog/contract.ts'
import type { DealQuery } from '../../../src/storage/store.ts'
import { NOON_MS } from '../../helpers/harness.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../../helpers/products.ts'
import { type Subject, makeQuery, walkAll } from './subject.ts'
import { toRunCount } from '../../helpers/property-runs.ts'

/** Prices with few values, so that equal ratios, prices and savings are common. */
const price = fc
  .tuple(fc.integer({ min: 1, max: 12 }), fc.constantFrom('', '.5', '.50', '.3333'))
  .map(([whole, decimals]) => `${whole}${decimals}`)

const offer: fc.Arbitrary<Offer> = fc
  .record({
    merchant: fc.constantFrom('Kopje', 'KOPJE', 'Zaal', 'Ärger', 'alpha'),
    network: fc.constantFrom('a', 'B', 'b', 'Ämazon', 'ÅWIN', 'İstanbul'),
    price,
    oldPrice: fc.option(price),
    currency: fc.constantFrom('EUR', 'EUR', 'EUR', 'USD'),
    availability: fc.constantFrom('in_stock', 'in_stock', 'out_of_stock', ''),
    link: fc.constantFrom('1', '2'),
    // The clock of the copies is at noon.
    saleEndsAtMs: fc.constantFrom(null, null, null, NOON_MS, NOON_MS + 1),
  })
  .map(({ link, ...over }) => makeParsedOffer({ ...over, affiliateUrl: `https://links.example/${link}` }))

/** Small catalogs with many equal values. */
export const dealCatalog: fc.Arbitrary<Product[]> = fc
  .array(
    fc.record({
      title: fc.constantFrom('Lamp', 'Crème 100%', 'a_b Lamp', 'Kettle'),
      brand: fc.constantFrom(null, 'Lumen', 'LUMEN', 'Flambé'),
      offers: fc.array(offer, { maxLength: 6 }),
    }),
    { maxLength: 8 },
  )
  .map((products) => products.map((over, index) => makeProduct({ ...over, gtin: toGtin(index) })))

/** Queries for these catalogs. */
export const dealQuery: fc.Arbitrary<DealQuery> = fc
  .record({
    isInStockOnly: fc.boolean(),
    merchants: fc.constantFrom([], [], ['kopje'], ['ärger', 'ZAAL']),
    excluded: fc.constantFrom([], [], ['Kopje'], ['alpha', 'nobody']),
    networks: fc.constantFrom(null, null, ['a'], ['b', 'c'], ['ämazon', 'i\u0307stanbul'], ['åwin']),
    minDiscountPercent: fc.constantFrom(1, 1, 20, 50),
    maxPrice: fc.constantFrom(null, null, '6', '6.3333'),
    brand: fc.constantFrom(null, null, 'lumen'),
    searchText: fc.constantFrom(null, null, 'LAMP', 'lam', 'amp', '0%', '_', 'creme 1', '1%', 'a_b', '-lamp'),
    sort: fc.constantFrom('discount', 'saving', 'price'),
    limit: fc.constantFrom(2, 61),
    offset: fc.constantFrom(0, 0, 2),
  })
  .map((over) => makeQuery(over as Partial<DealQuery>))

/** Convert a price to an integer number of ten-thousandths. */
function toSteps(text: string): bigint {
  const [whole = '', decimals = ''] = text.split('.')
  return BigInt(whole) * 10_000n + BigInt(decimals.padEnd(4, '0'))
}

const sign = (difference: bigint): number => (difference < 0n ? -1 : difference > 0n ? 1 : 0)
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const fold = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

const isInStock = (one: Offer): boolean => one.availability === 'in_stock'
const isReduced = (one: Offer): boolean => toSteps(one.oldPrice ?? '0') > toSteps(one.price)
const isEnded = (one: Offer): boolean => one.saleEndsAtMs === NOON_MS
const toLower = (list: readonly string[]): string[] => list.map((name) => name.toLowerCase())

/** Pick each shop's offer: in stock first, then the cheapest, at equal price the one on sale. */
function pickShops(offers: readonly Offer[]): Offer[] {
  const ranked = offers.toSorted(
    (a, b) =>
      Number(isInStock(b)) - Number(isInStock(a)) ||
      sign(toSteps(a.price) - toSteps(b.price)) ||
      Number(isReduced(b)) - Number(isReduced(a)) ||
      compareText(a.network, b.network) ||
      compareText(a.affiliateUrl, b.affiliateUrl) ||
      sign(toSteps(a.oldPrice ?? '0') - toSteps(b.oldPrice ?? '0')) ||
      compareText(describeOffer(a), describeOffer(b)) ||
      Number(isEnded(a)) - Number(isEnded(b)),
  )
  const shops = new Map<string, Offer>()
  for (const one of ranked) {
    const shop = one.merchant.toLowerCase()
    if (!shops.has(shop)) shops.set(shop, one)
  }
  return [...shops.values()]
}

type Card = Readonly<{ gtin: string; price: bigint; old: bigint; offer: Offer }>

function compareRatio(a: Card, b: Card): number {
  return sign(a.price * b.old - b.price * a.old) || sign(a.price - b.price)
}

function findCard(product: Product, query: DealQuery): Card | undefined {
  const cards = pickShops(product.offers.filter((one) => one.currency === query.currency))
    .flatMap((one): Card[] =>
      one.oldPrice === null
        ? []
        : [{ gtin: product.gtin, price: toSteps(one.price), old: toSteps(one.oldPrice), offer: one }],
    )
    .filter((card) => card.old > card.price && !isEnded(card.offer))
    .filter((card) => query.networks?.includes(card.offer.network.toLowerCase()) ?? true)
    .filter((card) => {
      const percent = Math.round(Number(((card.old - card.price) * 1_000_000n) / card.old) / 10_000)
      const shop = card.offer.merchant.toLowerCase()
      return (
        percent >= query.minDiscountPercent &&
        (!query.isInStockOnly || isInStock(card.offer)) &&
        (query.merchants.length === 0 || toLower(query.merchants).includes(shop)) &&
        !toLower(query.excluded).includes(shop) &&
        (query.maxPrice === null || card.price <= toSteps(query.maxPrice))
      )
    })
  return cards.toSorted((a, b) => compareRatio(a, b) || compareText(a.offer.merchant, b.offer.merchant))[0]
}

const ORDERS = {
  discount: compareRatio,
  saving: (a: Card, b: Card) => sign(b.old - b.price - (a.old - a.price)) || sign(a.price - b.price),
  price: (a: Card, b: Card) => sign(a.price - b.price) || compareRatio(a, b),
  newest: compareRatio,
  // Without a history, no price has fallen.
  drop: compareRatio,
}

const split = (text: string): string[] => fold(text).match(/[\p{L}\p{N}]+/gu) ?? []
const toText = (product: Product): string => fold(`${product.title} ${product.brand ?? ''}`)

const filterByText = (products: readonly Product[], words: readonly string[]): readonly Product[] =>
  products.filter((product) => words.every((word) => toText(product).includes(word)))

/**
 * Filter products by words that start with the typed words and contain their punctuation. If no product matches,
 * filter by the text anywhere.
 */
function filterByWords(products: readonly Product[], text: string | null): readonly Product[] {
  if (text === null) return products
  const words = split(text)
  const found = products.filter((product) =>
    words.every((word) => split(toText(product)).some((candidate) => candidate.startsWith(word))),
  )
  const typed = fold(text).split(' ')
  return words.length > 0 && found.length > 0
    ? filterByText(
        found,
        typed.filter((word) => split(word)[0] !== word),
      )
    : filterByText(products, typed)
}

/** Compute a grid over plain arrays: the GTIN and offer of each card. */
export function computeGrid(products: readonly Product[], query: DealQuery): string[] {
  return filterByWords(products, query.searchText)
    .filter((one) => query.brand === null || one.brand?.toLowerCase() === query.brand.toLowerCase())
    .flatMap((one) => findCard(one, query) ?? [])
    .toSorted((a, b) => ORDERS[query.sort](a, b) || compareText(a.gtin, b.gtin))
    .slice(query.offset, query.offset + query.limit)
    .map((card) => `${card.gtin} ${describeOffer(card.offer)}`)
}

/** Describe an offer in the format of `computeGrid`. */
export function describeOffer(one: Offer | undefined): string {
  return one === undefined
    ? 'nothing'
    : JSON.stringify([
        one.availability,
        one.merchant,
        one.price,
        one.oldPrice ?? '0',
        one.network,
        one.affiliateUrl,
      ])
}

/** Compare the database's grids with a reference computation. */
export function describeDealsProperty(subject: Subject): void {
  describe(`${subject.name}: deals over random catalogs`, () => {
    test('grid - any catalog and any query - equals the reference computation', async () => {
      await fc.assert(
        fc.asyncProperty(
          dealCatalog,
          fc.array(dealQuery, { minLength: 1, maxLength: 8 }),
          async (products, queries) => {
            const fixture = await subject.start()
            try {
              const copy = await fixture.open('https://one.example')
              await walkAll(copy, products, 100)
              for (const query of queries) {
                const deals = await copy.findDeals(query)
                const found = deals.map((deal) => `${deal.gtin} ${describeOffer(deal.offer)}`)
                expect(found).toEqual(computeGrid(products, query))
              }
            } finally {
              await fixture.dispose()
            }
          },
        ),
        { numRuns: toRunCount(60) },
      )
    })
  })
}
