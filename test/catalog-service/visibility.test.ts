import type { Kysely } from 'kysely'
import { describe, expect, it } from 'vitest'
import { createAffiliateLink } from '../../src/catalog-service/store/networks.ts'
import { getOrCreateOrganizationId } from '../../src/catalog-service/store/organizations.ts'
import { type CatalogTables, SAMPLE_FEED_ID } from '../../src/catalog-service/store/schema.ts'
import { type ServiceUnderTest, importRows, createProduct, startTestService } from './harness.ts'
import { getReader } from './store-handles.ts'

const FIRST = '952a0000-0000-4000-8000-0000000000a1'
const SECOND = '952a0000-0000-4000-8000-0000000000a2'
const GTIN = '00000000000017'

/** Start with two channels, each with its own network channel in a network with a template, and one offer. */
async function startWithTemplate(): Promise<ServiceUnderTest> {
  const fixture = await startTestService()
  await fixture.store.write(putTemplate)
  return fixture
}

async function putTemplate(writer: Kysely<CatalogTables>): Promise<void> {
  const organization_id = await getOrCreateOrganizationId(writer, 0)
  const link_template = 'https://net.example/c?m={merchant}&p={publisher}&u={url}&x={other}'
  await writer.insertInto('networks').values({ name: 'Net', link_template }).execute()
  await writer.insertInto('merchants').values({ name: 'A & B' }).execute()
  for (const [index, id] of [FIRST, SECOND].entries()) {
    const channel = {
      id,
      organization_id,
      name: id,
      kind: 'website',
      url: null,
      created_at_ms: index,
    } as const
    await writer.insertInto('channels').values(channel).execute()
    const networkChannel = {
      organization_id,
      network_id: 1,
      reference: `pub/${index}`,
      channel_id: id,
    }
    await writer.insertInto('network_channels').values(networkChannel).execute()
  }
  await writer
    .insertInto('products')
    .values({ gtin: GTIN, feed_id: SAMPLE_FEED_ID, title: 'T', brand: null, images: '[]' })
    .execute()
  const offer = {
    gtin: GTIN,
    merchant_id: 1,
    network_id: 1,
    feed_id: SAMPLE_FEED_ID,
    network_channel_id: 0,
    is_page: 1,
    variant: 0,
    price: '1',
    currency: 'EUR',
    availability: 'in_stock',
  }
  await writer
    .insertInto('offers')
    .values({ ...offer, url: 'https://shop.example/p?a=1&b=ü' })
    .execute()
  const shop = { feed_id: SAMPLE_FEED_ID, network_id: 1, merchant_id: 1, network_channel_id: 0, is_page: 1 }
  await writer.insertInto('feed_shops').values(shop).execute()
}

async function approve(fixture: ServiceUnderTest, networkChannelId: number): Promise<void> {
  await fixture.store.write((database) =>
    database
      .insertInto('approvals')
      .values({ network_channel_id: networkChannelId, merchant_id: 1, revoked_at_ms: null })
      .execute(),
  )
}

describe('contract, section 4.2 rule 3: only approved merchants', () => {
  it('offer - no network channel is approved - absent from lists, 404 on look-up', async () => {
    const fixture = await startWithTemplate()
    expect(await fixture.get(`/v0/channels/${FIRST}/products`)).toMatchObject({
      status: 200,
      body: { items: [], next_cursor: null },
    })
    expect((await fixture.get(`/v0/channels/${FIRST}/products/${GTIN}`)).status).toBe(404)
  })

  it('offer - one of two network channels is approved - visible only in its channel', async () => {
    const fixture = await startWithTemplate()
    await approve(fixture, 2)
    expect((await fixture.get(`/v0/channels/${FIRST}/products/${GTIN}`)).status).toBe(404)
    const { body } = await fixture.get(`/v0/channels/${SECOND}/products/${GTIN}`).expect(200)
    expect(body.offers).toHaveLength(1)
    expect(body).not.toHaveProperty('brand')
  })

  it('offer - approval revoked - no longer visible', async () => {
    const fixture = await startWithTemplate()
    await approve(fixture, 1)
    expect((await fixture.get(`/v0/channels/${FIRST}/products/${GTIN}`)).status).toBe(200)
    await fixture.store.write((database) =>
      database.updateTable('approvals').set({ revoked_at_ms: 5 }).execute(),
    )
    expect((await fixture.get(`/v0/channels/${FIRST}/products/${GTIN}`)).status).toBe(404)
  })

  it('offer - network channel not assigned to a channel - not visible', async () => {
    const fixture = await startWithTemplate()
    await approve(fixture, 1)
    await fixture.store.write((database) =>
      database.updateTable('network_channels').set({ channel_id: null }).where('id', '=', 1).execute(),
    )
    expect((await fixture.get(`/v0/channels/${FIRST}/products/${GTIN}`)).status).toBe(404)
  })

  it('network channel - a second one of the same network for a channel - is rejected', async () => {
    const fixture = await startWithTemplate()
    const second = fixture.store.write((database) =>
      database.updateTable('network_channels').set({ channel_id: FIRST }).where('id', '=', 2).execute(),
    )
    await expect(second).rejects.toThrow(/unique/i)
  })
})

describe('contract, section 2: affiliate_url', () => {
  it("link - from the template - has each channel's own reference, percent-encoded", async () => {
    const fixture = await startWithTemplate()
    await approve(fixture, 1)
    await approve(fixture, 2)
    const links = await Promise.all(
      [FIRST, SECOND].map(async (id) => {
        const { body } = await fixture.get(`/v0/channels/${id}/products/${GTIN}`)
        return body.offers[0].affiliate_url as string
      }),
    )
    const tail = 'u=https%3A%2F%2Fshop.example%2Fp%3Fa%3D1%26b%3D%C3%BC&x={other}'
    expect(links).toEqual([
      `https://net.example/c?m=A%20%26%20B&p=pub%2F0&${tail}`,
      `https://net.example/c?m=A%20%26%20B&p=pub%2F1&${tail}`,
    ])
  })

  it('link - network without a template - the offer is not visible', async () => {
    const fixture = await startWithTemplate()
    await approve(fixture, 1)
    await fixture.store.write((database) =>
      database.updateTable('networks').set({ link_template: null }).execute(),
    )
    expect((await fixture.get(`/v0/channels/${FIRST}/products/${GTIN}`)).status).toBe(404)
  })

  it('link - from the feed - used only for the network channel of the import', async () => {
    const fixture = await startWithTemplate()
    await importRows(fixture, [createProduct('24')], { channelId: FIRST })
    const rows = await (await getReader(fixture.store)).selectFrom('offers').select('merchant_id').execute()
    for (const row of rows) {
      await fixture.store.write((database) =>
        database
          .insertInto('approvals')
          .values({ network_channel_id: 2, merchant_id: row.merchant_id, revoked_at_ms: null })
          .execute(),
      )
    }
    const { body } = await fixture.get(`/v0/channels/${FIRST}/products/24`).expect(200)
    expect(body.offers[0].affiliate_url).toBe('https://track.example/a?b=1&c=%2F')
    expect((await fixture.get(`/v0/channels/${SECOND}/products/24`)).status).toBe(404)
  })

  it('template - lone surrogate and repeated placeholders - gives a valid address', () => {
    const parts = { merchantUrl: 'https://a.example/', merchant: '\ud800', publisher: '{url}' }
    expect(createAffiliateLink({ ...parts, template: '{merchant}/{publisher}/{publisher}' })).toBe(
      '%EF%BF%BD/%7Burl%7D/%7Burl%7D',
    )
  })
})
