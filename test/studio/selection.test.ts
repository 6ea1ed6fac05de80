import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  STUDIO_TABS,
  validateOptions,
  parseStudioSelection,
  toFrameQuery,
  toSelectionQuery,
} from '../../src/studio/selection.ts'
import { OPTION_LIST, type WidgetKind, listOptions } from '../../src/widgets/option-list.ts'
import { type OptionDefaults, OPTION_PARSERS, toQuery } from '../../src/widgets/options.ts'
import { makeSelection } from '../helpers/studio-view.ts'
import { toRunCount } from '../helpers/property-runs.ts'

const DEFAULTS: OptionDefaults = { locale: 'en', currency: null }
const KINDS = ['where-to-buy', 'picks', 'deals'] as const

const NOTHING = {
  tab: 'where-to-buy',
  channelId: null,
  gtin: null,
  box: { variants: [], standIns: [] },
  picks: [],
  searchText: '',
  boxSearchText: '',
}

const pad = (gtin: number): string => String(gtin).padStart(14, '0')

/** Return a selection with its options as a query string. */
const read = (query: string): object => {
  const { rawOptions, ...rest } = makeSelection(query)
  return { ...rest, rawOptions: rawOptions.toString() }
}

describe('layout inline', () => {
  const query = 'layout=inline&theme=dark&heading=x&limit=2&stock=in&locale=de&isolate=shadow&merchant=A'

  test('options without effect - are kept, but not in the address of the widget', () => {
    const validated = validateOptions('where-to-buy', new URLSearchParams(query), DEFAULTS)
    expect(validated.query.get('theme')).toBe('dark')
    expect(validated.widgetQuery.toString()).toBe('locale=de&merchant=A&isolate=shadow&layout=inline')
  })

  test('other layouts - keep every option', () => {
    const rawOptions = new URLSearchParams(query.replace('inline', 'card'))
    const validated = validateOptions('where-to-buy', rawOptions, DEFAULTS)
    expect(validated.widgetQuery).toEqual(validated.query)
    expect(validated.widgetQuery.get('theme')).toBe('dark')
  })
})

describe('selection', () => {
  test.each(['', 'tab=&channel=&gtin=&find=&theme=&limit=', 'utm_source=x&isolated=1'])(
    '%j - nothing is selected',
    (query) => {
      expect(read(query)).toEqual({ ...NOTHING, rawOptions: '' })
    },
  )

  test('every field - is read', () => {
    expect(read('tab=deals&channel=ABC&gtin=%20123%20&find=desk+lamp&q=arc&sort=price')).toEqual({
      ...NOTHING,
      tab: 'deals',
      channelId: 'abc',
      gtin: '123',
      searchText: 'desk lamp',
      rawOptions: 'q=arc&sort=price',
    })
  })

  test('products of both lists - are read on every tab, invalid and repeated GTINs dropped', () => {
    const query = `tab=deals&gtin=1~2~x~1~2&else=3,2,,4&gtins=5,6,5,x&label=A&label=&label=B`
    expect(read(query)).toEqual({
      ...NOTHING,
      tab: 'deals',
      gtin: '1',
      box: { variants: [pad(2)], standIns: [pad(3), pad(4)] },
      picks: [
        { gtin: pad(5), label: 'A' },
        { gtin: pad(6), label: '' },
      ],
      rawOptions: '',
    })
  })

  test('formatted selection - is parsed to the same selection', () => {
    const query =
      'tab=picks&channel=abc&gtin=1~2&else=3&gtins=5,6,7&label=&label=A+%26+B&find=lamp&theme=dark&sub=x'
    const selection = makeSelection(query)
    const formatted = toSelectionQuery(selection, selection.channelId)
    expect(parseStudioSelection(formatted)).toEqual(selection)
    expect(formatted.get('gtin')).toBe(`1~${pad(2)}`)
    expect(formatted.getAll('label')).toEqual(['', 'A & B'])
  })

  test.each([
    ['tab=nothing', NOTHING],
    ['tab=deals&tab=health', NOTHING],
    [`find=${'x'.repeat(101)}`, NOTHING],
    [`channel=${'x'.repeat(101)}&gtin=2`, { ...NOTHING, gtin: '2' }],
    ['gtin=1&gtin=2', NOTHING],
    ['gtin=&gtin=2', { ...NOTHING, gtin: '2' }],
    ['find=+', NOTHING],
  ])('%s - invalid parameters count as absent, the others stay', (query, selection) => {
    expect(read(query)).toEqual({ ...selection, rawOptions: '' })
  })

  test('options - stay as typed, including invalid and repeated ones, without empty ones', () => {
    expect(makeSelection('theme=blue&merchant=A&limit=&merchant=+b+').rawOptions.toString()).toBe(
      'theme=blue&merchant=A&merchant=+b+',
    )
  })

  test.each([
    ['where-to-buy', 'layout=card&markup=schema'],
    ['picks', 'layout=card'],
    ['deals', 'layout=card&sort=price&q=a'],
    ['feeds', ''],
    ['health', ''],
    ['coverage', ''],
  ])('%s - options of another tab are dropped', (tab, rawOptions) => {
    const query = `tab=${tab}&layout=card&markup=schema&sort=price&q=a`
    expect(makeSelection(query).rawOptions.toString()).toBe(rawOptions)
  })

  test('options of a tab - are those of its widget, in the order of the list', () => {
    for (const tab of ['coverage', 'feeds', 'health'])
      expect(makeSelection(`tab=${tab}&theme=dark`).rawOptions.toString()).toBe('')
    for (const kind of KINDS) {
      const wanted = OPTION_LIST.filter(({ widget }) => widget === 'all' || widget === kind)
      expect(listOptions(kind)).toEqual(wanted)
    }
    expect(STUDIO_TABS).toEqual(['where-to-buy', 'picks', 'deals', 'coverage', 'feeds', 'health'])
  })
})

