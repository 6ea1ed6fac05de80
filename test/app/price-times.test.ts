import { describe, expect, test } from 'vitest'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import type { WireOffer } from '../../src/catalog/contract.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import { type Harness, type HarnessOptions, NOON_MS } from '../helpers/harness.ts'
import {
  BOX,
  BOX_EMBED,
  GRID,
  GRID_EMBED,
  fetchPath,
  readVisibleText,
  startHarness,
  startStockedHarness,
  stockCatalog,
} from './app-client.ts'

const toTimestamp = (timeMs: number): string => new Date(timeMs).toISOString()

/** The sale ends two minutes after the walk, while the data is fresh. */
const END_MS = NOON_MS + 2 * MINUTE_MS
const ENDING = { old_price: '99.80', sale_ends_at: toTimestamp(END_MS) }
const SALE = '€49.90'
const SEE_PRICE = 'See price at shop'

const makeProducts = (...offers: readonly Partial<WireOffer>[]) => [
  makeWireProduct({ offers: offers.map((over) => makeWireOffer(over)) }),
]
const setOffers = ({ catalog }: Harness, ...offers: readonly Partial<WireOffer>[]): void =>
  void catalog.products.set(CHANNEL_ID, makeProducts(...offers))

function failCatalog({ catalog }: Harness): void {
  catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 500, {}) }
}

async function readText(harness: Harness, path: string): Promise<string> {
  return readVisibleText((await fetchPath(harness, path)).text)
}

async function readCacheControl(harness: Harness, path: string): Promise<string | undefined> {
  return (await fetchPath(harness, path)).headers['cache-control']
}

const toCacheControl = (maxAge: number, whileRevalidate: number, ifError: number): string =>
  `public, max-age=${maxAge}, stale-while-revalidate=${whileRevalidate}, stale-if-error=${ifError}`

const readTime = async (harness: Harness, path: string): Promise<string | undefined> =>
  /<time datetime="([^"]*)"/.exec((await fetchPath(harness, path)).text)?.[1]

describe('sale that ends', () => {
  test('box and grid in memory - show the sale until its end, and cache headers end with it', async () => {
    const harness = await startStockedHarness(makeProducts(ENDING))
    for (const path of [BOX, BOX_EMBED, GRID, GRID_EMBED]) {
      expect(await readText(harness, path)).toContain(SALE)
      expect(await readCacheControl(harness, path)).toBe(toCacheControl(120, 0, 0))
    }
    harness.clock.advance(2 * MINUTE_MS - 500)
    for (const path of [BOX, BOX_EMBED, GRID, GRID_EMBED]) {
      expect(await readText(harness, path)).toContain(SALE)
      expect(await readCacheControl(harness, path)).toBe(toCacheControl(0, 0, 0))
    }
    const { etag } = (await fetchPath(harness, BOX)).headers
    harness.clock.advance(500)
    for (const path of [BOX, BOX_EMBED]) {
      const text = await readText(harness, path)
      expect(text).toContain(SEE_PRICE)
      expect(text).not.toContain('€')
      expect(await readCacheControl(harness, path)).toBe(toCacheControl(180, 600, 86_400))
    }
    expect((await fetchPath(harness, BOX, { 'If-None-Match': etag ?? '' })).status).toBe(200)
    for (const path of [GRID, GRID_EMBED]) {
      const { headers, text } = await fetchPath(harness, path)
      expect(headers['vitrine-state']).toBe('hidden')
      expect(readVisibleText(text)).not.toContain('€')
    }
  })

  test('first visit after the end - box and grid from the copy show no sale', async () => {
    const harness = await startStockedHarness(makeProducts(ENDING))
    harness.clock.advance(2 * MINUTE_MS)
    expect(await readText(harness, BOX)).toContain(SEE_PRICE)
    expect(await readText(harness, GRID)).toBe('')
  })

  test('catalog down - box and grid from memory or from the copy show no sale', async () => {
    for (const visited of [[BOX, GRID], []]) {
      const harness = await startStockedHarness(makeProducts(ENDING))
      failCatalog(harness)
      for (const path of visited) expect(await readText(harness, path)).toContain(SALE)
      for (const passedMs of [2 * MINUTE_MS, 5 * MINUTE_MS, 2 * 60 * MINUTE_MS]) {
        harness.clock.advance(passedMs)
        expect(await readText(harness, BOX)).toContain(SEE_PRICE)
        expect(await readText(harness, GRID)).toBe('')
      }
    }
  })

  test('catalog that sends the regular price after the end - the box shows it within five minutes', async () => {
    const harness = await startStockedHarness(makeProducts(ENDING))
    expect(await readText(harness, BOX)).toContain(SALE)
    setOffers(harness, { price: '99.80' })
    harness.clock.advance(2 * MINUTE_MS)
    expect(await readText(harness, BOX)).toContain(SEE_PRICE)
    harness.clock.advance(3 * MINUTE_MS)
    // The first visitor after the fresh time gets the stale box, and refreshes it.
    await readText(harness, BOX)
    await harness.context.waitForWrites()
    await expect.poll(() => readText(harness, BOX)).toContain('€99.80')
    expect(await readText(harness, BOX)).not.toContain(SEE_PRICE)
  })

  test('grid with another shop on sale - shows its deal after the end', async () => {
    const other = { merchant: { name: 'Zwart' }, price: '60.00', old_price: '99.80' }
    const harness = await startStockedHarness(makeProducts(ENDING, other))
    expect(await readText(harness, GRID)).toContain(SALE)
    harness.clock.advance(2 * MINUTE_MS)
    const text = await readText(harness, GRID)
    expect(text).toContain('€60.00')
    expect(text).not.toContain(SALE)
  })

  test('box with another shop - ranks the shop without a price last, and describes the other one only', async () => {
    const harness = await startStockedHarness(
      makeProducts(
        ENDING,
        { merchant: { name: 'Zwart' }, price: '60.00' },
        { merchant: { name: 'Aa' }, price: '70' },
      ),
    )
    const path = `${BOX}?markup=schema`
    expect((await fetchPath(harness, path)).text).toContain(`"priceValidUntil":"${toTimestamp(END_MS)}"`)
    harness.clock.advance(2 * MINUTE_MS)
    const { text } = await fetchPath(harness, path)
    expect(text).toContain('"lowPrice":"60.00","highPrice":"70","offerCount":2}')
    expect(readVisibleText(text)).toMatch(/Zwart.*€60\.00.*Aa.*€70\.00.*Kopje.*See price at shop/)
    expect(text.indexOf('data-best')).toBeLessThan(text.indexOf('Zwart'))
    expect(text.match(/data-best/g)).toHaveLength(1)
  })

  test('link of a sandboxed frame - leads to the offer that the box shows', async () => {
    const links = ['https://links.example/sale', 'https://links.example/regular']
    const harness = await startStockedHarness(
      makeProducts(
        { ...ENDING, affiliate_url: links[0] ?? '' },
        { price: '99.80', affiliate_url: links[1] ?? '' },
      ),
    )
    const follow = async (): Promise<string | undefined> => {
      const path = /data-go="([^"]*)"/.exec((await fetchPath(harness, BOX_EMBED)).text)?.[1] ?? ''
      return (await fetchPath(harness, `/go/${CHANNEL_ID}/${path}`)).headers['location']
    }
    expect(await follow()).toBe(links[0])
    harness.clock.advance(2 * MINUTE_MS)
    expect(await follow()).toBe(links[1])
  })
})

