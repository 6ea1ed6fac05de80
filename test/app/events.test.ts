import { beforeEach, expect, test, vi } from 'vitest'
import type { WireProduct } from '../../src/catalog/contract.ts'
import { DAY_MS, HOUR_MS } from '../../src/clock.ts'
import type { Demo } from '../../src/context.ts'
import { toDay } from '../../src/offers/price-history.ts'
import type { FeedState } from '../../src/catalog/feed-report.ts'
import { findAtomProblems, readAtom } from '../helpers/atom.ts'
import { EVENT_SECRET, startEventReceiver } from '../helpers/event-receiver.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import type { Harness, HarnessOptions } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { type TestResponse, fetchPath, readVisibleText, startHarness } from './app-client.ts'

const SETTINGS = { VITRINE_ADMIN_PASSWORD: 'pass' }
const PAGE_2 = /products\?.*cursor=/

let harness: Harness
beforeEach(async () => {
  harness = await start()
})

const start = (options: HarnessOptions = {}): Promise<Harness> =>
  startHarness({ ...options, settings: { ...SETTINGS, ...options.settings } })

/** Create 450 products, which are three pages; `shops` lists the shops of each. */
function makeProducts(toShops: (index: number) => readonly string[], count = 450): WireProduct[] {
  return Array.from({ length: count }, (_, index) =>
    makeWireProduct({
      gtin: toGtin(index),
      title: `Lamp ${index}`,
      offers: toShops(index).map((name) => makeWireOffer({ merchant: { name } })),
    }),
  )
}

const BOTH = ['Kopje', 'Tafelrond']

async function walk(products?: readonly WireProduct[]): Promise<string> {
  if (products !== undefined) harness.catalog.products.set(CHANNEL_ID, [...products])
  harness.clock.advance(HOUR_MS)
  const { walks, failure } = await harness.context.walks.runNow()
  return walks[0]?.outcome ?? failure ?? 'none'
}

/** Return the types and subjects of all events, oldest first. */
async function list(): Promise<readonly string[]> {
  const events = await harness.context.store.listEvents(100)
  return events
    .toSorted((a, b) => a.atMs - b.atMs)
    .map(({ details }) => {
      const subject =
        'gtin' in details ? details.title : details.type === 'shop.gone' ? details.name : details.feed
      return `${details.type} ${subject}`
    })
}

/** Count requests of today and yesterday, so that the product is watched. */
async function ask(gtin: string, sub: string): Promise<void> {
  const today = toDay(harness.clock.nowMs())
  const count = { channelId: CHANNEL_ID, gtin, sub, shown: 1, hidden: 0, unavailable: 0 }
  const widgets = [today, today - 1].map((day) => ({ ...count, day }))
  await harness.context.store.addCounts({ widgets, clicks: [] })
}

const fetchAtom = (headers: Record<string, string> = {}): Promise<TestResponse> =>
  fetchPath(harness, '/events.atom', { Authorization: `Basic ${btoa('admin:pass')}`, ...headers })

test('shop that vanishes in the middle of a walk - one event, and only when the walk is complete', async () => {
  expect(await walk(makeProducts((index) => (index < 200 ? ['Kopje'] : BOTH)))).toBe('complete')
  const seen: string[] = []
  harness.catalog.fault = {
    pathPattern: PAGE_2,
    respond(request, response) {
      harness.catalog.fault = null
      harness.catalog.products.set(
        CHANNEL_ID,
        makeProducts(() => ['Kopje']),
      )
      void list().then((events) => {
        seen.push(...events)
        // The fake serves the page from the changed products.
        const all = harness.catalog.products.get(CHANNEL_ID) ?? []
        const items = all.slice(200, 400)
        sendJson(response, 200, { items, next_cursor: items.at(-1)?.gtin })
        return request.resume()
      })
    },
  }
  expect(await walk()).toBe('complete')
  expect(seen).toEqual([])
  expect(await list()).toEqual(['shop.gone Tafelrond'])
  expect(await walk()).toBe('complete')
  expect(await list()).toEqual(['shop.gone Tafelrond'])
})

test('429, outage and restart of a walk - no event until a complete walk, then one for each change', async () => {
  const gtin = toGtin(7)
  await walk(makeProducts(() => BOTH))
  await ask(gtin, 'post-1')
  await walk()
  harness.catalog.products.set(
    CHANNEL_ID,
    makeProducts(() => ['Kopje']).filter((product) => product.gtin !== gtin),
  )
  const faults = [
    (_request: unknown, response: Parameters<typeof sendJson>[0]) =>
      sendJson(response, 429, { error: 'limit' }),
    (_request: unknown, response: Parameters<typeof sendJson>[0]) => void response.socket?.destroy(),
  ]
  for (const respond of faults) {
    harness.catalog.fault = { pathPattern: PAGE_2, respond }
    const { clock, context } = harness
    const walking = context.walks.runNow()
    let report: Awaited<typeof walking> | undefined
    void walking.then((one) => (report = one))
    await vi.waitFor(() => {
      clock.advance(1_000)
      expect(report).toBeDefined()
    })
    expect(report?.walks).toMatchObject([{ outcome: 'failed' }])
    expect(await list()).toEqual([])
    clock.advance(DAY_MS)
  }
  harness.catalog.fault = null
  await ask(gtin, 'post-1')
  expect(await walk()).toBe('complete')
  expect(await list()).toEqual(['shop.gone Tafelrond', 'product.gone Lamp 7'])
})

