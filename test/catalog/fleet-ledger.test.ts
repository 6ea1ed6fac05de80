import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type FleetLedger, createFleetLedger } from '../../src/catalog/fleet-ledger.ts'
import { createGovernor } from '../../src/catalog/governor.ts'
import { type QuotaState, createQuotaState, startDay } from '../../src/catalog/quota.ts'
import type { QuotaLedger } from '../../src/catalog/quota-ledger.ts'
import { DAY_MS, HOUR_MS } from '../../src/clock.ts'
import { StoreError } from '../../src/errors.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { toRuns } from '../helpers/property-runs.ts'

/** A store that all machines share, and that may be away. */
type Shared = QuotaLedger & { isUnavailable: boolean; state(): QuotaState }

function makeShared(): Shared {
  let state = createQuotaState(NOON_MS)
  const shared: Shared = {
    isUnavailable: false,
    state: () => state,
    updateQuota(nowMs, change) {
      if (shared.isUnavailable) return Promise.reject(new StoreError('away'))
      state = change(startDay(state, nowMs))
      return Promise.resolve(state)
    },
  }
  return shared
}

type Machine = Readonly<{
  ledger: FleetLedger
  take(purpose: 'walk' | 'refresh' | 'lookup'): Promise<boolean>
}>

function makeMachine(
  shared: Shared,
  clock: FakeClock,
  { dailyLimit = null, mayReserve = true }: { dailyLimit?: number | null; mayReserve?: boolean } = {},
): Machine {
  const ledger = createFleetLedger(shared, { clock, dailyLimit, mayReserve, onFailure: () => {} })
  const governor = createGovernor({ clock, unknownLookupsPerHour: 1_000, dailyLimit, ledger })
  return {
    ledger,
    take: (purpose) =>
      governor.take(purpose).then(
        () => true,
        () => false,
      ),
  }
}

const countTaken = async (machine: Machine, tries: number): Promise<number> => {
  let count = 0
  for (let index = 0; index < tries; index += 1) count += Number(await machine.take('lookup'))
  return count
}

describe('while the database is away', () => {
  test('machine that has called before - refreshes and walks nothing, looks up ten', async () => {
    const [shared, clock] = [makeShared(), createFakeClock(NOON_MS)]
    const machine = makeMachine(shared, clock)
    await machine.take('refresh')
    shared.isUnavailable = true
    expect(await machine.take('refresh')).toBe(false)
    expect(await machine.take('walk')).toBe(false)
    expect(await countTaken(machine, 30)).toBe(10)
  })

  test('small limit - a tenth of what was left of its share is set aside', async () => {
    const [shared, clock] = [makeShared(), createFakeClock(NOON_MS)]
    const machine = makeMachine(shared, clock, { dailyLimit: 400 })
    await machine.take('refresh')
    expect(shared.state()).toMatchObject({ calls: { refresh: 1, lookup: 0 }, reserved: 4 })
    shared.isUnavailable = true
    expect(await countTaken(machine, 30)).toBe(4)
  })

  test('machine that has never called, or only walks - calls nothing', async () => {
    const [shared, clock] = [makeShared(), createFakeClock(NOON_MS)]
    const walker = makeMachine(shared, clock, { mayReserve: false })
    await walker.take('walk')
    shared.isUnavailable = true
    expect(await walker.take('lookup')).toBe(false)
    expect(await makeMachine(shared, clock).take('lookup')).toBe(false)
  })

  test('day that ends meanwhile - what was set aside for it is gone', async () => {
    const [shared, clock] = [makeShared(), createFakeClock(NOON_MS)]
    const machine = makeMachine(shared, clock)
    await machine.take('refresh')
    shared.isUnavailable = true
    clock.advance(13 * HOUR_MS)
    expect(await machine.take('lookup')).toBe(false)
  })
})

