import { describe, expect, it } from 'vitest'
import { revokeApiKey, insertApiKey } from '../../src/catalog-service/store/keys.ts'
import { CHANNEL_KINDS } from '../../src/catalog/contract.ts'
import {
  GTINS,
  type ServiceUnderTest,
  importRows,
  createOffer,
  createProduct,
  startTestService,
  addApiKey,
} from './harness.ts'
import { requestValidated } from './openapi-validation.ts'
import { getReader } from './store-handles.ts'

const OTHER = '952a0000-0000-4000-8000-0000000000f1'

/** Start a service with a channel with products, and a second organization with a channel and a key. */
async function startWithTwo(): Promise<ServiceUnderTest & { channelId: string; otherKey: string }> {
  const fixture = await startTestService()
  const { clock } = fixture.store
  const rows = GTINS.map((gtin) => createProduct(gtin))
  const { channelId } = await importRows(fixture, rows)
  const createdAtMs = clock.nowMs()
  const other = { id: OTHER, organization_id: 'other', name: 'Theirs', kind: 'app', url: null } as const
  const { key: otherKey } = await fixture.store.write(async (database) => {
    await database
      .insertInto('organizations')
      .values({ id: 'other', name: 'Other', daily_limit: null, created_at_ms: createdAtMs })
      .execute()
    await database
      .insertInto('channels')
      .values({ ...other, created_at_ms: createdAtMs })
      .execute()
    return insertApiKey(database, { organizationId: 'other', name: 'theirs', nowMs: createdAtMs })
  })
  return { ...fixture, channelId, otherKey }
}

describe('contract, section 1: what the service does', () => {
  it('product of several networks and merchants - one product with all offers, each with its own link', async () => {
    const fixture = await startTestService()
    const offers = ['Awin', 'CJ'].flatMap((network) =>
      ['A', 'B'].map((name) =>
        createOffer({
          network,
          merchant: { name },
          affiliate_url: `https://track.example/${network}/${name}`,
        }),
      ),
    )
    const { channelId } = await importRows(fixture, [createProduct('17', { offers })])
    const { body } = await fixture.get(`/v0/channels/${channelId}/products/17`).expect(200)
    expect(body.offers.map((offer: { affiliate_url: string }) => offer.affiliate_url).toSorted()).toEqual(
      offers.map((offer) => String(offer['affiliate_url'])).toSorted(),
    )
  })

  it('interface - three GET operations - every other address is 404', async () => {
    const { get, channelId } = await startWithTwo()
    for (const path of [
      '/v0',
      '/v0/',
      `/v0/channels/${channelId}`,
      `/v0/channels/${channelId}/products/17/offers`,
      '/v0/products/17',
      '/v0/merchants',
      '/v0/events',
      '//v0/channels',
    ])
      expect([path, (await get(path)).status]).toEqual([path, 404])
  })
})

describe('look-up with an empty GTIN', () => {
  it.each(['/products/', '/products//', '/products/?limit=1', '/products/?cursor=x', '/PRODUCTS/'])(
    '%s - is 404, like any unknown address, and not the list',
    async (tail) => {
      const { get, channelId } = await startWithTwo()
      const { status, body } = await get(`/v0/channels/${channelId}${tail}`)
      expect([status, body]).toEqual([404, { error: 'there is no such address' }])
    },
  )

  it.each(['/products', '/products?limit=1'])('%s - is the list', async (tail) => {
    const { get, channelId } = await startWithTwo()
    expect((await get(`/v0/channels/${channelId}${tail}`)).status).toBe(200)
  })
})

