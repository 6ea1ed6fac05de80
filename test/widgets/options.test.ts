import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BadOptionError } from '../../src/errors.ts'
import {
  type GridOptions,
  parseBoxOptions,
  parseGridOptions,
  parsePicksOptions,
  toQuery,
} from '../../src/widgets/options.ts'

const DEFAULTS = { locale: 'en', currency: null }
const COMMON = {
  theme: 'auto',
  accent: null,
  locale: 'en',
  currency: null,
  merchants: [],
  excluded: [],
  isolate: 'none',
  head: 'full',
  heading: null,
  css: 'link',
  sub: null,
}
const PLAIN_BOX = {
  ...COMMON,
  layout: 'list',
  stock: 'any',
  limit: 5,
  history: 'none',
  standIns: [],
  markup: 'none',
}
const PLAIN_PICKS = { ...COMMON, layout: 'rank', stock: 'any', labels: [] }
const PLAIN_GRID = {
  ...COMMON,
  layout: 'grid',
  stock: 'in',
  limit: 12,
  page: 1,
  sort: 'discount',
  evidence: 'shop',
  minDiscountPercent: 1,
  maxPrice: null,
  brand: null,
  searchText: null,
}

const parseBox = (query: string, surface: 'fragment' | 'embed' = 'fragment'): object =>
  parseBoxOptions(new URLSearchParams(query), DEFAULTS, surface)
const parseGrid = (query: string, surface: 'fragment' | 'embed' = 'fragment'): GridOptions =>
  parseGridOptions(new URLSearchParams(query), DEFAULTS, surface)

describe('options of a box', () => {
  test('empty query - the documented defaults', () => {
    expect(parseBox('')).toEqual(PLAIN_BOX)
    expect(parseBox('', 'embed')).toEqual({ ...PLAIN_BOX, css: 'none' })
  })

  test.each([
    ['theme=dark', { theme: 'dark' }],
    ['accent=AA00cc', { accent: 'aa00cc' }],
    ['locale=de-at', { locale: 'de-AT' }],
    ['currency=usd', { currency: 'USD' }],
    ['stock=in', { stock: 'in' }],
    ['isolate=shadow', { isolate: 'shadow' }],
    ['head=none', { head: 'none' }],
    ['heading=%20Our%20pick%20', { heading: 'Our pick' }],
    ['heading=', { heading: null }],
    ['layout=inline', { layout: 'inline' }],
    ['css=none', { css: 'none' }],
    ['limit=1', { limit: 1 }],
    ['limit=50', { limit: 50 }],
    ['history=chart', { history: 'chart' }],
    ['markup=schema', { markup: 'schema' }],
    ['sub=p-1_X', { sub: 'p-1_X' }],
    ['else=1,00000000000001,22', { standIns: ['00000000000001', '00000000000022'] }],
    ['else=', { standIns: [] }],
  ])('%s - changes only that option', (query, changes) => {
    expect(parseBox(query)).toEqual({ ...PLAIN_BOX, ...changes })
  })

  test('embed - ignores fragment-only options, but still rejects invalid values', () => {
    expect(parseBox('isolate=shadow&css=link&markup=schema', 'embed')).toEqual({ ...PLAIN_BOX, css: 'none' })
    for (const query of ['isolate=x', 'css=x', 'markup=x'])
      expect(() => parseBox(query, 'embed')).toThrow(BadOptionError)
  })

  test.each([
    'limit=0',
    'limit=51',
    'layout=grid',
    'history=yes',
    'markup=none&markup=none',
    'sub=',
    'sub=a.b',
    `sub=${'x'.repeat(33)}`,
    'else=1,x',
    'else=1,2,3,4,5,6',
    'else=1&else=2',
  ])('%s - is rejected', (query) => {
    expect(() => parseBox(query)).toThrow(BadOptionError)
  })
})

const parsePicks = (query: string): object =>
  parsePicksOptions(new URLSearchParams(query), DEFAULTS, 'fragment')

