import { describe, expect, test } from 'vitest'
import { MINUTE_MS } from '../../src/clock.ts'
import { StoreError } from '../../src/errors.ts'
import { createLogger } from '../../src/observability/logger.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { type StoreHealth, createStoreHealth, logRecovery } from '../../src/storage/store-health.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

type HealthFixture = Readonly<{
  health: StoreHealth
  clock: FakeClock
  lines: string[]
  countFailures(): Promise<string | undefined>
}>

function makeHealth(): HealthFixture {
  const clock = createFakeClock(NOON_MS)
  const lines: string[] = []
  const metrics = createMetrics()
  const logger = createLogger({ level: 'trace', stream: { write: (line) => void lines.push(line) } })
  return {
    health: createStoreHealth({ clock, logger, metrics }),
    clock,
    lines,
    async countFailures() {
      const { text } = await metrics.render()
      return /^vitrine_store_failures_total (\d+)$/m.exec(text)?.[1]
    },
  }
}

const locked = new StoreError('the stored copy failed at findProduct', {
  cause: new Error('database is locked'),
})

describe('health of the store', () => {
  test('no failure - nothing is counted or logged', async () => {
    const { health, lines, countFailures } = makeHealth()
    expect(health.getLastFailure()).toBeNull()
    expect([await countFailures(), lines]).toEqual(['0', []])
  })

  test('failure - is counted, logged as an error, and recorded with the message of the database', async () => {
    const { health, lines, countFailures } = makeHealth()
    health.recordFailure(locked)
    expect(await countFailures()).toBe('1')
    expect(health.getLastFailure()).toEqual({ atMs: NOON_MS, reason: 'database is locked' })
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 50,
      err: { code: 'VITRINE_STORE_FAILED' },
      msg: 'stored copy failed; serving continues from memory, with SQLite also from the catalog',
    })
  })

  test('database that cannot be opened - is recorded with its remedy', () => {
    const { health } = makeHealth()
    const cause = new StoreError('Cannot open the database "a/b.db": "a" is not a folder', {
      cause: new Error('unable to open database file'),
      remedy: 'Choose another path.',
    })
    health.recordFailure(new StoreError('the database could not be opened a moment ago', { cause }))
    expect(health.getLastFailure()?.reason).toBe(`${cause.message}. Choose another path.`)
  })

  test('many failures - each is counted, and one line a minute is logged', async () => {
    const { health, clock, lines, countFailures } = makeHealth()
    for (let turn = 0; turn < 1_000; turn += 1) health.recordFailure(locked)
    clock.advance(MINUTE_MS - 1)
    health.recordFailure(locked)
    expect([await countFailures(), lines.length]).toEqual(['1001', 1])
    clock.advance(1)
    health.recordFailure(locked)
    expect([await countFailures(), lines.length]).toEqual(['1002', 2])
  })

  test('several failures - the last one is recorded, although it was not logged', () => {
    const { health, clock } = makeHealth()
    health.recordFailure(locked)
    clock.advance(1)
    health.recordFailure(new StoreError('the database could not be opened a moment ago'))
    expect(health.getLastFailure()).toEqual({
      atMs: NOON_MS + 1,
      reason: 'the database could not be opened a moment ago',
    })
  })

  test('value that PostgreSQL rejects (class 22) - not a failure: one warning a minute, nothing counted or recorded', async () => {
    const { health, clock, lines, countFailures } = makeHealth()
    const invalidValue = new StoreError('the stored copy failed at findDeals', {
      cause: Object.assign(new Error('invalid byte sequence for encoding "UTF8": 0x00'), { code: '22021' }),
    })
    for (let turn = 0; turn < 1_000; turn += 1) health.recordFailure(invalidValue)
    expect([await countFailures(), health.getLastFailure()]).toEqual(['0', null])
    expect(lines.map((line) => (JSON.parse(line) as { level: number }).level)).toEqual([40])
    health.recordFailure(locked)
    expect([await countFailures(), lines.length]).toEqual(['1', 2])
    clock.advance(MINUTE_MS)
    health.recordFailure(invalidValue)
    expect(lines).toHaveLength(3)
  })

  test('read-only database - is logged once each time, and no rejected write is counted', async () => {
    const { health, clock, lines, countFailures } = makeHealth()
    const rejected = new StoreError('the stored copy failed at putLookups', {
      cause: Object.assign(new Error('db: the server is read-only'), { code: '25006' }),
    })
    for (const _ of [1, 2]) {
      health.recordReadOnly(rejected)
      for (let turn = 0; turn < 3; turn += 1) {
        health.recordFailure(rejected)
        clock.advance(MINUTE_MS)
      }
      health.recordWritable()
    }
    expect(lines.map((line) => (JSON.parse(line) as { level: number }).level)).toEqual([50, 30, 50, 30])
    expect([await countFailures(), health.getLastFailure()?.reason]).toEqual([
      '0',
      'db: the server is read-only',
    ])
  })

  test('thrown string - is recorded with an unknown reason', () => {
    const { health } = makeHealth()
    health.recordFailure('no error at all')
    expect(health.getLastFailure()).toEqual({ atMs: NOON_MS, reason: 'unknown reason' })
  })
})

test.each([
  { channels: [], level: 30, msg: 'stored copy reopened' },
  {
    channels: undefined,
    level: 40,
    msg: 'stored copy reopened; it has no data of this catalog yet',
  },
])('database reopened, with the channels $channels - $msg', async ({ channels, level, msg }) => {
  const lines: string[] = []
  const logger = createLogger({ level: 'info', stream: { write: (line) => void lines.push(line) } })
  const list = channels && { asOfMs: 0, heldSinceMs: null, channels, gone: [] }
  await logRecovery(logger, { findChannelList: () => Promise.resolve(list) })
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ level, msg }])
})
