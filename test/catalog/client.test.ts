import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createCatalogClient } from '../../src/catalog/client.ts'
import { MAX_PAGE_PRODUCTS } from '../../src/catalog/contract.ts'
import { openKeySource } from '../../src/config/key-source.ts'
import { DAY_MS, SECOND_MS } from '../../src/clock.ts'
import { CatalogInvalidError } from '../../src/errors.ts'
import { CHANNEL_ID, FAKE_KEY, type FakeCatalog, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import {
  GTIN,
  OPERATIONS,
  START_MS,
  TIMEOUT_MS,
  createClient,
  startCatalog,
  getFailureCode,
} from './client-harness.ts'

function createKeyFile(key: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-key-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'key')
  writeFileSync(path, key)
  return path
}

/** Respond with 401 to every key except `key`. */
function acceptOnlyKey(catalog: FakeCatalog, key: string): void {
  catalog.fault = {
    pathPattern: /./,
    respond: (request, response) =>
      request.headers.authorization === `Bearer ${key}`
        ? sendJson(response, 200, { items: catalog.channels })
        : sendJson(response, 401, { error: 'no' }),
  }
}

const getKeys = (catalog: FakeCatalog): unknown[] => catalog.calls.map((call) => call.headers.authorization)

describe('catalog client: the three operations', () => {
  it('channels - listed - channels with the time of the response', async () => {
    const catalog = await startCatalog()
    const { client, outcomes } = createClient(catalog.url)
    const { value, asOfMs } = await client.fetchChannels()
    expect(value).toEqual([
      { id: CHANNEL_ID, name: 'Test magazine', kind: 'website', url: 'https://magazine.example/' },
    ])
    expect(asOfMs).toBe(START_MS)
    expect(outcomes).toEqual(['channels ok'])
  })

  it('products - two pages - requests the largest size and passes the cursor on; the last page has none', async () => {
    const catalog = await startCatalog()
    const gtins = Array.from({ length: MAX_PAGE_PRODUCTS + 1 }, (_, index) => String(index).padStart(14, '0'))
    catalog.products.set(
      CHANNEL_ID,
      gtins.map((gtin) => makeWireProduct({ gtin })),
    )
    const { client } = createClient(catalog.url)
    const first = await client.fetchProductPage({ channelId: CHANNEL_ID, cursor: null })
    expect(first.value.products.map(({ gtin }) => gtin)).toEqual(gtins.slice(0, MAX_PAGE_PRODUCTS))
    const cursor = first.value.nextCursor
    const second = await client.fetchProductPage({ channelId: CHANNEL_ID, cursor })
    expect(second.value).toMatchObject({ products: [{ gtin: gtins[MAX_PAGE_PRODUCTS] }], nextCursor: null })
    expect(catalog.calls.map(({ path }) => path)).toEqual([
      `/v0/channels/${CHANNEL_ID}/products?limit=200`,
      `/v0/channels/${CHANNEL_ID}/products?limit=200&cursor=${cursor}`,
    ])
  })

  it('product - known, then unknown - the product, then undefined and not_found', async () => {
    const catalog = await startCatalog()
    catalog.products.set(CHANNEL_ID, [makeWireProduct()])
    const { client, outcomes } = createClient(catalog.url)
    const found = await client.fetchProduct({ channelId: CHANNEL_ID, gtin: GTIN, purpose: 'lookup' })
    expect(found.value).toMatchObject({ gtin: GTIN, brand: 'Lumen' })
    const gtin = '00000000000017'
    const missing = await client.fetchProduct({ channelId: CHANNEL_ID, gtin, purpose: 'lookup' })
    expect(missing).toEqual({ value: undefined, asOfMs: START_MS })
    expect(outcomes).toEqual(['product ok', 'product not_found'])
  })
})

