import { describe, expect, it } from 'vitest'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/clock.ts'
import { type ServiceUnderTest, importText, startTestService } from '../harness.ts'
import { addFeed, createTable, runTestFeed, toGtin } from './feed-fixture.ts'
import { send, sendVersion, startFeedServer } from './feed-server.ts'
import { getReader } from '../store-handles.ts'

const GTIN = toGtin(1)

const toIso = (timeMs: number): string => new Date(timeMs).toISOString()

/** Start a service with one product. Its sale begins and ends so many milliseconds after the start. */
async function startWithSale(
  sale: Readonly<{ startsInMs: number; endsInMs: number; price?: string }>,
): Promise<ServiceUnderTest & Readonly<{ path: string; startMs: number }>> {
  const fixture = await startTestService()
  const startMs = fixture.clock.nowMs()
  const dates = `${toIso(startMs + sale.startsInMs)}/${toIso(startMs + sale.endsInMs)}`
  const { channelId } = await importText(
    fixture,
    'gtin,title,link,price,sale_price,sale_price_effective_date\n' +
      `${GTIN},Lamp,https://kopje.example/1,${sale.price ?? '199.00 EUR'},99.00 EUR,${dates}\n`,
  )
  return { ...fixture, startMs, path: `/v0/channels/${channelId}/products/${GTIN}` }
}

type Seen = Readonly<{ price: unknown; oldPrice: unknown; endsAt: unknown; cacheControl: unknown }>

async function see({ get, path }: Awaited<ReturnType<typeof startWithSale>>): Promise<Seen> {
  const { body, headers } = await get(path).expect(200)
  const { price, old_price: oldPrice, sale_ends_at: endsAt } = body.offers[0]
  return { price, oldPrice, endsAt, cacheControl: headers['cache-control'] }
}

describe('dated sale', () => {
  it('before, during and after - the price of the moment; no response is cached beyond the next change', async () => {
    const fixture = await startWithSale({ startsInMs: 2 * MINUTE_MS, endsInMs: HOUR_MS })
    const regular = { price: '199.00', oldPrice: undefined, endsAt: undefined }
    const sale = { price: '99.00', oldPrice: '199.00', endsAt: toIso(fixture.startMs + HOUR_MS) }
    expect(await see(fixture)).toEqual({ ...regular, cacheControl: 'private, max-age=120' })
    fixture.clock.advance(2 * MINUTE_MS)
    expect(await see(fixture)).toEqual({ ...sale, cacheControl: 'private, max-age=300' })
    fixture.clock.advance(57 * MINUTE_MS + 30 * SECOND_MS)
    expect(await see(fixture)).toEqual({ ...sale, cacheControl: 'private, max-age=30' })
    fixture.clock.advance(30 * SECOND_MS - 1)
    expect(await see(fixture)).toEqual({ ...sale, cacheControl: 'private, max-age=0' })
    fixture.clock.advance(1)
    expect(await see(fixture)).toEqual({ ...regular, cacheControl: 'private, max-age=300' })
  })

  it('tracking link whose sale has ended - the page of another feed is shown', async () => {
    const fixture = await startTestService()
    const startMs = fixture.clock.nowMs()
    const dates = `${toIso(startMs - HOUR_MS)}/${toIso(startMs + MINUTE_MS)}`
    const { channelId } = await importText(
      fixture,
      'program_name,gtin,title,link,price,sale_price,sale_price_effective_date\n' +
        `Kopje,${GTIN},Lamp,https://track.example/1,,9.00 EUR,${dates}\n`,
      { feedName: 'tracked', format: 'cj' },
    )
    await importText(fixture, `gtin,title,link,price\n${GTIN},Lamp,https://kopje.example/1,12.00 EUR\n`, {
      feedName: 'pages',
      channelId,
      network: 'cj',
      merchant: 'Kopje',
    })
    const readLinks = async (): Promise<unknown> => {
      const { body } = await fixture.get(`/v0/channels/${channelId}/products/${GTIN}`).expect(200)
      return body.offers.map(({ affiliate_url: link }: { affiliate_url: string }) => link)
    }
    expect(await readLinks()).toEqual(['https://track.example/1'])
    fixture.clock.advance(MINUTE_MS)
    expect(await readLinks()).toEqual(['https://kopje.example/1'])
  })

  it('list - has the same prices, and its cache lifetime ends with the first sale', async () => {
    const fixture = await startWithSale({ startsInMs: -HOUR_MS, endsInMs: MINUTE_MS })
    const list = fixture.path.replace(`/${GTIN}`, '')
    const during = await fixture.get(list)
    expect(during.body.items[0].offers[0]).toMatchObject({ price: '99.00', old_price: '199.00' })
    expect(during.headers['cache-control']).toBe('private, max-age=60')
    fixture.clock.advance(MINUTE_MS)
    const after = await fixture.get(list)
    expect(after.body.items[0].offers[0].price).toBe('199.00')
    expect(after.headers['cache-control']).toBe('private, max-age=300')
  })

  it('without a regular price - is not sold before and after', async () => {
    const fixture = await startWithSale({ startsInMs: MINUTE_MS, endsInMs: HOUR_MS, price: '' })
    await fixture.get(fixture.path).expect(404)
    fixture.clock.advance(MINUTE_MS)
    expect(await see(fixture)).toMatchObject({ price: '99.00', oldPrice: undefined })
    fixture.clock.advance(HOUR_MS)
    await fixture.get(fixture.path).expect(404)
  })
})

describe('checked_at', () => {
  it('is the time of the last successful fetch, also of one without a change', async () => {
    const fixture = await startTestService()
    const { clock, get } = fixture
    const server = await startFeedServer(sendVersion(createTable(1), { etag: '"1"' }))
    const feedId = await addFeed(fixture, { url: server.url })
    const channelId = (
      await (await getReader(fixture.store)).selectFrom('channels').select('id').executeTakeFirst()
    )?.id
    const see = async (): Promise<unknown> => {
      const { body } = await get(`/v0/channels/${channelId ?? ''}/products/${GTIN}`).expect(200)
      return body.offers[0].checked_at
    }
    await runTestFeed(fixture, feedId)
    const firstMs = clock.nowMs()
    clock.advance(HOUR_MS)
    expect(await see()).toBe(toIso(firstMs))
    server.respond = send('no', {}, 500)
    await expect(runTestFeed(fixture, feedId)).rejects.toThrow('status 500')
    expect(await see()).toBe(toIso(firstMs))
    server.respond = sendVersion(createTable(1), { etag: '"1"' })
    expect(await runTestFeed(fixture, feedId)).toMatchObject({ kind: 'unchanged' })
    expect(await see()).toBe(toIso(firstMs + HOUR_MS))
  })

  it('of the feed itself - is kept', async () => {
    const fixture = await startTestService()
    const offer = {
      merchant: { name: 'Kopje' },
      network: 'Net',
      price: '1.00',
      currency: 'EUR',
      availability: 'in_stock',
      affiliate_url: 'https://track.example/1',
      checked_at: '2026-04-30T10:00:00+02:00',
    }
    const { channelId } = await importText(
      fixture,
      `${JSON.stringify({ gtin: GTIN, title: 'Lamp', offers: [offer] })}\n`,
    )
    const { body } = await fixture.get(`/v0/channels/${channelId}/products/${GTIN}`).expect(200)
    expect(body.offers[0].checked_at).toBe('2026-04-30T08:00:00.000Z')
  })
})
