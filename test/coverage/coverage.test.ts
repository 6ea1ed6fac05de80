import { expect, onTestFinished, test, vi } from 'vitest'
import { DAY_MS, SECOND_MS } from '../../src/clock.ts'
import { type Coverage, createCoverage, type PendingBounds } from '../../src/coverage/coverage.ts'
import { StoreError } from '../../src/errors.ts'
import { createLogger } from '../../src/observability/logger.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { toDay } from '../../src/offers/price-history.ts'
import type { Counts } from '../../src/storage/counts.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'

const TODAY = toDay(NOON_MS)
const PLACEMENT = { channelId: CHANNEL_ID, gtin: toGtin(1), sub: 'post-1' }
const EMPTY = { shown: 0, hidden: 0, unavailable: 0 }

type Fixture = Readonly<{
  coverage: Coverage
  clock: FakeClock
  /** What was given to the store, also when it failed. */
  added: Counts[]
  failures: unknown[]
  /** The store fails while it is set. */
  setFailure(error: Error | null): void
  readOverLimit(): Promise<string[]>
  logs(): string
}>

function createFixture(bounds?: PendingBounds): Fixture {
  const clock = createFakeClock(NOON_MS)
  const metrics = createMetrics()
  const added: Counts[] = []
  const failures: unknown[] = []
  const lines: string[] = []
  let failure: Error | null = null
  const coverage = createCoverage({
    clock,
    metrics,
    logger: createLogger({ level: 'info', stream: { write: (line) => void lines.push(line) } }),
    store: {
      addCounts(counts) {
        added.push(counts)
        return failure === null ? Promise.resolve(0) : Promise.reject(failure)
      },
    },
    onStoreFailure: (error) => void failures.push(error),
    ...(bounds && { bounds }),
  })
  onTestFinished(() => coverage.stop())
  return {
    coverage,
    clock,
    added,
    failures,
    setFailure: (error) => void (failure = error),
    async readOverLimit() {
      const { text } = await metrics.render()
      return text.split('\n').filter((line) => /^vitrine_(?:counts|clicks)/.test(line))
    },
    logs: () => lines.join(''),
  }
}

test('counts - are added up and stored a second later, with clicks; then nothing more is written', async () => {
  const { coverage, clock, added, readOverLimit } = createFixture()
  coverage.countWidget({ ...PLACEMENT, state: 'shown' })
  coverage.countWidget({ ...PLACEMENT, state: 'shown' })
  coverage.countWidget({ ...PLACEMENT, state: 'hidden' })
  coverage.countWidget({ ...PLACEMENT, sub: '', state: 'unavailable' })
  coverage.countClick({ ...PLACEMENT, merchant: 'Kopje' })
  clock.advance(SECOND_MS - 1)
  expect(added).toEqual([])
  clock.advance(1)
  await coverage.flush()
  expect(added).toEqual([
    {
      widgets: [
        { ...PLACEMENT, day: TODAY, shown: 2, hidden: 1, unavailable: 0 },
        { ...PLACEMENT, sub: '', day: TODAY, ...EMPTY, unavailable: 1 },
      ],
      clicks: [{ ...PLACEMENT, merchant: 'Kopje', day: TODAY, clicks: 1 }],
    },
  ])
  expect(clock.pendingWaits).toBe(0)
  expect(await readOverLimit()).toContain(`vitrine_clicks_total{channel="${CHANNEL_ID}"} 1`)
})

test('midnight between two counts - each belongs to its day', async () => {
  const { coverage, clock, added } = createFixture()
  clock.step(DAY_MS / 2 - 1)
  coverage.countWidget({ ...PLACEMENT, state: 'shown' })
  clock.step(1)
  coverage.countWidget({ ...PLACEMENT, state: 'shown' })
  await coverage.flush()
  expect(added[0]?.widgets.map(({ day, shown }) => [day, shown])).toEqual([
    [TODAY, 1],
    [TODAY + 1, 1],
  ])
})

test('store that fails - keeps the counts, which are stored with later ones five seconds later', async () => {
  const { coverage, clock, added, failures, setFailure } = createFixture()
  setFailure(new StoreError('the database could not be reached a moment ago'))
  coverage.countWidget({ ...PLACEMENT, state: 'shown' })
  coverage.countClick({ ...PLACEMENT, merchant: 'Kopje' })
  await coverage.flush()
  expect(failures).toHaveLength(1)
  setFailure(null)
  coverage.countWidget({ ...PLACEMENT, state: 'shown' })
  clock.advance(5 * SECOND_MS - 1)
  expect(added).toHaveLength(1)
  clock.advance(1)
  await vi.waitFor(() =>
    expect(added[1]).toMatchObject({ widgets: [{ shown: 2 }], clicks: [{ merchant: 'Kopje', clicks: 1 }] }),
  )
})

test('many placements - are stored in batches; those after a failure stay in memory', async () => {
  const { coverage, added, setFailure } = createFixture()
  for (let index = 0; index < 1_100; index += 1)
    coverage.countWidget({ ...PLACEMENT, sub: `post-${index}`, state: 'shown' })
  await coverage.flush()
  expect(added.map(({ widgets }) => widgets.length)).toEqual([500, 500, 100])
  coverage.countWidget({ ...PLACEMENT, state: 'shown' })
  setFailure(new StoreError('the database is read-only'))
  await coverage.flush()
  setFailure(null)
  await coverage.flush()
  expect(added.slice(3).map(({ widgets }) => widgets)).toEqual([added[3]?.widgets, added[3]?.widgets])
})

test('value that the database rejects - is dropped, so that it does not block the others', async () => {
  const { coverage, added, setFailure, readOverLimit } = createFixture()
  setFailure(Object.assign(new Error('invalid byte sequence'), { code: '22021' }))
  coverage.countClick({ ...PLACEMENT, merchant: 'a\u0000' })
  await coverage.flush()
  setFailure(null)
  await coverage.flush()
  expect(added).toHaveLength(1)
  expect(await readOverLimit()).toContain('vitrine_counts_over_limit_total{outcome="lost"} 1')
})

test('memory is full - further placements lose their sub-id, further products are lost, totals are counted', async () => {
  const { coverage, added, readOverLimit } = createFixture({ maxEntries: 2, maxEntriesWithoutSub: 3 })
  for (const sub of ['a', 'b', 'c', 'd', 'a']) coverage.countWidget({ ...PLACEMENT, sub, state: 'shown' })
  coverage.countWidget({ ...PLACEMENT, gtin: toGtin(2), state: 'hidden' })
  await coverage.flush()
  expect(added[0]?.widgets.map(({ sub, shown }) => [sub, shown])).toEqual([
    ['a', 2],
    ['b', 1],
    ['', 2],
  ])
  expect(await readOverLimit()).toEqual([
    'vitrine_counts_over_limit_total{outcome="without_sub"} 2',
    'vitrine_counts_over_limit_total{outcome="lost"} 1',
  ])
})

test('stop - stores what is left; what an unavailable database does not take is logged', async () => {
  const { coverage, clock, added, setFailure, logs } = createFixture()
  coverage.countWidget({ ...PLACEMENT, state: 'shown' })
  await coverage.stop()
  expect(added).toHaveLength(1)
  expect(clock.pendingWaits).toBe(0)
  expect(logs()).toBe('')
  setFailure(new StoreError('the database could not be reached a moment ago'))
  coverage.countWidget({ ...PLACEMENT, state: 'shown' })
  await coverage.stop()
  expect(logs()).toContain('"counts":1')
  expect(logs()).not.toContain(PLACEMENT.gtin)
})
