import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { assert, asyncProperty, integer } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FeedRun } from '../../../src/catalog-service/feeds/run-feed.ts'
import type { CatalogStore } from '../../../src/catalog-service/store/catalog-store.ts'
import { findFeedById, saveFeedResult, updateFeed } from '../../../src/catalog-service/store/feeds.ts'
import { removeMerchant } from '../../../src/catalog-service/store/removal.ts'
import { HOUR_MS } from '../../../src/clock.ts'
import { toRunCount } from '../../helpers/property-runs.ts'
import { type StoreUnderTest, createFolder, fetchProducts, openSqliteTestStore } from '../harness.ts'
import {
  CHANNEL,
  addFeed,
  createTable,
  dumpCatalog,
  fetchContent,
  fetchFreshContent,
  getState,
  runTestFeed,
  startFeed,
} from './feed-fixture.ts'
import { type FeedHandler, createFaults, send, sendVersion, startFeedServer } from './feed-server.ts'
import { createZip } from './zip-file.ts'
import { getReader } from '../store-handles.ts'

const BODY = createTable(3)
const NEXT_BODY = createTable(4, { price: '11.00' })
const TIME = 'Wed, 25 Nov 2026 00:00:00 GMT'
const LOGIN_PAGE =
  '<!DOCTYPE html><html><head><title>Log in</title></head><body><form></form></body></html>\n'

/** Files that are complete as a download, but no usable feed. */
const BAD_FILES: Readonly<Record<string, string | Buffer>> = {
  'empty body': '',
  'login page': LOGIN_PAGE,
  'table without rows': createTable(0),
  'other columns': 'a,b\n1,2\n',
  'table that ends in a row': BODY.slice(0, -20),
  'rows without a usable price': createTable(3, { price: 'x' }),
  'gzip, cut': gzipSync(BODY).subarray(0, -1),
  'gzip, damaged': Buffer.from(gzipSync(BODY)).fill(0xff, 30, 40),
  'gzip of a login page': gzipSync(LOGIN_PAGE),
  'zip, cut': createZip([{ name: 'a', content: Buffer.from(BODY) }]).subarray(0, -30),
  'zip with two files': createZip(['a', 'b'].map((name) => ({ name, content: Buffer.from(BODY) }))),
  'zip, encrypted': createZip([{ name: 'a', content: Buffer.from(BODY), isEncrypted: true }]),
  'zip with a wrong checksum': createZip([{ name: 'a', content: Buffer.from(BODY), checksum: 1 }]),
}

const FAULTS: readonly (readonly [name: string, respond: FeedHandler])[] = [
  ...Object.entries(createFaults(BODY)),
  ...Object.entries(BAD_FILES).map(([name, body]) => [name, send(body)] as const),
]

/** The rows are usable, but do not replace those of a good feed. */
const HELD = new Set(['table without rows', 'rows without a usable price'])

