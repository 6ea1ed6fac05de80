import type { RequestListener } from 'node:http'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { WireProduct } from '../../src/catalog/contract.ts'
import { defer } from '../helpers/defer.ts'
import { CHANNEL_ID, makeWireOffer } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import {
  BOX,
  BOX_EMBED,
  GRID,
  GRID_EMBED,
  makeProductOnSale,
  startStockedHarness,
  stockCatalog,
  fetchPath,
} from './app-client.ts'

const PATHS = [BOX, GRID, BOX_EMBED, GRID_EMBED]

const getTag = async (harness: Harness, path: string): Promise<string> =>
  (await fetchPath(harness, path)).headers['etag'] ?? 'none'

const changed = (over: Partial<WireProduct>): WireProduct[] => [makeProductOnSale(over)]

describe('If-None-Match', () => {
  let harness: Harness
  beforeEach(async () => {
    harness = await startStockedHarness()
  })

  test.each(PATHS)(
    '%s with its ETag - 304 without a body, with the headers that caches need',
    async (path) => {
      const first = await fetchPath(harness, path)
      const tag = first.headers['etag'] ?? ''
      for (const sent of [tag, `W/${tag.replace('W/', '')}`, `"other", ${tag}`, '*']) {
        const seen = await fetchPath(harness, path, { 'If-None-Match': sent })
        expect(seen.status).toBe(304)
        expect(seen.body).toHaveLength(0)
        for (const name of ['etag', 'cache-control', 'vitrine-state', 'cache-status'])
          expect(seen.headers[name]).toBe(first.headers[name])
      }
    },
  )

  test.each(PATHS)('%s with another ETag - 200', async (path) => {
    expect((await fetchPath(harness, path, { 'If-None-Match': '"other"' })).status).toBe(200)
  })

  test.each(PATHS)('%s cached by the visitor, not by this process - 304 without rendering', async (path) => {
    const tag = await getTag(harness, path)
    const other = await startStockedHarness()
    const spies = [
      vi.spyOn(other.context.renderer, 'renderWidget'),
      vi.spyOn(other.context.renderer, 'renderWidget'),
      vi.spyOn(other.context.renderer, 'renderEmbed'),
    ]
    const countRuns = (): number => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0)
    expect((await fetchPath(other, path, { 'If-None-Match': tag })).status).toBe(304)
    expect(countRuns()).toBe(0)
    expect((await fetchPath(other, path)).status).toBe(200)
    expect(countRuns()).toBeGreaterThan(0)
    const runs = countRuns()
    await fetchPath(other, path)
    expect(countRuns()).toBe(runs)
  })

  test.each(PATHS)('%s in any encoding - a 304 has no headers about a body', async (path) => {
    const tag = await getTag(harness, path)
    for (const encoding of ['br', 'gzip', 'identity']) {
      const seen = await fetchPath(harness, path, { 'If-None-Match': tag, 'Accept-Encoding': encoding })
      expect(
        Object.keys(seen.headers).filter((name) => /^content-(?:type|encoding|length)$/.test(name)),
      ).toEqual([])
    }
  })

  test.each([BOX, BOX_EMBED])(
    '%s, concurrent requests, some with its ETag - the others get the complete body',
    async (path) => {
      const { headers, body } = await fetchPath(harness, path)
      const known = { 'If-None-Match': headers['etag'] ?? '' }
      const other = await startStockedHarness()
      const gate = defer<null>()
      const { getBox } = other.context.widgets
      const getBoxSpy = vi.spyOn(other.context.widgets, 'getBox').mockImplementation(async (...args) => {
        await gate.promise
        return getBox(...args)
      })
      let arrived = 0
      const app: RequestListener = (request, response) => {
        arrived += 1
        other.app(request, response)
      }
      const visits = [known, {}, known, {}].map((sent) => fetchPath({ app }, path, sent))
      await vi.waitFor(() => expect(arrived).toBe(4))
      gate.resolve(null)
      const seen = await Promise.all(visits)
      expect(getBoxSpy).toHaveBeenCalledOnce()
      expect(seen.map(({ status }) => status)).toEqual([304, 200, 304, 200])
      expect(seen.map((one) => one.body.length)).toEqual([0, body.length, 0, body.length])
    },
  )

  test('body after a 304 - is complete', async () => {
    const tag = await getTag(harness, BOX)
    const other = await startStockedHarness()
    await fetchPath(other, BOX, { 'If-None-Match': tag })
    expect((await fetchPath(other, BOX)).body).toEqual((await fetchPath(harness, BOX)).body)
  })
})

