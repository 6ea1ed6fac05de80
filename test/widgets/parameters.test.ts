import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BadOptionError } from '../../src/errors.ts'
import { type ParameterReader, createParameterReader } from '../../src/widgets/parameters.ts'
import { anyText } from '../helpers/any-text.ts'

const read = (query: string): ParameterReader => createParameterReader(new URLSearchParams(query))

/** Return the public message of the error; empty when the value was accepted. */
function explain(action: () => unknown): string {
  try {
    action()
    return ''
  } catch (error) {
    return error instanceof BadOptionError ? error.publicMessage : `another error: ${String(error)}`
  }
}

const encode = (text: string): string => encodeURIComponent(text.toWellFormed())

describe('absent parameter', () => {
  test.each([
    ['a', 'b'],
    { min: 1, max: 5 },
    'language',
    'color',
    'text',
    'gtins',
    'shops',
    'labels',
  ] as const)('%j - is null', (control) => {
    expect(read('other=1')('x', control)).toBeNull()
  })
})

describe('invalid value', () => {
  const bounds = { min: 1, max: 50 }
  const TEXT = 'text up to 100 characters, without control characters'
  const NAMES = "up to 20 merchants' names of up to 100 characters, without control characters"

  test.each([
    ['word', () => read('x=c')('x', ['a', 'b']), 'a or b'],
    ['word twice', () => read('x=a&x=a')('x', ['a', 'b']), 'one value, a or b'],
    ['number', () => read('x=51')('x', bounds), 'a whole number from 1 to 50'],
    ['number twice', () => read('x=5&x=5')('x', bounds), 'one value, a whole number from 1 to 50'],
    ['color', () => read('x=12345')('x', 'color'), 'six hex digits without #'],
    ['locale', () => read('x=%40')('x', 'language'), 'a language tag such as en or de-AT'],
    ['currency', () => read('x=EURO')('x', 'currency'), 'an ISO 4217 code such as EUR'],
    ['price', () => read('x=0')('x', 'price'), 'a price such as 49.99'],
    ['text', () => read(`x=${'a'.repeat(101)}`)('x', 'text'), TEXT],
    ['text with a control character', () => read('x=a%00b')('x', 'text'), TEXT],
    ['names', () => read('x=')('x', 'shops'), NAMES],
    ['name with a control character', () => read('x=a&x=b%00')('x', 'shops'), NAMES],
  ])('%s - names the parameter and what it accepts', (_kind, action, accepts) => {
    expect(explain(action)).toBe(`The parameter "x" accepts ${accepts}.`)
  })

  test('error message - contains the name of the parameter, not its value', () => {
    const error = new BadOptionError('x', 'a or b')
    expect(() => read('x=secret-value')('x', ['a', 'b'])).toThrow(error.message)
    expect(error.message).toBe('bad value for the parameter x')
  })
})

describe('number', () => {
  const bounds = { min: 1, max: 1_000 }

  test.each([
    ['1', 1],
    ['1000', 1_000],
    ['007', 7],
    ['000001', 1],
  ])('%s - is %i', (text, value) => {
    expect(read(`x=${text}`)('x', bounds)).toBe(value)
  })

  test.each(['0', '1001', '0000001', '-1', '+1', '1.0', '1e2', '0x5', ' 5', '5 ', '５', 'NaN', 'Infinity'])(
    '%s - is rejected',
    (text) => {
      expect(explain(() => read(`x=${encode(text)}`)('x', bounds))).not.toBe('')
    },
  )

  test('any whole number of up to six digits - is accepted only within the bounds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999 }), (value) => {
        const message = explain(() => {
          expect(read(`x=${value}`)('x', bounds)).toBe(value)
        })
        expect(message === '').toBe(value >= 1 && value <= 1_000)
      }),
    )
  })
})

describe('colour', () => {
  test('upper and lower case - become lower case', () => {
    expect(read('x=AaBb09')('x', 'color')).toBe('aabb09')
  })

  test.each(['', 'aabb0', 'aabb099', '#aabb0', 'gabb09', 'aabb09\n'])('%j - is rejected', (text) => {
    expect(explain(() => read(`x=${encode(text)}`)('x', 'color'))).not.toBe('')
  })
})

describe('locale', () => {
  test.each([
    ['DE', 'de'],
    ['de-at', 'de-AT'],
    ['zh-hant-tw', 'zh-Hant-TW'],
    ['es-419', 'es-419'],
    ['sl-rozaj-biske', 'sl'],
    ['de-DE-u-co-phonebk', 'de-DE'],
    ['en-x-private', 'en'],
    ['iw', 'he'],
    [`en-x-${'a'.repeat(8)}-${'b'.repeat(8)}-${'c'.repeat(8)}-ddd`, 'en'],
  ])('%s - is %s, without variants and extensions', (text, tag) => {
    expect(read(`x=${text}`)('x', 'language')).toBe(tag)
  })

  test.each([
    '',
    'a',
    'de_AT',
    'en-',
    '-en',
    'de--AT',
    'no such',
    '*',
    '12',
    `en-x-${'abcdefgh-'.repeat(4)}a`,
  ])('%j - is rejected', (text) => {
    expect(explain(() => read(`x=${encode(text)}`)('x', 'language'))).not.toBe('')
  })
})