/** Validate the options of a query string: the query, and the messages. */
const validate = (
  kind: WidgetKind,
  rawOptions: string,
  defaults = DEFAULTS,
): [string, Record<string, string>] => {
  const { query, errors } = validateOptions(kind, new URLSearchParams(rawOptions), defaults)
  return [query.toString(), Object.fromEntries(errors)]
}

describe('validated options', () => {
  test('valid options that differ from their defaults - are normalized, in the order of the list', () => {
    expect(
      validate(
        'where-to-buy',
        'limit=3&merchant=B&theme=dark&merchant=a&locale=de-at&accent=FF6600&currency=eur',
      ),
    ).toEqual(['theme=dark&accent=ff6600&locale=de-AT&currency=EUR&merchant=B&merchant=a&limit=3', {}])
  })

  test('options that equal their defaults - are dropped in every notation', () => {
    expect(validate('where-to-buy', 'theme=auto&locale=EN&stock=any&limit=05&css=link&brand=x')).toEqual([
      '',
      {},
    ])
    expect(validate('deals', 'stock=in&page=1&min_discount=1&layout=grid&q=+')).toEqual(['', {}])
  })

  test("options that equal the server's defaults - are dropped; common defaults are kept", () => {
    const defaults = { locale: 'de', currency: 'EUR' }
    expect(validate('deals', 'locale=de&currency=eur', defaults)).toEqual(['', {}])
    expect(validate('deals', 'locale=en&currency=GBP', defaults)).toEqual(['locale=en&currency=GBP', {}])
  })

  test("invalid options - have the parser's messages, the others stay", () => {
    expect(validate('where-to-buy', 'theme=blue&limit=51&accent=ff6600&stock=in&stock=any')).toEqual([
      'accent=ff6600',
      {
        theme: 'The parameter "theme" accepts auto, light or dark.',
        limit: 'The parameter "limit" accepts a whole number from 1 to 50.',
        stock: 'The parameter "stock" accepts one value, in or any.',
      },
    ])
  })

  test('same name in both widgets - is validated by the parser of the tab', () => {
    expect(validate('deals', 'limit=60&layout=carousel')).toEqual(['layout=carousel&limit=60', {}])
    expect(Object.keys(validate('where-to-buy', 'limit=60&layout=carousel')[1])).toEqual(['layout', 'limit'])
  })

  test('error other than an invalid option - is rethrown', () => {
    class BrokenQuery extends URLSearchParams {
      override getAll(): string[] {
        throw new RangeError('broken')
      }
    }
    expect(() => validateOptions('deals', new BrokenQuery(), DEFAULTS)).toThrow(RangeError)
  })
})

const VALUES = [
  'auto|dark|LIGHT|shadow|none|link|schema|in|any|card|list|grid|price|newest|Kopje|kopje'.split('|'),
  '0|1|05|12|60|61|1e3|49.99|ff6600|#ff6600|de-AT|EUR|eur|xxx'.split('|'),
  ['', ' ', 'K'.repeat(101), 'a|b', '"><script>', '\uD800', '&=?#'],
].flat(1)
const NAMES = [...new Set(OPTION_LIST.map(({ name }) => name)), 'utm_source']
const typedQueries = fc
  .array(fc.tuple(fc.constantFrom(...NAMES), fc.oneof(fc.constantFrom(...VALUES), fc.string())), {
    maxLength: 8,
  })
  .map((pairs) => new URLSearchParams(pairs))
const manyMerchants = fc
  .array(fc.string({ minLength: 1 }), { minLength: 19, maxLength: 22 })
  .map((names) => new URLSearchParams(names.map((name): [string, string] => ['merchant', name])))

describe('validated options of any query', () => {
  test.each(KINDS)('%s - are accepted by the parser, and equal the valid options alone', (kind) => {
    const parse = OPTION_PARSERS[kind]
    fc.assert(
      fc.property(fc.oneof(typedQueries, manyMerchants), (query) => {
        const { rawOptions } = parseStudioSelection(new URLSearchParams([['tab', kind], ...query]))
        const validated = validateOptions(kind, rawOptions, DEFAULTS)
        const valid = new URLSearchParams([...rawOptions].filter(([name]) => !validated.errors.has(name)))
        const key = toQuery(kind, parse(validated.query, DEFAULTS, 'fragment'), DEFAULTS, 'fragment')
        expect(key).toBe(toQuery(kind, parse(valid, DEFAULTS, 'fragment'), DEFAULTS, 'fragment'))
        // Validating again changes nothing and finds no errors.
        const again = validateOptions(kind, validated.query, DEFAULTS)
        expect([again.query.toString(), again.errors.size]).toEqual([validated.query.toString(), 0])
      }),
      { numRuns: toRunCount(1_000) },
    )
  })
})

describe('query of a frame', () => {
  test('options that only fragments have - are removed, the others stay in order', () => {
    const query = new URLSearchParams(
      'theme=dark&isolate=shadow&css=none&merchant=a&merchant=b&markup=schema',
    )
    expect(toFrameQuery(query).toString()).toBe('theme=dark&merchant=a&merchant=b')
    expect(query.size).toBe(6)
  })
})
