import { describe, expect, test } from 'vitest'
import { createShopBook } from '../../src/offers/shop-book.ts'
import type { Offer, Product } from '../../src/catalog/contract.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { parseConfig } from '../../src/config/config.ts'
import type { ObservedPricesData } from '../../src/explain/observed-prices.ts'
import type { ExplainRules } from '../../src/explain/offers.ts'
import { type ExplanationView, explainBox } from '../../src/explain/widgets.ts'
import type { BoxInputs } from '../../src/explain/inputs.ts'
import { parseBoxOptions } from '../../src/widgets/options.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, makeProduct, toGtin } from '../helpers/products.ts'
import { CHANNEL, OBSERVED_PRICES, WALKED_COPY } from '../helpers/studio-view.ts'

const GTIN = toGtin(1)
const { config } = parseConfig({})
const DEFAULTS = { locale: 'en', currency: null }
const OPTIONS = parseBoxOptions(new URLSearchParams(), DEFAULTS, 'fragment')

function explain(
  over: Partial<BoxInputs>,
  shops = createShopBook([]),
  rulesOver: Partial<ExplainRules> = {},
): ExplanationView {
  const inputs: BoxInputs = {
    channelId: CHANNEL.id,
    gtin: GTIN,
    list: { asOfMs: NOON_MS, heldSinceMs: null, channels: [CHANNEL], gone: [] },
    state: WALKED_COPY,
    entry: undefined,
    malformed: undefined,
    isCopyComplete: false,
    catalog: { kind: 'skipped', reason: 'a test' },
    ...over,
  }
  const rules = {
    options: OPTIONS,
    defaults: DEFAULTS,
    ignoredParameters: [],
    config,
    shops,
    observedPrices: null,
    nowMs: NOON_MS,
    ...rulesOver,
  }
  return explainBox(inputs, rules)
}

const entryOfAge = (ageMs: number, product: Product | null): BoxInputs['entry'] => ({
  product,
  asOfMs: NOON_MS - ageMs,
})
const readEntry = ({ facts }: ExplanationView): string | undefined =>
  facts.find(({ label }) => label === 'Product in the copy')?.value

/** Observed only today. */
const OBSERVED_SERIES = {
  merchant: 'Kopje',
  merchantKey: 'kopje',
  currency: 'EUR',
  price: 499_000,
  days: [{ day: OBSERVED_PRICES.today, low: 499_000, last: 499_000, isImported: false }],
}

const ABSENT = { kind: 'not-found' } as const
const BETTER = {
  kind: 'product',
  product: makeProduct({ offers: [makeParsedOffer(), makeParsedOffer({ merchant: 'B' })] }),
} as const
const MALFORMED = { kind: 'product', product: makeProduct({ offers: [], drops: { price: 2 } }) } as const

const explainAtAge = (ageMs: number, catalog: BoxInputs['catalog']): string =>
  explain({ entry: entryOfAge(ageMs, makeProduct()), catalog }).summary

describe('malformed entry of the catalog', () => {
  const MISSING = { entry: undefined, malformed: 'title', isCopyComplete: true } as const

  test('catalog not called, or with the same entry - the reason says what it lacks', () => {
    const failed = { kind: 'failed', text: 'gave no usable response', remedy: null } as const
    for (const catalog of [{ kind: 'skipped', reason: 'a test' } as const, failed])
      expect(explain({ ...MISSING, catalog })).toMatchObject({
        isShown: false,
        summary: "Nothing is shown. The catalog's entry of this product is malformed: no title.",
        remedy: 'Correct this product in the catalog; then run "vitrine sync".',
      })
  })

  test('catalog has a correct entry or none now - that is the reason', () => {
    expect(explain({ ...MISSING, catalog: BETTER }).remedy).toContain('The catalog has this product now')
    expect(explain({ ...MISSING, catalog: ABSENT }).summary).toContain('(404)')
  })
})

