import { expect, test } from 'vitest'
import { startHarness, fetchPath } from '../app/app-client.ts'
import { CHANNEL_ID, makeWireProduct } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'

test('server without walks - unknown GTINs cause no more calls than the hourly limit', async () => {
  const settings = { VITRINE_SYNC_CRON: 'off', VITRINE_UNKNOWN_LOOKUPS_PER_HOUR: '20' }
  const harness = await startHarness({ settings })
  const gtins = Array.from({ length: 60 }, (_, index) => toGtin(100 + index))
  harness.catalog.products.set(
    CHANNEL_ID,
    gtins.map((gtin) => makeWireProduct({ gtin })),
  )
  const states: (string | undefined)[] = []
  for (const gtin of gtins) {
    const response = await fetchPath(harness, `/fragments/${CHANNEL_ID}/where-to-buy/${gtin}`)
    states.push(response.headers['vitrine-state'])
  }
  expect(harness.catalog.countCalls(/\/products\/\d+$/)).toBe(20)
  expect(states.filter((state) => state === 'shown')).toHaveLength(20)
  expect(states.filter((state) => state === 'unavailable')).toHaveLength(40)
})
