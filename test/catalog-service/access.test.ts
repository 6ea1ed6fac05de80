import { describe, expect, it } from 'vitest'
import { createCatalogService } from '../../src/catalog-service/service.ts'
import { fetchApiKeys, revokeApiKey } from '../../src/catalog-service/store/keys.ts'
import { openCatalogStore } from '../../src/catalog-service/store/open-store.ts'
import { HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { Secret } from '../../src/config/secrets.ts'
import { createLogger } from '../../src/observability/logger.ts'
import {
  type ServiceUnderTest,
  importRows,
  createProduct,
  openTestStore,
  startTestService,
  addApiKey,
} from './harness.ts'
import { requestValidated } from './openapi-validation.ts'
import { getReader, getUsage } from './store-handles.ts'

async function setLimit(fixture: ServiceUnderTest, dailyLimit: number | null): Promise<void> {
  await fixture.store.write((database) =>
    database.updateTable('organizations').set({ daily_limit: dailyLimit }).execute(),
  )
}

async function fetchUsage(fixture: ServiceUnderTest): Promise<number> {
  const rows = await (await getUsage(fixture.store)).selectFrom('usage').selectAll().execute()
  return rows.reduce((sum, row) => sum + row.requests, 0)
}

describe('contract, section 5: authentication', () => {
  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Basic dXNlcjpwYXNz',
    'Bearer wrong',
    'Bearer a b',
    `Bearer ${'x'.repeat(300)}`,
  ])('key - Authorization is %s - 401, not counted, for any address', async (authorization) => {
    const fixture = await startTestService()
    for (const path of ['/v0/channels', '/v0/channels/x/products', '/nowhere']) {
      const response = requestValidated(fixture.url).get(path)
      if (authorization !== undefined) response.set('Authorization', authorization)
      const { status, headers, body } = await response
      expect(status).toBe(401)
      expect(headers['www-authenticate']).toBe('Bearer')
      expect(body).toEqual({ error: expect.any(String) })
    }
    expect(await fetchUsage(fixture)).toBe(0)
  })

  it('key - scheme in any case - is accepted', async () => {
    const { url, key } = await startTestService()
    expect(
      (await requestValidated(url).get('/v0/channels').set('Authorization', `bearer ${key}`)).status,
    ).toBe(200)
  })

  it('key - revoked - 401 at once', async () => {
    const fixture = await startTestService()
    const [key] = await fixture.store.read(fetchApiKeys)
    expect(await revokeApiKey(fixture.store, key?.id ?? '')).toBe(true)
    expect(await revokeApiKey(fixture.store, key?.id ?? '')).toBe(false)
    expect(await fixture.get('/v0/channels')).toMatchObject({
      status: 401,
      body: { error: 'the API key is wrong or revoked' },
    })
  })

  it('key - used - its last use is recorded to the minute, without a write for each request', async () => {
    const fixture = await startTestService()
    const readUses = async () => (await getUsage(fixture.store)).selectFrom('key_uses').selectAll().execute()
    const firstMs = fixture.clock.nowMs()
    const [{ id: key_id } = { id: '' }] = await fixture.store.read(fetchApiKeys)
    await fixture.get('/v0/channels')
    fixture.clock.advance(MINUTE_MS - 1)
    await fixture.get('/v0/channels')
    expect(await readUses()).toEqual([{ key_id, used_at_ms: firstMs }])
    fixture.clock.advance(1)
    await fixture.get('/v0/channels')
    expect(await readUses()).toEqual([{ key_id, used_at_ms: firstMs + MINUTE_MS }])
  })

  it('key - stored - only its hash is in the database', async () => {
    const { store } = await openTestStore()
    const { key } = await addApiKey(store, 'one')
    const row = await (await getReader(store)).selectFrom('api_keys').selectAll().executeTakeFirstOrThrow()
    expect(JSON.stringify(row)).not.toContain(key)
    expect(row.hash).toMatch(/^[0-9a-f]{64}$/)
    expect(key.startsWith(row.prefix)).toBe(true)
    expect(row.prefix).toHaveLength(8)
  })

  it('key - any response - is in no header, body or log line', async () => {
    const fixture = await startTestService()
    for (const path of [
      '/v0/channels',
      `/v0/channels/${fixture.key}/products`,
      `/v0/channels?limit=${fixture.key}`,
    ]) {
      const response = await fixture.get(path)
      expect(JSON.stringify([response.headers, response.text])).not.toContain(fixture.key)
    }
    expect(fixture.logs.join('')).not.toContain(fixture.key)
  })
})