describe('the source of a response', () => {
  test.each([
    ['fresh copy, catalog responds 404 - the copy', explainAtAge(MINUTE_MS, ABSENT), 'shown: 1 offer.'],
    ['stale copy - the copy', explainAtAge(10 * MINUTE_MS, BETTER), 'shown: 1 offer.'],
    [
      'copy for rescue, catalog responds - its response',
      explainAtAge(2 * HOUR_MS, BETTER),
      'shown: 2 offers.',
    ],
    [
      'copy for rescue, catalog responds 404 - hidden',
      explainAtAge(2 * HOUR_MS, ABSENT),
      'Nothing is shown.',
    ],
    ['copy for rescue, all malformed - the copy', explainAtAge(2 * HOUR_MS, MALFORMED), 'shown: 1 offer.'],
    [
      'copy too old, all malformed - the catalog response',
      explainAtAge(200 * HOUR_MS, MALFORMED),
      'The catalog sent 2',
    ],
    [
      'copy too old, catalog responds - its response',
      explainAtAge(200 * HOUR_MS, BETTER),
      'shown: 2 offers.',
    ],
  ])('%s', (_case, summary, expected) => {
    expect(summary).toContain(expected)
  })

  test('404 remembered, then expired - hidden, then the current catalog response', () => {
    const { notFoundSeconds } = config.freshness
    expect(explain({ entry: entryOfAge(0, null), catalog: BETTER })).toMatchObject({
      isShown: false,
      remedy: 'The catalog has this product now: run "vitrine sync".',
    })
    expect(explain({ entry: entryOfAge(notFoundSeconds * SECOND_MS, null), catalog: BETTER }).isShown).toBe(
      true,
    )
  })

  test('complete copy that lacks the product - hidden, although the catalog has it', () => {
    const { summary, isShown } = explain({ isCopyComplete: true, catalog: BETTER })
    expect([isShown, summary]).toEqual([false, expect.stringContaining('The stored copy lacks this product')])
  })

  test('prices that are too old - are reported for the product and for each offer', () => {
    const view = explain({ entry: entryOfAge(30 * HOUR_MS, makeProduct()) })
    expect(readEntry(view)).toContain('its prices are too old to show')
    expect(view.offers[0]?.outcome).toBe(
      'shown, without its price: the price was checked on Nov 20, 2026, 6:00 AM UTC and is older than 24 h. Run "vitrine sync", or raise VITRINE_PRICE_MAX_AGE_SECONDS',
    )
  })
})

const explainOffer = (over: Partial<Offer>, ageMs = 0): ExplanationView => {
  const product = makeProduct({ offers: [makeParsedOffer(over)] })
  return explain({ entry: entryOfAge(ageMs, product) })
}

const readPrices = (
  query: string,
  observedPrices: ObservedPricesData | null,
  offers = [makeParsedOffer()],
): string | undefined => {
  const options = parseBoxOptions(new URLSearchParams(query), DEFAULTS, 'fragment')
  const { facts } = explain({ entry: entryOfAge(0, makeProduct({ offers })) }, undefined, {
    options,
    observedPrices,
  })
  return facts.find(({ label }) => label === 'Observed prices')?.value
}

describe('observed prices', () => {
  test('enough days - the lowest price with its last day, and what was imported', () => {
    expect(readPrices('history=note', OBSERVED_PRICES)).toBe(
      'history=note, prices in EUR: observed on 40 days (10 imported). The lowest was €49.90 on Nov 21, 2026.',
    )
  })

  test('filters - only their shops count, in the currency of the box', () => {
    const series = OBSERVED_PRICES.series.concat(
      ['b', 'c'].map((merchant) => ({ ...OBSERVED_SERIES, merchant, merchantKey: merchant })),
      { ...OBSERVED_SERIES, currency: 'CHF' },
    )
    const data = { ...OBSERVED_PRICES, series }
    expect(
      readPrices('history=note&exclude=kopje&exclude=c', data, [makeParsedOffer({ merchant: 'B' })]),
    ).toBe(
      'history=note, prices in EUR: observed on 1 day. With the option history, a box says the lowest price after 30 observed days, on Dec 20, 2026 at the earliest.',
    )
    const swiss = [makeParsedOffer({ currency: 'CHF' })]
    expect(readPrices('history=note', data, swiss)).toContain('prices in CHF: observed on 1 day.')
  })

  test.each([
    ['option not set', '', OBSERVED_PRICES, 'not shown: the option history is not set'],
    [
      'no history',
      'history=note',
      { ...OBSERVED_PRICES, keptDays: 0, series: [] },
      'history=note shows nothing. Prices are not recorded, because VITRINE_HISTORY_DAYS is 0.',
    ],
  ])('%s - says so', (_case, query, data, expected) => {
    expect(readPrices(query, data)).toBe(expected)
  })
})

