import { expect, test } from 'vitest'
import { HOUR_MS } from '../../src/clock.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { type TestResponse, fetchPath, readVisibleText, startStockedHarness } from './app-client.ts'

const GTIN = toGtin(2)
const SENTENCE = `/studio/sentence?channel=${CHANNEL_ID}&gtin=${GTIN}`
const WITHOUT_LINK = 'mentions the product and then goes on'

const startStudio = (): Promise<Harness> =>
  startStockedHarness([makeWireProduct({ gtin: GTIN, offers: [makeWireOffer()] })], {
    settings: { VITRINE_ADMIN_PASSWORD: 'pass' },
  })
const fetchAsAdmin = (harness: Harness, path: string): Promise<TestResponse> =>
  fetchPath(harness, path, { Authorization: `Basic ${btoa('admin:pass')}` })

test('no offer in stock - the sentence without the link', async () => {
  const harness = await startStudio()
  expect(readVisibleText((await fetchAsAdmin(harness, SENTENCE)).text)).not.toContain(WITHOUT_LINK)
  const { text } = await fetchAsAdmin(harness, `${SENTENCE}&exclude=Kopje`)
  expect(readVisibleText(text)).toContain(WITHOUT_LINK)
})

test('no usable data - the sentence without the link, which the studio can frame, and the reason in its notice', async () => {
  const harness = await startStudio()
  harness.clock.advance(200 * HOUR_MS)
  harness.catalog.fault = { pathPattern: /./, respond: (_request, response) => response.writeHead(500).end() }
  const { status, text, headers } = await fetchAsAdmin(harness, SENTENCE)
  expect([status, headers['x-frame-options']]).toEqual([200, 'SAMEORIGIN'])
  expect(headers['content-security-policy']).toContain("frame-ancestors 'self'")
  expect(readVisibleText(text)).toContain(WITHOUT_LINK)
  const page = await fetchAsAdmin(harness, `/studio?gtin=${GTIN}&layout=inline`)
  expect(readVisibleText(page.text)).toContain('no usable data')
})

test.each([
  ['no address', '/studio/sentence'],
  ['invalid GTIN', `/studio/sentence?channel=${CHANNEL_ID}&gtin=x`],
  ['unknown channel', `/studio/sentence?channel=00000000-0000-4000-8000-000000000009&gtin=${GTIN}`],
])('%s - the sentence without the link', async (_case, path) => {
  const { status, text } = await fetchAsAdmin(await startStudio(), path)
  expect(status).toBe(200)
  expect(readVisibleText(text)).toContain(WITHOUT_LINK)
})
