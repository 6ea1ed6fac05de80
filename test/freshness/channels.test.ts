import { beforeEach, describe, expect, test, vi } from 'vitest'
import { MINUTE_MS, SECOND_MS, UNKNOWN_TIME_MS } from '../../src/clock.ts'
import { StoreError } from '../../src/errors.ts'
import { CHANNEL_ID, type FakeCatalog, sendJson } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { FRESHNESS, type Sources, makeSources, openStore } from './sources-fixture.ts'

const UNKNOWN_ID = '00000000-0000-4000-8000-000000000009'

let sources: Sources
beforeEach(async () => {
  sources = await makeSources()
})

const OTHER_CHANNEL = {
  id: '00000000-0000-4000-8000-00000000000a',
  name: 'Other',
  kind: 'app',
  url: null,
} as const

const fail = (): Promise<never> => Promise.reject(new StoreError('broken'))

function breakList(catalog: FakeCatalog): void {
  catalog.fault = { pathPattern: /channels$/, respond: (_request, response) => sendJson(response, 500, {}) }
}

/** Return `known`, `hidden`, or the error code. */
async function getOutcome(channelId: string, from: Sources = sources): Promise<string> {
  return from.channels.getChannel(channelId).then(
    ({ isGone }) => (isGone ? 'hidden' : 'known'),
    (error: { code: string }) => error.code,
  )
}

describe('channel', () => {
  test('before any list - is fetched: known or unknown', async () => {
    expect(await getOutcome(CHANNEL_ID)).toBe('known')
    expect(await getOutcome(UNKNOWN_ID)).toBe('VITRINE_UNKNOWN_CHANNEL')
    expect(sources.countChannelCalls()).toBe(1)
  })

  test('before any list, catalog down - any id is unavailable', async () => {
    breakList(sources.catalog)
    expect(await getOutcome(CHANNEL_ID)).toBe('VITRINE_UNAVAILABLE')
    expect(await getOutcome(UNKNOWN_ID)).toBe('VITRINE_UNAVAILABLE')
    expect(sources.countChannelCalls()).toBe(1)
    sources.clock.advance(5 * SECOND_MS)
    sources.catalog.fault = null
    expect(await getOutcome(CHANNEL_ID)).toBe('known')
  })

  test('before any list, catalog late - is unavailable after the visitor timeout', async () => {
    sources.catalog.fault = { pathPattern: /channels$/, respond: () => {} }
    const pendingOutcome = getOutcome(CHANNEL_ID)
    await vi.waitFor(() => expect(sources.countChannelCalls()).toBe(1))
    sources.clock.advance(FRESHNESS.visitorTimeoutMs)
    expect(await pendingOutcome).toBe('VITRINE_UNAVAILABLE')
  })

  test('known - makes no further call, however old the list', async () => {
    await getOutcome(CHANNEL_ID)
    sources.clock.advance(1_000_000 * SECOND_MS)
    breakList(sources.catalog)
    expect(await getOutcome(CHANNEL_ID)).toBe('known')
    expect(sources.countChannelCalls()).toBe(1)
  })

  test('unknown - the list is fetched again only when it is no longer fresh', async () => {
    await getOutcome(UNKNOWN_ID)
    sources.clock.advance(FRESHNESS.freshSeconds * SECOND_MS - 1)
    expect(await getOutcome(UNKNOWN_ID)).toBe('VITRINE_UNKNOWN_CHANNEL')
    expect(sources.countChannelCalls()).toBe(1)
    sources.clock.advance(1)
    sources.catalog.channels = [
      ...sources.catalog.channels,
      { id: UNKNOWN_ID, name: 'New', kind: 'app', url: null },
    ]
    expect(await getOutcome(UNKNOWN_ID)).toBe('known')
    expect(sources.countChannelCalls()).toBe(2)
  })

  test('unknown, list aged, catalog down - stays unknown: the last list lacks it', async () => {
    await getOutcome(UNKNOWN_ID)
    sources.clock.advance(FRESHNESS.freshSeconds * SECOND_MS)
    breakList(sources.catalog)
    expect(await getOutcome(UNKNOWN_ID)).toBe('VITRINE_UNKNOWN_CHANNEL')
    expect(await getOutcome(CHANNEL_ID)).toBe('known')
  })

  test('removed from the list - keeps its copy until rescue, then is hidden', async () => {
    await getOutcome(CHANNEL_ID)
    sources.catalog.channels = []
    sources.clock.advance(1)
    await sources.store.putChannelList([], sources.clock.nowMs())
    sources.clock.advance(FRESHNESS.rescueSeconds * SECOND_MS)
    await sources.channels.listChannels()
    expect(await getOutcome(CHANNEL_ID)).toBe('known')
    sources.clock.advance(1)
    expect(await getOutcome(CHANNEL_ID)).toBe('hidden')
    expect(await getOutcome(UNKNOWN_ID)).toBe('VITRINE_UNKNOWN_CHANNEL')
  })

  test('removed and listed again - is known again', async () => {
    const { channels } = sources.catalog
    await getOutcome(CHANNEL_ID)
    sources.catalog.channels = []
    sources.clock.advance(FRESHNESS.freshSeconds * SECOND_MS)
    expect(await getOutcome(UNKNOWN_ID)).toBe('VITRINE_UNKNOWN_CHANNEL')
    sources.catalog.channels = channels
    sources.clock.advance(FRESHNESS.rescueSeconds * SECOND_MS + 1)
    expect(await getOutcome(CHANNEL_ID)).toBe('known')
  })

  test('not among VITRINE_CHANNELS - is unknown without a call', async () => {
    const served = await makeSources({ served: [UNKNOWN_ID] })
    expect(await getOutcome(CHANNEL_ID, served)).toBe('VITRINE_UNKNOWN_CHANNEL')
    expect(served.countChannelCalls()).toBe(0)
    expect(await served.channels.listChannels()).toEqual([])
  })
})

