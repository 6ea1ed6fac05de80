import { beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS, UNKNOWN_TIME_MS } from '../../src/clock.ts'
import { checkWalkClock } from '../../src/sync/walk-clock.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { readBox } from '../storage/conformance/subject.ts'
import { type WalkFixture, makeWalkFixture, makeWireProducts, setProducts } from './walk-fixture.ts'

type Others = Readonly<{ database?: number; catalog?: number; futureCopies?: number }>

/** Check clocks that are ahead of this machine's by the given milliseconds: `agrees`, `unreliable` or `rejected`. */
async function checkClock({ database, catalog, futureCopies = 0 }: Others): Promise<string> {
  const check = checkWalkClock({
    clock: createFakeClock(NOON_MS),
    store: {
      readDatabaseTime: () => Promise.resolve(database === undefined ? null : NOON_MS + database),
      findFutureCopies: () => Promise.resolve(Array<string>(futureCopies).fill(CHANNEL_ID)),
    },
    catalogSkewMs: catalog,
  })
  return check.then(
    ({ isUnreliable }) => (isUnreliable ? 'unreliable' : 'agrees'),
    (error: { code: string }) => (error.code === 'VITRINE_WALK_FAILED' ? 'rejected' : error.code),
  )
}

describe('clock of a walk', () => {
  test.each<[string, Others, string]>([
    ['no other clock known', {}, 'agrees'],
    ['catalog within a minute', { catalog: MINUTE_MS }, 'agrees'],
    ['catalog ahead', { catalog: HOUR_MS }, 'unreliable'],
    ['catalog behind, copy dated in the future', { catalog: -HOUR_MS, futureCopies: 1 }, 'unreliable'],
    ['catalog ahead, copy dated in the future', { catalog: DAY_MS, futureCopies: 1 }, 'rejected'],
    ['database ahead', { database: HOUR_MS }, 'unreliable'],
    ['database ahead, catalog agrees', { database: HOUR_MS, catalog: 0, futureCopies: 1 }, 'agrees'],
    ['database and catalog ahead', { database: HOUR_MS, catalog: HOUR_MS }, 'rejected'],
    ['database and catalog behind', { database: -HOUR_MS, catalog: -HOUR_MS }, 'rejected'],
  ])('%s - %o - %s', async (_name, others, expected) => {
    expect(await checkClock(others)).toBe(expected)
  })
})

describe('machine whose clock is wrong', () => {
  let fixture: WalkFixture
  beforeEach(async () => {
    fixture = await makeWalkFixture()
    fixture.catalog.nowMs = () => NOON_MS
    setProducts(fixture.catalog, makeWireProducts(120))
    await fixture.walk()
  })

  /** Advance the clocks of the machine and the catalog. */
  const passTime = (hours: number): void => {
    const nowMs = fixture.catalog.nowMs?.() ?? NOON_MS
    fixture.catalog.nowMs = () => nowMs + hours * HOUR_MS
    fixture.clock.step(hours * HOUR_MS)
  }

  test('two days behind - does not walk, and the copy keeps its times', async () => {
    fixture.clock.advance(-2 * DAY_MS)
    expect(await fixture.walk()).toMatchObject({
      walks: [],
      failure: 'VITRINE_WALK_FAILED',
      reason: expect.stringContaining(
        'the clock of this machine differs from the clock of the catalog',
      ) as string,
    })
    fixture.clock.advance(2 * DAY_MS)
    expect(await readBox(fixture.copy, toGtin(1))).toBe(`Lamp 1 @${NOON_MS}`)
  })

  test('three hours behind, first to find no products - its hold does not count for a correct clock', async () => {
    setProducts(fixture.catalog, [])
    const outcomes: unknown[] = []
    passTime(4)
    const walkBy = async (hours: number): Promise<void> => {
      fixture.clock.step(hours * HOUR_MS)
      outcomes.push((await fixture.walk()).walks[0]?.outcome)
    }
    await walkBy(-3)
    expect((await fixture.copy.getCopyState(CHANNEL_ID)).held?.sinceMs).toBe(UNKNOWN_TIME_MS)
    await walkBy(3)
    passTime(1)
    await walkBy(0)
    expect(outcomes).toEqual(['held', 'held', 'complete'])
  })

  test('three hours behind, first to find no channels - its hold does not count either', async () => {
    fixture.catalog.channels = []
    const failures: unknown[] = []
    passTime(4)
    for (const hours of [-3, 3]) {
      fixture.clock.step(hours * HOUR_MS)
      failures.push((await fixture.walk()).failure)
    }
    passTime(1)
    failures.push((await fixture.walk()).failure)
    expect(failures).toEqual(['VITRINE_WALK_HELD', 'VITRINE_WALK_HELD', 'VITRINE_NO_CHANNELS'])
  })

  test('an hour ahead - walks, but confirms no hold', async () => {
    setProducts(fixture.catalog, [])
    const outcomes = [(await fixture.walk()).walks[0]?.outcome]
    fixture.clock.advance(HOUR_MS)
    outcomes.push((await fixture.walk()).walks[0]?.outcome)
    fixture.catalog.nowMs = () => NOON_MS + HOUR_MS
    outcomes.push((await fixture.walk()).walks[0]?.outcome)
    expect(outcomes).toEqual(['held', 'held', 'complete'])
  })
})