describe('ETag', () => {
  test.each(PATHS)('%s of the same data in another process - is the same', async (path) => {
    expect(await getTag(await startStockedHarness(), path)).toBe(
      await getTag(await startStockedHarness(), path),
    )
  })

  test.each([
    ['title', changed({ title: 'Another lamp' })],
    ['brand', changed({ brand: 'Another' })],
    ['picture', changed({ images: [{ url: 'https://pictures.example/other.jpg' }] })],
    ['price', changed({ offers: [makeWireOffer({ price: '49.91', old_price: '99.80' })] })],
    ['former price', changed({ offers: [makeWireOffer({ old_price: '99.81' })] })],
    ['shop', changed({ offers: [makeWireOffer({ merchant: { name: 'Zaal' }, old_price: '99.80' })] })],
    [
      'link',
      changed({ offers: [makeWireOffer({ affiliate_url: 'https://links.example/2', old_price: '99.80' })] }),
    ],
    ['currency', changed({ offers: [makeWireOffer({ currency: 'USD', old_price: '99.80' })] })],
  ])('another %s - another ETag on every surface', async (_, products) => {
    const [before, after] = [await startStockedHarness(), await startStockedHarness(products)]
    for (const path of PATHS) expect(await getTag(after, path)).not.toBe(await getTag(before, path))
  })

  test('another date of the prices - another ETag', async () => {
    const harness = await startStockedHarness()
    const before = await Promise.all(PATHS.map((path) => getTag(harness, path)))
    harness.clock.advance(400_000)
    await stockCatalog(harness)
    for (const [index, path] of PATHS.entries()) expect(await getTag(harness, path)).not.toBe(before[index])
  })

  test.each([
    ['VITRINE_PUBLIC_URL', 'https://other.example'],
    ['VITRINE_LOCALE', 'de'],
    ['VITRINE_DISCLOSURE', 'Advertisement.'],
  ])('%s - another ETag', async (name, value) => {
    const over = name === 'VITRINE_PUBLIC_URL' ? { publicUrl: value } : {}
    const [before, after] = [
      await startStockedHarness(),
      await startStockedHarness(undefined, { settings: { [name]: value }, over }),
    ]
    for (const path of PATHS) expect(await getTag(after, path)).not.toBe(await getTag(before, path))
  })

  test.each(['theme=dark', 'accent=aa0000', 'locale=de', 'locale=en-GB'])(
    '%s - another ETag',
    async (query) => {
      const harness = await startStockedHarness()
      for (const path of PATHS)
        expect(await getTag(harness, `${path}?${query}`)).not.toBe(await getTag(harness, path))
    },
  )

  test('price that becomes too old - another ETag with the same data', async () => {
    const harness = await startStockedHarness()
    const before = await getTag(harness, BOX)
    harness.catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) => response.writeHead(500).end(),
    }
    harness.clock.advance(86_400_001)
    expect(await getTag(harness, BOX)).not.toBe(before)
  })

  test('channel id in upper case - the same ETag', async () => {
    const harness = await startStockedHarness()
    expect(await getTag(harness, BOX.replace(CHANNEL_ID, CHANNEL_ID.toUpperCase()))).toBe(
      await getTag(harness, BOX),
    )
  })
})
