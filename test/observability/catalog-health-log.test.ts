import { expect, test } from 'vitest'
import { MINUTE_MS } from '../../src/clock.ts'
import { GTIN, startStockedHarness, fetchPath } from '../app/app-client.ts'
import { CHANNEL_ID, sendJson } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'

const HOURS_MS = 2 * 60 * MINUTE_MS

/** Lines about the catalog, parsed. */
function listLines(harness: Harness): Record<string, unknown>[] {
  return harness
    .logs()
    .split('\n')
    .filter((line) => line.includes('"msg":"catalog '))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

const visitBox = (harness: Harness, query = ''): Promise<unknown> =>
  fetchPath(harness, `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}${query}`)

test.each([
  [500, 'VITRINE_CATALOG_STATUS', 40],
  [401, 'VITRINE_CATALOG_KEY_REFUSED', 50],
  [302, 'VITRINE_CATALOG_REDIRECT', 40],
])('catalog responds with %i - one line with %s for all visits, and one on recovery', async (...row) => {
  const [status, code, level] = row
  const harness = await startStockedHarness()
  harness.clock.advance(HOURS_MS)
  harness.catalog.fault = {
    pathPattern: /./,
    respond: (_request, response) => sendJson(response, status, {}),
  }
  for (let turn = 0; turn < 5; turn++) await visitBox(harness)
  const [line, ...more] = listLines(harness)
  expect(line).toMatchObject({ level, code, operation: 'product', failures: 1 })
  expect(line?.['reason']).toContain(String(status))
  expect(more).toEqual([])
  harness.catalog.fault = null
  harness.clock.advance(2 * MINUTE_MS)
  await visitBox(harness)
  expect(listLines(harness)[1]).toMatchObject({ level: 30, failures: 1, msg: 'catalog recovered' })
})

test('429 - logs the end of the pause', async () => {
  const harness = await startStockedHarness()
  harness.clock.advance(HOURS_MS)
  harness.catalog.fault = {
    pathPattern: /./,
    respond: (_request, response) => response.writeHead(429, { 'retry-after': '600' }).end('{}'),
  }
  await visitBox(harness)
  const until = new Date(harness.clock.nowMs() + 10 * MINUTE_MS).toISOString()
  expect(listLines(harness)).toMatchObject([
    { level: 40, code: 'VITRINE_CATALOG_RATE_LIMITED', pausedUntil: until },
  ])
})

test('continuing failure - one line a minute with the number of failed calls', async () => {
  const harness = await startStockedHarness()
  harness.clock.advance(HOURS_MS)
  // Server errors would open the circuit breaker.
  harness.catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 400, {}) }
  for (let turn = 0; turn < 30; turn++) {
    await visitBox(harness)
    harness.clock.advance(7_000)
  }
  expect(listLines(harness).map(({ failures }) => failures)).toEqual([1, 10, 19, 28])
})
