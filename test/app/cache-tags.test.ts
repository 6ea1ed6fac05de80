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
  // Hidden, and cached like a box: a product that is sold from now on has to be purged, too.
  [BOX.replace(GTIN, UNSOLD), UNSOLD_TAGS],
  [BOX_EMBED.replace(GTIN, UNSOLD), UNSOLD_TAGS],
  [`${BOX}?merchant=nobody`, BOX_TAGS],
  // Typed in a CMS: nothing of it is taken up.
  [BOX.replace(GTIN, 'x%0d%0aSet-Cookie:%20a=b'), `vitrine channel-${CHANNEL_ID}`],
  [BOX.replace(GTIN, 'product-1%20vitrine'), `vitrine channel-${CHANNEL_ID}`],
  [BOX_EMBED.replace(GTIN, '50%'), `vitrine channel-${CHANNEL_ID}`],
  [BOX.replace(CHANNEL_ID, 'a%20b').replace(GTIN, 'x'), 'vitrine'],
])('%s - first and from memory - carries the tags of what was found', async (path, tags) => {
  const harness = await startStockedHarness([makeProductOnSale()], TAGGED)
  for (const turn of ['first', 'second', 'warm']) {
    const { status, headers } = await fetchPath(harness, path)
    expect({ turn, status, tags: headers['surrogate-key'] }).toEqual({ turn, status: 200, tags })
  }
})

test.each([BOX, BOX_EMBED, GRID])('%s - not modified - carries the tags as well', async (path) => {
  const harness = await startStockedHarness([makeProductOnSale()], TAGGED)
  const whole = await fetchPath(harness, path)
  for (const turn of ['second', 'warm']) {
    const known = await fetchPath(harness, path, { 'If-None-Match': whole.headers['etag'] ?? '' })
    expect({ turn, status: known.status }).toEqual({ turn, status: 304 })
    expect(known.headers['surrogate-key']).toBe(whole.headers['surrogate-key'])
  }
})

const CACHE_TAG_HEADERS: readonly CacheTagHeader[] = ['Surrogate-Key', 'Cache-Tag', 'Edge-Cache-Tag', 'xkey']

test.each(CACHE_TAG_HEADERS)('%s - set in small letters - parts its tags as its readers do', async (name) => {
  const harness = await startStockedHarness([makeProductOnSale()], {
    settings: { VITRINE_CACHE_TAG_HEADER: name.toLowerCase() },
  })
  const { headers } = await fetchPath(harness, BOX)
  const separator = name.endsWith('-Tag') ? ',' : ' '
  expect(headers[name.toLowerCase()]).toBe(BOX_TAGS.replaceAll(' ', separator))
  expect(CACHE_TAG_HEADERS.filter((other) => headers[other.toLowerCase()] !== undefined)).toEqual([name])
})

test('answers that may not be stored - have no tags', async () => {
  const harness = await startHarness(TAGGED)
  const channels = await fetchPath(harness, BOX.replace(CHANNEL_ID, toUuid('0')))
  harness.catalog.fault = {
    pathPattern: /products/,
    respond: (_call, response) => sendJson(response, 500, {}),
  }
  const unavailable = await fetchPath(harness, BOX)
  const mistaken = await fetchPath(harness, `${BOX}?limit=0`)
  for (const [{ status, headers }, expected] of [
    [channels, 404],
    [unavailable, 200],
    [mistaken, 400],
  ] as const) {
    expect({ status, control: headers['cache-control'] }).toEqual({ status: expected, control: 'no-store' })
    expect(headers['surrogate-key']).toBeUndefined()
  }
})

test('nothing set - no answer has any of the headers', async () => {
  const harness = await startStockedHarness()
  for (const path of [BOX, BOX, BOX_EMBED, GRID, BOX.replace(GTIN, 'x')]) {
    const { headers } = await fetchPath(harness, path)
    expect(CACHE_TAG_HEADERS.filter((name) => headers[name.toLowerCase()] !== undefined)).toEqual([])
  }
})

test('a tagged answer - the rest of its header block - is shared and as without tags', async () => {
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
