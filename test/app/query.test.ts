import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BOX, BOX_EMBED, GRID, GRID_EMBED, startStockedHarness, fetchPath } from './app-client.ts'
import { toRunCount } from '../helpers/property-runs.ts'

/** Valid values of the parameters of the widgets. */
const COMMON = {
  theme: ['auto', 'light', 'dark'],
  accent: ['aa0000', 'AA0000'],
  locale: ['de', 'en-GB'],
  currency: ['EUR', 'eur'],
  stock: ['in', 'any'],
  merchant: ['Kopje', 'KOPJE'],
  exclude: ['nobody'],
  isolate: ['none', 'shadow'],
  css: ['link', 'none'],
}
const WIDGET_OPTIONS = {
  box: { layout: ['list'], limit: ['1', '50'], history: ['note', 'chart'], markup: ['none', 'schema'] },
  grid: {
    layout: ['grid'],
    limit: ['1', '60'],
    page: ['1'],
    sort: ['price', 'newest', 'drop'],
    evidence: ['observed'],
    q: ['lamp'],
    brand: ['LUMEN'],
  },
}

type Pair = readonly [name: string, value: string]

/** Generate some parameters of a widget, each at most once. */
function makeKnown(widget: 'box' | 'grid'): fc.Arbitrary<Pair[]> {
  const values = Object.entries({ ...COMMON, ...WIDGET_OPTIONS[widget] })
  return fc
    .shuffledSubarray(values)
    .chain((chosen) =>
      fc.tuple(
        ...chosen.map(([name, accepted]) => fc.constantFrom(...accepted).map((value): Pair => [name, value])),
      ),
    )
}

/** Unknown parameters, as advertisers, caches and attackers send them. */
const unknown: fc.Arbitrary<Pair[]> = fc.array(
  fc.tuple(
    fc.constantFrom(
      'utm_source',
      'fbclid',
      'Theme',
      'theme[]',
      'limit.',
      'cursor',
      '__proto__',
      'constructor',
      '',
    ),
    fc.string({ maxLength: 20 }),
  ),
  { maxLength: 6 },
)

const toQuery = (pairs: readonly Pair[]): string => {
  const query = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString()
  return query === '' ? '' : `?${query}`
}

const toRows = (
  widget: string,
  options: readonly (readonly [string, readonly string[]])[],
): [string, string, string][] =>
  options.flatMap(([name, values]) => values.map((value): [string, string, string] => [widget, name, value]))

const repeat = (count: number): string =>
  Array.from({ length: count }, (_, index) => `merchant=shop${index}`).join('&')

describe('query', () => {
  test.each([
    ['box', BOX],
    ['box', BOX_EMBED],
    ['grid', GRID],
    ['grid', GRID_EMBED],
  ] as const)('%s %s, with unknown parameters and in any order - the same response', async (widget, path) => {
    const harness = await startStockedHarness()
    const mixed = fc.tuple(makeKnown(widget), unknown).chain(([known, unknownPairs]) =>
      fc.record({
        known: fc.constant(known),
        mixed: fc.shuffledSubarray([...known, ...unknownPairs], {
          minLength: known.length + unknownPairs.length,
        }),
      }),
    )
    await fc.assert(
      fc.asyncProperty(mixed, async (pairs) => {
        const plain = await fetchPath(harness, path + toQuery(pairs.known))
        const entryCount = harness.context.caches.responses.entryCount()
        const callCount = harness.catalog.calls.length
        const seen = await fetchPath(harness, path + toQuery(pairs.mixed))
        expect([200, 200]).toEqual([plain.status, seen.status])
        expect(seen.body.equals(plain.body)).toBe(true)
        expect(seen.headers['etag']).toBe(plain.headers['etag'])
        expect(harness.context.caches.responses.entryCount()).toBe(entryCount)
        expect(harness.catalog.calls.length).toBe(callCount)
      }),
      { numRuns: toRunCount(60) },
    )
  })

  test('options - never reach the catalog', async () => {
    const harness = await startStockedHarness()
    harness.clock.advance(2 * 3_600_000)
    await fetchPath(harness, `${BOX}?theme=dark&currency=EUR&merchant=Kopje&cursor=x&limit=3`)
    const paths = harness.catalog.calls.map(({ path }) => path).filter((path) => path.includes('/products/'))
    expect(paths).toEqual([expect.stringMatching(/\/products\/\d{14}$/)])
  })
})

