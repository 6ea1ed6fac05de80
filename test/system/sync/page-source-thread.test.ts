import type { ServerResponse } from 'node:http'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createCatalogClient } from '../../../src/catalog/client.ts'
import type { CallGate } from '../../../src/catalog/call-gate.ts'
import { createFixedKey } from '../../../src/config/key-source.ts'
import { Secret } from '../../../src/config/secrets.ts'
import type { PageSource } from '../../../src/sync/page-source.ts'
import type * as PageSources from '../../../src/sync/page-source.ts'
import type * as PageThreads from '../../../src/sync/page-source-thread.ts'
import type * as WalksHere from '../../../src/sync/walk-here.ts'
import type { WalkReport } from '../../../src/sync/walk-runner.ts'
import { CHANNEL_ID, sendJson } from '../../helpers/fake-catalog.ts'
import { NOON_MS } from '../../helpers/harness.ts'
import { toGtin } from '../../helpers/products.ts'
import { damageTables } from '../../storage/damage.ts'
import { type HurriedClock, createHurriedClock } from '../../sync/hurried-clock.ts'
import { type WalkPlace, makeWalkPlace, makeWireProducts, stock } from '../../sync/walk-place.ts'

const OTHER_ID = '00000000-0000-4000-8000-000000000002'
const PAGES = /\/products\?/
const QUERY = { channelId: CHANNEL_ID, cursor: null, limit: 200 } as const

/** The built ones, all of them: a thread needs JavaScript, and errors are told apart by their classes. */
const load = async <T>(file: string): Promise<T> =>
  (await import(new URL(`../../../dist/sync/${file}.js`, import.meta.url).href)) as T

type MakePages = NonNullable<Parameters<typeof WalksHere.runWalkHere>[1]['makePages']>

let place: WalkPlace
let clock: HurriedClock
let startPageSource: typeof PageThreads.startPageSource
beforeEach(async () => {
  place = await makeWalkPlace()
  clock = createHurriedClock(place.clock)
  const first = { id: CHANNEL_ID, name: 'First', kind: 'website', url: 'https://first.example/' } as const
  place.catalog.channels = [first, { ...first, id: OTHER_ID, name: 'Other' }]
  startPageSource = (await load<typeof PageThreads>('page-source-thread')).startPageSource
})

async function walkWith(makePages: MakePages): Promise<WalkReport> {
  const { runWalkHere } = await load<typeof WalksHere>('walk-here')
  return runWalkHere(place.order, { signal: new AbortController().signal, makePages }, clock)
}

/** Calls of this day that count against the share of walks. */
const countWalkCalls = async (): Promise<number> =>
  (await place.copy.updateQuota(NOON_MS, (state) => state)).calls.walk

/** Nothing of this channel's walk can be stored, as on a disk that is full. */
function refusePagesOf(channelId: string): void {
  const channel = `select id from copies where channel_id = '${channelId}'`
  const refusal = `select raise(abort, 'database or disk is full')`
  const trigger = `before insert on walk_pages when new.copy_id = (${channel}) begin ${refusal}; end`
  damageTables(place.order.database.replace('sqlite:', ''), `create trigger full ${trigger}`)
}

test('page that was fetched ahead of a failed walk - arrives while the next channel waits - is not taken for its own', async () => {
  const firstChannel = makeWireProducts(400, 'First')
  const ownOfOther = makeWireProducts(3, 'Other')
  refusePagesOf(CHANNEL_ID)
  let ahead: ServerResponse | undefined
  let answerOther: (() => void) | undefined
  place.catalog.fault = {
    matches: PAGES,
    does({ url = '' }, response) {
      if (url.includes('cursor=')) ahead = response
      else if (url.includes(CHANNEL_ID))
        sendJson(response, 200, { items: firstChannel.slice(0, 200), next_cursor: toGtin(199) })
      else if (ahead !== undefined) {
        answerOther = () => {
          answerOther = undefined
          sendJson(response, 200, { items: ownOfOther, next_cursor: null })
        }
        sendJson(ahead, 200, { items: firstChannel.slice(200), next_cursor: null })
      }
    },
  }
  const { walks } = await walkWith((order, gated) =>
    startPageSource(order, {
      ...gated,
      // While both are under way, the page ahead comes first: it was the last of its channel.
      onCall: () => answerOther?.(),
    }),
  )
  expect(walks).toMatchObject([
    { outcome: 'failed', failure: 'VITRINE_STORE_FAILED' },
    { outcome: 'complete', productCount: 3 },
  ])
  expect((await place.copy.findProduct(OTHER_ID, toGtin(0)))?.product?.title).toBe('Other 0')
  expect((await place.copy.findProduct(OTHER_ID, toGtin(200)))?.product ?? null).toBeNull()
})

