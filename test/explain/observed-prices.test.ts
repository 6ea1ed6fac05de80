import { describe, expect, test } from 'vitest'
import type { Offer } from '../../src/catalog/contract.ts'
import { DAY_MS, HOUR_MS } from '../../src/clock.ts'
import { createShopBook } from '../../src/offers/shop-book.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import {
  type ObservedPricesView,
  describeObservedDays,
  readObservedPrices,
  toObservedPricesView,
} from '../../src/explain/observed-prices.ts'
import { startHarness } from '../app/app-client.ts'
import { addCleanup } from '../helpers/cleanup.ts'
import { makeCopyFile } from '../helpers/copy-file.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { OBSERVED_PRICES } from '../helpers/studio-view.ts'
import { CHANNEL, walkAll } from '../storage/conformance/subject.ts'

const GTIN = toGtin(1)
const SHOPS = createShopBook([
  { merchant: 'Zeta DE', aliases: ['zeta'], shop: { name: 'Zeta & Co', logoPath: null, terms: null } },
])

/** Offers of the shops by day; `null`: no walk. The last day is that of the harness. */
type Days = readonly (readonly Partial<Offer>[] | null)[]

const repeat = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)

/** Walk the days with a real store, and return the view at `laterMs` after the last walk. */
async function view(days: Days, { keptDays = 400, laterMs = 0 } = {}): Promise<ObservedPricesView> {
  const file = await makeCopyFile()
  addCleanup(() => file.remove())
  const clock = createFakeClock(NOON_MS - (days.length - 1) * DAY_MS)
  const history = { keptDays, priceMaxAgeSeconds: 86_400 }
  const store = await openStoredCopy({
    database: { kind: 'sqlite', path: file.path },
    catalog: 'a catalog',
    clock,
    history,
  })
  addCleanup(() => store.close())
  for (const [index, offers] of days.entries()) {
    if (index > 0) clock.step(DAY_MS)
    if (offers === null) continue
    const products = [
      makeProduct({ gtin: GTIN, offers: offers.map((offer) => makeParsedOffer(offer)) }),
      makeProduct({ gtin: toGtin(2) }),
    ]
    await walkAll(store, products, clock.nowMs())
  }
  clock.step(laterMs)
  const { context } = await startHarness({ settings: { VITRINE_HISTORY_DAYS: String(keptDays) } })
  const entry = await store.findProduct(CHANNEL, GTIN)
  const product = { channelId: CHANNEL, gtin: GTIN, entry }
  return toObservedPricesView(await readObservedPrices({ ...context, store, clock }, product), SHOPS)
}

const at = (price: string, merchant = 'Kopje', currency = 'EUR'): Partial<Offer> => ({
  merchant,
  currency,
  price,
  oldPrice: null,
})

describe('rows', () => {
  test('fallen price - lowest, highest and last price with their days, reference price and fall', async () => {
    const { rows, currencies } = await view([...repeat(36, [at('59.90')]), ...repeat(4, [at('49.90')])])
    expect(rows).toEqual([
      {
        shop: 'Kopje',
        merchant: 'Kopje',
        currency: 'EUR',
        isSold: true,
        isNameShared: false,
        days: '40',
        imported: null,
        lowest: '€49.90',
        lowestDay: 'Nov 21, 2026',
        highest: '€59.90',
        last: '€49.90',
        lastDay: 'Nov 21, 2026',
        reference: '€59.90',
        reason: 'lowest in the 30 days before Nov 18, 2026',
        fall: '−17%',
      },
    ])
    expect(currencies).toEqual([
      {
        note: 'Prices in EUR were observed on 40 days. The lowest was €49.90 on Nov 21, 2026.',
        chart: expect.objectContaining({
          high: '€59.90',
          low: '€49.90',
          from: 'Oct\u00A013',
          label:
            'Lowest price of each day from October\u00A013 to November\u00A021: between €49.90 and €59.90',
        }) as unknown,
      },
    ])
  })

  test.each([
    ['risen', [...repeat(30, [at('10')]), [at('12')]], '€10.00', 'none: the price is higher'],
    [
      'as before',
      [...repeat(30, [at('10')]), [at('12')], [at('10')]],
      '€10.00',
      'none: the price is the same',
    ],
    [
      'C-330/23: 80, 100, 90',
      [...repeat(20, [at('80')]), ...repeat(10, [at('100')]), [at('90')]],
      '€80.00',
      'none: the price is higher',
    ],
  ])('%s - the price has not fallen', async (_case, days, reference, fall) => {
    expect((await view(days)).rows).toMatchObject([{ reference, fall }])
  })

  test('too few days before the price - says how many', async () => {
    const { rows } = await view([...repeat(12, [at('59.90')]), [at('49.90')]])
    expect(rows).toMatchObject([
      { reference: null, fall: null, reason: '12 of the 30 days before Nov 21, 2026 observed, 25 needed' },
    ])
  })

  test('price that never changed - says since when, and that it was the lowest on all days', async () => {
    const { rows, currencies } = await view(repeat(40, [at('10')]))
    expect(rows).toMatchObject([
      { reference: null, reason: 'unchanged since the first observed day, Oct 13, 2026' },
    ])
    expect(currencies[0]?.note).toBe(
      'Prices in EUR were observed on 40 days. The lowest was €10.00 on all of them.',
    )
  })

  test('shop that left - stays with its last price, after the shops that sell it', async () => {
    const { rows } = await view([...repeat(3, [at('10', 'Alba'), at('20')]), ...repeat(2, [at('21')])])
    expect(rows).toMatchObject([
      { shop: 'Kopje', isSold: true, days: '5' },
      {
        shop: 'alba',
        isSold: false,
        days: '3',
        last: '€10.00',
        lastDay: 'Nov 19, 2026',
        reference: null,
        reason: 'no present price',
      },
    ])
  })

  test('currencies and merchants - are never mixed, also those of one shop of the book', async () => {
    const { rows, currencies } = await view(
      repeat(2, [at('10', 'Zeta DE'), at('11', 'ZETA'), at('12', 'ZETA', 'CHF')]),
    )
    expect(
      rows.map(({ shop, merchant, currency, isNameShared }) => [shop, merchant, currency, isNameShared]),
    ).toEqual([
      ['Zeta & Co', 'ZETA', 'CHF', false],
      ['Zeta & Co', 'ZETA', 'EUR', true],
      ['Zeta & Co', 'Zeta DE', 'EUR', true],
    ])
    expect(currencies).toHaveLength(2)
  })

  test('day without a walk - is not observed', async () => {
    expect((await view([...repeat(3, [at('10')]), null, [at('10')]])).rows).toMatchObject([{ days: '4' }])
  })

  test('price that has become too old - is no present price', async () => {
    const { rows } = await view(repeat(30, [at('10')]), { laterMs: DAY_MS + HOUR_MS })
    expect(rows).toMatchObject([{ isSold: false, reason: 'no present price' }])
  })

  test('imported days - are marked', () => {
    const { rows, currencies } = toObservedPricesView(OBSERVED_PRICES, SHOPS)
    expect(rows).toMatchObject([{ days: '40', imported: '10 imported' }])
    expect(currencies[0]?.note).toContain('Prices in EUR were observed on 40 days (10 imported).')
  })
})

