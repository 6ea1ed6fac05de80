import { expect, onTestFinished, test, vi } from 'vitest'
import { SECOND_MS, systemClock } from '../../src/clock.ts'
import { openReconnectingStore } from '../../src/storage/reconnecting-store.ts'
import type { CopyStore } from '../../src/storage/store.ts'
import { StoreError } from '../../src/errors.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { makeQuery } from './conformance/subject.ts'
import { openStore } from '../freshness/sources-fixture.ts'
import { defer } from '../helpers/defer.ts'

const fail = (code: string): Promise<never> =>
  Promise.reject(new StoreError('rejected', { cause: Object.assign(new Error('rejected'), { code }) }))

const findSlowly = async (): Promise<readonly []> => {
  await systemClock.wait(800)
  return []
}

test('read-only server without a free connection to check writes - reads continue, and writes wait', async () => {
  const checks: string[] = []
  const events: string[] = []
  // A failover: no free connection, a timeout, a read-only server, a lost connection. Then the server accepts writes.
  const states = ['53300', '57014', '25006', '08006']
  const sql = await openStore()
  const inner: CopyStore = {
    ...sql,
    putLookups: () => fail('25006'),
    checkWritable: () => {
      const state = states[checks.length] ?? 'writable'
      checks.push(state)
      return state === 'writable' ? Promise.resolve() : fail(state)
    },
  }
  const store = await openReconnectingStore({
    visitorTimeoutMs: 800,
    open: () => Promise.resolve(inner),
    onFailure: () => events.push('unavailable'),
    onRecovered: () => events.push('recovered'),
    onReadOnly: () => events.push('read-only'),
    onWritable: () => events.push('writable'),
  })
  onTestFinished(() => store.close())
  await expect(store.putLookups([])).rejects.toThrow('rejected')
  await vi.waitFor(
    async () => {
      expect(await store.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 0 })
      expect(checks.at(-1)).toBe('writable')
      expect(events).toEqual(['read-only', 'writable'])
    },
    { timeout: 30 * SECOND_MS, interval: 50 },
  )
  expect(checks).toEqual([...states, 'writable'])
})

test('write that waits too long for a lock - fails, and reads continue', async () => {
  const events: string[] = []
  const inner: CopyStore = { ...(await openStore()), updateQuota: () => fail('57014') }
  const store = await openReconnectingStore({
    visitorTimeoutMs: 800,
    open: () => Promise.resolve(inner),
    onFailure: () => events.push('unavailable'),
  })
  onTestFinished(() => store.close())
  await expect(store.updateQuota(0, (state) => state)).rejects.toThrow('rejected')
  expect(await store.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 0 })
  expect(events).toEqual([])
})

test('grid that takes longer than other reads, long visitor timeout - succeeds', async () => {
  const inner: CopyStore = { ...(await openStore()), findDeals: findSlowly }
  const store = await openReconnectingStore({
    visitorTimeoutMs: 5_000,
    open: () => Promise.resolve(inner),
    onFailure: () => {},
  })
  onTestFinished(() => store.close())
  expect(await store.findDeals(makeQuery())).toEqual([])
})

test('grid without a response - also fails within the visitor timeout', async () => {
  const inner: CopyStore = { ...(await openStore()), findDeals: () => new Promise(() => {}) }
  const store = await openReconnectingStore({
    visitorTimeoutMs: 80,
    open: () => Promise.resolve(inner),
    onFailure: () => {},
  })
  onTestFinished(() => store.close())
  await expect(store.findDeals(makeQuery())).rejects.toThrow('did not respond for 70 ms')
})

test('read without a response - fails before the visitor timeout; its later error marks the database as unavailable', async () => {
  const ending = defer<never>()
  const events: string[] = []
  const inner: CopyStore = { ...(await openStore()), getCopyState: () => ending.promise }
  const store = await openReconnectingStore({
    visitorTimeoutMs: 80,
    open: () => Promise.resolve(inner),
    onFailure: () => events.push('unavailable'),
  })
  onTestFinished(() => store.close())
  await expect(store.getCopyState(CHANNEL_ID)).rejects.toThrow('did not respond for 70 ms')
  expect(events).toEqual([])
  ending.reject(new Error('Connection terminated'))
  await vi.waitFor(() => expect(events).toEqual(['unavailable']))
})
