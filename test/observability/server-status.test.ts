import { describe, expect, test } from 'vitest'
import { createQuotaState } from '../../src/catalog/quota.ts'
import { MINUTE_MS } from '../../src/clock.ts'
import type { Context } from '../../src/context.ts'
import { StoreError } from '../../src/errors.ts'
import { type ServerState, readServerState, toMeasuredState } from '../../src/observability/server-status.ts'
import { BOX, startHarness, startStocked, visit } from '../app/visit.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { NOON_MS } from '../helpers/harness.ts'

const OTHER_ID = '00000000-0000-4000-8000-000000000002'
const broken = (): Promise<never> => Promise.reject(new StoreError('broken'))
const withStore = (context: Context, over: Partial<Context['store']>): Context => ({
  ...context,
  store: { ...context.store, ...over },
})

describe('state of the whole', () => {
  test('walked - store, gate and copies; nothing is called and nothing counted', async () => {
    const { context, catalog, clock } = await startStocked()
    clock.advance(MINUTE_MS)
    const callCount = catalog.calls.length
    for (let turn = 0; turn < 5; turn += 1) await readServerState(context)
    expect(await readServerState(context)).toMatchObject({
      isStoreUp: true,
      isStoreWritable: true,
      gate: { quota: { calls: { walk: 2, refresh: 0, lookup: 0 } }, breaker: 'closed' },
      copies: [{ channel: CHANNEL_ID, ageMs: MINUTE_MS, productCount: 1, dealCount: 1 }],
    })
    expect(catalog.calls).toHaveLength(callCount)
  })

  test('nothing walked - no copies', async () => {
    const { context } = await startHarness()
    expect((await readServerState(context)).copies).toEqual([])
  })

  test('channel without a complete walk, and one that is not served - are no copies', async () => {
    const { context, catalog } = await startStocked()
    const other = { id: OTHER_ID, name: 'Other', kind: 'app', url: null } as const
    await context.store.putChannelList([...catalog.channels, other], NOON_MS)
    expect((await readServerState(context)).copies.map(({ channel }) => channel)).toEqual([CHANNEL_ID])
    const config = { ...context.config, channels: [OTHER_ID] }
    expect((await readServerState({ ...context, config })).copies).toEqual([])
  })

  test('clock behind that of the one who walked - an age of nothing, never less', async () => {
    const { context } = await startStocked()
    const clock = { ...context.clock, nowMs: () => NOON_MS - MINUTE_MS }
    expect((await readServerState({ ...context, clock })).copies).toMatchObject([{ ageMs: 0 }])
  })

  test('store that cannot be read - is down and has no copies, the rest is told', async () => {
    const { context } = await startStocked()
    expect(await readServerState(withStore(context, { ping: broken }))).toMatchObject({
      isStoreUp: false,
      copies: [],
      gate: { quota: { calls: { walk: 2 } } },
    })
  })

  test.each(['findChannelList', 'getCopyState'] as const)(
    'store that fails at %s alone - is up, without copies',
    async (name) => {
      const { context } = await startStocked()
      expect(await readServerState(withStore(context, { [name]: broken }))).toMatchObject({
        isStoreUp: true,
        isStoreWritable: true,
        copies: [],
      })
    },
  )
})

const toState = (gate: Partial<ServerState['gate']>): ServerState => ({
  isStoreUp: true,
  channelCount: null,
  channelsHeldSinceMs: null,
  isStoreWritable: true,
  copies: [],
  gate: {
    quota: createQuotaState(NOON_MS),
    limit: undefined,
    left: undefined,
    keyRefusedUntilMs: 7,
    breaker: 'open',
    ...gate,
  },
})

describe('state as it is measured', () => {
  test.each([
    ['set', { calls: 100, isLearned: false }, { set: 100 }],
    ['learned', { calls: 80, isLearned: true }, { learned: 80 }],
    ['not known', undefined, undefined],
  ])('limit %s - by how it is known', async (_known, limit, dailyLimit) => {
    const { context } = await startHarness()
    expect(toMeasuredState(context, toState({ limit })).dailyLimit).toEqual(dailyLimit)
  })

  test('gate - its pauses, calls and breaker', async () => {
    const { context } = await startHarness()
    const quota = {
      ...createQuotaState(NOON_MS),
      calls: { walk: 1, refresh: 2, lookup: 3 },
      limitedUntilMs: NOON_MS,
    }
    const left = { walk: 4, refresh: 5, lookup: 6 }
    expect(toMeasuredState(context, toState({ quota, left }))).toMatchObject({
      isStoreUp: true,
      isStoreWritable: true,
      callsToday: { walk: 1, refresh: 2, lookup: 3 },
      callsLeft: left,
      limitedUntilMs: NOON_MS,
      keyRefusedUntilMs: 7,
      breaker: 'open',
      copies: [],
    })
  })

  test('caches - entries and bytes of each by its name', async () => {
    const harness = await startStocked()
    const { context } = harness
    await visit(harness, BOX)
    const { caches } = toMeasuredState(context, await readServerState(context))
    const { products, deals, responses } = context.memories
    expect(caches.entries).toEqual({ products: 1, deals: 0, answers: 1 })
    expect(caches.bytes).toEqual({
      products: products.byteCount(),
      deals: deals.byteCount(),
      answers: responses.byteCount(),
    })
    expect(responses.byteCount()).toBeGreaterThan(100)
  })
})
