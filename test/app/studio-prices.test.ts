import { expect, test, vi } from 'vitest'
import { DAY_MS } from '../../src/clock.ts'
import { makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
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
    'Prices in EUR observed on 2 days. The note of a box (option history) appears after 30 observed days, on Dec 20, 2026 at the earliest.',
  )
  expect(readRow(text, 'Quillhaven')).toEqual([
    'Quillhaven',
    '2',
    '€49.90 Nov 22, 2026',
    '€49.90',
    '€49.90 Nov 22, 2026',
    'none: 0 of the 30 days before Nov 21, 2026 observed, 25 needed',
    'unknown',
  ])
})

test('script, and a page of deals - read none', async () => {
  const harness = await startStudio()
  const read = vi.spyOn(harness.context.store, 'findPriceSeries')
  for (const path of ['/studio/live', '/studio?tab=deals']) await fetchAsAdmin(harness, path)
  expect(read).not.toHaveBeenCalled()
  await fetchAsAdmin(harness, '/studio')
  expect(read).toHaveBeenCalledTimes(1)
})

test('without a history - says why there are none', async () => {
  const harness = await startStudio({ VITRINE_HISTORY_DAYS: '0' })
  const { text } = await fetchAsAdmin(harness, '/studio')
  expect(await findHtmlErrors(text)).toEqual([])
  expect(readVisibleText(text)).toContain('Prices are not recorded, because VITRINE_HISTORY_DAYS is 0.')
  const health = await fetchAsAdmin(harness, '/studio?tab=health')
  expect(readRow(health.text, 'Test magazine')).toContain('not recorded (VITRINE_HISTORY_DAYS=0)')
})
