import { describe, expect, it } from 'vitest'
import { HOUR_MS } from '../../../src/clock.ts'
import { fetchProducts } from '../harness.ts'
import {
  CHANNEL,
  createTable,
  dumpCatalog,
  fetchContent,
  fetchFreshContent,
  getState,
  runTestFeed,
  startFeed,
  toGtin,
} from './feed-fixture.ts'
import { send } from './feed-server.ts'

const encodeUtf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le')

describe('guard against lost offers', () => {
  it.each<[name: string, former: string, next: string, maxRemovedPercent?: number]>([
    ['51 of 100 missing', createTable(100), createTable(49)],
    ['all replaced by others', createTable(100), createTable(100, { first: 101 })],
    ['none left of 99', createTable(99), createTable(0)],
    ['81 of 100 missing, limit 80 %', createTable(100), createTable(19), 80],
    ['1 of 100 missing, limit 0 %', createTable(100), createTable(99), 0],
  ])('%s - held', async (_, former, next, maxRemovedPercent = 50) => {
    const fixture = await startFeed(send(former), { maxRemovedPercent })
    await runTestFeed(fixture, fixture.feedId)
    const before = await dumpCatalog(fixture.store)
    fixture.server.respond = send(next)
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toMatchObject({ code: 'VITRINE_FEED_HELD' })
    expect(await dumpCatalog(fixture.store)).toBe(before)
    expect(await getState(fixture)).toMatchObject({ status: 'held', errorCode: 'VITRINE_FEED_HELD' })
  })

  it.each<[name: string, former: string, next: string, maxRemovedPercent?: number]>([
    ['50 of 100 missing', createTable(100), createTable(50)],
    ['50 of 101 missing, 60 new', createTable(101), createTable(111, { first: 51 })],
    ['all links changed', createTable(100), createTable(100, { page: 'q' })],
    ['all prices changed', createTable(100), createTable(100, { price: '9' })],
    ['98 of 99 missing', createTable(99), createTable(1)],
    ['80 of 100 missing, limit 80 %', createTable(100), createTable(20), 80],
    ['99 of 100 missing, limit 100 %', createTable(100), createTable(1), 100],
  ])('%s - imported', async (_, former, next, maxRemovedPercent = 50) => {
    const fixture = await startFeed(send(former), { maxRemovedPercent })
    await runTestFeed(fixture, fixture.feedId)
    fixture.server.respond = send(next)
    expect(await runTestFeed(fixture, fixture.feedId)).toMatchObject({ kind: 'imported' })
    expect(await fetchContent(fixture)).toEqual(await fetchFreshContent(next))
  })

  it.each([
    ['one row', createTable(1)],
    ['no row', createTable(0)],
  ])('%s left of 100, accepted - imported', async (_, next) => {
    const fixture = await startFeed(send(createTable(100)))
    await runTestFeed(fixture, fixture.feedId)
    fixture.server.respond = send(next)
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toMatchObject({ code: 'VITRINE_FEED_HELD' })
    await runTestFeed(fixture, fixture.feedId, { isLossAccepted: true })
    const gtins = (await fetchProducts(fixture, CHANNEL)).map(({ gtin }) => gtin)
    expect(gtins).toEqual([toGtin(1)].slice(0, next.trim().split('\n').length - 1))
    expect(await getState(fixture)).toMatchObject({ status: 'ok', error: null, offers: gtins.length })
    // The accepted file is the one that later runs compare with.
    expect(await runTestFeed(fixture, fixture.feedId)).toMatchObject({ kind: 'unchanged' })
  })

  it('last line end missing, unlike before - held until it is accepted', async () => {
    const cut = createTable(10).trimEnd()
    const fixture = await startFeed(send(createTable(10)))
    await runTestFeed(fixture, fixture.feedId)
    const before = await dumpCatalog(fixture.store)
    fixture.server.respond = send(cut.slice(0, -1))
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toMatchObject({
      code: 'VITRINE_FEED_HELD',
      message: expect.stringContaining('ends without a line end') as string,
    })
    expect(await dumpCatalog(fixture.store)).toBe(before)
    await runTestFeed(fixture, fixture.feedId, { isLossAccepted: true })
    fixture.server.respond = send(cut)
    expect(await runTestFeed(fixture, fixture.feedId)).toMatchObject({ kind: 'imported' })
  })

  it.each([
    ['UTF-16', encodeUtf16(createTable(11))],
    ['a space after the last line', Buffer.from(`${createTable(11)} `)],
  ])('%s, unlike before - is complete', async (_, next) => {
    const fixture = await startFeed(send(createTable(10)))
    await runTestFeed(fixture, fixture.feedId)
    fixture.server.respond = send(next)
    expect(await runTestFeed(fixture, fixture.feedId)).toMatchObject({ kind: 'imported' })
  })

  it('last line of UTF-16 missing, unlike before - held', async () => {
    const fixture = await startFeed(send(encodeUtf16(createTable(10))))
    await runTestFeed(fixture, fixture.feedId)
    fixture.server.respond = send(encodeUtf16(createTable(10).trimEnd().slice(0, -1)))
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toMatchObject({ code: 'VITRINE_FEED_HELD' })
  })

  it('held run - waits a whole interval, and a good file is taken without a command', async () => {
    const fixture = await startFeed(send(createTable(100)))
    await runTestFeed(fixture, fixture.feedId)
    fixture.server.respond = send(createTable(2))
    await expect(runTestFeed(fixture, fixture.feedId)).rejects.toThrow(/98 of the feed's 100 offers/)
    expect((await getState(fixture)).nextRunAtMs).toBe(fixture.clock.nowMs() + HOUR_MS)
    fixture.server.respond = send(createTable(99))
    expect(await runTestFeed(fixture, fixture.feedId)).toMatchObject({ kind: 'imported' })
    expect((await getState(fixture)).status).toBe('ok')
  })
})