describe('options of a round-up', () => {
  test.each([
    ['', {}],
    ['layout=table', { layout: 'table' }],
    ['label=Best&label=&label=%20Value%20', { labels: ['Best', '', 'Value'] }],
    ['label=Best&label=&label=', { labels: ['Best'] }],
    ['label=', { labels: [] }],
    ['limit=3&history=chart&markup=schema&else=1', {}],
  ])('"%s" - changes only that option', (query, changes) => {
    expect(parsePicks(query)).toEqual({ ...PLAIN_PICKS, ...changes })
  })

  test.each([
    'layout=list',
    `label=${'x'.repeat(41)}`,
    'label=a%0Ab',
    Array.from({ length: 21 }, () => 'label=a').join('&'),
  ])('%s - is rejected', (query) => {
    expect(() => parsePicks(query)).toThrow(BadOptionError)
  })
})

describe('options of a grid', () => {
  test('empty query - the documented defaults', () => {
    expect(parseGrid('')).toEqual(PLAIN_GRID)
    expect(parseGrid('', 'embed')).toEqual({ ...PLAIN_GRID, css: 'none' })
  })

  test.each([
    ['stock=any', { stock: 'any' }],
    ['limit=60', { limit: 60 }],
    ['page=1000', { page: 1_000 }],
    ['sort=newest', { sort: 'newest' }],
    ['sort=drop', { sort: 'drop' }],
    ['evidence=observed', { evidence: 'observed' }],
    ['min_discount=99', { minDiscountPercent: 99 }],
    ['max_price=49.99', { maxPrice: '49.99' }],
    ['brand=%20Lumen%20', { brand: 'Lumen' }],
    ['q=desk+lamp', { searchText: 'desk lamp' }],
    ['q=+', { searchText: null }],
    ['brand=', { brand: null }],
  ])('%s - changes only that option', (query, changes) => {
    expect(parseGrid(query)).toEqual({ ...PLAIN_GRID, ...changes })
  })

  test.each([
    'limit=61',
    'page=1001',
    'min_discount=0',
    'min_discount=100',
    'max_price=0',
    'layout=grid&layout=grid',
    'q=a&q=a',
    'sort=Discount',
  ])('%s - is rejected', (query) => {
    expect(() => parseGrid(query)).toThrow(BadOptionError)
  })
})

describe('defaults of the server', () => {
  const defaults = { locale: 'de-AT', currency: 'CHF' }

  test('empty query - the defaults apply; options in the query - override them', () => {
    const plain = parseBoxOptions(new URLSearchParams(), defaults, 'fragment')
    expect([plain.locale, plain.currency]).toEqual(['de-AT', 'CHF'])
    const overridden = parseGridOptions(new URLSearchParams('locale=en&currency=EUR'), defaults, 'fragment')
    expect([overridden.locale, overridden.currency]).toEqual(['en', 'EUR'])
  })
})

describe('names of merchants', () => {
  test('case, spaces, order and repetition - have no effect', () => {
    const query = 'merchant=Zaal&merchant=%20KOPJE&merchant=kopje&exclude=B%20%20b&exclude=a'
    expect(parseGrid(query)).toMatchObject({ merchants: ['kopje', 'zaal'], excluded: ['a', 'b b'] })
  })
})

/** Single options of a grid with a value that is not the default. */
const CHANGES = {
  theme: 'dark',
  accent: 'aa0000',
  locale: 'de',
  currency: 'EUR',
  stock: 'any',
  merchant: 'kopje',
  exclude: 'kopje',
  isolate: 'shadow',
  css: 'none',
  layout: 'list',
  limit: '13',
  page: '2',
  sort: 'price',
  min_discount: '2',
  max_price: '9',
  brand: 'kopje',
  q: 'kopje',
}

/** Return the normalized query of a fragment. */
const toKey = (query: string): string => toQuery('deals', parseGrid(query), DEFAULTS, 'fragment')