/** Let the server fetch the product again, and wait for it. */
async function refresh(harness: Harness): Promise<void> {
  await harness.context.walks.runNow()
  harness.clock.advance(SECOND_MS)
}

describe('price that was checked before the response', () => {
  const CHECKED = toTimestamp(NOON_MS)
  const startChecked = async (options: HarnessOptions): Promise<Harness> =>
    startStockedHarness(makeProducts({ old_price: '99.80', checked_at: CHECKED }), options)

  test('feed that is not fetched for 40 days - the old date, then "see price at shop"', async () => {
    const harness = await startChecked({ settings: { VITRINE_PRICE_MAX_AGE_SECONDS: '2592000' } })
    harness.clock.advance(20 * DAY_MS)
    await refresh(harness)
    for (const path of [BOX, GRID]) {
      expect(await readText(harness, path)).toContain(SALE)
      expect(await readTime(harness, path)).toBe(CHECKED)
    }
    harness.clock.advance(20 * DAY_MS)
    await refresh(harness)
    for (const path of [BOX, GRID]) {
      expect(await readText(harness, path)).toContain(SEE_PRICE)
      expect(await readTime(harness, path)).toBe(CHECKED)
    }
  })

  test('response of a fresh catalog - the price disappears a millisecond after its maximum age', async () => {
    const harness = await startChecked({ settings: { VITRINE_PRICE_MAX_AGE_SECONDS: '60' } })
    harness.clock.advance(MINUTE_MS)
    expect(await readText(harness, BOX)).toContain(SALE)
    expect(await readCacheControl(harness, BOX)).toBe(toCacheControl(240, 0, 0))
    harness.clock.advance(1)
    expect(await readText(harness, BOX)).toContain(SEE_PRICE)
  })

  test('feed that is fetched again - a walk brings the new time to box and grid', async () => {
    const harness = await startChecked({})
    const later = toTimestamp(NOON_MS + 2 * MINUTE_MS)
    harness.clock.advance(10 * MINUTE_MS)
    await stockCatalog(harness, makeProducts({ old_price: '99.80', checked_at: later }))
    harness.clock.advance(SECOND_MS)
    expect([await readTime(harness, BOX), await readTime(harness, GRID)]).toEqual([later, later])
  })
})

test('malformed times - are ignored, and the offer is shown', async () => {
  const harness = await startHarness()
  await stockCatalog(harness, makeProducts({ checked_at: 'yesterday', sale_ends_at: '2020-01-01' }))
  expect(await readText(harness, BOX)).toContain(SALE)
  expect(await readTime(harness, BOX)).toBe(toTimestamp(NOON_MS))
})
