import { expect, test, vi } from 'vitest'
import { DAY_MS } from '../../src/clock.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { findHtmlErrors } from '../helpers/html-errors.ts'
import { toGtin } from '../helpers/products.ts'
import {
  type TestResponse,
  fetchPath,
  findByClass,
  getText,
  listElements,
  readVisibleText,
  startStockedHarness,
} from './app-client.ts'
import { findAll } from './studio-page.ts'

/** Start the app with a product at two shops, walked once. */
const startStudio = (settings = {}): Promise<Harness> => {
  const shops = ['Kopje', 'Quillhaven']
  const offers = shops.map((name) => makeWireOffer({ merchant: { name } }))
  const products = [makeWireProduct({ gtin: toGtin(2), offers })]
  return startStockedHarness(products, { settings: { VITRINE_ADMIN_PASSWORD: 'pass', ...settings } })
}

const fetchAsAdmin = (harness: Harness, path: string): Promise<TestResponse> =>
  fetchPath(harness, path, { Authorization: `Basic ${btoa('admin:pass')}` })

/** Return the cells of the row of a table that begins with `name`. */
const readRow = (html: string, name: string): string[] => {
  const rows = listElements(html).filter(({ tagName }) => tagName === 'tr')
  const row = rows.find((one) => getText(one).startsWith(name))
  return (row?.childNodes ?? []).map(getText).filter((cell) => cell !== '')
}

test('page of a product - a row for each shop, with its name and days', async () => {
  const harness = await startStudio()
  harness.clock.step(DAY_MS)
  await harness.context.walks.runNow()
  const { text } = await fetchAsAdmin(harness, `/studio?gtin=${toGtin(2)}`)
  const [section] = findByClass(text, 'prices')
  expect(section && getText(section)).toContain(
    'Prices in EUR were observed on 2 days. With the option history, a box says the lowest price after 30 observed days, on Dec 20, 2026 at the earliest.',
  )
  expect(readRow(text, 'Quillhaven')).toEqual([
    'Quillhaven',
    '2',
    '€49.90 Nov 22, 2026',
    '€49.90',
    '€49.90 Nov 22, 2026',
    'none unchanged since the first observed day, Nov 21, 2026',
    'unknown',
  ])
})

test('page of deals - reads none', async () => {
  const harness = await startStudio()
  const read = vi.spyOn(harness.context.store, 'findPriceSeries')
  await fetchAsAdmin(harness, '/studio?tab=deals')
  expect(read).not.toHaveBeenCalled()
  await fetchAsAdmin(harness, '/studio')
  expect(read).toHaveBeenCalledTimes(1)
})

test('box with its note - explains the note', async () => {
  const harness = await startStudio()
  const readFact = async (query: string): Promise<string | undefined> => {
    const { text } = await fetchAsAdmin(harness, `/studio?${query}`)
    const fact = findAll(text, '.why .facts div').find((one) => getText(one).startsWith('Observed prices'))
    return fact && getText(fact).replace('Observed prices ', '')
  }
  expect(await readFact('history=none')).toBe('not shown: the option history is not set')
  expect(await readFact('history=note')).toBe(
    'history=note, prices in EUR: observed on 1 day. With the option history, a box says the lowest price after 30 observed days, on Dec 20, 2026 at the earliest.',
  )
  expect(await readFact('history=note&exclude=Kopje&exclude=Quillhaven')).toBe(
    'history=note shows nothing: the box has no offers',
  )
})

const DROP_RULE =
  'A price has dropped if it is below the lowest price of the 30 days before it began. This server must have observed at least 25 of these days.'

/** Put two deals into the catalog, with the price of the second one, and walk it on the next day. */
async function walkNextDay({ catalog, clock, context }: Harness, price: string): Promise<void> {
  const products = ['60.00', price].map((one, index) =>
    makeWireProduct({ gtin: toGtin(index), offers: [makeWireOffer({ price: one, old_price: '99.80' })] }),
  )
  catalog.products.set(CHANNEL_ID, products)
  clock.step(DAY_MS)
  await context.walks.runNow()
}

const readEvidence = (html: string): string[] => findAll(html, '.facets p').map(getText)

test.each(['evidence=observed', 'sort=drop'])(
  'grid with %s - says how many deals are confirmed, and what is needed',
  async (query) => {
    const harness = await startStudio()
    for (let day = 0; day < 26; day += 1) await walkNextDay(harness, '60.00')
    const before = await fetchAsAdmin(harness, `/studio?tab=deals&${query}`)
    expect(readEvidence(before.text)).toEqual([
      `Deals with an observed price drop: 0. On sale according to the shops: 2. ${DROP_RULE} This channel was observed on 27 days.`,
    ])
    await walkNextDay(harness, '50.00')
    const { text } = await fetchAsAdmin(harness, `/studio?tab=deals&${query}`)
    expect(await findHtmlErrors(text)).toEqual([])
    expect(readEvidence(text)).toEqual([
      `Deals with an observed price drop: 1. On sale according to the shops: 2. ${DROP_RULE} This channel was observed on 28 days.`,
    ])
  },
)

test('grid with evidence=observed, without a history - says why no deal is confirmed', async () => {
  const harness = await startStudio({ VITRINE_HISTORY_DAYS: '0' })
  await walkNextDay(harness, '60.00')
  const { text } = await fetchAsAdmin(harness, '/studio?tab=deals&evidence=observed')
  expect(readEvidence(text)).toEqual([
    `Deals with an observed price drop: 0. On sale according to the shops: 2. ${DROP_RULE} Prices are not recorded, because VITRINE_HISTORY_DAYS is 0.`,
  ])
})

test('grid without these options - says nothing about observed prices', async () => {
  const harness = await startStudio()
  await walkNextDay(harness, '60.00')
  const { text } = await fetchAsAdmin(harness, '/studio?tab=deals')
  expect(readEvidence(text)).toEqual([''])
})

test('without a history - says why there are none', async () => {
  const harness = await startStudio({ VITRINE_HISTORY_DAYS: '0' })
  const { text } = await fetchAsAdmin(harness, '/studio')
  expect(await findHtmlErrors(text)).toEqual([])
  expect(readVisibleText(text)).toContain('Prices are not recorded, because VITRINE_HISTORY_DAYS is 0.')
  const health = await fetchAsAdmin(harness, '/studio?tab=health')
  expect(readRow(health.text, 'Test magazine')).toContain('not recorded (VITRINE_HISTORY_DAYS=0)')
})