describe('normalized query as a key', () => {
  test('options that differ in one value - have different keys', () => {
    const queries = ['', ...Object.entries(CHANGES).map(([name, value]) => `${name}=${value}`)]
    const keys = queries.map(toKey)
    expect(new Set(keys).size).toBe(queries.length)
  })

  test('one merchant with a comma and two merchants - have different keys', () => {
    const keys = ['merchant=a,b', 'merchant=a&merchant=b', 'merchant=a","b'].map(toKey)
    expect(new Set(keys).size).toBe(3)
  })

  test('any order, with unknown parameters - the same key', () => {
    const pairs = Object.entries(CHANGES)
    const expected = toKey(new URLSearchParams(pairs).toString())
    const mixed = fc.shuffledSubarray([...pairs, ['utm_source', 'x'], ['fbclid', 'y']], {
      minLength: pairs.length + 2,
    })
    fc.assert(
      fc.property(mixed, (shuffled) => {
        expect(
          toKey(new URLSearchParams(Object.fromEntries(shuffled) as Record<string, string>).toString()),
        ).toBe(expected)
      }),
    )
  })

  test('explicit defaults - the same key as an empty query', () => {
    const query =
      'theme=auto&stock=in&isolate=none&css=link&layout=grid&limit=12&page=01&sort=discount&min_discount=1&q=&brand='
    expect(toKey(query)).toBe(toKey(''))
  })
})

/** Letters of several alphabets, and characters that a query must encode. */
const text = fc.string({
  unit: fc.constantFrom(...'a Z é ß Σ я 日 & = + ? # % " < \\ 👍'.split(' '), ' ', '\u2028'),
  maxLength: 40,
})
const names = fc.array(
  text.filter((name) => name.trim() !== ''),
  { maxLength: 5 },
)

const gridQuery = fc
  .record(
    {
      theme: fc.constantFrom('auto', 'light', 'dark'),
      accent: fc.constantFrom('aa0000', 'FFFFFF'),
      locale: fc.constantFrom('en', 'de-AT', 'zh-Hant-TW'),
      currency: fc.constantFrom('EUR', 'usd'),
      stock: fc.constantFrom('in', 'any'),
      limit: fc.integer({ min: 1, max: 60 }).map(String),
      page: fc.integer({ min: 1, max: 1_000 }).map(String),
      sort: fc.constantFrom('discount', 'saving', 'price', 'newest'),
      min_discount: fc.integer({ min: 1, max: 99 }).map(String),
      max_price: fc.constantFrom('0.0001', '49.90', '999999999999.9999'),
      brand: text,
      q: text,
    },
    { requiredKeys: [] },
  )
  .chain((single) =>
    fc.tuple(names, names).map(([merchants, excluded]) => {
      const query = new URLSearchParams(Object.entries(single))
      for (const name of merchants) query.append('merchant', name)
      for (const name of excluded) query.append('exclude', name)
      return query
    }),
  )

describe('query of options', () => {
  test('options that equal the defaults - an empty query', () => {
    expect(toQuery('deals', parseGrid('', 'embed'), DEFAULTS)).toBe('')
    const defaults = { locale: 'de', currency: 'EUR' }
    const plain = parseGridOptions(new URLSearchParams('locale=de&currency=EUR'), defaults, 'embed')
    expect(toQuery('deals', plain, defaults)).toBe('')
  })

  test('each option alone - is written with its name and value', () => {
    for (const [name, value] of Object.entries(CHANGES)) {
      if (name === 'isolate' || name === 'css') continue
      expect(toQuery('deals', parseGrid(`${name}=${value}`, 'embed'), DEFAULTS)).toBe(`${name}=${value}`)
    }
  })

  test('any options - parse back to the same options', () => {
    fc.assert(
      fc.property(
        gridQuery,
        fc.constantFrom(DEFAULTS, { locale: 'de-AT', currency: 'EUR' }),
        (query, defaults) => {
          const options = parseGridOptions(query, defaults, 'embed')
          const again = parseGridOptions(
            new URLSearchParams(toQuery('deals', options, defaults)),
            defaults,
            'embed',
          )
          expect(again).toEqual(options)
        },
      ),
    )
  })
})