describe('times of prices', () => {
  test('offer with times - are reported', () => {
    const view = explainOffer({ checkedAtMs: NOON_MS - HOUR_MS, saleEndsAtMs: NOON_MS + HOUR_MS })
    expect(view.offers).toEqual([
      {
        text: 'Kopje, €49.90, in_stock, brightlink, price checked Nov 21, 2026, 11:00 AM UTC, sale until Nov 21, 2026, 1:00 PM UTC',
        isShown: true,
        outcome: 'shown',
      },
    ])
  })

  test.each([
    [
      'ended sale',
      { saleEndsAtMs: NOON_MS - HOUR_MS },
      'the sale ended on Nov 21, 2026, 11:00 AM UTC. Run "vitrine sync" to read the price after it',
    ],
    [
      'old check',
      { checkedAtMs: NOON_MS - 30 * HOUR_MS },
      'the price was checked on Nov 20, 2026, 6:00 AM UTC and is older than 24 h. Find out why the feed of this shop is no longer fetched, or raise VITRINE_PRICE_MAX_AGE_SECONDS',
    ],
    [
      'check in the future',
      { checkedAtMs: NOON_MS + HOUR_MS },
      'it has a time in the future. Set the clocks of this server and of the catalog',
    ],
  ])('%s - the outcome has the reason and the remedy', (_case, times, reason) => {
    expect(explainOffer(times).offers[0]?.outcome).toBe(`shown, without its price: ${reason}`)
  })

  test('one recent price - the prices of the product are not too old', () => {
    const offers = [
      makeParsedOffer({ checkedAtMs: 0 }),
      makeParsedOffer({ merchant: 'B', checkedAtMs: NOON_MS }),
    ]
    expect(readEntry(explain({ entry: entryOfAge(0, makeProduct({ offers })) }))).not.toContain('too old')
    expect(readEntry(explainOffer({ checkedAtMs: 0 }))).toContain('its prices are too old to show')
  })
})

const gone = (hours: number): BoxInputs['list'] => ({
  asOfMs: NOON_MS,
  heldSinceMs: null,
  channels: [{ ...CHANNEL, id: 'other', name: 'Other' }],
  gone: [{ channel: CHANNEL, goneAtMs: NOON_MS - hours * HOUR_MS }],
})

test('offers beyond the fold of a box - are left out, and the reason says so', () => {
  const offers = Array.from({ length: 60 }, (_, index) =>
    makeParsedOffer({ merchant: `Shop ${index}`, price: String(100 + index) }),
  )
  const view = explain({ entry: entryOfAge(0, makeProduct({ offers })) })
  expect(view.offers.filter(({ isShown }) => isShown)).toHaveLength(55)
  expect(view.offers.slice(54, 56).map(({ outcome }) => outcome)).toEqual([
    'shown',
    'left out: the list has 55 offers',
  ])
})

test('offers beyond the bytes of a response - are left out', () => {
  const offers = Array.from({ length: 60 }, (_, index) =>
    makeParsedOffer({
      merchant: `Shop ${index}`,
      affiliateUrl: `https://links.example/${'x'.repeat(8_000)}`,
    }),
  )
  const view = explain({ entry: entryOfAge(0, makeProduct({ offers })) })
  expect(view.offers.filter(({ isShown }) => isShown)).toHaveLength(30)
})