describe('notes', () => {
  test.each([
    ['29 days', repeat(29, [at('10')]), 'on Nov 22, 2026 at the earliest'],
    [
      'one day',
      repeat(1, [at('10')]),
      'Prices in EUR were observed on 1 day. With the option history, a box says the lowest price after 30 observed days, on Dec 20, 2026 at the earliest.',
    ],
    ['28 days and none today', [...repeat(28, [at('10')]), null], 'on Nov 22, 2026 at the earliest'],
  ])('%s - says from when on a box has its note', async (_case, days, expected) => {
    const { currencies } = await view(days)
    expect(currencies.map(({ note }) => note)).toEqual([expect.stringContaining(expected)])
  })

  test('fewer kept days than a note needs - says so', async () => {
    const { currencies } = await view(repeat(25, [at('10')]), { keptDays: 20 })
    expect(currencies.map(({ note }) => note)).toEqual([
      'Prices in EUR were observed on 20 days. A note needs 30 days, and only 20 are kept (VITRINE_HISTORY_DAYS).',
    ])
  })

  test.each([
    ['one day', repeat(1, [at('10')])],
    ['a constant price', repeat(40, [at('10')])],
  ])('%s - has no chart', async (_case, days) => {
    expect((await view(days)).currencies).toMatchObject([{ chart: null }])
  })

  test('several currencies - that of most shops is first', async () => {
    const { currencies } = await view([[at('10', 'Alba', 'CHF'), at('10', 'Alba', 'EUR'), at('9')]])
    expect(currencies.map(({ note }) => note.slice(0, 13))).toEqual(['Prices in EUR', 'Prices in CHF'])
  })

  test.each([
    ['never sold', repeat(3, []), 400, 'No price of this product has been observed yet. '],
    ['no history', repeat(2, [at('10')]), 0, 'Prices are not recorded, because VITRINE_HISTORY_DAYS is 0. '],
  ])('%s - says why there are no prices', async (_case, days, keptDays, expected) => {
    expect(await view(days, { keptDays })).toEqual({
      absence: expect.stringContaining(expected) as string,
      currencies: [],
      rows: [],
    })
  })

  test('price of a look-up that is not yet stored - counts', async () => {
    const { context, clock } = await startHarness()
    const entry = { product: makeProduct({ offers: [makeParsedOffer(at('10'))] }), asOfMs: clock.nowMs() }
    const product = { channelId: CHANNEL, gtin: GTIN, entry }
    const { rows } = toObservedPricesView(await readObservedPrices(context, product), SHOPS)
    expect(rows).toMatchObject([{ shop: 'Kopje', days: '1', last: '€10.00', isSold: true }])
  })
})

test.each([
  [{ all: 0, imported: 0 }, 'observed on 0 days'],
  [{ all: 1, imported: 1 }, 'observed on 1 day (1 imported)'],
  [{ all: 118, imported: 30 }, 'observed on 118 days (30 imported)'],
])('observed days %j - %s', (counts, text) => {
  expect(describeObservedDays(counts)).toBe(text)
})
