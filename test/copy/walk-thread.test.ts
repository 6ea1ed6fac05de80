import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { WalkRunner } from '../../src/copy/walk-runner.ts'
import type { WalkProgress } from '../../src/copy/walk.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import { type WalkPlace, makeWalkPlace, makeWireProducts, stock } from './walk-place.ts'

/** The built runner: a thread needs JavaScript. */
const BUILT_RUNNER = new URL('../../dist/copy/walk-runner.js', import.meta.url).href

let place: WalkPlace
let runWalkInThread: WalkRunner
beforeEach(async () => {
  place = await makeWalkPlace()
  stock(place.catalog, makeWireProducts(450))
  const built = (await import(BUILT_RUNNER)) as { runWalkInThread: WalkRunner }
  runWalkInThread = built.runWalkInThread
})

/** Threads of this process that keep it alive. */
const listThreads = (): string[] =>
  process.getActiveResourcesInfo().filter((name) => name === 'MessagePort' || name === 'Worker')

describe('walk in a thread of its own', () => {
  test('whole catalog - is stored, told step by step, and nothing stays behind', async () => {
    const threadsBefore = listThreads().length
    const progress: WalkProgress[] = []
    const report = await runWalkInThread(place.order, {
      signal: new AbortController().signal,
      onProgress: (step) => progress.push(step),
    })
    expect(report).toMatchObject({ failure: null, walks: [{ outcome: 'complete', productCount: 450 }] })
    expect(report.calls).toContainEqual({ operation: 'products', outcome: 'ok', count: 3 })
    expect(progress.map(({ productCount }) => productCount)).toEqual([200, 400, 450])
    expect(await place.copy.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 1, productCount: 450 })
    expect((await place.copy.findProduct(CHANNEL_ID, toGtin(449)))?.product?.title).toBe('Lamp 449')
    expect(listThreads()).toHaveLength(threadsBefore)
  })

  test('told to stop - ends with what it has, and the next walk resumes', async () => {
    const stop = new AbortController()
    place.catalog.fault = { matches: /cursor=/, does: () => stop.abort() }
    const report = await runWalkInThread({ ...place.order, timeoutMs: 500 }, { signal: stop.signal })
    expect(report.walks).toMatchObject([{ outcome: 'failed' }])
    place.catalog.fault = null
    place.catalog.calls.length = 0
    const again = await runWalkInThread(
      { ...place.order, owner: 'b' },
      { signal: new AbortController().signal },
    )
    expect(again.walks).toMatchObject([{ outcome: 'complete', productCount: 450 }])
    expect(place.catalog.countCalls(/\/products\?/)).toBe(2)
  })

  test('told to stop before it began - walks nothing', async () => {
    const report = await runWalkInThread(place.order, { signal: AbortSignal.abort() })
    expect(report.walks.every(({ outcome }) => outcome !== 'complete')).toBe(true)
    expect(await place.copy.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 0 })
  })

  test('database that cannot be opened - the walk fails with its error', async () => {
    const database = { kind: 'sqlite', path: '/dev/null/copy.db' } as const
    const walking = runWalkInThread({ ...place.order, database }, { signal: new AbortController().signal })
    await expect(walking).resolves.toMatchObject({ failure: 'VITRINE_STORE_FAILED' })
  })

  test('key - in a report of a refused walk - is nowhere', async () => {
    const report = await runWalkInThread(
      { ...place.order, key: 'wrong-key-123' },
      { signal: new AbortController().signal },
    )
    expect(report.failure).toBe('VITRINE_CATALOG_KEY_REFUSED')
    expect(JSON.stringify(report)).not.toContain('wrong-key-123')
    await vi.waitFor(() => expect(place.catalog.calls).toHaveLength(1))
  })
})