describe('contract, section 2: kinds of channel', () => {
  it('channels - one of each kind - are returned unchanged, with their addresses or null', async () => {
    const fixture = await startTestService()
    await importRows(fixture, [createProduct('17')])
    await fixture.store.write((database) => database.deleteFrom('channels').execute())
    const { id: organization_id } = await (
      await getReader(fixture.store)
    )
      .selectFrom('organizations')
      .select('id')
      .executeTakeFirstOrThrow()
    const channels = CHANNEL_KINDS.map((kind, index) => ({
      id: `952a0000-0000-4000-8000-00000000000${index}`,
      name: `Channel ${kind}`,
      kind,
      url: index % 2 === 0 ? `https://${kind}.example/a?b=1` : null,
    }))
    for (const [created_at_ms, channel] of channels.entries())
      await fixture.store.write((database) =>
        database
          .insertInto('channels')
          .values({ ...channel, organization_id, created_at_ms })
          .execute(),
      )
    expect(CHANNEL_KINDS).toHaveLength(9)
    expect((await fixture.get('/v0/channels').expect(200)).body).toEqual({ items: channels })
  })
})

describe('contract, section 2: rules of offers', () => {
  it('offers in several currencies, on sale and not - all of them are sent', async () => {
    const fixture = await startTestService()
    const offers = [
      createOffer({ price: '8.00', old_price: '10.00' }),
      createOffer({ price: '8.00', old_price: '7.00', merchant: { name: 'B' } }),
      createOffer({ price: '8', currency: 'USD', merchant: { name: 'C' }, availability: 'on_the_moon' }),
    ]
    const { channelId } = await importRows(fixture, [createProduct('17', { offers })])
    const { body } = await fixture.get(`/v0/channels/${channelId}/products/17`).expect(200)
    expect(body.offers).toHaveLength(3)
    expect(body.offers).toEqual(expect.arrayContaining(offers.map((offer) => expect.objectContaining(offer))))
  })
})

describe('contract, section 5: unknown and foreign channels are indistinguishable', () => {
  it('channel of another organization - every operation - the same response as for an unknown channel', async () => {
    const { get, url, otherKey, channelId } = await startWithTwo()
    const unknown = '952a0000-0000-4000-8000-00000000dead'
    for (const tail of [
      '/products',
      '/products?limit=1',
      `/products/${GTINS[0]}`,
      '/products/4006381333931',
    ]) {
      const [theirs, nonexistent] = [
        await get(`/v0/channels/${OTHER}${tail}`),
        await get(`/v0/channels/${unknown}${tail}`),
      ]
      expect([theirs.status, theirs.text]).toEqual([404, nonexistent.text])
      const ours = await requestValidated(url)
        .get(`/v0/channels/${channelId}${tail}`)
        .set('Authorization', `Bearer ${otherKey}`)
      expect([ours.status, ours.text]).toEqual([404, nonexistent.text])
    }
    const { body } = await requestValidated(url)
      .get('/v0/channels')
      .set('Authorization', `Bearer ${otherKey}`)
    expect(body).toEqual({ items: [{ id: OTHER, name: 'Theirs', kind: 'app', url: null }] })
  })

  it('no key, wrong key, revoked key - the same 401 for channels that exist and that do not', async () => {
    const { store, url, channelId } = await startWithTwo()
    const { id, key } = await addApiKey(store, 'revoked')
    await revokeApiKey(store, id)
    for (const authorization of ['', 'Bearer vk_wrong', `Bearer ${key}`]) {
      const texts = new Set<string>()
      for (const channel of [channelId, OTHER, 'nonsense']) {
        const response = await requestValidated(url)
          .get(`/v0/channels/${channel}/products/17`)
          .set('Authorization', authorization)
        expect(response.status).toBe(401)
        texts.add(`${response.text} ${response.headers['www-authenticate']}`)
      }
      expect(texts.size).toBe(1)
    }
  })
})

describe('contract, section 9: versioning', () => {
  it.each(['/channels', '/v1/channels', '/v00/channels', '/api/v0/channels'])(
    'address - %s, not of version 0 - 404',
    async (path) => {
      const { get } = await startWithTwo()
      const { body } = await get(path).expect(404)
      expect(body).toEqual({ error: 'there is no such address' })
    },
  )
})
