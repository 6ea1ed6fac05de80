import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createFixedKeySource } from '../../src/config/key-source.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { Secret } from '../../src/config/secrets.ts'
import {
  CHANNEL_ID,
  FAKE_KEY,
  type FakeCatalog,
  makeWireOffer,
  sendJson,
  startFakeCatalog,
} from '../helpers/fake-catalog.ts'
import { type Harness, NOON_MS } from '../helpers/harness.ts'
import { BOX, BOX_EMBED, GRID, makeProductOnSale, startHarness, fetchPath } from './app-client.ts'

/** Set the price in the catalog, so that a test can tell old and new data apart. */
function setPrice(catalog: FakeCatalog, price: string): void {
  catalog.products.set(CHANNEL_ID, [
    makeProductOnSale({ offers: [makeWireOffer({ price, old_price: '99.80' })] }),
  ])
}

type ClockFixture = Readonly<{ catalog: FakeCatalog; open(): Promise<Harness> }>

/** Create a catalog and a database for consecutive servers, each with a correct clock at first. */
async function createClockFixture(): Promise<ClockFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-clock-'))
  const catalog = await startFakeCatalog()
  onTestFinished(async () => {
    await catalog.close()
    await rm(folder, { recursive: true, force: true })
  })
  return {
    catalog,
    open: () =>
      startHarness({
        settings: {
          VITRINE_DATABASE_URL: `sqlite:${join(folder, 'copy.db')}`,
          VITRINE_ADMIN_PASSWORD: 'x'.repeat(12),
        },
        over: {
          catalog: {
            baseUrl: catalog.url,
            key: createFixedKeySource(new Secret(FAKE_KEY)),
            copyName: catalog.url,
          },
        },
      }),
  }
}

const ADMIN = { Authorization: `Basic ${Buffer.from(`admin:${'x'.repeat(12)}`).toString('base64')}` }

/** Return the metric of the age of the copy; `undefined` if it is absent. */
async function readAge(harness: Harness): Promise<number | undefined> {
  const { text } = await fetchPath(harness, '/metrics', ADMIN)
  const age = /^vitrine_copy_age_seconds\{.*\} (.*)$/m.exec(text)?.[1]
  return age === undefined ? undefined : Number(age)
}

/** Return the visible prices and the time of their check. */
async function describeShown(harness: Harness, path: string): Promise<string> {
  const { text } = await fetchPath(harness, path)
  const prices = [...new Set([...text.matchAll(/€(\d+\.\d\d)/g)].map(([, price]) => price))].join(' ')
  const time = /<time datetime="([^"]*)"/.exec(text)?.[1] ?? 'no time'
  return text.includes('Lumen') || prices !== '' || text !== ''
    ? `${prices || 'no price'}, ${time}`
    : 'nothing'
}

const NOW = new Date(NOON_MS).toISOString()
const TOMORROW = new Date(NOON_MS + DAY_MS).toISOString()

/** Walk and visit with a clock that is a day ahead, then correct it. */
async function runOneDayAhead({ catalog }: ClockFixture, harness: Harness): Promise<void> {
  harness.clock.step(DAY_MS)
  setPrice(catalog, '20.00')
  await harness.context.walks.runNow()
  expect(await describeShown(harness, BOX)).toBe(`20.00 99.80, ${TOMORROW}`)
  expect(await describeShown(harness, GRID)).toBe(`20.00 99.80, ${TOMORROW}`)
  harness.clock.step(-DAY_MS)
  setPrice(catalog, '30.00')
}

test('clock a day ahead, then corrected - a visit refreshes the box, an unscheduled walk runs, and no page shows a future time', async () => {
  const fixture = await createClockFixture()
  setPrice(fixture.catalog, '10.00')
  const harness = await fixture.open()
  await harness.context.walks.runNow()
  await runOneDayAhead(fixture, harness)
  expect(await readAge(harness)).toBeUndefined()
  const grid = await fetchPath(harness, GRID)
  expect([await describeShown(harness, GRID), grid.headers['cache-control']]).toEqual([
    'no price, no time',
    'public, max-age=60, stale-while-revalidate=600, stale-if-error=86400',
  ])
  expect(await describeShown(harness, BOX)).toBe(`30.00 99.80, ${NOW}`)
  expect(await describeShown(harness, BOX_EMBED)).toBe(`30.00 99.80, ${NOW}`)
  expect(await harness.context.walks.runUnscheduled()).toBe(true)
  expect(await describeShown(harness, GRID)).toBe(`30.00 99.80, ${NOW}`)
  expect(await readAge(harness)).toBe(0)
  expect(harness.logs()).toContain('the stored copy has a time in the future')
  expect(await harness.context.walks.runUnscheduled()).toBe(false)
})

