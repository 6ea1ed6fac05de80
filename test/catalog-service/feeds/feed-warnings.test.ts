import type { KyselyPlugin } from 'kysely'
import { describe, expect, it } from 'vitest'
import { readFeedReport } from '../../../src/catalog-service/feeds/feed-warnings.ts'
import type { CatalogStore } from '../../../src/catalog-service/store/catalog-store.ts'
import { updateFeed } from '../../../src/catalog-service/store/feeds.ts'
import { DAY_MS, HOUR_MS } from '../../../src/clock.ts'
import type { FeedWarning } from '../../../src/catalog/feed-report.ts'
import { type StoreUnderTest, importText, openTestStore } from '../harness.ts'
import { CHANNEL, PRICE_MAX_AGE, createTable, runTestFeed, startFeed } from './feed-fixture.ts'
import { send } from './feed-server.ts'
import { getReader } from '../store-handles.ts'

const TEMPLATE = 'https://net.example/c?m={merchant}&u={url}'

async function readWarnings({ store }: Pick<StoreUnderTest, 'store'>): Promise<readonly FeedWarning[]> {
  return (await readFeedReport(store, { ...PRICE_MAX_AGE, hasWarnings: true })).warnings
}

/** Import pages of shops as feeds of their own names. */
async function openWithFeeds(feeds: Readonly<Record<string, string>>): Promise<StoreUnderTest> {
  const fixture = await openTestStore()
  for (const [feedName, merchant] of Object.entries(feeds))
    await importText(fixture, createTable(10), {
      channelId: CHANNEL,
      network: 'awin',
      feedName,
      ...(merchant !== '' && { merchant }),
    })
  return fixture
}

async function setTemplate({ store }: StoreUnderTest, link_template: string): Promise<void> {
  await store.write((database) => database.updateTable('networks').set({ link_template }).execute())
}