describe('shop file', () => {
  const shops = createShopBook([
    { merchant: 'Zeta DE', aliases: ['zeta'], shop: { name: 'Zeta & Co', logoPath: null, terms: null } },
  ])

  test('offers - have the shown name, and an alias with a worse offer is explained', () => {
    const offers = [
      makeParsedOffer({ merchant: 'Zeta DE', price: '2' }),
      makeParsedOffer({ merchant: 'ZETA', price: '1' }),
      makeParsedOffer({ merchant: 'zeta', price: '3' }),
      makeParsedOffer({ merchant: 'B', price: '9' }),
    ]
    const view = explain({ entry: entryOfAge(0, makeProduct({ offers })) }, shops)
    expect(view.offers.map(({ text, outcome }) => [text.split(', ')[0], outcome])).toEqual([
      ['Zeta & Co (in the catalog: ZETA)', 'shown'],
      ['B', 'shown'],
      [
        'Zeta & Co (in the catalog: Zeta DE)',
        'left out: by the shop file (VITRINE_SHOPS_FILE), Zeta DE and ZETA are one shop, and ZETA has a better offer',
      ],
      ['Zeta & Co (in the catalog: zeta)', 'left out: the same shop has a better offer'],
    ])
  })
})

describe('channel', () => {
  test('no longer listed - the copy is shown until rescue ends, then the remedy names the listed channels', () => {
    const entry = entryOfAge(MINUTE_MS, makeProduct())
    expect(explain({ entry, list: gone(100) }).isShown).toBe(true)
    expect(explain({ entry, list: gone(169) })).toMatchObject({
      summary: 'Nothing is shown. The catalog no longer lists this channel.',
      remedy: 'Use a listed channel: Other (other).',
    })
  })

  test('no list yet - the remedy is that of the failed call', () => {
    const catalog = { kind: 'failed', text: 'sent no usable response', remedy: 'Repair it.' } as const
    expect(explain({ list: undefined, catalog })).toMatchObject({ isShown: false, remedy: 'Repair it.' })
    expect(explain({ list: undefined }).remedy).toContain('vitrine check')
  })

  test('embedded catalog without channels - the remedy is an import', () => {
    const list = { asOfMs: NOON_MS, heldSinceMs: null, channels: [], gone: [] }
    expect(explain({ list }).remedy).toContain('vitrine catalog import')
  })

  test('times in the future - are not shown', () => {
    const futureMs = NOON_MS + HOUR_MS
    const held = {
      reason: 'few_products',
      sinceMs: futureMs,
      startedAtMs: futureMs,
      productCount: 0,
    } as const
    const state = {
      ...WALKED_COPY,
      held,
      completedAtMs: futureMs,
      failure: 'VITRINE_X',
      failedAtMs: futureMs,
    }
    const list = { asOfMs: NOON_MS, heldSinceMs: futureMs, channels: [CHANNEL], gone: [] }
    for (const view of [explain({ state, list }), explain({ state, list: gone(-1) })]) {
      expect(JSON.stringify(view)).toContain('walked, time unknown: the clock was wrong')
      expect(JSON.stringify(view).match(/since an unknown time/g)).toHaveLength(2)
      expect(JSON.stringify(view)).not.toContain('Nov 21')
    }
  })

  test.each([
    ['with', NOON_MS - HOUR_MS, 'the last walk failed: a reason (VITRINE_X), Nov 21, 2026, 11:00 AM UTC'],
    ['without', null, 'the last walk failed: a reason (VITRINE_X)'],
  ])('failed walk %s a time - is reported', (_case, failedAtMs, expected) => {
    const state = { ...WALKED_COPY, failure: 'VITRINE_X', failureReason: 'a reason', failedAtMs }
    const { facts } = explain({ state })
    const fact = facts.find(({ label }) => label === 'Stored copy of the channel')
    expect(fact?.value.split('; ').at(-1)).toBe(expected)
  })

  test('held walk - is reported with the copy', () => {
    const held = { reason: 'few_products', startedAtMs: NOON_MS, sinceMs: NOON_MS, productCount: 0 } as const
    const { facts } = explain({ state: { ...WALKED_COPY, held } })
    expect(facts.find(({ label }) => label === 'Stored copy of the channel')?.value).toContain(
      'because it found 0 products where the copy has 1,236; "vitrine sync --accept" makes it current',
    )
  })
})
