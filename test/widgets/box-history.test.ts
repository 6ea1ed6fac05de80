import { describe, expect, test } from 'vitest'
import type { Offer } from '../../src/catalog/contract.ts'
import { type PriceSeries, toDay } from '../../src/offers/price-history.ts'
import { parseBoxOptions } from '../../src/widgets/options.ts'
import { createRenderer } from '../../src/widgets/render.ts'
import type { BoxView } from '../../src/widgets/box.ts'
import { VIEW_CONTEXT, toBoxHistory, toBoxView } from '../helpers/shown-views.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, makeProduct } from '../helpers/products.ts'

const renderer = createRenderer()

const TODAY = toDay(NOON_MS)

/** Observed prices of a merchant on consecutive days until yesterday. */
const makeSeries = (merchantKey: string, price: number, count = 30, currency = 'EUR'): PriceSeries => ({
  merchantKey,
  currency,
  days: Array.from({ length: count }, (_, index) => ({
    day: TODAY - count + index,
    low: price * 10_000,
    last: price * 10_000,
    isImported: false,
  })),
})

const makePricedOffer = (merchant: string, price: string, over: Partial<Offer> = {}): Offer =>
  makeParsedOffer({ merchant, price, ...over })

function view(offers: readonly Offer[], query: string, series: readonly PriceSeries[], ageMs = 0): BoxView {
  const options = parseBoxOptions(new URLSearchParams(query), { locale: 'en', currency: null }, 'fragment')
  const data = { product: makeProduct({ offers }), asOfMs: NOON_MS - ageMs }
  const history = toBoxHistory({ ...data, series }, options, VIEW_CONTEXT)
  const found = toBoxView({ ...data, history }, options, VIEW_CONTEXT)
  if (found === undefined) throw new Error('the box is hidden')
  return found
}

describe('observed prices of a box', () => {
  const offers = [makePricedOffer('Kopje', '20'), makePricedOffer('Brava', '30')]
  const read = (query: string, series: readonly PriceSeries[], over: readonly Offer[] = offers): string =>
    view(over, `history=note&${query}`, series)
      .history?.sentence.map(({ text }) => text.replaceAll('\u00A0', ' '))
      .join('') ?? 'nothing'

  test('no option - nothing, although the series are there', () => {
    expect(view(offers, '', [makeSeries('kopje', 15)]).history).toBeNull()
  })

  test('29 stored days and the present price - is the thirtieth day', () => {
    expect(read('', [makeSeries('kopje', 15, 28)])).toBe('nothing')
    expect(read('', [makeSeries('kopje', 15, 29)])).toBe(
      'Lowest price in 30 observed days: €15.00 on November 20',
    )
  })

  test('present price - is newer than the stored ones, and can be the lowest', () => {
    expect(read('', [makeSeries('kopje', 25)])).toBe(
      'Lowest price in 31 observed days: €20.00 on November 21',
    )
  })

  test('present price as low as an older one - the last day is said', () => {
    expect(
      read('', [makeSeries('kopje', 20), makeSeries('kopje', 15, 1, 'USD'), makeSeries('velta', 40, 31)]),
    ).toContain('€20.00 on November 21')
  })

  test('price that is too old to be shown - does not count as observed', () => {
    const { history } = view(offers, 'history=note', [makeSeries('kopje', 15, 29)], 3_600_001)
    expect(history).toBeNull()
  })

  test('price with a time of its own - counts on the day of the response', () => {
    const checked = [makePricedOffer('Kopje', '14', { checkedAtMs: NOON_MS - 3_599_000 })]
    expect(read('', [makeSeries('kopje', 15)], checked)).toContain('€14.00 on November 21')
  })

  test.each(['', 'layout=inline', 'stock=in'])(
    '%j, cheaper offer that is sold out - counts as observed',
    (query) => {
      const soldOut = makePricedOffer('Velta', '10', { availability: 'out_of_stock' })
      expect(read(query, [makeSeries('kopje', 25)], [...offers, soldOut])).toContain('€10.00 on November 21')
    },
  )

  test('several merchants - the lowest price of any, also of one that left', () => {
    const series = [makeSeries('kopje', 25), makeSeries('gone', 11), makeSeries('brava', 12, 40)]
    expect(read('', series)).toBe('Lowest price in 41 observed days: €11.00 on November 20')
  })

  test('merchant and exclude - only the selected merchants', () => {
    const series = [makeSeries('kopje', 25), makeSeries('gone', 11), makeSeries('brava', 12, 40)]
    expect(read('merchant=Kopje', series)).toBe('Lowest price in 31 observed days: €20.00 on November 21')
    expect(read('exclude=Gone', series)).toBe('Lowest price in 41 observed days: €12.00 on November 20')
  })

  test('other currency - is never mixed', () => {
    const series = [makeSeries('kopje', 25), makeSeries('kopje', 5, 60, 'GBP')]
    expect(read('', series)).toBe('Lowest price in 31 observed days: €20.00 on November 21')
    const inPounds = [makePricedOffer('Kopje', '20', { currency: 'GBP' })]
    expect(read('currency=GBP', series, inPounds)).toContain('£5.00 on November 20')
  })

  test('price that is too large to be exact - only the stored prices count', () => {
    const huge = [makePricedOffer('Kopje', '900719925474.1')]
    expect(read('', [makeSeries('kopje', 25, 31)], huge)).toContain('in 31 observed days: €25.00')
  })

  test('layout=inline - the sentence stands in parentheses after the link, and the chart in a line', () => {
    const html = renderer.renderWidget(view(offers, 'layout=inline&history=chart', [makeSeries('kopje', 15)]))
    expect(html).toMatch(
      /<\/a> <small>\(Lowest price in <bdi>31<\/bdi> observed days: <bdi translate="no">€15.00<\/bdi> on <bdi>November\u00A020<\/bdi>\)<\/small> <span class="vitrine-spark" role="img" aria-label="[^"]+"><svg [^>]+>.*<\/svg><\/span><\/span>$/,
    )
    expect(html).not.toContain('<div')
  })
})
