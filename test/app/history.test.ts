import { describe, expect, test, vi } from 'vitest'
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../src/clock.ts'
import { StoreError } from '../../src/errors.ts'
import { setUpOnce } from '../helpers/cleanup.ts'
import { makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import {
  BOX,
  BOX_EMBED,
  GRID,
  fetchPath,
  readVisibleText,
  startHarness,
  startStockedHarness,
  stockCatalog,
} from './app-client.ts'

const NOTE = `${BOX}?history=note`

/** Walk the catalog on each of the days, at the prices of the days. */
async function walkDays(harness: Harness, prices: readonly string[]): Promise<void> {
  for (const price of prices) {
    harness.clock.advance(DAY_MS)
    await stockCatalog(harness, [makeWireProduct({ offers: [makeWireOffer({ price, old_price: '99.80' })] })])
  }
}

const repeat = (count: number, price: string): string[] => Array.from({ length: count }, () => price)

async function readText(harness: Harness, path: string): Promise<string> {
  return readVisibleText((await fetchPath(harness, path)).text).replaceAll('\u00A0', ' ')
}

/** NOON_MS is on 21 November 2026, so the walks end on 26 December. */
describe('observed prices', () => {
  const getHarness = setUpOnce(async () => {
    const harness = await startHarness()
    await walkDays(harness, [...repeat(20, '49.90'), ...repeat(5, '39.90'), ...repeat(10, '45.00')])
    return harness
  })

  test('note - on both surfaces, in the language', async () => {
    const sentence = 'Lowest price in 35 observed days: €39.90 on December 16'
    for (const path of [BOX, BOX_EMBED])
      expect(await readText(getHarness(), `${path}?history=note`)).toContain(sentence)
    expect(await readText(getHarness(), `${NOTE}&locale=de`)).toContain(
      'Niedrigster Preis an 35 Beobachtungstagen: 39,90 € am 16. Dezember',
    )
  })

  test('chart - an SVG with a text equivalent', async () => {
    const { text } = await fetchPath(getHarness(), `${BOX}?history=chart`)
    expect(text).toContain('between €39.90 and €49.90')
    expect(text).toContain('d="M0 4h20v32h5v-16h10"')
    expect(Buffer.byteLength(/<svg.*<\/svg>/s.exec(text)?.[0] ?? '')).toBeLessThan(1_024)
  })

  test('merchant that was never observed - the present price alone is no history', async () => {
    expect(await readText(getHarness(), `${NOTE}&exclude=nobody`)).toContain('Lowest price in 35')
    expect((await fetchPath(getHarness(), `${NOTE}&exclude=kopje`)).headers['vitrine-state']).toBe('hidden')
  })

  test('no option - nothing is read or said', async () => {
    const read = vi.spyOn(getHarness().context.store, 'findPriceSeries')
    for (const path of [BOX, `${BOX}?history=none`, BOX_EMBED])
      expect(await readText(getHarness(), path)).not.toContain('observed')
    expect(read).not.toHaveBeenCalled()
    read.mockRestore()
  })
})

describe('fall of a price', () => {
  test('evidence=observed - the struck price is the observed one, and the notice says so', async () => {
    const harness = await startHarness()
    await walkDays(harness, [...repeat(30, '49.90'), '29.94'])
    const { text } = await fetchPath(harness, `${GRID}?evidence=observed&sort=drop`)
    expect(text).toContain(
      '<span class="vitrine-sr-only">Lowest observed price of the 30 days before the reduction </span>',
    )
    const visible = readVisibleText(text)
    expect(visible).toContain('Largest observed price drop first')
    expect(visible).toContain('= Lowest observed price of the 30 days before')
    expect(visible).toContain('€49.90 −40%')
    expect(visible).not.toContain('€99.80')
    // As the shop says, the same deal has the shop's former price.
    expect(await readText(harness, `${GRID}?sort=drop`)).toContain('€99.80 −70%')
  })

  test('no confirmed fall - the author of the page reads which days are needed', async () => {
    const harness = await startStockedHarness()
    const { headers } = await fetchPath(harness, `${GRID}?evidence=observed`)
    expect(headers['vitrine-reason']).toBe(
      'No product of this channel has an offer in stock with an observed price drop. A price has dropped if it is below the lowest price of the 30 days before it began. This server must have observed at least 25 of these days.',
    )
  })
})

describe('reuse of responses', () => {
  test('midnight - a chart in memory is drawn again', async () => {
    const harness = await startHarness()
    await walkDays(harness, repeat(30, '49.90'))
    harness.clock.advance(12 * HOUR_MS - 60 * SECOND_MS)
    await stockCatalog(harness, [makeWireProduct({ offers: [makeWireOffer({ price: '49.90' })] })])
    const path = `${BOX}?history=chart`
    expect((await fetchPath(harness, path)).text).toContain('viewBox="0 0 30 40"')
    harness.clock.advance(61 * SECOND_MS)
    expect((await fetchPath(harness, path)).text).toContain('viewBox="0 0 31 40"')
  })
})

test('newsletter - shows no observed prices, and does not read them', async () => {
  const harness = await startHarness({ settings: { VITRINE_MAIL_NETWORKS: 'brightlink' } })
  await walkDays(harness, repeat(30, '49.90'))
  const read = vi.spyOn(harness.context.store, 'findPriceSeries')
  const mail = NOTE.replace('/fragments/', '/mail/')
  expect((await fetchPath(harness, mail)).headers['vitrine-state']).toBe('shown')
  expect(read).not.toHaveBeenCalled()
  await fetchPath(harness, NOTE)
  expect(read).toHaveBeenCalled()
})

describe('store that fails', () => {
  test('observed prices cannot be read - the box is shown without them, and is cached briefly', async () => {
    const harness = await startHarness()
    await walkDays(harness, repeat(30, '49.90'))
    const complete = await fetchPath(harness, NOTE)
    harness.clock.advance(DAY_MS)
    await stockCatalog(harness, [makeWireProduct()])
    const read = vi.spyOn(harness.context.store, 'findPriceSeries')
    read.mockRejectedValue(new StoreError('broken'))
    const partial = await fetchPath(harness, NOTE)
    expect([partial.status, partial.headers['vitrine-state']]).toEqual([200, 'shown'])
    expect(readVisibleText(partial.text)).not.toContain('observed')
    expect(partial.headers['cache-control']).toMatch(/^public, max-age=60,/)
    expect(complete.headers['cache-control']).toMatch(/^public, max-age=300,/)
    // For a moment, the box is not read again.
    await fetchPath(harness, NOTE)
    expect(read).toHaveBeenCalledTimes(1)
    read.mockRestore()
    harness.clock.advance(5 * SECOND_MS)
    expect(await readText(harness, NOTE)).toContain('observed days')
  })
})