describe('failed run', () => {
  it.each(FAULTS)(
    '%s - nothing changes, and the next good run is like a first one',
    async (name, respond) => {
      const fixture = await startFeed()
      const { server, clock, store, feedId } = fixture
      await runTestFeed(fixture, feedId)
      const before = await dumpCatalog(store)
      clock.advance(HOUR_MS)
      server.respond = respond
      const code = HELD.has(name)
        ? 'VITRINE_FEED_HELD'
        : createFaults(BODY)[name] === undefined
          ? 'VITRINE_IMPORT_FAILED'
          : 'VITRINE_FEED_FETCH_FAILED'
      await expect(runTestFeed(fixture, feedId)).rejects.toMatchObject({ code })
      expect(await dumpCatalog(store)).toBe(before)
      expect(await getState(fixture)).toMatchObject({
        status: HELD.has(name) ? 'held' : 'failed',
        errorCode: code,
        error: expect.stringMatching(/\w/) as string,
        attemptedAtMs: clock.nowMs(),
        fetchedAtMs: clock.nowMs() - HOUR_MS,
        offers: 3,
      })
      expect(readdirSync(join(fixture.folder, 'feeds')).filter((file) => file.endsWith('download'))).toEqual(
        [],
      )

      server.respond = send(NEXT_BODY)
      await runTestFeed(fixture, feedId)
      expect(await fetchContent(fixture)).toEqual(await fetchFreshContent(NEXT_BODY))
      expect(await getState(fixture)).toMatchObject({ status: 'ok', errorCode: null, error: null, offers: 4 })
    },
  )

  it.each(FAULTS)('%s, first run - the catalog stays empty', async (name, respond) => {
    const fixture = await startFeed(respond)
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toMatchObject({
      code: createFaults(BODY)[name] === undefined ? 'VITRINE_IMPORT_FAILED' : 'VITRINE_FEED_FETCH_FAILED',
    })
    expect(await fetchProducts(fixture, CHANNEL)).toEqual([])
    expect(await dumpCatalog(fixture.store, { isWithFeeds: false })).toBe('')
    expect(await getState(fixture)).toMatchObject({ status: 'failed', fetchedAtMs: null, offers: 0 })
  })

  it('ten of 120 rows, then garbage - held', async () => {
    const fixture = await startFeed(send(createTable(120)))
    await runTestFeed(fixture, fixture.feedId)
    const before = await dumpCatalog(fixture.store)
    fixture.server.respond = send(`${createTable(10)}<b>Fatal error</b>: out of memory\n`.repeat(2))
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toMatchObject({ code: 'VITRINE_FEED_HELD' })
    expect(await dumpCatalog(fixture.store)).toBe(before)
  })

  it('table of 120 rows, cut at any byte - refused, or imported without a changed row', async () => {
    const body = createTable(120)
    const fixture = await startFeed(send(body))
    const { server, feedId, store } = fixture
    await assert(
      asyncProperty(integer({ min: 0, max: body.length }), async (length) => {
        server.respond = send(body)
        await runTestFeed(fixture, feedId, { isLossAccepted: true })
        const complete = await fetchContent(fixture)
        const before = await dumpCatalog(store)
        const cut = body.slice(0, length)
        server.respond = send(cut)
        const run = await runTestFeed(fixture, feedId).catch((error: unknown) => error)
        const isRefused = run instanceof Error
        expect(isRefused ? await dumpCatalog(store) : before).toBe(before)
        const content = await fetchContent(fixture)
        expect(content.length).toBeGreaterThanOrEqual(isRefused ? 120 : 60)
        // Without a line end, the last cell may be cut: 10.50 EUR cannot, because it ends in a currency.
        expect(content).toEqual(complete.slice(0, content.length))
      }),
      { numRuns: toRunCount(100) },
    )
  })

  it('stopped before the import - nothing changes', async () => {
    const stopping = new AbortController()
    const fixture = await startFeed()
    const run = runTestFeed(fixture, fixture.feedId, {
      signal: stopping.signal,
      onDownload: () => stopping.abort(),
    })
    await expect(run).rejects.toThrow('stopped')
    expect(await dumpCatalog(fixture.store, { isWithFeeds: false })).toBe('')
    await expect(runTestFeed(fixture, fixture.feedId, { signal: AbortSignal.abort() })).rejects.toMatchObject(
      { code: 'VITRINE_FEED_FETCH_FAILED' },
    )
    expect(fixture.server.requests).toHaveLength(1)
  })

  it('feed that was removed, without an address, or without a channel - UsageError', async () => {
    const fixture = await startFeed()
    await expect(runTestFeed(fixture, 99)).rejects.toThrow('the feed was removed')
    await fixture.store.write((database) => updateFeed(database, fixture.feedId, { url: null }))
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toThrow('has no address')
    await fixture.store.write((database) =>
      updateFeed(database, fixture.feedId, { url: 'http://127.0.0.1/', channelId: null }),
    )
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toThrow(
      'the channel of the feed feed was removed',
    )
  })
})

