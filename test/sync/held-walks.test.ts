import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { WireChannel, WireProduct } from '../../src/catalog/contract.ts'
import { HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import type { WalkJob, WalkProgress } from '../../src/sync/walk-runner.ts'
import { openSqlite } from '../../src/database/sqlite.ts'
import { CHANNEL_ID, makeWireOffer, sendJson } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { makeQuery, readBox } from '../storage/conformance/subject.ts'
import {
  type WalkFixture,
  makeWalkFixture,
  makeWireProducts,
  withMalformedPrices,
  setProducts,
} from './walk-fixture.ts'

const GTIN = toGtin(119)

let fixture: WalkFixture
beforeEach(async () => {
  fixture = await makeWalkFixture()
  setProducts(fixture.catalog, makeWireProducts(120))
  await walk()
})

/** Walk and return the outcome and the number of products, or the failure. */
async function walk(job: Partial<WalkJob> = {}): Promise<string> {
  const { walks, failure } = await fixture.walk({ job })
  const [first] = walks
  return first === undefined ? (failure ?? 'no walk') : `${first.outcome} ${first.productCount}`
}

async function walkLater(products: readonly WireProduct[], afterMs = HOUR_MS): Promise<string> {
  fixture.clock.advance(afterMs)
  setProducts(fixture.catalog, [...products])
  return walk()
}

const countProducts = async (): Promise<number> => (await fixture.copy.getCopyState(CHANNEL_ID)).productCount

const readFirstSeen = async (): Promise<number> => {
  const deals = await fixture.copy.findDeals(makeQuery({ channelId: CHANNEL_ID, sort: 'newest', limit: 200 }))
  return deals.findIndex(({ gtin }) => gtin === GTIN)
}

/** Count the ended product versions in the database file. */
function countEndedRows(): number {
  const path = fixture.job.database.replace('sqlite:', '')
  const database = openSqlite({ path, role: 'reader' })
  onTestFinished(() => database.close())
  return database.prepare('select id from products where until_walk is not null').all([]).length
}

/** Add a channel without products, which a walk reads first. */
function addChannelBefore(): string {
  const [existing] = fixture.catalog.channels
  const other = { ...existing, id: '00000000-0000-4000-8000-000000000001' } as WireChannel
  fixture.catalog.channels.unshift(other)
  return other.id
}

/** Delay the next page of an empty channel. */
function delayOnce(channelId: string, byMs: number): void {
  fixture.catalog.fault = {
    pathPattern: new RegExp(`${channelId}/products`),
    respond: (_request, response) => {
      fixture.clock.step(byMs)
      fixture.catalog.fault = null
      sendJson(response, 200, { items: [], next_cursor: null })
    },
  }
}

const breakFirstPrices = (count: number): WireProduct[] => withMalformedPrices(makeWireProducts(120), count)

describe('walk that finds far fewer products', () => {
  test('no products - is held: the copy stays current and the state reports it', async () => {
    expect(await walkLater([])).toBe('held 0')
    expect(await readBox(fixture.copy, GTIN)).toBe(`Lamp 119 @${NOON_MS}`)
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({
      productCount: 120,
      dealCount: 120,
      isRunning: false,
      failure: null,
      held: {
        reason: 'few_products',
        sinceMs: NOON_MS + HOUR_MS,
        startedAtMs: NOON_MS + HOUR_MS,
        productCount: 0,
      },
    })
  })

  test('no products - is held before anything is written', async () => {
    await walkLater([])
    expect(countEndedRows()).toBe(0)
  })

  test('progress of a held walk - reports its end', async () => {
    const progress: WalkProgress[] = []
    setProducts(fixture.catalog, makeWireProducts(40))
    await fixture.walk({ onProgress: (step) => void progress.push(step) })
    expect(progress).toMatchObject([{ productCount: 40, isDone: true }])
  })

  test('report of a held walk - has its code and reason', async () => {
    setProducts(fixture.catalog, [])
    expect((await fixture.walk()).walks).toMatchObject([
      { failure: 'VITRINE_WALK_HELD', reason: 'it found 0 products where the copy has 120' },
    ])
  })

  test.each([
    [59, 'held 59'],
    [60, 'complete 60'],
  ])('%i of 120 products - %s', async (count, ended) => {
    expect(await walkLater(makeWireProducts(count))).toBe(ended)
  })

  test('copy of fewer than 100 products - may shrink freely', async () => {
    await walkLater(makeWireProducts(99))
    expect(await walkLater([])).toBe('complete 0')
  })

  test('later walk that finds nearly the same - at least a period after the first - is accepted', async () => {
    await walkLater(makeWireProducts(20))
    expect(await walkLater(makeWireProducts(25), HOUR_MS / 2)).toBe('held 25')
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({
      held: { sinceMs: NOON_MS + HOUR_MS, startedAtMs: NOON_MS + 1.5 * HOUR_MS, productCount: 25 },
    })
    expect(await walkLater(makeWireProducts(22), HOUR_MS / 2 - MINUTE_MS)).toBe('complete 22')
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({ productCount: 22, held: null })
    expect(await readBox(fixture.copy, GTIN)).toBe('unknown')
  })

  test('channel that is walked late in its run - is confirmed by the start times of the runs', async () => {
    const first = addChannelBefore()
    setProducts(fixture.catalog, [])
    fixture.clock.advance(HOUR_MS)
    // Takes ten minutes in this run, and no time in the next one.
    delayOnce(first, HOUR_MS / 6)
    const { walks } = await fixture.walk()
    expect(walks).toMatchObject([{ outcome: 'complete' }, { outcome: 'held' }])
    fixture.clock.advance((HOUR_MS * 5) / 6)
    expect((await fixture.walk()).walks).toMatchObject([{ outcome: 'complete' }, { outcome: 'complete' }])
  })

  test('channel that is walked an hour late in its run - is not confirmed two minutes later', async () => {
    const first = addChannelBefore()
    setProducts(fixture.catalog, [])
    fixture.clock.advance(HOUR_MS)
    delayOnce(first, HOUR_MS - 2 * MINUTE_MS)
    expect((await fixture.walk()).walks).toMatchObject([{ outcome: 'complete' }, { outcome: 'held' }])
    fixture.clock.advance(2 * MINUTE_MS)
    expect((await fixture.walk()).walks).toMatchObject([{ outcome: 'complete' }, { outcome: 'held' }])
    fixture.clock.advance(HOUR_MS)
    expect((await fixture.walk()).walks).toMatchObject([{ outcome: 'complete' }, { outcome: 'complete' }])
  })

  test('interrupted walk that is resumed - counts from its first start', async () => {
    const products = makeWireProducts(201)
    await walkLater(makeWireProducts(500))
    await walkLater(products)
    fixture.clock.advance(HOUR_MS / 2)
    fixture.catalog.fault = {
      pathPattern: /cursor=/,
      respond: (_request, response) => sendJson(response, 400, { error: 'no' }),
    }
    expect(await walk()).toBe('failed 0')
    fixture.catalog.fault = null
    fixture.clock.advance(HOUR_MS / 2)
    expect(await walk()).toBe('held 201')
  })

  test('later walk that finds a different count - starts a new hold', async () => {
    await walkLater([])
    expect(await walkLater(makeWireProducts(40))).toBe('held 40')
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({
      held: { sinceMs: NOON_MS + 2 * HOUR_MS },
    })
    expect(await countProducts()).toBe(120)
  })

  test('good walk after a held one - completes with unchanged and changed products', async () => {
    await walkLater([])
    expect(await walkLater([...makeWireProducts(119), ...makeWireProducts(120, 'New').slice(119)])).toBe(
      'complete 120',
    )
    expect(await readBox(fixture.copy, GTIN)).toBe(`New 119 @${NOON_MS + 2 * HOUR_MS}`)
    expect(await readBox(fixture.copy, toGtin(0))).toBe(`Lamp 0 @${NOON_MS + 2 * HOUR_MS}`)
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({ held: null })
  })

  test('hold recorded by a clock that was ahead - is replaced with the correct time', async () => {
    await walkLater([], 48 * HOUR_MS)
    fixture.clock.advance(-47 * HOUR_MS)
    expect(await walk()).toBe('held 0')
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({
      held: { sinceMs: NOON_MS + HOUR_MS },
    })
    expect(await walkLater([])).toBe('complete 0')
  })

  test('accepted by the operator - completes at once', async () => {
    fixture.clock.advance(HOUR_MS)
    setProducts(fixture.catalog, [])
    expect(await walk({ isAccepted: true })).toBe('complete 0')
    expect(await readBox(fixture.copy, GTIN)).toBe('unknown')
  })

  test('another machine in the same scheduled run - does not walk again', async () => {
    await walkLater([])
    fixture.clock.advance(1_000)
    expect(await walk({ owner: 'other', skipWalkedSinceMs: NOON_MS + HOUR_MS - MINUTE_MS })).toBe('busy 0')
  })
})

describe('walk in which most offers are malformed', () => {
  test('61 of 120 - is held; 60 - completes', async () => {
    expect(await walkLater(breakFirstPrices(61))).toBe('held 120')
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({
      dealCount: 120,
      held: { reason: 'malformed_offers' },
    })
    expect(await walkLater(breakFirstPrices(60))).toBe('complete 120')
    expect(await countProducts()).toBe(120)
  })

  test('confirmed a period later - is accepted, and so is the next similar walk', async () => {
    await walkLater(breakFirstPrices(120))
    expect(await walkLater(breakFirstPrices(120))).toBe('complete 120')
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({
      dealCount: 0,
      isMalformed: true,
      held: null,
    })
    expect(await walkLater(breakFirstPrices(119))).toBe('complete 120')
    expect(await walkLater(makeWireProducts(120))).toBe('complete 120')
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({ dealCount: 120, isMalformed: false })
  })

  test('unreadable products, fewer than 100 - are held', async () => {
    await walkLater(makeWireProducts(99))
    fixture.clock.advance(HOUR_MS)
    const items = makeWireProducts(99).map((product) => ({ ...product, offers: null }))
    fixture.catalog.fault = {
      pathPattern: /products\?/,
      respond: (_request, response) => sendJson(response, 200, { items, next_cursor: null }),
    }
    expect(await walk()).toBe('held 0')
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({
      held: { reason: 'malformed_offers' },
    })
  })

  test('very first walk - completes: there is no copy to protect', async () => {
    const fresh = await makeWalkFixture()
    setProducts(fresh.catalog, breakFirstPrices(120))
    expect((await fresh.walk()).walks).toMatchObject([{ outcome: 'complete' }])
  })
})

describe('first seen', () => {
  /** One more product, newer than all others: the order by newest shows whether the others kept their times. */
  const WITH_NEWEST = makeWireProducts(121)

  test.each([
    ['was absent in a walk', makeWireProducts(119)],
    ['was absent in a held walk', []],
    ['was malformed in a held walk', breakFirstPrices(120)],
  ])('product that %s - keeps its first-seen time when it returns', async (_name, between) => {
    await walkLater(between)
    await walkLater(WITH_NEWEST)
    expect(await readFirstSeen()).toBe(120)
  })

  test('product with a 404 in between - keeps its first-seen time', async () => {
    fixture.clock.advance(HOUR_MS)
    const absent = { product: null, asOfMs: fixture.clock.nowMs() }
    await fixture.copy.putLookups([{ channelId: CHANNEL_ID, gtin: GTIN, entry: absent }])
    expect(await readBox(fixture.copy, GTIN)).toBe(`absent @${NOON_MS + HOUR_MS}`)
    await walkLater(WITH_NEWEST)
    expect(await readFirstSeen()).toBe(120)
  })

  test('sale that ends after a held walk - is new when it starts again', async () => {
    await walkLater([])
    await walkLater(makeWireProducts(120))
    const ended = makeWireProducts(120).map((product, index) =>
      index === 119 ? { ...product, offers: [makeWireOffer()] } : product,
    )
    await walkLater(ended)
    await walkLater(makeWireProducts(120))
    expect(await readFirstSeen()).toBe(0)
  })

  test('product that was absent for more than a week - is new', async () => {
    await walkLater(makeWireProducts(119))
    await walkLater(makeWireProducts(119), 8 * 24 * HOUR_MS)
    await walkLater(WITH_NEWEST)
    expect(await readFirstSeen()).toBeLessThan(2)
  })
})

describe('list of channels', () => {
  test('empty, but had channels before - is held: no channel is walked, and the channels stay', async () => {
    fixture.catalog.channels = []
    fixture.clock.advance(HOUR_MS)
    expect(await fixture.walk()).toMatchObject({
      walks: [],
      failure: 'VITRINE_WALK_HELD',
      reason: expect.stringContaining('lists no channels, but listed 1 before') as string,
    })
    expect(await fixture.copy.findChannelList()).toMatchObject({
      channels: [{ id: CHANNEL_ID }],
      gone: [],
      heldSinceMs: NOON_MS + HOUR_MS,
    })
  })

  test('still empty a period later - is accepted: the channels are removed, and their copies stay', async () => {
    fixture.catalog.channels = []
    await walk()
    fixture.clock.advance(HOUR_MS / 2)
    expect(await walk()).toBe('VITRINE_WALK_HELD')
    fixture.clock.advance(HOUR_MS / 2)
    expect(await walk()).toBe('VITRINE_NO_CHANNELS')
    const list = await fixture.copy.findChannelList()
    expect(list).toMatchObject({ channels: [], heldSinceMs: null, gone: [{ channel: { id: CHANNEL_ID } }] })
    expect(await countProducts()).toBe(120)
  })

  test('empty, accepted by the operator - is accepted at once', async () => {
    fixture.catalog.channels = []
    expect(await walk({ isAccepted: true })).toBe('VITRINE_WALK_HELD')
    expect(await walk({ isListAccepted: true })).toBe('VITRINE_NO_CHANNELS')
    expect(await fixture.copy.findChannelList()).toMatchObject({ channels: [] })
  })

  test('with channels again - ends the hold', async () => {
    const { channels } = fixture.catalog
    fixture.catalog.channels = []
    await walk()
    fixture.catalog.channels = channels
    expect(await walk()).toBe('complete 120')
    expect(await fixture.copy.findChannelList()).toMatchObject({ heldSinceMs: null })
  })

  test('empty from the start - is accepted, and the report has the reason why no channel is walked', async () => {
    const fresh = await makeWalkFixture()
    fresh.catalog.channels = []
    expect(await fresh.walk()).toMatchObject({
      walks: [],
      failure: 'VITRINE_NO_CHANNELS',
      reason: 'the catalog lists no channels for this key',
    })
    expect(await fresh.copy.findChannelList()).toMatchObject({ channels: [], heldSinceMs: null })
  })
})
