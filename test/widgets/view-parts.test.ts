import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseBoxOptions } from '../../src/widgets/options.ts'
import {
  type ViewContext,
  listStyles,
  toHeaderView,
  toWrapperView,
  toNoticesView,
  toOfferView,
} from '../../src/widgets/view-parts.ts'
import { getLocalization } from '../../src/widgets/locales/index.ts'
import type { NoticesView } from '../../src/widgets/view-models.ts'
import type { OfferView } from '../../src/widgets/box.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { makeParsedOffer, toGtin } from '../helpers/products.ts'
import { VIEW_CONTEXT as FRAGMENT_CONTEXT } from '../helpers/shown-views.ts'

const VIEW_CONTEXT: ViewContext = {
  ...FRAGMENT_CONTEXT,
  publicUrl: 'https://widgets.example/sub',
  priceMaxAgeSeconds: 7_200,
}
const STYLE = 'https://widgets.example/sub/assets/vitrine.00000000.css'

const english = getLocalization('en')
const toPlain = (text: string | null): string | null => text?.replace(/[\u00a0\u202f]/g, ' ') ?? null
const parse = (query: string): ReturnType<typeof parseBoxOptions> =>
  parseBoxOptions(new URLSearchParams(query), { locale: 'en', currency: null }, 'fragment')

describe('localization', () => {
  test.each([
    ['en', 'en', 'en'],
    ['en-GB', 'en', 'en-GB'],
    ['de-CH', 'de', 'de-CH'],
    ['de-Latn-AT', 'de', 'de-Latn-AT'],
    ['tlh', 'en', 'en'],
    ['und', 'en', 'en'],
  ])('%s - texts of %s, prices and dates of %s', (tag, lang, locale) => {
    const localization = getLocalization(tag)
    expect([localization.lang, localization.dir, localization.locale]).toEqual([lang, 'ltr', locale])
  })

  test('same locale - the same cached object; another locale - another object', () => {
    expect(getLocalization('de-AT')).toBe(getLocalization('de-AT'))
    expect(getLocalization('de-AT').locale).not.toBe(getLocalization('de-CH').locale)
  })
})

describe('styles', () => {
  test('address - is absolute, with the path of the public address; the accent comes last', () => {
    expect(listStyles(null, VIEW_CONTEXT)).toEqual([STYLE])
    expect(listStyles('aa00cc', VIEW_CONTEXT)).toEqual([
      STYLE,
      'https://widgets.example/sub/accents/aa00cc.css',
    ])
  })

  test('css=none - no style sheet, the accent attribute stays', () => {
    const options = parse('css=none&accent=aa00cc&theme=dark&locale=de-AT')
    expect(toWrapperView(options, getLocalization('de-AT'), VIEW_CONTEXT)).toEqual({
      lang: 'de',
      dir: 'ltr',
      theme: 'dark',
      styles: [],
      isolate: 'none',
      accent: 'aa00cc',
      sub: expect.any(String),
    })
  })

  test('isolate=shadow - links its style sheet regardless of css', () => {
    expect(toWrapperView(parse('css=none&isolate=shadow'), english, VIEW_CONTEXT)).toMatchObject({
      isolate: 'shadow',
      styles: [STYLE],
    })
  })

  test('css=link - the style sheets', () => {
    expect(toWrapperView(parse('accent=aa00cc'), english, VIEW_CONTEXT).styles).toHaveLength(2)
  })
})

const viewOffer = (
  over: Parameters<typeof makeParsedOffer>[0] = {},
  { isPriced = true, localization = english } = {},
): Pick<OfferView, 'price' | 'availability' | 'linkLabel'> =>
  toOfferView(makeParsedOffer(over), { gtin: toGtin(1), isPriced, localization, viewContext: VIEW_CONTEXT })

const viewPrice = (price: string, oldPrice: string | null): readonly unknown[] => {
  const view = viewOffer({ price, oldPrice }).price
  return [view?.price, view?.oldPrice, view?.discount]
}

describe('price', () => {
  test.each([
    ['49.90', null, ['€49.90', null, null]],
    ['49.90', '49.90', ['€49.90', null, null]],
    ['49.90', '49.9', ['€49.90', null, null]],
    ['49.90', '40', ['€49.90', null, null]],
    ['49.90', '49.9001', ['€49.90', '€49.9001', null]],
    ['99.51', '100', ['€99.51', '€100.00', null]],
    ['99.5', '100', ['€99.50', '€100.00', '−1%']],
    ['9', '10', ['€9.00', '€10.00', '−10%']],
    ['66.5', '100', ['€66.50', '€100.00', '−34%']],
    ['0.0001', '1', ['€0.0001', '€1.00', '−100%']],
  ])('%s, formerly %s - %j', (price, oldPrice, shown) => {
    expect(viewPrice(price, oldPrice)).toEqual(shown)
  })

  test('hints - distinguish the price from the former one', () => {
    expect(viewOffer().price).toMatchObject({
      priceHint: 'now',
      oldPriceHint: 'Shop’s former price',
    })
  })

  test('German - has German number formats', () => {
    const { price } = viewOffer(
      { price: '1049.5', oldPrice: '1399' },
      { localization: getLocalization('de') },
    )
    expect([price?.price, price?.oldPrice, price?.discount].map((text) => toPlain(text ?? null))).toEqual([
      '1.049,50 €',
      '1.399,00 €',
      '−25 %',
    ])
  })
})