/** Its client cannot be made of such an address: the thread ends while it starts. */
const startDying: MakePages = (order, gated) => startPageSource({ ...order, baseUrl: 'no address' }, gated)

describe('thread that fetches pages and has died', () => {
  test('page asked for while it dies, and after that - is a failed walk, and the second passes no gate', async () => {
    const purposes: string[] = []
    const outcomes: string[] = []
    const pass: CallGate['pass'] = (purpose, call) => {
      purposes.push(purpose)
      return call()
    }
    const pages = startDying(place.order, { gate: { pass }, onCall: ({ outcome }) => outcomes.push(outcome) })
    const failure = {
      code: 'VITRINE_WALK_FAILED',
      message: expect.stringMatching(/thread that fetches pages ended: ERR_INVALID_URL/),
    }
    await expect(pages.fetch(QUERY, { hasDeals: true })).rejects.toMatchObject(failure)
    await expect(pages.fetch(QUERY, { hasDeals: true })).rejects.toMatchObject(failure)
    expect(purposes).toEqual(['walk'])
    expect(outcomes).toEqual([])
    await pages.close()
  })

  test('walk of two channels - fails once for each, and costs no tries', async () => {
    stock(place.catalog, makeWireProducts(3))
    const report = await walkWith(startDying)
    const failed = {
      outcome: 'failed',
      failure: 'VITRINE_WALK_FAILED',
      reason: expect.stringMatching(/thread/),
    }
    expect(report.walks).toMatchObject([failed, failed])
    expect(clock.waitsMs).toEqual([])
    // The list of channels, and at most the page that was asked for while the thread died.
    expect(await countWalkCalls()).toBeLessThanOrEqual(2)
    expect(report.calls).toEqual([{ operation: 'channels', outcome: 'ok', count: 1 }])
  })

  test('source that is closed - page asked for - is a walk told to stop', async () => {
    const pages = startPageSource(place.order, { gate: { pass: (_purpose, call) => call() } })
    const asked = pages.fetch(QUERY, { hasDeals: true }).catch((error: unknown) => error)
    await pages.close()
    expect(await asked).toMatchObject({ code: 'VITRINE_WALK_FAILED', message: 'the walk was told to stop' })
  })
})

describe('page that a bug keeps from being read', () => {
  /** Stands for the bug: these options have no fields. */
  const NO_OPTIONS = null as never
  const spoil = (pages: PageSource): PageSource => ({
    ...pages,
    fetch: (query) => pages.fetch(query, NO_OPTIONS),
  })

  const sources: [string, () => Promise<MakePages>][] = [
    [
      'this thread',
      async () => {
        const { createPageSource } = await load<typeof PageSources>('page-source')
        return (order, gated) => {
          const key = createFixedKey(new Secret(order.key))
          const client = createCatalogClient({ ...order, ...gated, clock, key })
          onTestFinished(() => client.close())
          return createPageSource(client, order)
        }
      },
    ],
    ['a thread of its own', () => Promise.resolve(startPageSource)],
  ]

  test.each(sources)(
    'in %s - is no unreachable catalog: told as a failed walk, and not asked for again',
    async (_name, getMaker) => {
      place.catalog.channels = place.catalog.channels.slice(0, 1)
      stock(place.catalog, makeWireProducts(3))
      const makePages = await getMaker()
      const report = await walkWith((order, gated) => spoil(makePages(order, gated)))
      const reason: unknown = expect.stringMatching(
        /^a page could not be read: TypeError at page-source\.[jt]s:\d+:\d+$/,
      )
      expect(report.walks).toMatchObject([{ outcome: 'failed', failure: 'VITRINE_WALK_FAILED', reason }])
      expect(report.calls).toContainEqual({ operation: 'products', outcome: 'ok', count: 1 })
      expect(place.catalog.countCalls(PAGES)).toBe(1)
      expect(await countWalkCalls()).toBe(2)
      expect(clock.waitsMs).toEqual([])
    },
  )

  test('order that the thread fails at before any call - is a failed walk, not an unreachable catalog', async () => {
    const outcomes: string[] = []
    const gated = { gate: { pass: (async (_purpose, call) => call()) as CallGate['pass'] } }
    const pages = startPageSource(place.order, { ...gated, onCall: ({ outcome }) => outcomes.push(outcome) })
    const asked = pages.fetch(null as never, { hasDeals: true })
    await expect(asked).rejects.toMatchObject({
      code: 'VITRINE_WALK_FAILED',
      message: expect.stringMatching(/TypeError/),
    })
    expect(outcomes).toEqual([])
    await pages.close()
  })
})