describe('empty list', () => {
  beforeEach(async () => {
    await getOutcome(CHANNEL_ID)
    sources.catalog.channels = []
    sources.clock.advance(FRESHNESS.freshSeconds * SECOND_MS)
  })

  test('after a list with channels - is held: channels stay, and a 404 is not trusted', async () => {
    expect(await getOutcome(UNKNOWN_ID)).toBe('VITRINE_UNKNOWN_CHANNEL')
    expect(await getOutcome(CHANNEL_ID)).toBe('known')
    expect(await sources.channels.isListed(CHANNEL_ID)).toBe(false)
    expect(await sources.channels.listChannels()).toHaveLength(1)
    expect(await sources.channels.getListState()).toBe('known')
    expect(await sources.store.findChannelList()).toMatchObject({
      heldSinceMs: UNKNOWN_TIME_MS,
      channels: [{ id: CHANNEL_ID }],
    })
  })

  test('already held by a walk - keeps its time', async () => {
    const sinceMs = sources.clock.nowMs() - SECOND_MS
    await sources.store.recordEmptyChannelList(sinceMs)
    expect(await sources.channels.isListed(CHANNEL_ID)).toBe(false)
    expect(await sources.store.findChannelList()).toMatchObject({ heldSinceMs: sinceMs })
  })

  test('held - is not fetched at every visit; the next list with channels ends the hold', async () => {
    for (let visit = 0; visit < 5; visit += 1) await getOutcome(UNKNOWN_ID)
    expect(sources.countChannelCalls()).toBe(2)
    sources.catalog.channels = [OTHER_CHANNEL]
    sources.clock.advance(FRESHNESS.freshSeconds * SECOND_MS)
    expect(await sources.channels.isListed(OTHER_CHANNEL.id)).toBe(true)
    expect(await sources.store.findChannelList()).toMatchObject({ heldSinceMs: null })
  })

  test('store that fails - is held in memory', async () => {
    const broken = await makeSources({
      store: {
        ...(await openStore()),
        findChannelList: fail,
        putChannelList: fail,
        recordEmptyChannelList: fail,
      },
    })
    await getOutcome(CHANNEL_ID, broken)
    broken.catalog.channels = []
    broken.clock.advance(FRESHNESS.freshSeconds * SECOND_MS)
    expect(await getOutcome(UNKNOWN_ID, broken)).toBe('VITRINE_UNKNOWN_CHANNEL')
    expect(await getOutcome(CHANNEL_ID, broken)).toBe('known')
    expect(await broken.channels.isListed(CHANNEL_ID)).toBe(false)
  })
})

