import { expect, test } from 'vitest'
import type { CacheTagHeader } from '../../src/config/settings.ts'
import { CHANNEL_ID, sendJson } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import {
  BOX,
  BOX_EMBED,
  GRID,
  GRID_EMBED,
  GTIN,
  makeProductOnSale,
  startHarness,
  startStockedHarness,
  fetchPath,
} from './app-client.ts'

const UNSOLD = toGtin(7)
const BOX_TAGS = `vitrine channel-${CHANNEL_ID} product-${GTIN} box-${CHANNEL_ID}-${GTIN}`
const GRID_TAGS = `vitrine channel-${CHANNEL_ID} deals-${CHANNEL_ID}`
const UNSOLD_TAGS = BOX_TAGS.replaceAll(GTIN, UNSOLD)

const TAGGED = { settings: { VITRINE_CACHE_TAG_HEADER: 'surrogate-key' } }

test.each([
  [BOX, BOX_TAGS],
  [BOX_EMBED, BOX_TAGS],
  [`${BOX}?limit=2&layout=table&utm_source=x`, BOX_TAGS],
  [`${BOX_EMBED}?theme=dark`, BOX_TAGS],
  [BOX.replace(GTIN, GTIN.slice(1)), BOX_TAGS],
  [BOX.replace(CHANNEL_ID, CHANNEL_ID.toUpperCase()), BOX_TAGS],
  [BOX.replace('/fragments', '/FRAGMENTS'), BOX_TAGS],
  [BOX.replace(CHANNEL_ID, `%33${CHANNEL_ID.slice(1)}`), BOX_TAGS],
  [GRID, GRID_TAGS],
  [`${GRID_EMBED}?page=2`, GRID_TAGS],
  // A hidden box is cached, too, so it must be purged when a shop starts to sell its product.
  [BOX.replace(GTIN, UNSOLD), UNSOLD_TAGS],
  [BOX_EMBED.replace(GTIN, UNSOLD), UNSOLD_TAGS],
  [`${BOX}?merchant=nobody`, BOX_TAGS],
  // Invalid text from a CMS must not appear in a tag.
  [BOX.replace(GTIN, 'x%0d%0aSet-Cookie:%20a=b'), `vitrine channel-${CHANNEL_ID}`],
  [BOX.replace(GTIN, 'product-1%20vitrine'), `vitrine channel-${CHANNEL_ID}`],
  [BOX_EMBED.replace(GTIN, '50%'), `vitrine channel-${CHANNEL_ID}`],
  [BOX.replace(CHANNEL_ID, 'a%20b').replace(GTIN, 'x'), 'vitrine'],
])('%s - first and cached response - have the tags of the resource', async (path, tags) => {
  const harness = await startStockedHarness([makeProductOnSale()], TAGGED)
  for (const turn of ['first', 'second', 'warm']) {
    const { status, headers } = await fetchPath(harness, path)
    expect({ turn, status, tags: headers['surrogate-key'] }).toEqual({ turn, status: 200, tags })
  }
})

test.each([BOX, BOX_EMBED, GRID])('%s - 304 - has the tags, too', async (path) => {
  const harness = await startStockedHarness([makeProductOnSale()], TAGGED)
  const whole = await fetchPath(harness, path)
  for (const turn of ['second', 'warm']) {
    const known = await fetchPath(harness, path, { 'If-None-Match': whole.headers['etag'] ?? '' })
    expect({ turn, status: known.status }).toEqual({ turn, status: 304 })
    expect(known.headers['surrogate-key']).toBe(whole.headers['surrogate-key'])
  }
})

const CACHE_TAG_HEADERS: readonly CacheTagHeader[] = ['Surrogate-Key', 'Cache-Tag', 'Edge-Cache-Tag', 'xkey']

test.each(CACHE_TAG_HEADERS)('%s - set in lower case - uses the separator of this header', async (name) => {
  const harness = await startStockedHarness([makeProductOnSale()], {
    settings: { VITRINE_CACHE_TAG_HEADER: name.toLowerCase() },
  })
  const { headers } = await fetchPath(harness, BOX)
  const separator = name.endsWith('-Tag') ? ',' : ' '
  expect(headers[name.toLowerCase()]).toBe(BOX_TAGS.replaceAll(' ', separator))
  expect(CACHE_TAG_HEADERS.filter((other) => headers[other.toLowerCase()] !== undefined)).toEqual([name])
})

test('responses that are not stored - have no tags', async () => {
  const harness = await startHarness(TAGGED)
  const unknownChannel = await fetchPath(harness, BOX.replace(CHANNEL_ID, toUuid('0')))
  harness.catalog.fault = {
    pathPattern: /products/,
    respond: (_call, response) => sendJson(response, 500, {}),
  }
  const unavailable = await fetchPath(harness, BOX)
  const invalidOption = await fetchPath(harness, `${BOX}?limit=0`)
  for (const [{ status, headers }, expected] of [
    [unknownChannel, 404],
    [unavailable, 200],
    [invalidOption, 400],
  ] as const) {
    expect({ status, control: headers['cache-control'] }).toEqual({ status: expected, control: 'no-store' })
    expect(headers['surrogate-key']).toBeUndefined()
  }
})

test('no setting - no response has any of the headers', async () => {
  const harness = await startStockedHarness()
  for (const path of [BOX, BOX, BOX_EMBED, GRID, BOX.replace(GTIN, 'x')]) {
    const { headers } = await fetchPath(harness, path)
    expect(CACHE_TAG_HEADERS.filter((name) => headers[name.toLowerCase()] !== undefined)).toEqual([])
  }
})

test('tagged response - its other headers are shared and equal those without tags', async () => {
  const plain = await fetchPath(await startStockedHarness(), BOX)
  const { 'surrogate-key': tags, ...rest } = (
    await fetchPath(await startStockedHarness([makeProductOnSale()], TAGGED), BOX)
  ).headers
  expect(tags).toBe(BOX_TAGS)
  expect(Object.keys(rest)).toEqual(Object.keys(plain.headers))
})

function toUuid(digit: string): string {
  return CHANNEL_ID.replaceAll(/[0-9a-f]/g, digit)
}