describe('name of a link', () => {
  test('with and without a price - names the shop, and the price only if it is shown', () => {
    expect(viewOffer().linkLabel).toBe('Buy at Kopje for €49.90')
    expect(viewOffer({}, { isPriced: false })).toMatchObject({
      price: null,
      linkLabel: 'See the price at Kopje',
    })
  })
})

const viewStock = (availability: string): string => {
  const { kind, text } = viewOffer({ availability }).availability
  return `${kind}: ${text}`
}

describe('availability', () => {
  test.each([
    ['in_stock', 'in: In stock'],
    ['out_of_stock', 'out: Out of stock'],
    ['Out of stock', 'out: Out of stock'],
    ['SOLD-OUT', 'out: Out of stock'],
    ['discontinued', 'out: Discontinued'],
    ['pre-order', 'other: Pre-order'],
    ['preorder', 'other: Pre-order'],
    ['back order', 'other: On back order'],
    ['on_backorder', 'other: On back order'],
    ['available for order', 'other: On back order'],
    ['', 'other: Availability: see shop'],
    ['constructor', 'other: Availability: see shop'],
  ])('%j - %s', (availability, shown) => {
    expect(viewStock(availability)).toBe(shown)
  })

  test('any value except in_stock - is not shown as in stock', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom('', 'in_stock', 'IN_STOCK'), (tail, head) => {
        const availability = `${head}${tail}`
        expect(viewStock(availability).startsWith('in:')).toBe(availability === 'in_stock')
      }),
    )
  })
})

const disclose = (disclosure: ViewContext['disclosure'], locale = 'en'): string | null =>
  toHeaderView({ head: 'full', heading: null, locale }, 'x', { disclosure }).disclosure

const makeNotices = (asOfMs: number): NoticesView =>
  toNoticesView({ checkedAtMs: asOfMs, order: ['By price'], offers: [] }, english, VIEW_CONTEXT)

describe('small print', () => {
  test('time more than a minute ahead - is not shown; up to a minute - is shown', () => {
    expect(
      [60_000, 60_001, 86_400_000].map((ms) => makeNotices(NOON_MS + ms).checkedAt?.iso ?? null),
    ).toEqual(['2026-11-21T12:01:00.000Z', null, null])
  })

  test('date, order, shipping and coverage - are complete texts', () => {
    const notices = makeNotices(NOON_MS)
    const time = toPlain(notices.checkedAt?.time ?? '')
    expect({ ...notices, checkedAt: { ...notices.checkedAt, time } }).toEqual({
      checkedAt: {
        before: 'Prices checked on ',
        iso: '2026-11-21T12:00:00.000Z',
        time: 'Nov 21, 2026, 12:00 PM UTC',
        after: '',
      },
      order: ['By price'],
      shipping: 'Shipping not included',
      formerPrice: null,
      coverage: 'Not all shops are compared',
    })
  })

  test('any offer with a former price - it is explained once', () => {
    const offers = [viewOffer({}), viewOffer({ price: '49.90', oldPrice: '99.80' })]
    const notices = toNoticesView({ checkedAtMs: NOON_MS, order: [], offers }, english, VIEW_CONTEXT)
    expect(notices.formerPrice).toEqual({ price: 'Price', text: 'Shop’s former price' })
  })

  test.each([
    ['en', 'Europe/Berlin', 'Nov 21, 2026, 1:00 PM Central European Time'],
    ['en', 'America/New_York', 'Nov 21, 2026, 7:00 AM EST'],
    ['de', 'Europe/Berlin', '21. Nov. 2026, 13:00 MEZ'],
    ['fr', 'Europe/Paris', '21 nov. 2026, 13:00 heure d’Europe centrale'],
    ['ja', 'Asia/Tokyo', '2026年11月21日 21:00 JST'],
    ['fr', 'UTC', '21 nov. 2026, 12:00 UTC'],
  ])(
    '%s, %s - the time of the zone, with words in place of an offset such as GMT+1',
    (locale, timeZone, time) => {
      const viewContext = { nowMs: NOON_MS, timeZone }
      const details = { checkedAtMs: NOON_MS, order: [], offers: [] }
      expect(
        toPlain(toNoticesView(details, getLocalization(locale), viewContext).checkedAt?.time ?? null),
      ).toBe(time)
    },
  )

  test('disclosure - of the locale, off, or the text of the publisher in every locale', () => {
    expect(disclose({ kind: 'locale' })).toBe('We may earn a commission when you buy through these links.')
    expect(disclose({ kind: 'locale' }, 'de')).toMatch(/^Anzeige: /)
    expect(disclose({ kind: 'off' }, 'de')).toBeNull()
    expect(disclose({ kind: 'text', text: 'Advert' }, 'de')).toBe('Advert')
  })
})