describe('list state', () => {
  test('no list available - unknown; an empty list - unlisted, and fetched again when it is old', async () => {
    breakList(sources.catalog)
    expect(await sources.channels.getListState()).toBe('unknown')
    const { channels } = sources.catalog
    sources.catalog.fault = null
    sources.catalog.channels = []
    sources.clock.advance(FRESHNESS.freshSeconds * SECOND_MS)
    expect(await sources.channels.getListState()).toBe('unlisted')
    expect(await sources.channels.getListState()).toBe('unlisted')
    expect(sources.countChannelCalls()).toBe(2)
    sources.catalog.channels = channels
    sources.clock.advance(FRESHNESS.freshSeconds * SECOND_MS)
    expect(await sources.channels.getListState()).toBe('known')
  })

  test('no listed channel is served - unlisted; a removed channel - known while its copy may be shown', async () => {
    const other = await makeSources({ served: [UNKNOWN_ID] })
    expect(await other.channels.getListState()).toBe('unlisted')
    await getOutcome(CHANNEL_ID)
    await sources.store.putChannelList([OTHER_CHANNEL], sources.clock.nowMs() + 1)
    sources.catalog.channels = [OTHER_CHANNEL]
    const again = await makeSources({ ...sources, served: [CHANNEL_ID] })
    expect(await again.channels.getListState()).toBe('known')
    sources.clock.advance((FRESHNESS.rescueSeconds + 1) * SECOND_MS)
    expect(await again.channels.getListState()).toBe('unlisted')
  })
})