test('clock a day ahead, corrected before a restart - the stored copy recovers, too', async () => {
  const fixture = await createClockFixture()
  setPrice(fixture.catalog, '10.00')
  const before = await fixture.open()
  await before.context.walks.runNow()
  await runOneDayAhead(fixture, before)
  await before.context.waitForWrites()
  const harness = await fixture.open()
  expect([await readAge(harness), await describeShown(harness, GRID)]).toEqual([
    undefined,
    'no price, no time',
  ])
  expect(await describeShown(harness, BOX)).toBe(`30.00 99.80, ${NOW}`)
  await harness.context.walks.runUnscheduled()
  expect([await readAge(harness), await describeShown(harness, GRID)]).toEqual([0, `30.00 99.80, ${NOW}`])
})

test('box with a future date, failing catalog - is shown without prices and time, and is soon requested again', async () => {
  const fixture = await createClockFixture()
  const harness = await fixture.open()
  setPrice(fixture.catalog, '10.00')
  await harness.context.walks.runNow()
  await runOneDayAhead(fixture, harness)
  fixture.catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 500, {}) }
  const box = await fetchPath(harness, BOX)
  expect([
    await describeShown(harness, BOX),
    box.headers['vitrine-state'],
    box.headers['cache-status'],
  ]).toEqual(['no price, no time', 'shown', 'vitrine; fwd=stale; detail=rescued'])
  expect(box.headers['cache-control']).toMatch(/^public, max-age=60, /)
  fixture.catalog.fault = null
  harness.clock.advance(10 * 1_000)
  expect(await describeShown(harness, BOX)).toMatch(/^30.00 99.80, 2026-11-21T12:00:10/)
})

test('clock half a minute ahead, then corrected - no change', async () => {
  const fixture = await createClockFixture()
  setPrice(fixture.catalog, '10.00')
  const harness = await fixture.open()
  harness.clock.step(MINUTE_MS / 2)
  await harness.context.walks.runNow()
  harness.clock.step(-MINUTE_MS / 2)
  expect(await describeShown(harness, BOX)).toBe('10.00 99.80, 2026-11-21T12:00:30.000Z')
  expect(await harness.context.walks.runUnscheduled()).toBe(false)
})

test('clock set back by five minutes - a response that had expired is not shown again', async () => {
  const { catalog, open } = await createClockFixture()
  const harness = await open()
  setPrice(catalog, '10.00')
  expect(await describeShown(harness, BOX)).toContain('10.00')
  setPrice(catalog, '20.00')
  harness.clock.advance(5 * MINUTE_MS)
  // Another address of the product: its response is refreshed, the other one stays in the cache.
  expect(await describeShown(harness, BOX_EMBED)).toContain('10.00')
  await vi.waitFor(() => expect(catalog.countCalls(/products\/\d/)).toBe(2))
  harness.clock.step(-5 * MINUTE_MS + 1)
  expect(await describeShown(harness, BOX)).toContain('20.00')
})

test('product that was missing while the clock was a day ahead - is looked up again', async () => {
  const fixture = await createClockFixture()
  const harness = await fixture.open()
  harness.clock.step(DAY_MS)
  expect((await fetchPath(harness, BOX)).headers['vitrine-state']).toBe('hidden')
  harness.clock.step(-DAY_MS)
  setPrice(fixture.catalog, '30.00')
  expect(await describeShown(harness, BOX)).toBe(`30.00 99.80, ${NOW}`)
})

test('clock of the catalog two hours ahead - one warning, and a metric that shows the difference', async () => {
  const fixture = await createClockFixture()
  const harness = await fixture.open()
  let aheadMs = 2 * HOUR_MS
  fixture.catalog.nowMs = () => harness.clock.nowMs() + aheadMs
  setPrice(fixture.catalog, '10.00')
  await harness.context.walks.runNow()
  await describeShown(harness, BOX)
  const readDifference = async (): Promise<string | undefined> =>
    /^vitrine_clock_difference_seconds\{with="catalog"\} (.*)$/m.exec(
      (await fetchPath(harness, '/metrics', ADMIN)).text,
    )?.[1]
  expect(await readDifference()).toBe('7200.5')
  expect(harness.logs().split('differs from this machine by more than a minute')).toHaveLength(2)
  aheadMs = 0
  await harness.context.walks.runNow()
  expect(await readDifference()).toBe('0.5')
  expect(harness.logs()).toContain('agrees with this machine again')
})
