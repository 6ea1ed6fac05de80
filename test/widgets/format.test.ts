import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MINUTE_MS } from '../../src/clock.ts'
import {
  formatCount,
  formatDiscount,
  formatPrice,
  formatShownPrice,
  formatSince,
  formatShownTime,
  formatTime,
  formatWalkTime,
  formatPastTime,
} from '../../src/widgets/format.ts'

/** Replace no-break spaces of both widths by plain ones. */
const toPlain = (text: string): string => text.replace(/[\u00a0\u202f]/g, ' ')

/** A price of the catalog, with the digits that the formatted text must contain. */
const price = fc
  .tuple(
    fc.bigInt({ min: 0n, max: 999_999_999_999n }),
    fc.string({ unit: fc.constantFrom('0', '1', '5', '9'), minLength: 1, maxLength: 4 }),
  )
  .map(([whole, decimals]) => ({ text: `${whole}.${decimals}`, whole: String(whole), decimals }))

describe('price', () => {
  test.each([
    ['49.9', 'EUR', 'en', '€49.90'],
    ['49', 'EUR', 'en', '€49.00'],
    ['0.0001', 'EUR', 'en', '€0.0001'],
    ['1.1000', 'EUR', 'en', '€1.10'],
    ['1234.5', 'EUR', 'de', '1.234,50 €'],
    ['98.5', 'CHF', 'de-CH', 'CHF 98.50'],
    ['1980', 'JPY', 'en', '¥1,980'],
    ['1980.5', 'JPY', 'en', '¥1,980.5'],
    ['1.5', 'BHD', 'en', 'BHD 1.500'],
    ['999999999999.9999', 'EUR', 'en', '€999,999,999,999.9999'],
    ['0049.90', 'EUR', 'en', '€49.90'],
  ])('%s %s in %s - %s', (...row) => {
    const [text, currency, locale, shown] = row
    expect(toPlain(formatPrice(text, currency, locale))).toBe(shown)
  })

  test('same locale with another currency, same currency with another locale - use different formatters', () => {
    const shown = [
      formatPrice('1', 'EUR', 'en'),
      formatPrice('1', 'USD', 'en'),
      formatPrice('1', 'EUR', 'de'),
      formatPrice('1', 'EUR', 'en'),
    ]
    expect(shown.map(toPlain)).toEqual(['€1.00', '$1.00', '1,00 €', '€1.00'])
  })

  test('any price - every significant digit is shown, without rounding', () => {
    fc.assert(
      fc.property(price, ({ text, whole, decimals }) => {
        const [shownWhole = '', shownDecimals = ''] = formatPrice(text, 'EUR', 'en')
          .replace(/[€,]/g, '')
          .split('.')
        expect(shownWhole).toBe(whole)
        expect(shownDecimals).toBe(decimals.replace(/0+$/, '').padEnd(2, '0'))
      }),
    )
  })
})

describe('discount', () => {
  test.each([
    [1, 'en', '−1%'],
    [20, 'en', '−20%'],
    [100, 'en', '−100%'],
    [20, 'de', '−20 %'],
    [20, 'sv', '−20 %'],
  ])('%i in %s - %s with the minus sign U+2212', (percent, locale, shown) => {
    expect(toPlain(formatDiscount(percent, locale))).toBe(shown)
  })

  test('any percentage - is unchanged, with a minus sign instead of a hyphen', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), (percent) => {
        expect(formatDiscount(percent, 'en')).toBe(`−${percent}%`)
      }),
    )
  })
})

