import { expect, test } from 'vitest'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { findHtmlErrors } from '../helpers/html-errors.ts'
import { toGtin } from '../helpers/products.ts'
import {
  type TestResponse,
  fetchPath,
  getAttribute,
  getText,
  listElements,
  readVisibleText,
  startStockedHarness,
} from './app-client.ts'

const offers = ['Kopje', 'Quillhaven'].map((name) => makeWireOffer({ merchant: { name } }))

/** Start the app with a product at two shops and one at a single shop, walked once. */
const startStudio = (): Promise<Harness> =>
  startStockedHarness(
    [
      makeWireProduct({ gtin: toGtin(1), title: 'Lamp', offers }),
      makeWireProduct({ gtin: toGtin(2), title: 'Chair', offers: offers.slice(0, 1) }),
    ],
    { settings: { VITRINE_ADMIN_PASSWORD: 'pass' } },
  )

const fetchAsAdmin = (harness: Harness, path: string): Promise<TestResponse> =>
  fetchPath(harness, path, { Authorization: `Basic ${btoa('admin:pass')}` })

/** Return the cells of the row that begins with `name`. */
const readRow = (html: string, name: string): string[] => {
  const rows = listElements(html).filter(({ tagName }) => tagName === 'tr')
  const row = rows.find((one) => getText(one).startsWith(name))
  return (row?.childNodes ?? []).map(getText).filter((cell) => cell !== '')
}

test('nothing counted - says what will be counted', async () => {
  const { text } = await fetchAsAdmin(await startStudio(), '/studio?tab=coverage')
  expect(readVisibleText(text)).toContain('Nothing about visitors is kept')
  expect(await findHtmlErrors(text)).toEqual([])
})

test('product that vanishes, and one of a single shop - are listed with their placements; the link explains the box', async () => {
  const harness = await startStudio()
  const { coverage, store } = harness.context
  for (const state of ['shown', 'hidden', 'hidden'] as const)
    coverage.countWidget({ channelId: CHANNEL_ID, gtin: toGtin(1), sub: 'post-9', state })
  coverage.countWidget({ channelId: CHANNEL_ID, gtin: toGtin(2), sub: '', state: 'shown' })
  coverage.countClick({ channelId: CHANNEL_ID, gtin: toGtin(2), sub: '', merchant: 'Kopje' })
  await coverage.flush()
  const absence = { product: null, asOfMs: harness.clock.nowMs() + 1 }
  await store.putLookups([{ channelId: CHANNEL_ID, gtin: toGtin(1), entry: absence }])
  const calls = harness.catalog.calls.length
  const { text } = await fetchAsAdmin(harness, '/studio?tab=coverage')
  expect(harness.catalog.calls.length).toBe(calls)
  expect(await findHtmlErrors(text)).toEqual([])
  expect(readVisibleText(text)).toContain('These placements show them: post-9 (1).')
  expect(readRow(text, toGtin(1)).slice(1)).toEqual([
    'no shop, last sold Nov 21, 2026',
    '1',
    '2',
    '0',
    'post-9',
  ])
  expect(readRow(text, 'Chair').slice(1)).toEqual(['only Kopje', '1', '0', '1', 'without a placement id'])
  const link = listElements(text).find((one) => one.tagName === 'a' && getText(one) === toGtin(1))
  const page = await fetchAsAdmin(harness, `/${link === undefined ? '' : getAttribute(link, 'href')}`)
  expect(readVisibleText(page.text)).toContain('Why this result')
})
