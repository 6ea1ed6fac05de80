import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../src/clock.ts'
import { sendJson } from '../helpers/fake-catalog.ts'
import { toRunCount } from '../helpers/property-runs.ts'
import { createInstantClock } from './instant-clock.ts'
import { type WalkFixture, makeWalkFixture, makeWireProducts } from './walk-fixture.ts'

const PAGES = /\/products\?/

const toId = (index: number): string => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`

/** Set channels with these numbers of products. */
function setChannels({ catalog }: WalkFixture, productCounts: readonly number[]): void {
  catalog.channels = productCounts.map((_count, index) => ({
    id: toId(index),
    name: `Channel ${index}`,
    kind: 'website',
    url: 'https://magazine.example',
  }))
  catalog.products.clear()
  for (const [index, count] of productCounts.entries())
    catalog.products.set(toId(index), makeWireProducts(count, `Lamp of ${index},`))
}

/** List the channels in the order of their first pages. */
const listWalked = ({ catalog }: WalkFixture): readonly number[] => [
  ...new Set(
    catalog.calls
      .filter(({ path }) => PAGES.test(path))
      .map(({ path }) => Number(/-(\d{12})\/products/.exec(path)?.[1])),
  ),
]

describe('channels of a walk', () => {
  test('several - are walked at once, with at most four calls at a time', async () => {
    const fixture = await makeWalkFixture()
    setChannels(fixture, Array<number>(10).fill(3))
    let running = 0
    let most = 0
    fixture.catalog.fault = {
      pathPattern: PAGES,
      async respond({ url = '' }, response) {
        running += 1
        most = Math.max(most, running)
        // The first four wait for each other.
        await vi.waitFor(() => expect(most).toBe(4))
        running -= 1
        const id = /channels\/([^/]+)/.exec(url)?.[1] ?? ''
        sendJson(response, 200, { items: fixture.catalog.products.get(id), next_cursor: null })
      },
    }
    const { walks } = await fixture.walk()
    expect(walks.map(({ channelId, outcome }) => `${channelId} ${outcome}`)).toEqual(
      Array.from({ length: 10 }, (_, index) => `${toId(index)} complete`),
    )
    expect(most).toBe(4)
  })

  test('any channels, pages and limits - all are complete, and each has its own products', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 450 }), { minLength: 1, maxLength: 7 }),
        fc.option(fc.integer({ min: 4, max: 40 })),
        async (productCounts, dailyLimit) => {
          const fixture = await makeWalkFixture()
          setChannels(fixture, productCounts)
          const job = { dailyLimit, canWait: true }
          const { walks } = await fixture.walk({ job, clock: createInstantClock(fixture.clock) })
          expect(walks.map(({ outcome, productCount }) => [outcome, productCount])).toEqual(
            productCounts.map((count) => ['complete', count]),
          )
          for (const [index, count] of productCounts.entries()) {
            const state = await fixture.copy.getCopyState(toId(index))
            expect(state).toMatchObject({ productCount: count, failure: null, isRunning: false })
            const [first] = makeWireProducts(count, `Lamp of ${index},`)
            const found = first && (await fixture.copy.findProduct(toId(index), first.gtin))
            expect(found?.product?.title).toBe(first?.title)
          }
        },
      ),
      { numRuns: toRunCount(8) },
    )
  })

  test('catalog that fails for a moment - all channels are complete', async () => {
    const fixture = await makeWalkFixture()
    setChannels(fixture, Array<number>(10).fill(3))
    let failures = 0
    fixture.catalog.fault = {
      pathPattern: PAGES,
      respond({ url = '' }, response) {
        failures += 1
        if (failures <= 8) return sendJson(response, 503, {})
        const id = /channels\/([^/]+)/.exec(url)?.[1] ?? ''
        return sendJson(response, 200, { items: fixture.catalog.products.get(id), next_cursor: null })
      },
    }
    const { walks } = await fixture.walk({ clock: createInstantClock(fixture.clock) })
    expect(walks.map(({ outcome }) => outcome)).toEqual(Array<string>(10).fill('complete'))
  })

  test('restart when the walk share is used up - the first walks go on with the calls of refreshes', async () => {
    const fixture = await makeWalkFixture()
    setChannels(fixture, [400, 400])
    await fixture.copy.updateQuota(fixture.clock.nowMs(), (state) => ({
      ...state,
      calls: { walk: 11, refresh: 0, lookup: 0 },
    }))
    const job = { dailyLimit: 20 }
    const { walks } = await fixture.walk({ job })
    expect(walks.map(({ outcome }) => outcome)).toEqual(['complete', 'complete'])
    // Both have a copy now, so that the share is the limit again.
    expect(await fixture.walk({ job })).toMatchObject({ failure: 'VITRINE_CATALOG_CALL_BLOCKED' })
  })

  test('a channel whose data are unusable - borrows no calls', async () => {
    const fixture = await makeWalkFixture()
    setChannels(fixture, [3])
    fixture.catalog.fault = {
      pathPattern: PAGES,
      respond: (_request, response) => sendJson(response, 400, {}),
    }
    await fixture.walk({ job: { dailyLimit: 4 } })
    const report = await fixture.walk({ job: { dailyLimit: 4 } })
    expect(report).toMatchObject({ walks: [], failure: 'VITRINE_CATALOG_CALL_BLOCKED' })
  })

  test('order - without a copy first, then from the oldest, and last those whose walk failed', async () => {
    const fixture = await makeWalkFixture()
    setChannels(fixture, [3, 3, 3, 3, 3])
    // Channel 3 is walked first, then 1, then 0; 2 has no copy yet, and 4 fails.
    for (const index of [3, 1, 0]) {
      await fixture.walk({ job: { channels: [toId(index)] } })
      fixture.clock.advance(HOUR_MS)
    }
    fixture.catalog.fault = {
      pathPattern: new RegExp(`${toId(4)}/products`),
      respond: (_request, response) => sendJson(response, 400, {}),
    }
    await fixture.walk({ job: { channels: [toId(4)] } })
    fixture.catalog.calls.length = 0
    fixture.clock.advance(DAY_MS)
    // So few calls that the channels are walked one after the other.
    await fixture.walk({ job: { dailyLimit: 4, canWait: true }, clock: createInstantClock(fixture.clock) })
    expect(listWalked(fixture)).toEqual([2, 3, 1, 0, 4])
  })

  test('daily limit below two walks - one channel at a time, those without a copy first, with the calls of refreshes', async () => {
    const fixture = await makeWalkFixture()
    setChannels(fixture, Array<number>(10).fill(400))
    const walkToday = async (): Promise<readonly number[]> => {
      const stop = new AbortController()
      const walking = fixture.walk({
        job: { dailyLimit: 20, canWait: true },
        signal: stop.signal,
        onProgress: ({ isWaiting }) => {
          if (isWaiting) stop.abort()
        },
      })
      await walking
      const states = await Promise.all(
        Array.from({ length: 10 }, (_, index) => fixture.copy.getCopyState(toId(index))),
      )
      return states.flatMap(({ currentWalk }, index) => (currentWalk > 0 ? [index] : []))
    }
    // 18 of 20 calls: the list, eight channels of two pages, and a page of the ninth.
    expect(await walkToday()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    fixture.clock.advance(DAY_MS)
    expect(await walkToday()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })
})