describe('internal key', () => {
  it('internal key - import creates the organization later - is accepted for the first organization', async () => {
    const prepared = await openTestStore()
    const logger = createLogger({ level: 'silent' })
    const internalKey = new Secret('internal-key')
    const service = createCatalogService({ store: prepared.store, logger, internalKey })
    const { url } = await service.listen('127.0.0.1', 0)
    const get = () => requestValidated(url).get('/v0/channels').set('Authorization', 'Bearer internal-key')
    expect(await get()).toMatchObject({
      status: 503,
      body: { error: 'the catalog is empty: import a feed first' },
    })
    const { channelId } = await importRows(prepared, [createProduct('17')])
    const { body } = await get().expect(200)
    expect(body.items[0].id).toBe(channelId)
    expect(
      (await requestValidated(url).get('/v0/channels').set('Authorization', 'Bearer internal-kez')).status,
    ).toBe(401)
    await service.close()
  })

  it('internal key - not configured - no key is special', async () => {
    const fixture = await startTestService()
    expect(
      (await requestValidated(fixture.url).get('/v0/channels').set('Authorization', 'Bearer undefined'))
        .status,
    ).toBe(401)
  })
})

describe('contract, section 8: daily request limit', () => {
  it('limit - reached - 429 with the seconds until 00:00 UTC, then requests are allowed again', async () => {
    const fixture = await startTestService()
    await setLimit(fixture, 2)
    expect((await fixture.get('/v0/channels')).status).toBe(200)
    expect((await fixture.get('/nowhere')).status).toBe(404)
    const rejected = await fixture.get('/v0/channels').expect(429)
    expect(rejected.headers['retry-after']).toBe('1800')
    expect(rejected.headers['cache-control']).toBe('no-store')
    fixture.clock.advance(30 * MINUTE_MS - 1)
    expect((await fixture.get('/v0/channels').expect(429)).headers['retry-after']).toBe('1')
    fixture.clock.advance(1)
    expect((await fixture.get('/v0/channels')).status).toBe(200)
  })

  it('limit - 304, 400, 404 and 405 - count; 429 does not', async () => {
    const fixture = await startTestService()
    const { headers } = await fixture.get('/v0/channels')
    expect((await fixture.get('/v0/channels').set('If-None-Match', String(headers['etag']))).status).toBe(304)
    expect((await fixture.get('/v0/channels/x/products?limit=0')).status).toBe(400)
    expect((await fixture.get('/nowhere')).status).toBe(404)
    expect(
      (await requestValidated(fixture.url).post('/v0/channels').set('Authorization', `Bearer ${fixture.key}`))
        .status,
    ).toBe(405)
    expect(await fetchUsage(fixture)).toBe(5)
    await setLimit(fixture, 5)
    expect((await fixture.get('/v0/channels')).status).toBe(429)
    expect(await fetchUsage(fixture)).toBe(5)
  })

  it('limit - zero - nothing is allowed', async () => {
    const fixture = await startTestService()
    await setLimit(fixture, 0)
    expect((await fixture.get('/v0/channels')).status).toBe(429)
  })

  it('limit - 20 requests at once - exactly the limit passes', async () => {
    const fixture = await startTestService()
    await setLimit(fixture, 7)
    const responses = await Promise.all(Array.from({ length: 20 }, () => fixture.get('/v0/channels')))
    expect(responses.filter((response) => response.status === 200)).toHaveLength(7)
  })

  it('count - restart - continues; a cursor stays valid', async () => {
    const fixture = await startTestService()
    const { channelId } = await importRows(fixture, [createProduct('17'), createProduct('24')])
    const { body } = await fixture.get(`/v0/channels/${channelId}/products?limit=1`)
    await fixture.service.close()
    const store = await openCatalogStore({ database: fixture.database, clock: fixture.clock })
    const second = await startTestService({ prepared: { ...fixture, store } })
    const next = await second.get(`/v0/channels/${channelId}/products?limit=1&cursor=${body.next_cursor}`)
    expect(next.body.items[0].gtin).toBe('00000000000024')
    expect(await fetchUsage(second)).toBe(2)
    await store.close()
  })

  it('count - import has the write lock - requests are still counted and served', async () => {
    const fixture = await startTestService()
    await fixture.store.write(async (transaction) => {
      await transaction.updateTable('organizations').set({ name: 'changed' }).execute()
      expect((await fixture.get('/v0/channels')).status).toBe(200)
    })
    fixture.clock.advance(HOUR_MS)
    expect(await fetchUsage(fixture)).toBe(1)
  })
})
