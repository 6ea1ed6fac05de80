import { describe, expect, it } from 'vitest'
import { createLookupBudget } from '../../src/catalog/lookup-budget.ts'
import { HOUR_MS, MINUTE_MS } from '../../src/clock.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'

describe('look-up budget', () => {
  it('any sixty minutes - whenever they begin - hold at most the budget', () => {
    const clock = createFakeClock(0)
    const budget = createLookupBudget(10, clock)
    const takenAtMs: number[] = []
    for (let minute = 0; minute < 300; minute++) {
      clock.advance(MINUTE_MS)
      if (!budget.hasLeft()) continue
      budget.take()
      takenAtMs.push(clock.nowMs())
    }
    for (const startMs of takenAtMs) {
      const within = takenAtMs.filter((timeMs) => timeMs >= startMs && timeMs < startMs + HOUR_MS)
      expect(within.length).toBeLessThanOrEqual(10)
    }
    expect(takenAtMs).toHaveLength(50)
  })

  it('spent - one hour to the millisecond - one is back', () => {
    const clock = createFakeClock(0)
    const budget = createLookupBudget(1, clock)
    budget.take()
    clock.advance(HOUR_MS - 1)
    expect(budget.hasLeft()).toBe(false)
    clock.advance(1)
    expect(budget.hasLeft()).toBe(true)
  })

  it('none - never has any', () => {
    expect(createLookupBudget(0, createFakeClock(0)).hasLeft()).toBe(false)
  })
})