describe('catalog client: the request', () => {
  it('request - any - bearer key, JSON and encodings in headers, no key in the path', async () => {
    const catalog = await startCatalog()
    const { client } = createClient(catalog.url)
    for (const call of Object.values(OPERATIONS)) await call(client).catch(() => {})
    expect(catalog.calls).toHaveLength(3)
    for (const { path, headers } of catalog.calls) {
      expect(headers).toMatchObject({
        authorization: `Bearer ${FAKE_KEY}`,
        accept: 'application/json',
        'accept-encoding': 'gzip, br',
      })
      expect(path).not.toContain(FAKE_KEY)
    }
  })

  it.each([
    ['', '/v0/channels'],
    ['/', '/v0/channels'],
    ['/shop/api', '/shop/api/v0/channels'],
    ['/shop/api//', '/shop/api/v0/channels'],
  ])('base address - path "%s" - is preserved before the version', async (basePath, expected) => {
    const catalog = await startCatalog()
    const { client } = createClient(`${catalog.url}${basePath}`)
    await client.fetchChannels().catch(() => {})
    expect(catalog.calls[0]?.path).toBe(expected)
  })

  it('path and query - hostile ids and cursors - are encoded', async () => {
    const catalog = await startCatalog()
    const { client } = createClient(catalog.url)
    const hostile = '../../x?a=1&b=ü#c d\r\nX-Evil: 1'
    await client.fetchProductPage({ channelId: hostile, cursor: hostile }).catch(() => {})
    await client.fetchProduct({ channelId: hostile, gtin: hostile, purpose: 'lookup' }).catch(() => {})
    const [page, product] = catalog.calls.map(({ path }) => new URL(path, 'http://x'))
    expect(page?.pathname).toBe(`/v0/channels/${encodeURIComponent(hostile)}/products`)
    expect([...(page?.searchParams ?? [])]).toEqual([
      ['limit', '200'],
      ['cursor', hostile],
    ])
    const encoded = encodeURIComponent(hostile)
    expect(product?.pathname).toBe(`/v0/channels/${encoded}/products/${encoded}`)
    expect(catalog.calls.every(({ headers }) => headers['x-evil'] === undefined)).toBe(true)
  })
})

describe('catalog client: the age of a response', () => {
  it.each([
    ['absent', undefined, 0],
    ['120', '120', 120 * SECOND_MS],
    ['0', '0', 0],
    ['older than a day', '999999999', DAY_MS],
    ['negative', '-5', 0],
    ['fraction', '1.5', 0],
    ['no number', 'old', 0],
    ['too many digits', '9'.repeat(20), 0],
  ])('Age - %s - counts into the time of the response', async (_name, age, ageMs) => {
    const catalog = await startCatalog()
    catalog.fault = {
      pathPattern: /./,
      respond(_request, response) {
        if (age !== undefined) response.setHeader('age', age)
        sendJson(response, 200, { items: [] })
      },
    }
    const { client } = createClient(catalog.url)
    expect((await client.fetchChannels()).asOfMs).toBe(START_MS - ageMs)
  })

  it('Age - of a 404 - counts too', async () => {
    const catalog = await startCatalog()
    catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) => response.writeHead(404, { age: '60' }).end(),
    }
    const { client } = createClient(catalog.url)
    const response = await client.fetchProduct({ channelId: CHANNEL_ID, gtin: GTIN, purpose: 'refresh' })
    expect(response).toEqual({ value: undefined, asOfMs: START_MS - 60 * SECOND_MS })
  })
})

describe('catalog client: outcomes for the metrics', () => {
  it.each([
    ['channels', '{}', 'VITRINE_CATALOG_INVALID'],
    ['products', '{"items":5}', 'VITRINE_CATALOG_INVALID'],
    ['product', '{"gtin":"1","title":"another","offers":[]}', 'VITRINE_CATALOG_INVALID'],
    ['product', 'no json', 'VITRINE_CATALOG_INVALID'],
  ])('outcome - %s with body %s - its error code, not ok', async (operation, body, code) => {
    const catalog = await startCatalog()
    catalog.fault = { pathPattern: /./, respond: (_request, response) => response.end(body) }
    const fixture = createClient(catalog.url)
    await expect(OPERATIONS[operation]?.(fixture.client)).rejects.toMatchObject({ code })
    expect(fixture.outcomes).toEqual([`${operation} ${code}`])
  })

  it('outcome - response that triggers a bug - names the code location, not the content', async () => {
    const catalog = await startCatalog()
    catalog.products.set(CHANNEL_ID, [makeWireProduct()])
    const calls: unknown[] = []
    const { callPolicy, options } = createClient(catalog.url, {
      onCall: ({ outcome, reason }) => void calls.push([outcome, reason]),
    })
    const client = createCatalogClient({
      ...options,
      // Simulates a bug in the parser.
      get ownOrigin(): string {
        throw new TypeError('no https://shop.example/?tag=secret')
      },
    })
    onTestFinished(() => client.close())
    const failure = await client
      .fetchProduct({ channelId: CHANNEL_ID, gtin: GTIN, purpose: 'lookup' })
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(CatalogInvalidError)
    expect((failure as Error).message).toMatch(
      /^the response could not be read: TypeError at [\w-]+\.ts:\d+:\d+$/,
    )
    expect(calls).toEqual([['VITRINE_CATALOG_INVALID', (failure as Error).message]])
    expect(callPolicy.canCall('lookup')).toBe(true)
  })

  it('outcome - blocked call - is not reported', async () => {
    const catalog = await startCatalog()
    const { client, callPolicy, outcomes } = createClient(catalog.url)
    await callPolicy.pauseUntil(START_MS + 1)
    await expect(client.fetchChannels()).rejects.toMatchObject({ code: 'VITRINE_CATALOG_CALL_BLOCKED' })
    expect(outcomes).toEqual([])
    expect(catalog.calls).toEqual([])
  })
})

