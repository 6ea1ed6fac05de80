import { readFile, readdir } from 'node:fs/promises'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { SECOND_MS, systemClock } from '../../../src/clock.ts'
import { type WalkReport, type WalkProgress, runWalkInThread } from '../../../src/sync/walk-runner.ts'
import { defer } from '../../helpers/defer.ts'
import { CHANNEL_ID, type FaultHandler, sendJson } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'
import { type WalkFixture, makeWalkFixture, makeWireProducts, setProducts } from '../../sync/walk-fixture.ts'

let fixture: WalkFixture
beforeEach(async () => {
  fixture = await makeWalkFixture()
  setProducts(fixture.catalog, makeWireProducts(450))
})

/** List the threads that keep this process alive. */
const listThreads = (): string[] =>
  process.getActiveResourcesInfo().filter((name) => name === 'MessagePort' || name === 'Worker')

describe('walk in its own thread', () => {
  test('complete catalog - is stored, progress is reported, and no thread remains', async () => {
    const threadsBefore = listThreads().length
    const progress: WalkProgress[] = []
    const report = await runWalkInThread(fixture.job, {
      signal: new AbortController().signal,
      onProgress: (step) => progress.push(step),
    })
    expect(report).toMatchObject({ failure: null, walks: [{ outcome: 'complete', productCount: 450 }] })
    expect(report.calls).toContainEqual({ operation: 'products', outcome: 'ok', count: 3 })
    expect(progress.map(({ productCount }) => productCount)).toEqual([200, 400, 450])
    expect(await fixture.copy.getCopyState(CHANNEL_ID)).toMatchObject({ currentWalk: 1, productCount: 450 })
    expect((await fixture.copy.findProduct(CHANNEL_ID, toGtin(449)))?.product?.title).toBe('Lamp 449')
    expect(listThreads()).toHaveLength(threadsBefore)
  })

  test('stopped - keeps its stored pages, and the next walk resumes', async () => {
    const stop = new AbortController()
    const findLast = (): Promise<unknown> => fixture.copy.findProduct(CHANNEL_ID, toGtin(199))
    const stopWhenStored = async (): Promise<void> => {
      await vi.waitFor(async () => expect(await findLast()).toBeDefined())
      stop.abort()
    }
    fixture.catalog.fault = { pathPattern: /cursor=/, respond: () => void stopWhenStored() }
    const report = await runWalkInThread({ ...fixture.job, timeoutMs: 60_000 }, { signal: stop.signal })
    expect(report.walks).toMatchObject([{ outcome: 'failed' }])
    fixture.catalog.fault = null
    fixture.catalog.calls.length = 0
    const again = await runWalkInThread(
      { ...fixture.job, owner: 'b' },
      { signal: new AbortController().signal },
    )
    expect(again.walks).toMatchObject([{ outcome: 'complete', productCount: 450 }])
    expect(fixture.catalog.countCalls(/\/products\?/)).toBe(2)
  })

  test('database that cannot be opened - the walk fails with its error', async () => {
    const database = 'sqlite:/dev/null/copy.db'
    const walking = runWalkInThread({ ...fixture.job, database }, { signal: new AbortController().signal })
    await expect(walking).resolves.toMatchObject({ failure: 'VITRINE_STORE_FAILED' })
  })

  test('report of a walk with a rejected key - does not contain the key', async () => {
    const report = await runWalkInThread(
      { ...fixture.job, key: 'wrong-key-123' },
      { signal: new AbortController().signal },
    )
    expect(report.failure).toBe('VITRINE_CATALOG_KEY_REFUSED')
    expect(JSON.stringify(report)).not.toContain('wrong-key-123')
    await vi.waitFor(() => expect(fixture.catalog.calls).toHaveLength(1))
  })
})

/** Respond differently to the next page request only. */
function failOnce(respond: FaultHandler): void {
  fixture.catalog.fault = {
    pathPattern: /products\?/,
    respond(request, response) {
      fixture.catalog.fault = null
      respond(request, response)
    },
  }
}

const walkOnce = async (): Promise<WalkReport> =>
  runWalkInThread(fixture.job, { signal: new AbortController().signal })

describe('page that cannot be fetched', () => {
  test.each<[string, FaultHandler]>([
    ['VITRINE_CATALOG_STATUS', (_request, response) => response.writeHead(503).end()],
    ['VITRINE_CATALOG_INVALID', (_request, response) => response.end('no page')],
    ['VITRINE_CATALOG_UNREACHABLE', (_request, response) => response.destroy()],
  ])('%s - is counted by its code and retried', async (outcome, respond) => {
    failOnce(respond)
    const report = await walkOnce()
    expect(report.walks).toMatchObject([{ outcome: 'complete', productCount: 450 }])
    expect(report.calls).toContainEqual(expect.objectContaining({ operation: 'products', outcome, count: 1 }))
  })

  test.each<[string, FaultHandler]>([
    ['VITRINE_CATALOG_KEY_REFUSED', (_request, response) => response.writeHead(403).end()],
    ['VITRINE_CATALOG_STATUS', (_request, response) => response.writeHead(404).end()],
  ])('%s - ends the walk at once', async (failure, respond) => {
    failOnce(respond)
    expect((await walkOnce()).walks).toMatchObject([{ outcome: 'failed', failure }])
    expect(fixture.catalog.countCalls(/\/products\?/)).toBe(1)
  })

  test('429 with Retry-After - the report has the pause', async () => {
    failOnce((_request, response) => response.writeHead(429, { 'retry-after': '120' }).end())
    const sinceMs = systemClock.nowMs()
    const report = await walkOnce()
    expect(report.walks).toMatchObject([{ failure: 'VITRINE_CATALOG_RATE_LIMITED' }])
    expect(report.pausedUntilMs).toBeGreaterThanOrEqual(sinceMs + 120 * SECOND_MS)
  })
})

/** Read the niceness of this process's threads, the main one first. */
const readNiceness = async (): Promise<number[]> => {
  const threads = await readdir('/proc/self/task')
  const stats = await Promise.all(
    threads.map((id) => readFile(`/proc/self/task/${id}/stat`, 'utf8').catch(() => '')),
  )
  // Skip the name, which may contain brackets; field 19 is the niceness (proc(5)).
  return stats.filter((stat) => stat !== '').map((stat) => Number(stat.split(') ').at(-1)?.split(' ')[16]))
}

describe.runIf(process.platform === 'linux')('threads of a walk', () => {
  test('walk in progress - only its own thread has a lower priority', async () => {
    const [usual] = await readNiceness()
    const during = defer<number[]>()
    fixture.catalog.fault = {
      pathPattern: /products\?/,
      respond(_request, response) {
        fixture.catalog.fault = null
        const readDuringWalk = async (): Promise<void> => {
          during.resolve(await readNiceness())
          sendJson(response, 200, { items: [], next_cursor: null })
        }
        void readDuringWalk()
      },
    }
    await runWalkInThread(fixture.job, { signal: new AbortController().signal })
    const nice = (await during.promise).filter((niceness) => niceness !== usual)
    expect(nice.length).toBeGreaterThan(0)
    // An ended thread may stay in the list for a moment.
    await vi.waitFor(async () =>
      expect((await readNiceness()).every((niceness) => niceness === usual)).toBe(true),
    )
  })
})