describe('invalid options', () => {
  const both = [
    ['theme', ['blue', 'DARK', '']],
    ['accent', ['#aa0000', 'red', 'aa000', 'aa00000', 'gg0000', '']],
    ['locale', ['nonsense tag', 'x', 'e'.repeat(36), '../etc', 'und', 'und-Latn', 'und-DE', '']],
    ['currency', ['EURO', 'XYZ', 'E', '']],
    ['stock', ['out', 'IN', '']],
    ['merchant', ['', 'x'.repeat(101)]],
    ['exclude', ['', ' ', 'x'.repeat(101)]],
    ['isolate', ['iframe', '']],
    ['css', ['inline', '']],
    ['layout', ['poster', '']],
  ] as const
  const box = [
    ['limit', ['0', '51', '-1', '1.5', '1e1', 'x', '', ' 5', '0x5']],
    ['history', ['all', '']],
    ['markup', ['rdfa', '']],
  ] as const
  const grid = [
    ['limit', ['0', '61', '']],
    ['page', ['0', '1001', '-1', '']],
    ['sort', ['random', '']],
    ['evidence', ['own', '']],
    ['min_discount', ['0', '100', '5%', '']],
    ['max_price', ['0', '-5', '1e3', '1,50', '12.34567', '1234567890123', '']],
    ['brand', ['x'.repeat(101)]],
    ['q', ['x'.repeat(101)]],
  ] as const
  const rows = [
    ...toRows('box', both),
    ...toRows('box', box),
    ...toRows('grid', both),
    ...toRows('grid', grid),
  ]
  const paths = { box: [BOX, BOX_EMBED], grid: [GRID, GRID_EMBED] }

  test('invalid value - 400 that names the parameter and the accepted values', async () => {
    const harness = await startStockedHarness()
    for (const [widget, name, value] of rows) {
      for (const path of paths[widget === 'box' ? 'box' : 'grid']) {
        const seen = await fetchPath(harness, `${path}?${name}=${encodeURIComponent(value)}`)
        expect([seen.status, seen.headers['vitrine-error']], `${path} ${name}=${value}`).toEqual([
          400,
          expect.stringContaining(`The parameter "${name}" accepts `),
        ])
      }
    }
  })

  test('repeated single-value parameter - 400, also with equal values', async () => {
    const harness = await startStockedHarness()
    const options = {
      box: { ...COMMON, ...WIDGET_OPTIONS.box },
      grid: { ...COMMON, ...WIDGET_OPTIONS.grid, min_discount: ['5'], max_price: ['9'] },
    }
    for (const widget of ['box', 'grid'] as const) {
      for (const [name, [value = '']] of Object.entries(options[widget])) {
        const expected = name === 'merchant' || name === 'exclude' ? 200 : 400
        for (const path of paths[widget]) {
          const seen = await fetchPath(harness, `${path}?${name}=${value}&${name}=${value}`)
          expect([name, seen.status]).toEqual([name, expected])
        }
      }
    }
  })

  test('more than twenty merchants - 400; twenty: 200', async () => {
    const harness = await startStockedHarness()
    expect((await fetchPath(harness, `${BOX}?${repeat(20)}`)).status).toBe(200)
    expect((await fetchPath(harness, `${BOX}?${repeat(21)}`)).status).toBe(400)
  })

  test('options of the other widget - are ignored', async () => {
    const harness = await startStockedHarness()
    expect((await fetchPath(harness, `${BOX}?sort=nonsense&page=x`)).status).toBe(200)
    expect((await fetchPath(harness, `${GRID}?markup=nonsense`)).status).toBe(200)
  })
})