describe('lists', () => {
  test('newer list of another process or a walk - is used within ten seconds', async () => {
    await getOutcome(CHANNEL_ID)
    await sources.store.putChannelList(
      [{ id: CHANNEL_ID, name: 'Renamed', kind: 'app', url: null }],
      NOON_MS + 1,
    )
    sources.clock.advance(10 * SECOND_MS)
    await vi.waitFor(async () => {
      const { channel } = await sources.channels.getChannel(CHANNEL_ID)
      expect(channel.name).toBe('Renamed')
    })
    expect(sources.countChannelCalls()).toBe(1)
  })

  test('store that hangs - no visitor of a known channel waits, and it is read once in ten seconds', async () => {
    let readCount = 0
    let isSilent = false
    const inner = await openStore()
    const findChannelList = (): ReturnType<typeof inner.findChannelList> => {
      readCount += 1
      return isSilent ? new Promise(() => {}) : inner.findChannelList()
    }
    const silent = await makeSources({ store: { ...inner, findChannelList } })
    expect(await getOutcome(CHANNEL_ID, silent)).toBe('known')
    isSilent = true
    readCount = 0
    for (let turn = 0; turn < 2; turn += 1) {
      silent.clock.advance(10 * SECOND_MS)
      // The clock does not move, so a wait for the store would never end.
      for (let visit = 0; visit < 5; visit += 1) expect(await getOutcome(CHANNEL_ID, silent)).toBe('known')
    }
    expect(readCount).toBe(2)
  })

  test.each(['getChannel', 'findChannel'] as const)(
    'walk that stored another site while nobody asked for a minute - %s returns it at once',
    async (method) => {
      const { channel } = await sources.channels.getChannel(CHANNEL_ID)
      sources.clock.advance(MINUTE_MS)
      const moved = { ...channel, url: 'https://moved.example' }
      await sources.store.putChannelList([moved], sources.clock.nowMs())
      const found = await sources.channels[method](CHANNEL_ID)
      expect(found && 'channel' in found ? found.channel : found).toEqual(moved)
    },
  )

  test('silent store for over a minute - visitors wait for it once, then use memory for another minute', async () => {
    const inner = await openStore()
    let isSilent = false
    const findChannelList = (): ReturnType<typeof inner.findChannelList> =>
      isSilent ? new Promise(() => {}) : inner.findChannelList()
    const silent = await makeSources({ store: { ...inner, findChannelList } })
    expect(await getOutcome(CHANNEL_ID, silent)).toBe('known')
    isSilent = true
    silent.clock.advance(MINUTE_MS)
    // A readiness check does not wait.
    expect(await silent.channels.getListState()).toBe('known')
    const waiting = [getOutcome(CHANNEL_ID, silent), getOutcome(CHANNEL_ID, silent)]
    silent.clock.advance(FRESHNESS.visitorTimeoutMs)
    expect(await Promise.all(waiting)).toEqual(['known', 'known'])
    // The clock does not move, so a wait for the store would never end.
    expect(await getOutcome(CHANNEL_ID, silent)).toBe('known')
    expect(await silent.channels.findChannel(UNKNOWN_ID)).toBeUndefined()
  })

  test('stored list after a restart - is used without a call', async () => {
    await getOutcome(CHANNEL_ID)
    const { catalog, clock, store } = sources
    breakList(catalog)
    clock.advance(1_000_000 * SECOND_MS)
    const again = await makeSources({ catalog, clock, store })
    expect(await getOutcome(CHANNEL_ID, again)).toBe('known')
    expect(catalog.countCalls(/channels$/)).toBe(1)
  })

  test('concurrent visitors before any list - share one call', async () => {
    const outcome = await Promise.all(Array.from({ length: 50 }, () => getOutcome(CHANNEL_ID)))
    expect(new Set(outcome)).toEqual(new Set(['known']))
    expect(sources.countChannelCalls()).toBe(1)
  })

  test('store that fails - the list is cached in memory, with removed channels', async () => {
    const store = { ...(await openStore()), findChannelList: fail, putChannelList: fail }
    const broken = await makeSources({ store })
    expect(await getOutcome(CHANNEL_ID, broken)).toBe('known')
    expect(broken.storeFailures.length).toBeGreaterThan(0)
    broken.catalog.channels = [OTHER_CHANNEL]
    broken.clock.advance(FRESHNESS.freshSeconds * SECOND_MS)
    expect(await getOutcome(UNKNOWN_ID, broken)).toBe('VITRINE_UNKNOWN_CHANNEL')
    expect(await getOutcome(CHANNEL_ID, broken)).toBe('known')
    broken.clock.advance((FRESHNESS.rescueSeconds + 1) * SECOND_MS)
    expect(await getOutcome(CHANNEL_ID, broken)).toBe('hidden')
  })

  test('isListed - fetches a newer list only when the current one is old', async () => {
    expect(await sources.channels.isListed(CHANNEL_ID)).toBe(true)
    expect(await sources.channels.isListed(UNKNOWN_ID)).toBe(false)
    expect(sources.countChannelCalls()).toBe(1)
    sources.catalog.channels = [OTHER_CHANNEL]
    expect(await sources.channels.isListed(CHANNEL_ID)).toBe(true)
    sources.clock.advance(FRESHNESS.freshSeconds * SECOND_MS)
    expect(await sources.channels.isListed(CHANNEL_ID)).toBe(false)
    expect(sources.countChannelCalls()).toBe(2)
  })
})