describe('time', () => {
  const timeMs = Date.UTC(2026, 0, 2, 23, 5, 59)

  test.each([
    ['en', 'Jan 2, 2026, 11:05 PM UTC'],
    ['en-GB', '2 Jan 2026, 23:05 UTC'],
    ['de', '2. Jan. 2026, 23:05 UTC'],
  ])('%s - absolute, in UTC, to the minute', (locale, shown) => {
    expect(toPlain(formatTime(timeMs, locale))).toBe(shown)
  })

  test.each([
    ['ar', '2\u00A0يناير\u00A02026، 11:05\u00A0م\u00A0UTC'],
    ['cs', '2.\u00A01.\u00A02026 23:05\u00A0UTC'],
    ['da', '2.\u00A0jan.\u00A02026, 23.05\u00A0UTC'],
    ['de', '2.\u00A0Jan.\u00A02026, 23:05\u00A0UTC'],
    ['en', 'Jan\u00A02,\u00A02026, 11:05\u00A0PM\u00A0UTC'],
    ['es', '2\u00A0ene\u00A02026, 23:05\u00A0UTC'],
    ['fi', '2.1.2026 klo\u00A023.05\u00A0UTC'],
    ['fr', '2\u00A0janv.\u00A02026, 23:05\u00A0UTC'],
    ['it', '2\u00A0gen\u00A02026, 23:05\u00A0UTC'],
    ['ja', '2026年1月2日 23:05\u00A0UTC'],
    ['nb', '2.\u00A0jan.\u00A02026, 23:05\u00A0UTC'],
    ['nl', '2\u00A0jan\u00A02026, 23:05\u00A0UTC'],
    ['pl', '2\u00A0sty\u00A02026, 23:05\u00A0UTC'],
    ['pt', '2\u00A0de\u00A0jan.\u00A0de\u00A02026, 23:05\u00A0UTC'],
    ['sv', '2\u00A0jan.\u00A02026 23:05\u00A0UTC'],
  ])('%s, in a widget - one line break, between date and time', (locale, shown) => {
    expect(formatShownTime(timeMs, locale, 'UTC')).toBe(shown)
    expect(toPlain(shown)).toBe(toPlain(formatTime(timeMs, locale)))
  })

  test('in a widget, with a long name of the zone - the time has line breaks, too', () => {
    expect(formatShownTime(timeMs, 'en', 'Australia/Eucla')).toMatch(
      /^Jan\u00A03,\u00A02026, \d+:\d\d AM Australian Central Western Standard Time$/,
    )
  })

  test('midnight in UTC - is the next day', () => {
    const midnightMs = Date.UTC(2026, 0, 3)
    expect(toPlain(formatTime(midnightMs - 1, 'en-GB'))).toBe('2 Jan 2026, 23:59 UTC')
    expect(toPlain(formatTime(midnightMs, 'en-GB'))).toBe('3 Jan 2026, 00:00 UTC')
  })

  test('for operators, up to a minute ahead - is shown', () => {
    const texts = [formatPastTime, formatSince, formatWalkTime].map((format) =>
      format(timeMs, timeMs - MINUTE_MS),
    )
    expect(texts.map(toPlain)).toEqual([
      'Jan 2, 2026, 11:05 PM UTC',
      'since Jan 2, 2026, 11:05 PM UTC',
      'walked Jan 2, 2026, 11:05 PM UTC',
    ])
  })

  test('for operators, more than a minute ahead - is not shown', () => {
    const nowMs = timeMs - MINUTE_MS - 1
    expect([formatPastTime, formatSince, formatWalkTime].map((format) => format(timeMs, nowMs))).toEqual([
      'time unknown: the clock was wrong',
      'since an unknown time',
      'walked, time unknown: the clock was wrong',
    ])
  })
})

describe('count', () => {
  test.each([
    [0, 'en', '0'],
    [999, 'en', '999'],
    [1_236, 'en', '1,236'],
    [1_236, 'de', '1.236'],
  ])('%i in %s - %s', (count, locale, shown) => {
    expect(formatCount(count, locale)).toBe(shown)
  })
})

describe('shown price', () => {
  test.each([
    ['1299.00', 'EUR', 'en', '€1,299.00', null],
    ['1299.00', 'EUR', 'de', '1.299,00\u00a0€', null],
    // The space before the currency can be a line break, those within the number cannot.
    ['27995', 'SEK', 'sv', '27\u00a0995,00 kr', 9],
    ['32490000', 'IDR', 'en', 'IDR 32,490,000', 12],
    ['12499900', 'COP', 'es', '12.499.900 COP', 12],
    ['1234.567', 'KWD', 'en', 'KWD 1,234.567', 9],
    ['123456789012.99', 'EUR', 'de', '123.456.789.012,99 €', 18],
    ['999999999999.99', 'INR', 'en', '₹999,999,999,999.99', 18],
    ['123456789012345.99', 'EUR', 'en', '€123,456,789,012,345.99', 24],
  ])('%s %s in %s - is %j, with room for %s characters', (...row) => {
    const [price, currency, locale, text, digits] = row
    expect(formatShownPrice(price, currency, locale)).toEqual({ text, digits })
  })
})