describe('currency and price', () => {
  test.each([
    ['EUR', 'EUR'],
    ['eur', 'EUR'],
    ['jPy', 'JPY'],
  ])('currency %s - is %s', (text, code) => {
    expect(read(`x=${text}`)('x', 'currency')).toBe(code)
  })

  test.each(['', 'EU', 'EURO', 'QQQ', '€', 'EUR '])('currency %j - is rejected', (text) => {
    expect(explain(() => read(`x=${encode(text)}`)('x', 'currency'))).not.toBe('')
  })

  test.each(['1', '0.0001', '999999999999.9999', '49.90'])('price %s - is unchanged', (text) => {
    expect(read(`x=${text}`)('x', 'price')).toBe(text)
  })

  test.each(['', '0', '0.0000', '0.00001', '1000000000000', '.5', '5.', '-1', '1,5', '1e3', ' 1'])(
    'price %j - is rejected',
    (text) => {
      expect(explain(() => read(`x=${encode(text)}`)('x', 'price'))).not.toBe('')
    },
  )
})

describe('text', () => {
  test.each([
    [' lamp ', 'lamp'],
    ['   ', null],
    ['', null],
    ['a'.repeat(100), 'a'.repeat(100)],
  ])('%j - is %j', (text, value) => {
    expect(read(`x=${encode(text)}`)('x', 'text')).toBe(value)
  })

  test('101 characters including a trailing space - are rejected', () => {
    expect(explain(() => read(`x=${encode(`${'a'.repeat(100)} `)}`)('x', 'text'))).not.toBe('')
  })

  test('two values, even empty - are rejected', () => {
    expect(explain(() => read('x=&x=')('x', 'text'))).toContain('one value')
  })

  test('every control character (C0, DEL, C1) at the beginning or end - is rejected, others are accepted', () => {
    for (let code = 0; code < 0x200; code += 1) {
      const isControl = code < 0x20 || (code >= 0x7f && code < 0xa0)
      for (const text of [`${String.fromCharCode(code)}a`, `a${String.fromCharCode(code)}`])
        expect(explain(() => read(`x=${encode(text)}`)('x', 'text')) !== '').toBe(isControl)
    }
  })

  test('noncharacters, which are invalid in XML - are rejected', () => {
    for (const text of ['a\uFFFE', '\uFFFFa', '\uFDD0', '\u{1FFFE}'])
      expect(explain(() => read(`x=${encode(text)}`)('x', 'text'))).toContain('without control characters')
  })

  test('any text of up to 100 characters without controls - is returned trimmed and well-formed', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 50 }), (given) => {
        const text = given.replace(/[\p{Cc}\p{Noncharacter_Code_Point}]/gu, ' ')
        const value = createParameterReader(new URLSearchParams([['x', text]]))('x', 'text')
        expect(value).toBe(text.toWellFormed().trim() === '' ? null : text.toWellFormed().trim())
      }),
    )
  })
})

const repeat = (count: number): string => Array.from({ length: count }, (_, at) => `x=n${at}`).join('&')

describe('names', () => {
  test('several - all of them once, trimmed, in lower case and sorted', () => {
    expect(read('x=B&y=c&x=%20a%20&x=b')('x', 'shops')).toEqual(['a', 'b'])
  })

  test('twenty - are accepted; twenty-one - are rejected', () => {
    expect(read(repeat(20))('x', 'shops')).toHaveLength(20)
    expect(explain(() => read(repeat(21))('x', 'shops'))).not.toBe('')
  })

  test.each(['x=a&x=', 'x=a&x=%20', `x=a&x=${'b'.repeat(101)}`])(
    '%s - is rejected because of one invalid name',
    (query) => {
      expect(explain(() => read(query)('x', 'shops'))).not.toBe('')
    },
  )

  test('name of 100 characters in lower case - is accepted', () => {
    expect(read(`x=${'b'.repeat(100)}`)('x', 'shops')).toEqual(['b'.repeat(100)])
    // The lower case of this letter has two UTF-16 units, which links to the next page would contain.
    expect(read(`x=${'\u0130'.repeat(50)}`)('x', 'shops')).toHaveLength(1)
    expect(explain(() => read(`x=${'\u0130'.repeat(51)}`)('x', 'shops'))).not.toBe('')
  })
})
