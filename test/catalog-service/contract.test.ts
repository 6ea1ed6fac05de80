import { type IncomingMessage, request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { seedSampleData } from '../../src/catalog-service/sample/seed-sample-data.ts'
import { getSampleData } from '../../src/catalog-service/sample/sample-data.ts'
import {
  CHECKED_AT,
  GTINS,
  type ServiceUnderTest,
  importRows,
  createOffer,
  createProduct,
  startTestService,
} from './harness.ts'
import { requestValidated, expectValidResponse } from './openapi-validation.ts'

async function startWithProducts(): Promise<ServiceUnderTest & { channelId: string }> {
  const fixture = await startTestService()
  const rows = GTINS.map((gtin) =>
    createProduct(gtin, { images: [{ url: 'https://img.example/1.jpg', width: 9 }] }),
  )
  const { channelId } = await importRows(fixture, rows)
  return { ...fixture, channelId }
}

describe('contract, section 2: resources', () => {
  it('channel - address unknown - url is null', async () => {
    const { get, channelId } = await startWithProducts()
    const { body } = await get('/v0/channels').expect(200)
    expect(body).toEqual({ items: [{ id: channelId, name: 'My website', kind: 'website', url: null }] })
  })

  it('product - as imported - has exactly the fields of the contract', async () => {
    const { get, channelId } = await startWithProducts()
    const { body } = await get(`/v0/channels/${channelId}/products/${GTINS[0]}`).expect(200)
    expect(body).toEqual({
      gtin: GTINS[0],
      title: `Product ${GTINS[0]}`,
      brand: 'Brand',
      images: [{ url: 'https://img.example/1.jpg' }],
      offers: [{ ...createOffer(), checked_at: CHECKED_AT }],
    })
  })

  it('offer - strings of the feed - are returned unchanged', async () => {
    const fixture = await startTestService()
    const offer = createOffer({
      merchant: { name: ' Shop  Ä™ ' },
      price: '0010.5',
      old_price: '12.5000',
      availability: 'Soon!',
    })
    const { channelId } = await importRows(fixture, [
      createProduct('17', { title: 'A\u00a0 "b" <c>', offers: [offer] }),
    ])
    const { body } = await fixture.get(`/v0/channels/${channelId}/products/17`)
    expect(body.title).toBe('A\u00a0 "b" <c>')
    expect(body.offers).toEqual([{ ...offer, checked_at: CHECKED_AT }])
  })

  it('old_price - merchant gives none - is absent', async () => {
    const { get, channelId } = await startWithProducts()
    const { body } = await get(`/v0/channels/${channelId}/products`)
    expect(body.items[0].offers[0]).not.toHaveProperty('old_price')
  })
})

describe('contract, section 4.1: list channels', () => {
  it('channels - sample data - all of the organization, in order', async () => {
    const fixture = await startTestService()
    await seedSampleData(fixture.store, 'http://127.0.0.1:3000')
    const { body, headers } = await fixture.get('/v0/channels').expect(200)
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(body.items).toEqual(
      getSampleData().channels.map(({ id, name, kind, url }) => ({ id, name, kind, url })),
    )
  })
})

describe('contract, section 4.2: list products', () => {
  it('page - no limit - has up to 50 products, null on the last page', async () => {
    const fixture = await startTestService()
    await seedSampleData(fixture.store, 'http://127.0.0.1:3000')
    const { body } = await fixture.get(`/v0/channels/${getSampleData().channels[0].id}/products`).expect(200)
    expect(body.items).toHaveLength(50)
    expect(body.next_cursor).toEqual(expect.any(String))
    const all = await fixture.get(`/v0/channels/${getSampleData().channels[0].id}/products?limit=200`)
    expect(all.body.next_cursor).toBeNull()
    expect(all.body.items).toHaveLength(124)
  })

  it('walk - cursor passed unchanged - each product once, ordered by gtin', async () => {
    const { get, channelId } = await startWithProducts()
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`
      const { body } = await get(`/v0/channels/${channelId}/products?limit=2${query}`).expect(200)
      seen.push(...body.items.map((item: { gtin: string }) => item.gtin))
      cursor = body.next_cursor
    }
    expect(seen).toEqual([...GTINS])
  })

  it('page - exactly full and last - next_cursor is null', async () => {
    const { get, channelId } = await startWithProducts()
    const { body } = await get(`/v0/channels/${channelId}/products?limit=5`)
    expect(body.next_cursor).toBeNull()
  })

  it('walk - import between the pages - neither skips nor repeats products that both feeds have', async () => {
    const fixture = await startWithProducts()
    const first = await fixture.get(`/v0/channels/${fixture.channelId}/products?limit=2`)
    const common = [GTINS[1], GTINS[2], GTINS[4]].map((gtin) => createProduct(gtin))
    await importRows(fixture, [createProduct('00000000000062'), ...common])
    const second = await fixture.get(
      `/v0/channels/${fixture.channelId}/products?limit=2&cursor=${first.body.next_cursor}`,
    )
    expect(second.body.items.map((item: { gtin: string }) => item.gtin)).toEqual([GTINS[2], GTINS[4]])
  })

  it.each(['0', '201', '-1', '1.5', 'ten', '', '050', '1e2', '5&limit=5', '%20'])(
    'limit - %s - 400',
    async (limit) => {
      const { get, channelId } = await startWithProducts()
      const { body } = await get(`/v0/channels/${channelId}/products?limit=${limit}`).expect(400)
      expect(body).toEqual({ error: 'limit must be a whole number from 1 to 200' })
    },
  )

  it.each(['', 'x', 'Z3Rpbjp4', '00000000000017', 'Z3RpbjowMDAwMDAwMDAwMDAxNw==', 'a&cursor=b'])(
    'cursor - "%s" - 400',
    async (cursor) => {
      const { get, channelId } = await startWithProducts()
      const { body } = await get(`/v0/channels/${channelId}/products?cursor=${cursor}`).expect(400)
      expect(body.error).toContain('cursor')
    },
  )

  it.each(['952a0000-0000-4000-8000-00000000ffff', 'nonsense', '%00', "'--"])(
    'channel - %s is unknown - 404',
    async (id) => {
      const { get } = await startWithProducts()
      expect(await get(`/v0/channels/${id}/products`)).toMatchObject({
        status: 404,
        body: { error: 'there is no such channel' },
      })
    },
  )

  it('channel - of another organization - 404 like an unknown one', async () => {
    const fixture = await startWithProducts()
    await fixture.store.write((database) =>
      database
        .insertInto('organizations')
        .values({ id: 'other', name: 'Other', daily_limit: null, created_at_ms: 9e12 })
        .execute(),
    )
    await fixture.store.write((database) =>
      database.updateTable('channels').set({ organization_id: 'other' }).execute(),
    )
    await fixture
      .get(`/v0/channels/${fixture.channelId}/products`)
      .expect(404, { error: 'there is no such channel' })
    expect((await fixture.get(`/v0/channels/${fixture.channelId}/products/17`)).status).toBe(404)
    expect(await fixture.get('/v0/channels')).toMatchObject({ status: 200, body: { items: [] } })
  })

  it('channel - id in upper case - is the same channel', async () => {
    const { get, channelId } = await startWithProducts()
    expect((await get(`/v0/channels/${channelId.toUpperCase()}/products`)).status).toBe(200)
  })
})

describe('contract, section 4.3: look up one product', () => {
  it('gtin - fewer than 14 digits - is padded with zeros', async () => {
    const { get, channelId } = await startWithProducts()
    const { body } = await get(`/v0/channels/${channelId}/products/17`).expect(200)
    expect(body.gtin).toBe('00000000000017')
  })

  it.each(['abc', '123456789012345', '1-7', '%C2%B2', '1%2F2'])('gtin - %s - 400', async (gtin) => {
    const { get, channelId } = await startWithProducts()
    expect(await get(`/v0/channels/${channelId}/products/${gtin}`)).toMatchObject({
      status: 400,
      body: { error: 'gtin must be 1 to 14 digits' },
    })
  })

  it('gtin - not in the catalog - 404', async () => {
    const { get, channelId } = await startWithProducts()
    const { body } = await get(`/v0/channels/${channelId}/products/99999999999994`).expect(404)
    expect(body).toEqual({ error: expect.any(String) })
  })
})

describe('contract, section 7: errors', () => {
  it.each(['post', 'put', 'delete', 'patch', 'options'] as const)(
    'method - %s - 405 with Allow',
    async (method) => {
      const { url, key, channelId } = await startWithProducts()
      for (const path of ['', `/${channelId}/products`, `/${channelId}/products/17`]) {
        const request = requestValidated(url)
        const response = await request[method](`/v0/channels${path}`).set('Authorization', `Bearer ${key}`)
        expect(response.status).toBe(405)
        expect(response.headers['allow']).toBe('GET, HEAD')
        expect(response.body).toEqual({ error: expect.any(String) })
      }
    },
  )

  it('method - HEAD - is GET without a body', async () => {
    const { url, key } = await startWithProducts()
    const response = await requestValidated(url)
      .head('/v0/channels')
      .set('Authorization', `Bearer ${key}`)
      .expect(200)
    expect(response.text).toBeUndefined()
  })

  it.each(['/', '/docs', '/v0', '/v1/channels', '/v0/channels/x/y'])(
    'address - %s is unknown - 404',
    async (path) => {
      const { get } = await startTestService()
      expect(await get(path)).toMatchObject({ status: 404, body: { error: 'there is no such address' } })
    },
  )

  it('address - invalid percent-encoding - 400', async () => {
    const { get } = await startTestService()
    expect(await get('/v0/channels/%ZZ/products')).toMatchObject({
      status: 400,
      body: { error: 'the address is malformed' },
    })
  })

  it('internal error - table missing - 500 with a message, logged without the key', async () => {
    const fixture = await startTestService()
    await fixture.store.write((database) =>
      database.schema.alterTable('channels').renameTo('renamed').execute(),
    )
    expect(await fixture.get('/v0/channels')).toMatchObject({
      status: 500,
      body: { error: 'something went wrong in the catalog service' },
    })
    expect(fixture.logs).toHaveLength(1)
    expect(fixture.logs[0]).not.toContain(fixture.key)
  })
})

describe('contract, section 8: caching', () => {
  it('response - 200 - private, five minutes, with a strong ETag', async () => {
    const { get } = await startWithProducts()
    const { headers } = await get('/v0/channels').expect(200)
    expect(headers['cache-control']).toBe('private, max-age=300')
    expect(headers['etag']).toMatch(/^"/)
    expect(headers['vary']).toBe('Authorization, Accept-Encoding')
    expect(headers).not.toHaveProperty('x-powered-by')
  })

  it('If-None-Match - same state - 304; after a change - 200', async () => {
    const fixture = await startWithProducts()
    const path = `/v0/channels/${fixture.channelId}/products`
    const { headers } = await fixture.get(path)
    expect((await fixture.get(path).set('If-None-Match', String(headers['etag']))).status).toBe(304)
    await importRows(fixture, [createProduct(GTINS[0])])
    expect((await fixture.get(path).set('If-None-Match', String(headers['etag']))).status).toBe(200)
  })

  it.each([
    ['/v0/channels?x', 'wrong', 401],
    ['/v0/channels/x/products?limit=0', undefined, 400],
  ])('response - %s with key %s - %d is not cacheable', async (path, key, status) => {
    const fixture = await startTestService()
    const response = await requestValidated(fixture.url)
      .get(path)
      .set('Authorization', `Bearer ${key ?? fixture.key}`)
    expect(response.status).toBe(status)
    expect(response.headers['cache-control']).toBe('no-store')
  })
})

describe('service, start and close', () => {
  it('close - idle keep-alive connection - is closed at once', async () => {
    const fixture = await startTestService()
    const path = '/v0/channels'
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      httpRequest(fixture.url + path, { agent: undefined }, resolve)
        .on('error', reject)
        .end()
    })
    const { statusCode: status = 0, headers } = response
    expectValidResponse({ method: 'GET', path, status, headers, text: await text(response) })
    await fixture.service.close()
    await fixture.service.close()
    await expect(requestValidated(fixture.url).get('/v0/channels')).rejects.toThrow('ECONNREFUSED')
  })

  it('listen - address in use - ListenError', async () => {
    const fixture = await startTestService()
    const port = Number(new URL(fixture.url).port)
    const second = await startTestService()
    await second.service.close()
    await expect(second.service.listen('127.0.0.1', port)).rejects.toMatchObject({
      code: 'VITRINE_LISTEN_FAILED',
    })
  })
})
