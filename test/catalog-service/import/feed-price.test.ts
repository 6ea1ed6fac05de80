import { assert, constantFrom, integer, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPriceMissing, parseFeedPrice } from '../../../src/catalog-service/import/prices.ts'

describe('price of a feed', () => {
  it.each([
    ['15.00 USD', '', '15.00 USD'],
    ['USD 15.00', '', '15.00 USD'],
    ['15.00USD', '', '15.00 USD'],
    ['15.00', 'usd', '15.00 USD'],
    ['12,99 €', '', '12.99 EUR'],
    ['€ 12.99', 'EUR', '12.99 EUR'],
    ['$12.99', 'CAD', '12.99 CAD'],
    ['US$ 12.99', '', '12.99 USD'],
    ['1 299,00 zł', '', '1299.00 PLN'],
    ['1 299 Kč', '', '1299 CZK'],
    ['129 kr.', 'SEK', '129 SEK'],
    ['129:-', 'SEK', '129 SEK'],
    ['12,- €', '', '12 EUR'],
    ['€12.99 EUR', '', '12.99 EUR'],
    ['15.00 usd', ' USD ', '15.00 USD'],
    ['98.0', 'USD', '98.0 USD'],
    ['000012', 'USD', '12 USD'],
    ['007.50 USD', '', '7.50 USD'],
    ['00.50 USD', '', '0.50 USD'],
    ['374990 KZT', '', '374990 KZT'],
    ['99,99 SEK', '', '99.99 SEK'],
    ['99,9 SEK', '', '99.9 SEK'],
    ['10,000.00 SEK', '', '10000.00 SEK'],
    ['10.000,50 SEK', '', '10000.50 SEK'],
    ['1.144.000 SEK', '', '1144000 SEK'],
    ['1.144.000,5 SEK', '', '1144000.5 SEK'],
    ['1,299 USD', '', '1299 USD'],
    ['1,299,000 USD', '', '1299000 USD'],
    ['1,29,999.50 INR', '', '129999.50 INR'],
    ['0,299 USD', '', '0.299 USD'],
    ['0.299 USD', '', '0.299 USD'],
    ['1234.567 USD', '', '1234.567 USD'],
    ['1.144 KWD', '', '1.144 KWD'],
    ["1'299.00 CHF", '', '1299.00 CHF'],
    ['1’299 CHF', '', '1299 CHF'],
    ['1 299,00 PLN', '', '1299.00 PLN'],
    ['1\u00a0299,00\u00a0PLN', '', '1299.00 PLN'],
    ['1\u202f299 EUR', '', '1299 EUR'],
    ['123456789012.1234 EUR', '', '123456789012.1234 EUR'],
  ])('%j with currency column %j - is %s', (text, column, expected) => {
    const [amount, currency] = expected.split(' ')
    expect(parseFeedPrice(text, column)).toEqual({ amount, currency })
  })

  it.each([
    ['1.144 SEK', '', '1.144 is ambiguous, thousands or decimals: set --decimal'],
    ['1,144 KWD', '', '1,144 is ambiguous, thousands or decimals: set --decimal'],
    ['$100', '', 'several currencies have this sign: set one with --currency'],
    ['100€', 'USD', 'its sign contradicts the currency USD'],
    ['£6.00', 'EUR', 'its sign contradicts the currency EUR'],
    ['¥700', 'USD', 'its sign contradicts the currency USD'],
    ['$5.00 EUR', '', 'its sign contradicts the currency EUR'],
    ['5 kr', 'EUR', 'its sign contradicts the currency EUR'],
    ['15.00', '', 'there is no currency: set one with --currency'],
    ['15.00', 'euro', 'not a currency code of three letters'],
    ['15.00 USD', '\u001b[31m'.repeat(1_000), 'not a currency code of three letters'],
    ['$15', '<script>', 'not a currency code of three letters'],
    ['15.00 USD', 'EUR', 'names two currencies, USD and EUR'],
    ['EUR 15.00 USD', '', 'names two currencies, EUR and USD'],
  ])('%j with currency column %j - is rejected: %s', (text, column, reason) => {
    expect(parseFeedPrice(text, column)).toBe(reason)
  })

  it.each([
    '-5.00 USD',
    '.99 USD',
    '1.2.3 USD',
    '1,23,4 USD',
    '1.23456 USD',
    '1234567890123 USD',
    '1e3 USD',
    '0.00 USD',
    'free USD',
    '5.00 US dollars',
    '１５ USD',
  ])('%j - is not a price', (text) => {
    expect(parseFeedPrice(text, '')).toContain('not a price')
  })

  it('any amount - in any digit grouping - has the same digits', () => {
    assert(
      property(
        integer({ min: 1_000, max: 999_999_999 }),
        constantFrom([',', '.'], ['.', ','], [' ', ','], ["'", '.'], ['\u00a0', '.']),
        (whole, [group, point]) => {
          const grouped = String(whole).replace(/\B(?=(?:\d{3})+$)/g, group)
          expect(parseFeedPrice(`${grouped}${point}05 EUR`, '')).toEqual({
            amount: `${whole}.05`,
            currency: 'EUR',
          })
        },
      ),
    )
  })

  it.each(['', '0', '0.00', '0,00 EUR', 'EUR 0', '0.00 USD', '0,00\u00a0EUR', ' 0 '])(
    '%j - counts as missing',
    (text) => {
      expect(isPriceMissing(text)).toBe(true)
    },
  )

  it.each(['0.01', '10', 'x', '5 EUR'])('%j - does not count as missing', (text) => {
    expect(isPriceMissing(text)).toBe(false)
  })
})
