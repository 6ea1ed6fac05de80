import { describe, expect, test } from 'vitest'
import type { PriceSeries } from '../../src/offers/price-history.ts'
import { type HistoryView, toHistoryView } from '../../src/widgets/history.ts'
import { LANGUAGE_TAGS, getLocalization } from '../../src/widgets/locales/index.ts'
import { createRenderer } from '../../src/widgets/render.ts'
import { findHtmlErrors } from '../helpers/html-errors.ts'
import { makeBox } from '../helpers/views.ts'

const DAY_MS = 86_400_000
const toDayOf = (date: string): number => Date.parse(date) / DAY_MS
const TODAY = toDayOf('2026-01-20')

/** A price in ten-thousandths on each of the `count` days that end on `lastDay`. */
const makeSeries = (price: number, count: number, lastDay = TODAY): PriceSeries => ({
  merchantKey: 'kopje',
  currency: 'EUR',
  days: Array.from({ length: count }, (_, index) => ({
    day: lastDay - count + 1 + index,
    low: price,
    last: price,
    isImported: false,
  })),
})

/** The same, with twice the price on the first day. */
const makeFallen = (...parameters: Parameters<typeof makeSeries>): PriceSeries => {
  const { days, ...series } = makeSeries(...parameters)
  const [first, ...others] = days
  const price = 2 * parameters[0]
  return { ...series, days: first === undefined ? [] : [{ ...first, low: price, last: price }, ...others] }
}

type Changes = Readonly<{ history?: 'note' | 'chart'; locale?: string; currency?: string }>

const toView = (
  series: readonly PriceSeries[],
  { history = 'note', locale = 'en', currency = 'EUR' }: Changes = {},
): HistoryView | null =>
  toHistoryView({ series, currency, today: TODAY }, { history }, getLocalization(locale))
const toSentence = (...parameters: Parameters<typeof toView>): string =>
  toView(...parameters)
    ?.sentence.map(({ text }) => text)
    .join('')
    .replaceAll('\u00A0', ' ') ?? 'nothing'

describe('sentence', () => {
  test('29 observed days - nothing, also no chart', () => {
    expect(toView([makeSeries(129_900, 29)], { history: 'chart' })).toBeNull()
    expect(toSentence([makeFallen(129_900, 30)])).toBe(
      'Lowest price in 30 observed days: €12.99 on January 20',
    )
  })

  test('day of another year - is said with its year', () => {
    const series = [{ ...makeSeries(200_000, 19), merchantKey: 'brava' }, makeSeries(129_900, 30, TODAY - 20)]
    expect(toSentence(series)).toBe('Lowest price in 49 observed days: €12.99 on December 31, 2025')
    expect(toSentence([makeSeries(129_900, 49, TODAY - 19), makeSeries(200_000, 9)])).not.toContain(',')
  })

  test.each([
    ['en-GB', 'Lowest price in 1,200 observed days: €12.99 on 20 January'],
    ['de', 'Niedrigster Preis an 1.200 Beobachtungstagen: 12,99 € am 20. Januar'],
    ['fi', 'Alin hinta 1 200 havaintopäivän aikana: 12,99 €, 20. tammikuuta'],
    ['ja', '観測した1,200日のうちの最安値：€12.99（1月20日）'],
  ])('%s - number, price and date as the language writes them', (locale, expected) => {
    expect(toSentence([makeFallen(129_900, 1_200)], { locale })).toBe(expected)
  })

  test('currency without decimals - the price has none', () => {
    expect(toSentence([makeFallen(12_990_000, 30)], { currency: 'JPY' })).toContain('¥1,299 on')
  })

  test.each(LANGUAGE_TAGS)('%s - days, price and date stand apart from the text', (locale) => {
    const read = (series: PriceSeries): unknown => {
      const { sentence = [] } = toView([series], { locale }) ?? {}
      expect(sentence.map(({ text }) => text).join('')).not.toMatch(/[{}]|undefined/)
      return sentence.filter(({ placeholder }) => placeholder !== null).length
    }
    expect([read(makeFallen(129_900, 30)), read(makeSeries(129_900, 30))]).toEqual([3, 2])
  })

  test('same lowest price on every day - says so, without a date', () => {
    expect(toSentence([makeSeries(129_900, 30), { ...makeSeries(200_000, 3), merchantKey: 'brava' }])).toBe(
      'Lowest price unchanged in 30 observed days: €12.99',
    )
  })
})

describe('chart', () => {
  const series = [makeSeries(200_000, 30), { ...makeSeries(129_900, 2, TODAY - 10), merchantKey: 'brava' }]

  test('history=note - none', () => {
    expect(toView(series)?.chart).toBeNull()
  })

  test('history=chart - has labels, and a text with period, lowest and highest price', () => {
    const { lines, ...labels } = toView(series, { history: 'chart', locale: 'en-GB' })?.chart ?? {}
    expect(labels).toEqual({
      label:
        'Lowest price of each day from 22\u00A0December\u00A02025 to 20\u00A0January: between €12.99 and €20.00',
      high: '€20.00',
      low: '€12.99',
      from: '22\u00A0Dec\u00A02025',
      to: '20\u00A0Jan',
    })
    expect(lines).toMatchObject({ width: 30, path: 'M0 4h18v32h2v-32h10', lowPath: 'M19.5 36h.01' })
  })

  test('constant price - one label', () => {
    expect(toView([makeSeries(129_900, 30)], { history: 'chart' })?.chart).toMatchObject({
      high: '€12.99',
      low: null,
    })
  })

  test('no price in the last 120 days - only the sentence', () => {
    const view = toView([makeFallen(129_900, 30, TODAY - 200)], { history: 'chart' })
    expect([view?.sentence.length, view?.chart]).toEqual([6, null])
  })

  test('lower price before the chart - no day in it is marked', () => {
    const early = { ...makeSeries(100_000, 5, TODAY - 150), merchantKey: 'early' }
    const view = toView([early, ...series], { history: 'chart' })
    expect(view?.sentence[3]?.text).toBe('€10.00')
    expect(view?.chart?.lines.lowPath).toBeNull()
  })

  test('right to left - today is on the left', () => {
    const { lines } = toView(series, { history: 'chart', locale: 'ar' })?.chart ?? {}
    expect(lines?.path).toBe('M0 4h10v32h2v-32h18')
  })
})

describe('markup', () => {
  const renderer = createRenderer()
  const render = (locale: string, layout: 'list' | 'inline'): string => {
    const { lang, dir } = getLocalization(locale)
    const box = makeBox({ layout, history: toView([makeFallen(129_900, 40)], { history: 'chart', locale }) })
    return renderer.renderWidget({ ...box, wrapper: { ...box.wrapper, lang, dir } })
  }

  test.each(['en', 'de', 'ar', 'ja'])('%s - is valid, without inline style and script', async (locale) => {
    for (const layout of ['list', 'inline'] as const) {
      const html = render(locale, layout)
      expect(await findHtmlErrors(html)).toEqual([])
      expect(html).not.toMatch(/ style=|<script/)
    }
  })

  test('list - stands between the offers and the notices', () => {
    const html = render('en', 'list')
    const places = ['vitrine-offers', 'vitrine-history', 'vitrine-small'].map((name) => html.indexOf(name))
    expect(places).toEqual([...places].sort((a, b) => a - b))
    expect(html).toContain(
      '<p>Lowest price in <bdi>40</bdi> observed days: <bdi translate="no">€12.99</bdi> on <bdi>',
    )
  })
})