describe('catalog client: key rotation', () => {
  it('key file - changed before a 401 - retries with the new key, one outcome, no pause', async () => {
    const catalog = await startCatalog()
    const path = createKeyFile('old-key')
    const { client, callPolicy, outcomes } = createClient(catalog.url, {
      key: openKeySource({ catalogKey: null, catalogKeyFile: path }),
    })
    acceptOnlyKey(catalog, 'new-key')
    writeFileSync(path, 'new-key\n')
    await client.fetchChannels()
    expect(getKeys(catalog)).toEqual(['Bearer old-key', 'Bearer new-key'])
    expect(outcomes).toEqual(['channels ok'])
    expect(callPolicy.canCall('walk')).toBe(true)
  })

  it('key file - five calls at once - every one succeeds with the new key, no pause', async () => {
    const catalog = await startCatalog()
    const path = createKeyFile('old-key')
    const { client, callPolicy } = createClient(catalog.url, {
      key: openKeySource({ catalogKey: null, catalogKeyFile: path }),
    })
    acceptOnlyKey(catalog, 'new-key')
    writeFileSync(path, 'new-key')
    const responses = await Promise.allSettled(Array.from({ length: 5 }, () => client.fetchChannels()))
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'fulfilled'))
    expect(callPolicy.canCall('walk')).toBe(true)
  })

  it('key file - changed, new key rejected too - two calls, then an error', async () => {
    const catalog = await startCatalog()
    const path = createKeyFile('old-key')
    const { client, callPolicy } = createClient(catalog.url, {
      key: openKeySource({ catalogKey: null, catalogKeyFile: path }),
    })
    acceptOnlyKey(catalog, 'third-key')
    writeFileSync(path, 'new-key')
    await expect(client.fetchChannels()).rejects.toMatchObject({ code: 'VITRINE_CATALOG_KEY_REFUSED' })
    expect(catalog.calls).toHaveLength(2)
    expect(callPolicy.canCall('walk')).toBe(false)
  })

  it.each(['unchanged', 'missing', 'empty', 'fixed'])('key - %s - a 401 is not retried', async (state) => {
    const catalog = await startCatalog()
    const path = createKeyFile('old-key')
    const { client } = createClient(
      catalog.url,
      state === 'fixed' ? {} : { key: openKeySource({ catalogKey: null, catalogKeyFile: path }) },
    )
    acceptOnlyKey(catalog, 'third-key')
    if (state === 'missing') rmSync(path)
    if (state === 'empty') writeFileSync(path, ' \n')
    await expect(client.fetchChannels()).rejects.toMatchObject({ code: 'VITRINE_CATALOG_KEY_REFUSED' })
    expect(catalog.calls).toHaveLength(1)
  })

  it('retry - hangs - ends with the same deadline', async () => {
    const catalog = await startCatalog()
    const path = createKeyFile('old-key')
    const { client, clock } = createClient(catalog.url, {
      key: openKeySource({ catalogKey: null, catalogKeyFile: path }),
    })
    catalog.fault = {
      pathPattern: /./,
      respond(request, response) {
        if (request.headers.authorization !== 'Bearer old-key') return
        clock.advance(TIMEOUT_MS - SECOND_MS)
        sendJson(response, 401, { error: 'no' })
      },
    }
    writeFileSync(path, 'new-key')
    const call = client.fetchChannels()
    const late = getFailureCode(call)
    await vi.waitFor(() => expect(catalog.calls).toHaveLength(2))
    clock.advance(SECOND_MS)
    expect(await late).toBe('VITRINE_CATALOG_DEADLINE')
  })
})