describe('when it is back', () => {
  test('what was made is counted, what is missing set aside anew, and refreshes go on', async () => {
    const [shared, clock] = [makeShared(), createFakeClock(NOON_MS)]
    const machine = makeMachine(shared, clock)
    await machine.take('refresh')
    shared.isUnavailable = true
    await countTaken(machine, 3)
    shared.isUnavailable = false
    expect(await machine.take('refresh')).toBe(true)
    expect(shared.state()).toMatchObject({ calls: { refresh: 2, lookup: 3 }, reserved: 10, allowance: null })
  })

  test('process that ends - gives back what it did not need', async () => {
    const [shared, clock] = [makeShared(), createFakeClock(NOON_MS)]
    const machine = makeMachine(shared, clock)
    await machine.take('refresh')
    shared.isUnavailable = true
    await countTaken(machine, 3)
    shared.isUnavailable = false
    await machine.ledger.updateQuota(clock.nowMs(), (state) => state)
    await machine.ledger.giveBack()
    await machine.ledger.giveBack()
    expect(shared.state()).toMatchObject({ calls: { lookup: 3 }, reserved: 0 })
  })

  test('question that counts nothing - sets aside at the start and on a new day, once', async () => {
    const [shared, clock] = [makeShared(), createFakeClock(NOON_MS)]
    const { ledger } = makeMachine(shared, clock)
    for (let turn = 0; turn < 3; turn += 1) await ledger.updateQuota(clock.nowMs(), (state) => state)
    expect(shared.state().reserved).toBe(10)
    clock.advance(DAY_MS)
    for (let turn = 0; turn < 3; turn += 1) await ledger.updateQuota(clock.nowMs(), (state) => state)
    expect(shared.state().reserved).toBe(10)
  })

  test('twelve machines - set a fifth of the share aside at most, and each may use its own', async () => {
    const [shared, clock] = [makeShared(), createFakeClock(NOON_MS)]
    const machines = Array.from({ length: 12 }, () => makeMachine(shared, clock, { dailyLimit: 1_000 }))
    for (const { ledger } of machines) await ledger.updateQuota(clock.nowMs(), (state) => state)
    expect(shared.state().reserved).toBe(20)
    let made = 0
    for (let turn = 0; turn < 20; turn += 1)
      for (const machine of machines) made += Number(await machine.take('lookup'))
    expect(made).toBe(100)
    expect(shared.state()).toMatchObject({ calls: { lookup: 100 }, reserved: 0 })
  })
})

type Event = Readonly<{ machine: number; does: string; waitMs: number; times: number }>

/** Lets it happen, and answers how many calls were made on each day. */
async function happen(events: readonly Event[], dailyLimit: number): Promise<ReadonlyMap<number, number>> {
  const [shared, clock] = [makeShared(), createFakeClock(NOON_MS)]
  const make = (): Machine => makeMachine(shared, clock, { dailyLimit })
  const machines = [make(), make(), make(), make()]
  const made = new Map<number, number>()
  const call = async (machine: Machine, { does, times }: Event): Promise<void> => {
    const day = Math.floor(clock.nowMs() / DAY_MS)
    for (let turn = 0; turn < times; turn += 1)
      made.set(day, (made.get(day) ?? 0) + Number(await machine.take(does as 'walk')))
  }
  for (const event of events) {
    clock.advance(event.waitMs)
    const machine = machines[event.machine] ?? make()
    if (event.does === 'ends') await machine.ledger.giveBack()
    if (event.does === 'ends' || event.does === 'dies') machines[event.machine] = make()
    else if (event.does === 'away' || event.does === 'back') shared.isUnavailable = event.does === 'away'
    else await call(machine, event)
  }
  return made
}

test('any outages, calls and restarts of four machines - no day’s limit is ever passed', async () => {
  const calls = ['refresh', 'refresh', 'lookup', 'lookup', 'lookup', 'walk']
  const event = fc.record({
    machine: fc.nat({ max: 3 }),
    does: fc.constantFrom(...calls, 'away', 'back', 'ends', 'dies'),
    waitMs: fc.constantFrom(0, 0, 0, 60_000, 5 * HOUR_MS, DAY_MS),
    times: fc.integer({ min: 1, max: 40 }),
  })
  const limits = fc.integer({ min: 10, max: 300 })
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 60 }), limits, async (events, dailyLimit) => {
      for (const count of (await happen(events, dailyLimit)).values())
        expect(count).toBeLessThanOrEqual(dailyLimit)
    }),
    { numRuns: toRuns(150) },
  )
})