describe('successful run', () => {
  it('first - imports the file and records its result', async () => {
    const fixture = await startFeed(send(gzipSync(BODY), { etag: '"1"' }))
    const run = await runTestFeed(fixture, fixture.feedId)
    expect(run).toMatchObject({ kind: 'imported', summary: { products: 3, offers: 3, removedOffers: 0 } })
    expect(await fetchContent(fixture)).toEqual(await fetchFreshContent(BODY))
    expect(await getState(fixture)).toMatchObject({
      status: 'ok',
      rows: 3,
      products: 3,
      offers: 3,
      rejected: 0,
      removed: 0,
      fetchedAtMs: fixture.clock.nowMs(),
      nextRunAtMs: fixture.clock.nowMs() + HOUR_MS,
    })
  })

  it.each([
    ['304 by ETag', sendVersion(BODY, { etag: '"1"' }), 304],
    ['304 by Last-Modified', sendVersion(BODY, { 'last-modified': TIME }), 304],
    ['the same file without validators', send(BODY), 200],
  ])('%s - changes nothing but the time of the feed', async (_, respond) => {
    const fixture = await startFeed(respond)
    const { store, clock, feedId } = fixture
    await runTestFeed(fixture, feedId)
    const [before, feed] = [
      await dumpCatalog(store, { isWithFeeds: false }),
      await findFeedById(await getReader(store), feedId),
    ]
    clock.advance(HOUR_MS)
    expect(await runTestFeed(fixture, feedId)).toMatchObject({ kind: 'unchanged' })
    expect(await dumpCatalog(store, { isWithFeeds: false })).toBe(before)
    expect(await findFeedById(await getReader(store), feedId)).toEqual({
      ...feed,
      fetchedAtMs: clock.nowMs(),
    })
    const [product] = await fetchProducts(fixture, CHANNEL)
    expect(product?.offers[0]?.checked_at).toBe(new Date(clock.nowMs()).toISOString())
  })

  it('new ETag for equal content - not imported, and sent the next time', async () => {
    const fixture = await startFeed(sendVersion(BODY, { etag: '"1"' }))
    await runTestFeed(fixture, fixture.feedId)
    fixture.server.respond = sendVersion(BODY, { etag: '"2"' })
    expect(await runTestFeed(fixture, fixture.feedId)).toMatchObject({ kind: 'unchanged' })
    await runTestFeed(fixture, fixture.feedId)
    expect(fixture.server.requests.at(-1)?.headers['if-none-match']).toBe('"2"')
  })

  it('unchanged file, loss accepted - imported', async () => {
    const fixture = await startFeed(sendVersion(BODY, { etag: '"1"' }))
    await runTestFeed(fixture, fixture.feedId)
    const run = await runTestFeed(fixture, fixture.feedId, { isLossAccepted: true })
    expect(run).toMatchObject({ kind: 'imported' })
  })

  it('local file - imported, and unchanged until it is written again', async () => {
    const file = join(createFolder(), 'feed.csv')
    writeFileSync(file, BODY)
    const fixture = await startFeed(undefined, { url: `file://${file}` })
    expect(await runTestFeed(fixture, fixture.feedId)).toMatchObject({ kind: 'imported' })
    expect(await runTestFeed(fixture, fixture.feedId)).toMatchObject({ kind: 'unchanged' })
    writeFileSync(file, NEXT_BODY)
    expect(await runTestFeed(fixture, fixture.feedId)).toMatchObject({ kind: 'imported' })
    expect(readdirSync(join(file, '..'))).toEqual(['feed.csv'])
  })

  it('download of a run that crashed - is removed; files of other feeds stay', async () => {
    const fixture = await startFeed()
    const folder = join(fixture.folder, 'feeds')
    const id = '952a0000-0000-4000-8000-0000000000aa'
    const others = [`feed.two.${id}.download`, `feed-2.${id}.download`, 'feed.rejects', 'import-1.download']
    mkdirSync(folder)
    for (const file of [`feed.${id}.download`, ...others]) writeFileSync(join(folder, file), 'x')
    let during: readonly string[] = []
    await runTestFeed(fixture, fixture.feedId, { onDownload: () => (during = readdirSync(folder)) })
    expect(during).not.toContain(`feed.${id}.download`)
    expect(during).toHaveLength(others.length + 1)
    // The import removes the rejects of the run before.
    expect(readdirSync(folder).toSorted()).toEqual(
      others.filter((file) => file !== 'feed.rejects').toSorted(),
    )
  })
})