test('walk that is held - no event; when it is accepted, its events', async () => {
  await walk(makeProducts(() => BOTH, 150))
  await ask(toGtin(149), '')
  await walk()
  expect(await walk(makeProducts(() => ['Kopje'], 20))).toBe('held')
  expect(await list()).toEqual([])
  await harness.context.walks.runNow({ isAccepted: true })
  expect(await list()).toEqual(['shop.gone Tafelrond', 'product.gone Lamp 149'])
})

test('look-up that finds no shop - no event; the next walk decides', async () => {
  await walk(makeProducts(() => BOTH, 2))
  await ask(toGtin(1), '')
  await walk()
  const entry = { product: null, asOfMs: harness.clock.nowMs() + 1 }
  await harness.context.store.putLookups([{ channelId: CHANNEL_ID, gtin: toGtin(1), entry }])
  expect(await list()).toEqual([])
  expect(await walk()).toBe('complete')
  expect(await list()).toEqual([])
})

test('stale feed of the embedded catalog - one event after the walk', async () => {
  const stale = { name: 'awin-main', channelId: CHANNEL_ID, fetchedAtMs: 0 }
  const feeds = { isStale: false }
  const demo = {
    readCatalogContent: () => Promise.resolve('own'),
    readFeeds: () =>
      Promise.resolve({ feeds: [{ ...stale, isStale: feeds.isStale } as FeedState], warnings: [] }),
  } as unknown as Demo
  harness = await start({ over: { demo } })
  await walk(makeProducts(() => BOTH, 2))
  feeds.isStale = true
  await walk()
  await walk()
  expect(await list()).toEqual(['feed.stale awin-main'])
  expect((await fetchAtom()).text).toContain(
    '<title>The feed awin-main brings nothing new (Test magazine)</title>',
  )
})

test('webhook that fails - the health tab shows it without the address, and no password is sent', async () => {
  const receiver = await startEventReceiver()
  harness = await start({
    settings: { VITRINE_EVENTS_URL: receiver.url, VITRINE_EVENTS_SECRET: EVENT_SECRET },
  })
  receiver.responses.push((response) => void response.writeHead(503).end())
  await walk(makeProducts(() => BOTH, 2))
  await walk(makeProducts(() => ['Kopje'], 2))
  harness.context.webhook?.start()
  await vi.waitFor(async () =>
    expect(await harness.context.store.readDeliveryState()).toMatchObject({ failure: 'status 503' }),
  )
  const { text } = await fetchPath(harness, '/studio?tab=health', {
    Authorization: `Basic ${btoa('admin:pass')}`,
  })
  expect(readVisibleText(text)).toMatch(
    /Webhook .*failed .*: status 503; no event delivered yet; 1 event waiting/,
  )
  expect(text + harness.logs()).not.toMatch(/path-secret|test-signing-secret/)
  expect(receiver.received[0]?.headers['authorization']).toBeUndefined()
})

test('Atom - only with the password, private, with an ETag', async () => {
  expect((await fetchPath(harness, '/events.atom')).status).toBe(401)
  const empty = await fetchAtom()
  expect(findProblems(empty.text)).toEqual([])
  expect(empty.headers).toMatchObject({
    'content-type': 'application/atom+xml; charset=utf-8',
    'cache-control': 'private, no-cache',
  })
  expect((await fetchAtom({ 'If-None-Match': empty.headers['etag'] ?? '' })).status).toBe(304)
  await walk(makeProducts(() => BOTH, 2))
  await walk(makeProducts(() => ['Kopje'], 2))
  const changed = await fetchAtom({ 'If-None-Match': empty.headers['etag'] ?? '' })
  expect([changed.status, (await fetchAtom()).text === changed.text]).toEqual([200, true])
})

test('hostile names - the feed is well-formed, has no markup of them, and the shop is the first entry of its walk', async () => {
  const evil = '</title><script>alert("&amp;")</script>\u0000\u0008\u202e]]>\ud800&#x0; \'<![CDATA['
  const products = makeProducts(() => ['Kopje', `${evil} shop`], 2).map((product) => ({
    ...product,
    title: `${product.gtin} ${evil}`,
  }))
  await walk(products)
  await ask(toGtin(1), 'post-1')
  await walk()
  await walk(makeProducts(() => ['Kopje'], 1))
  const { text } = await fetchAtom()
  expect(findProblems(text)).toEqual([])
  const clean = '</title><script>alert("&amp;")</script> ]]> &#x0; \'<![CDATA['
  expect(readAtom(text).entries.map(({ title }) => title)).toEqual([
    `${clean} shop has no offers any more (Test magazine)`,
    `No shop sells ${toGtin(1)} ${clean} any more (Test magazine)`,
  ])
  expect(readAtom(text).entries[1]).toMatchObject({
    category: 'product.gone',
    content: `GTIN ${toGtin(1)}. Placements: post-1.`,
    link: `https://widgets.example/studio?channel=${CHANNEL_ID}&gtin=${toGtin(1)}`,
  })
})

function findProblems(xml: string): readonly string[] {
  const { feed, entries } = readAtom(xml)
  const isNewestFirst = feed['updated'] === (entries[0]?.['updated'] ?? feed['updated'])
  return [...findAtomProblems(xml, { category: /./ }), ...(isNewestFirst ? [] : ['the newest is not first'])]
}