describe('warnings about feeds', () => {
  it('good feed with tracking links, and no feed at all - none', async () => {
    const fixture = await openTestStore()
    expect(await readWarnings(fixture)).toEqual([])
    const offer = {
      merchant: { name: 'Kopje' },
      network: 'Net',
      price: '1.00',
      currency: 'EUR',
      affiliate_url: 'https://track.example/1',
    }
    await importText(fixture, `${JSON.stringify({ gtin: '17', title: 'T', offers: [offer] })}\n`)
    expect(await readWarnings(fixture)).toEqual([])
  })

  it('many shops - each statement is a read of its own, whose time a server limits', async () => {
    const fixture = await openWithFeeds({ a: 'Kopje', b: 'Anna', c: 'Bo' })
    let statements = 0
    const counts: number[] = []
    const plugin: KyselyPlugin = {
      transformQuery: ({ node }) => {
        statements += 1
        return node
      },
      transformResult: ({ result }) => Promise.resolve(result),
    }
    const read: CatalogStore['read'] = async (work) => {
      statements = 0
      const value = await fixture.store.read((reader) => work(reader.withPlugin(plugin)))
      counts.push(statements)
      return value
    }
    await readFeedReport({ ...fixture.store, read }, { ...PRICE_MAX_AGE, hasWarnings: true })
    expect(counts.length).toBeGreaterThan(6)
    expect(Math.max(...counts)).toBe(1)
  })

  it('quiet for two intervals - from then on, with the last error', async () => {
    const fixture = await startFeed(send(createTable(3)))
    await runTestFeed(fixture, fixture.feedId)
    await setTemplate(fixture, 'https://net.example/?u={url}')
    fixture.clock.advance(2 * HOUR_MS)
    expect(await readWarnings(fixture)).toEqual([])
    fixture.server.respond = send('', {}, 503)
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toThrow('status 503')
    expect(await readWarnings(fixture)).toEqual([
      {
        subject: 'feed feed',
        message: `the last run failed: ${fixture.server.url}/… responded with status 503`,
        remedy: 'vitrine catalog feeds run feed',
      },
    ])
    fixture.clock.advance(1)
    expect(await readWarnings(fixture)).toMatchObject([
      { message: expect.stringMatching(/^no successful run for two intervals: .*503$/) },
    ])
    fixture.clock.advance(2 * DAY_MS)
    expect(await readWarnings(fixture)).toMatchObject([
      { message: expect.stringMatching(/503; its prices are too old to be shown$/) },
    ])
  })

  it('more than a tenth of the rows rejected - as long as that lasts, with the reasons and the file', async () => {
    const rejectedRow = '1,T,https://kopje.example/,in_stock,1.00 EUR\n'
    const fixture = await startFeed(send(createTable(9) + rejectedRow))
    await runTestFeed(fixture, fixture.feedId)
    await setTemplate(fixture, 'https://net.example/?u={url}')
    expect(await readWarnings(fixture)).toEqual([])
    fixture.server.respond = send(createTable(9) + rejectedRow.repeat(2))
    await runTestFeed(fixture, fixture.feedId)
    for (let reads = 0; reads < 2; reads += 1)
      expect(await readWarnings(fixture)).toEqual([
        {
          subject: 'feed feed',
          message: expect.stringMatching(
            /^2 of 11 rows are rejected; most often: gtin: not 8, 12, 13 or 14 digits \(2\); see .*feed\.rejects$/,
          ),
          remedy: 'vitrine catalog feeds try feed',
        },
      ])
    fixture.server.respond = send(createTable(10))
    await runTestFeed(fixture, fixture.feedId)
    expect(await readWarnings(fixture)).toEqual([])
  })

  it.each([
    ['there is no currency', send(createTable(3).replaceAll(' EUR', '')), '--currency CODE'],
    ['status 404', send('', {}, 404), '--url URL'],
    ['status 401', send('', {}, 401), '--header-file FILE'],
  ])('%s - the command that mends it', async (message, respond, option) => {
    const fixture = await startFeed(respond)
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toThrow(message)
    expect(await readWarnings(fixture)).toMatchObject([
      { subject: 'feed feed', remedy: `vitrine catalog feeds set feed ${option}` },
    ])
  })

  it('held because rows are rejected - says to look at them', async () => {
    const fixture = await startFeed(send(createTable(120)))
    await runTestFeed(fixture, fixture.feedId)
    await setTemplate(fixture, 'https://net.example/?u={url}')
    fixture.server.respond = send(createTable(120).replaceAll('EUR', 'EURO!'))
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toThrow('rejected; most often')
    expect(await readWarnings(fixture)).toMatchObject([
      { subject: 'feed feed', remedy: 'vitrine catalog feeds try feed' },
    ])
  })

  it('server that asks for a pause - the next run is shown, not made', async () => {
    const fixture = await startFeed(send('', { 'retry-after': '7200' }, 429))
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toThrow('asks for a pause')
    expect(await readWarnings(fixture)).toMatchObject([{ remedy: 'vitrine catalog feeds list' }])
  })

  it('held run - with the command that accepts it', async () => {
    const fixture = await startFeed(send(createTable(120)))
    await runTestFeed(fixture, fixture.feedId)
    await setTemplate(fixture, 'https://net.example/?u={url}')
    fixture.server.respond = send(createTable(10))
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toThrow('110 of the feed')
    expect(await readWarnings(fixture)).toMatchObject([
      {
        subject: 'feed feed',
        message: expect.stringContaining("110 of the feed's 120 offers"),
        remedy: 'vitrine catalog feeds run feed --accept',
      },
    ])
  })

  it('channel removed, and an import that is too old - what to do', async () => {
    const fixture = await openWithFeeds({ kopje: 'Kopje' })
    await setTemplate(fixture, 'https://net.example/?u={url}')
    fixture.clock.advance(2 * DAY_MS + 1)
    expect(await readWarnings(fixture)).toEqual([
      {
        subject: 'feed kopje',
        message: 'its last import is so old that its prices are not shown',
        remedy: 'vitrine catalog import FILE --feed kopje',
      },
    ])
    await fixture.store.write((database) => updateFeed(database, 1, { channelId: null }))
    expect(await readWarnings(fixture)).toMatchObject([
      { remedy: 'vitrine catalog feeds set kopje --channel ID' },
    ])
  })
})

