import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type RateLimiter, createRateLimiter } from '../../src/catalog/rate-limiter.ts'
import {
  type QuotaChange,
  type QuotaState,
  QUOTA_SHARES,
  clearImpossiblePause,
  recordCall,
  createQuotaState,
  recordSuccess,
  recordRateLimit,
  toDayNumber,
} from '../../src/catalog/quota.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { openCopyDatabase } from '../../src/storage/copy-database.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import type { Copy } from './conformance/subject.ts'
import { toRunCount } from '../helpers/property-runs.ts'

const CATALOG = 'https://one.example'
const keep: QuotaChange = (state) => state

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-quota-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Open a copy that is closed after the test. */
async function open(path: string, catalog = CATALOG): Promise<Copy> {
  const copy = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog })
  onTestFinished(() => copy.close())
  return copy
}

const openFile = async (): Promise<Readonly<{ copy: Copy; path: string }>> => {
  const path = join(await makeFolder(), 'copy.db')
  return { copy: await open(path), path }
}

const lookUp = (copy: Copy, nowMs: number): Promise<QuotaState> =>
  copy.updateQuota(nowMs, (state) => recordCall(state, { purpose: 'lookup', nowMs }))

type Step = Readonly<{
  waitMs: number
  event: 'walk' | 'refresh' | 'lookup' | 'channels' | 'limited' | 'success' | 'paused' | 'read'
  spanMs: number | null
  /** Which of the two copies that share the file. */
  copyIndex: 0 | 1
  isReopened: boolean
}>

/** Convert a step to the change that the rate limiter would make. */
function toChange({ event, spanMs }: Step, nowMs: number): QuotaChange {
  switch (event) {
    case 'limited':
      return (state) => recordRateLimit(state, { retryAfterMs: spanMs, nowMs, calledAtMs: nowMs })
    case 'success':
      return (state) => recordSuccess(state, nowMs - (spanMs ?? 0))
    case 'paused':
      return (state) => ({ ...state, limitedUntilMs: Math.max(state.limitedUntilMs, nowMs + (spanMs ?? 0)) })
    case 'read':
      return keep
    default:
      return (state) => recordCall(state, { purpose: event, nowMs })
  }
}

const toMinute = (timeMs: number): number => Math.floor(timeMs / MINUTE_MS)

/** Create the expected behaviour of a store without a database: calls by day, look-ups by minute. */
function createModel(): Readonly<{ update(nowMs: number, change: QuotaChange): QuotaState }> {
  let pause = createQuotaState(0)
  const days = new Map<number, QuotaState['calls']>()
  const minutes: number[] = []
  return {
    update(nowMs, change) {
      const day = toDayNumber(nowMs)
      const lookupsLastHour = minutes.filter((minute) => minute >= toMinute(nowMs - HOUR_MS)).length
      const calls = days.get(day) ?? { walk: 0, refresh: 0, lookup: 0 }
      pause = change({ ...clearImpossiblePause(pause, nowMs), day, calls, lookupsLastHour })
      days.set(day, pause.calls)
      const added = pause.lookupsLastHour - lookupsLastHour
      minutes.push(...Array.from({ length: added }, () => toMinute(nowMs)))
      return pause
    },
  }
}

const step: fc.Arbitrary<Step> = fc.record({
  waitMs: fc.oneof(
    fc.constant(0),
    fc.nat({ max: 5 * MINUTE_MS }),
    fc.constantFrom(HOUR_MS - 1, HOUR_MS, HOUR_MS + MINUTE_MS, 12 * HOUR_MS, DAY_MS, 10 * DAY_MS),
  ),
  event: fc.constantFrom(
    'walk',
    'refresh',
    'lookup',
    'lookup',
    'channels',
    'limited',
    'success',
    'paused',
    'read',
  ),
  spanMs: fc.option(fc.integer({ min: 1, max: 2 * DAY_MS })),
  copyIndex: fc.constantFrom(0, 1),
  isReopened: fc.boolean(),
})

const failing: QuotaChange = () => {
  throw new TypeError('a bug')
}

describe.each(['SQLite file', 'SQLite in memory'])('quota in %s', (kind) => {
  const isFile = kind === 'SQLite file'

  test('any changes at any times, by either of two copies - the same states as without a database, also after reopening', async () => {
    const folder = await makeFolder()
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const database = {
          kind: 'sqlite',
          path: isFile ? join(folder, `${(run += 1)}.db`) : ':memory:',
        } as const
        const openOne = (): Promise<Copy> => openStoredCopy({ database, catalog: CATALOG })
        const first = await openOne()
        const copies: [Copy, Copy] = [first, isFile ? await openOne() : first]
        const model = createModel()
        let nowMs = NOON_MS
        for (const currentStep of steps) {
          nowMs += currentStep.waitMs
          const change = toChange(currentStep, nowMs)
          if (isFile && currentStep.isReopened) {
            await copies[currentStep.copyIndex].close()
            copies[currentStep.copyIndex] = await openOne()
          }
          expect(await copies[currentStep.copyIndex].updateQuota(nowMs, change)).toEqual(
            model.update(nowMs, change),
          )
        }
        for (const copy of new Set(copies)) {
          expect(await copy.updateQuota(nowMs, keep)).toEqual(model.update(nowMs, keep))
          await copy.close()
        }
      }),
      { numRuns: toRunCount(isFile ? 40 : 60) },
    )
  })

  test('empty database - the initial state', async () => {
    const copy = await open(isFile ? join(await makeFolder(), 'copy.db') : ':memory:')
    expect(await copy.updateQuota(NOON_MS, keep)).toEqual(createQuotaState(NOON_MS))
  })

  test('concurrent changes - each sees the previous ones', async () => {
    const copy = await open(isFile ? join(await makeFolder(), 'copy.db') : ':memory:')
    await Promise.all(Array.from({ length: 50 }, () => lookUp(copy, NOON_MS)))
    expect(await copy.updateQuota(NOON_MS, keep)).toMatchObject({
      calls: { walk: 0, refresh: 0, lookup: 50 },
      lookupsLastHour: 50,
    })
  })

  test('change that throws - changes nothing, and the next one succeeds', async () => {
    const copy = await open(isFile ? join(await makeFolder(), 'copy.db') : ':memory:')
    await lookUp(copy, NOON_MS)
    await expect(copy.updateQuota(NOON_MS, failing)).rejects.toMatchObject({ code: 'VITRINE_STORE_FAILED' })
    expect((await lookUp(copy, NOON_MS)).calls.lookup).toBe(2)
  })
})