/** Change something that determines what an import writes. */
const CHANGES: Readonly<Record<string, (fixture: StoreUnderTest, feedId: number) => Promise<unknown>>> = {
  network: ({ store }, id) => store.write((database) => updateFeed(database, id, { network: 'Awin' })),
  merchant: ({ store }, id) => store.write((database) => updateFeed(database, id, { merchant: 'Kopje' })),
  format: ({ store }, id) => store.write((database) => updateFeed(database, id, { format: 'google-csv' })),
  map: ({ store }, id) =>
    store.write((database) => {
      const fields = { gtin: 'gtin', title: 'title', price: 'price', pageLink: 'link' }
      return updateFeed(database, id, { map: JSON.stringify({ format: 'table', fields }) })
    }),
  'header file': ({ store, folder }, id) => {
    const headerFile = join(folder, 'headers')
    writeFileSync(headerFile, 'A: b\n')
    return store.write((database) => updateFeed(database, id, { headerFile }))
  },
  address: async ({ store }, id) => {
    const url = `${(await findFeedById(await getReader(store), id))?.url}?other`
    return store.write((database) => updateFeed(database, id, { url }))
  },
  'network channel, reassigned': ({ store }) =>
    store.write((database) => database.updateTable('network_channels').set({ channel_id: null }).execute()),
  'shop, removed': ({ store }) =>
    store.write(async (database) => {
      const { id } = await database.selectFrom('merchants').select('id').executeTakeFirstOrThrow()
      return removeMerchant(database, id)
    }),
}

describe('change of a feed that the server has not changed', () => {
  it.each(Object.entries(CHANGES))('%s - the file is imported again', async (_, change) => {
    const fixture = await startFeed(sendVersion(BODY, { etag: '"1"', 'last-modified': TIME }))
    await runTestFeed(fixture, fixture.feedId)
    await change(fixture, fixture.feedId)
    expect(await runTestFeed(fixture, fixture.feedId)).toMatchObject({
      kind: 'imported',
      summary: { offers: 3 },
    })
    expect(fixture.server.requests.at(-1)?.headers).not.toHaveProperty('if-modified-since')
    expect(await runTestFeed(fixture, fixture.feedId)).toMatchObject({ kind: 'unchanged' })
  })

  it.each([
    ['304', sendVersion(BODY, { etag: '"1"' })],
    ['new ETag', sendVersion(BODY, { etag: '"2"' })],
  ])('shop removed during the request, %s - the next run imports the file', async (_, respond) => {
    // SQLite: a request handler can write while the run waits.
    const server = await startFeedServer(sendVersion(BODY, { etag: '"1"' }))
    const fixture = await openSqliteTestStore()
    const feedId = await addFeed(fixture, { url: server.url })
    await runTestFeed(fixture, feedId)
    server.respond = (request, response) => {
      void CHANGES['shop, removed']?.(fixture, feedId).then(() => respond(request, response))
    }
    expect(await runTestFeed(fixture, feedId)).toMatchObject({ kind: 'unchanged' })
    expect(await fetchProducts(fixture, CHANNEL)).toEqual([])
    server.respond = respond
    expect(await runTestFeed(fixture, feedId)).toMatchObject({ kind: 'imported' })
    expect(await fetchProducts(fixture, CHANNEL)).toHaveLength(3)
  })

  it('writes of the catalog - are one for a run, after its turn', async () => {
    const fixture = await startFeed(sendVersion(BODY, { etag: '"1"' }))
    const events: string[] = []
    const store: CatalogStore = {
      ...fixture.store,
      write(work, rules) {
        events.push('write')
        return fixture.store.write(work, rules)
      },
    }
    const options = { waitForImport: () => Promise.resolve(void events.push('turn')) }
    const run = (): Promise<FeedRun> => runTestFeed({ ...fixture, store }, fixture.feedId, options)
    expect(await run()).toMatchObject({ kind: 'imported' })
    expect(await run()).toMatchObject({ kind: 'unchanged' })
    expect(events).toEqual(['turn', 'write', 'turn', 'write'])
  })

  it('settings digest of another version - the file is imported again', async () => {
    const fixture = await startFeed(sendVersion(BODY, { etag: '"1"' }))
    await runTestFeed(fixture, fixture.feedId)
    await fixture.store.write((database) =>
      saveFeedResult(database, fixture.feedId, { settingsDigest: 'other' }),
    )
    expect(await runTestFeed(fixture, fixture.feedId)).toMatchObject({ kind: 'imported' })
  })
})