describe('warnings about networks and shops', () => {
  it('network without a template - until it has one; then shops without a reference - until they have one', async () => {
    const fixture = await openWithFeeds({ kopje: 'Kopje' })
    expect(await readWarnings(fixture)).toEqual([
      {
        subject: 'network awin',
        message:
          "links of 1 shop lead to the shops' own pages and earn no commission, because the network has no link template; see docs/operate/catalog-service.md#link-templates",
        remedy: 'vitrine catalog networks set "awin" --template "https://…{merchant}…{publisher}…{url}"',
      },
    ])
    await setTemplate(fixture, TEMPLATE)
    expect(await readWarnings(fixture)).toEqual([
      {
        subject: 'network awin',
        message: '1 shop without the network\'s reference, so their names are in the links: "Kopje"',
        remedy: 'vitrine catalog merchants set "Kopje" --network "awin" --reference ID',
      },
    ])
    await fixture.store.write((database) =>
      database
        .insertInto('network_merchants')
        .values({ network_id: 1, merchant_id: 1, reference: '47' })
        .execute(),
    )
    expect(await readWarnings(fixture)).toEqual([])
  })

  it('network that the channel does not show - until it has its publisher reference, and is assigned', async () => {
    const fixture = await openWithFeeds({ kopje: 'Kopje' })
    await setTemplate(fixture, 'https://net.example/?p={publisher}&u={url}')
    expect(await readWarnings(fixture)).toEqual([
      {
        subject: 'network awin',
        message:
          'its offers (feed kopje) are not shown, because its link template needs your publisher reference',
        remedy: `vitrine catalog networks assign "awin" --channel ${CHANNEL} --publisher REFERENCE`,
      },
    ])
    const setNetworkChannel = (
      change: Readonly<{ reference?: string; channel_id?: null }>,
    ): Promise<unknown> =>
      fixture.store.write((database) => database.updateTable('network_channels').set(change).execute())
    await setNetworkChannel({ reference: '47' })
    expect(await readWarnings(fixture)).toEqual([])
    await setNetworkChannel({ channel_id: null })
    expect(await readWarnings(fixture)).toEqual([
      {
        subject: 'network awin',
        message: 'its offers (feed kopje) are not shown, because the channel has no network channel of it',
        remedy: `vitrine catalog networks assign "awin" --channel ${CHANNEL}`,
      },
    ])
  })

  it('one shop under two names - once, with the shop to revoke', async () => {
    const fixture = await openWithFeeds({ first: '', second: 'Kopje' })
    await setTemplate(fixture, 'https://net.example/?u={url}')
    expect(await readWarnings(fixture)).toEqual([
      {
        subject: 'shop Kopje',
        message:
          'the shop "shop.example" has the same links, so readers see one shop twice (feeds second and first)',
        remedy: `vitrine catalog merchants revoke "shop.example" --channel ${CHANNEL}`,
      },
    ])
  })

  it('second import of a file under a better name - replaces the first, and no shop is there twice', async () => {
    const fixture = await openWithFeeds({ feed: '' })
    await importText(fixture, createTable(10), { channelId: CHANNEL, network: 'awin', merchant: 'Kopje' })
    await setTemplate(fixture, 'https://net.example/?u={url}')
    expect(await readWarnings(fixture)).toEqual([])
    expect(await (await getReader(fixture.store)).selectFrom('offers').selectAll().execute()).toHaveLength(10)
  })
})