describe('quota of two catalogs in one database', () => {
  test('calls, look-ups and pauses of one - do not affect the other', async () => {
    const { copy, path } = await openFile()
    const other = await open(path, 'https://two.example')
    await lookUp(copy, NOON_MS)
    await copy.updateQuota(NOON_MS, (state) =>
      recordRateLimit(state, { retryAfterMs: null, nowMs: NOON_MS, calledAtMs: NOON_MS }),
    )
    expect(await other.updateQuota(NOON_MS, keep)).toEqual(createQuotaState(NOON_MS))
    await lookUp(other, NOON_MS + 30 * DAY_MS)
    expect(await copy.updateQuota(NOON_MS, keep)).toMatchObject({ calls: { lookup: 1 }, lookupsLastHour: 1 })
  })
})

const countRows = async (path: string): Promise<Readonly<{ days: number[]; minutes: number }>> => {
  const { writer, close } = await openCopyDatabase({ kind: 'sqlite', path })
  const { rows: days } = await sql<{ day: number }>`select day from quota_days order by day`.execute(writer)
  const { rows: minutes } = await sql<{ minute: number }>`select minute from quota_minutes`.execute(writer)
  const { rows: pauses } = await sql`select catalog from quotas`.execute(writer)
  await close()
  expect(pauses.length).toBeLessThanOrEqual(1)
  return { days: days.map(({ day }) => day - toDayNumber(NOON_MS)), minutes: minutes.length }
}

describe('old rows', () => {
  test('one call a day for thirty days - the last nine days are retained', async () => {
    const { copy, path } = await openFile()
    for (let day = 0; day < 30; day += 1) await lookUp(copy, NOON_MS + day * DAY_MS)
    expect(await countRows(path)).toEqual({ days: [21, 22, 23, 24, 25, 26, 27, 28, 29], minutes: 1 })
  })

  test('one look-up a minute for four hours - the minutes of the last hour are retained', async () => {
    const { copy, path } = await openFile()
    for (let minute = 0; minute < 240; minute += 1) await lookUp(copy, NOON_MS + minute * MINUTE_MS)
    expect((await countRows(path)).minutes).toBe(61)
  })

  test('look-ups in the same minute - are one row', async () => {
    const { copy, path } = await openFile()
    for (let turn = 0; turn < 20; turn += 1) await lookUp(copy, NOON_MS + turn)
    expect(await countRows(path)).toEqual({ days: [0], minutes: 1 })
  })

  test('updates that change nothing - write nothing', async () => {
    const { copy, path } = await openFile()
    for (let turn = 0; turn < 5; turn += 1) await copy.updateQuota(NOON_MS + turn * DAY_MS, keep)
    expect(await countRows(path)).toEqual({ days: [], minutes: 0 })
  })
})

describe('hourly look-up budget, counted by minutes', () => {
  test('any 60 minutes - never exceed the budget', async () => {
    const { copy } = await openFile()
    const clock = createFakeClock(NOON_MS + 59_999)
    const limiter = createRateLimiter({ clock, unknownLookupsPerHour: 5, store: copy })
    const acquiredMs: number[] = []
    for (let turn = 0; turn < 200; turn += 1) {
      await limiter.acquire('lookup').then(
        () => void acquiredMs.push(clock.nowMs()),
        () => {},
      )
      clock.advance(61_001)
    }
    for (const fromMs of acquiredMs) {
      const within = acquiredMs.filter((timeMs) => timeMs >= fromMs && timeMs < fromMs + HOUR_MS)
      expect(within.length).toBeLessThanOrEqual(5)
    }
    // The minute an hour ago counts in full, so slightly less than the budget is used.
    expect(acquiredMs.length).toBeGreaterThanOrEqual(14)
  })
})

describe('two processes', () => {
  const DAILY_LIMIT = 40

  async function makeProcess(path: string): Promise<RateLimiter> {
    const clock = createFakeClock(NOON_MS)
    return createRateLimiter({
      clock,
      unknownLookupsPerHour: 600,
      dailyLimit: DAILY_LIMIT,
      store: await open(path),
    })
  }

  test('alternating calls, on two connections - together they use exactly each share', async () => {
    const { path } = await openFile()
    const limiters = [await makeProcess(path), await makeProcess(path)]
    const counts = { walk: 0, refresh: 0, lookup: 0 }
    for (let turn = 0; turn < 60; turn += 1) {
      for (const share of QUOTA_SHARES) {
        const limiter = limiters[turn % 2]
        await limiter?.acquire(share).then(
          () => void (counts[share] += 1),
          () => {},
        )
      }
    }
    expect(counts).toEqual({ walk: 20, refresh: 16, lookup: 4 })
  })
})
