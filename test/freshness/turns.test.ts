import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createTurns } from '../../src/freshness/turns.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'

describe('turns', () => {
  test('works at once - run one after the other, in the order of their coming', async () => {
    const turns = createTurns(createFakeClock(0))
    const order: string[] = []
    const work = (name: string) => async (): Promise<string> => {
      order.push(`${name} begins`)
      await setImmediate()
      order.push(`${name} ends`)
      return name
    }
    expect(await Promise.all(['a', 'b'].map((name) => turns.take(10, work(name))))).toEqual(['a', 'b'])
    expect(order).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
  })

  test('answer that is ready meanwhile - passes between two works', async () => {
    const turns = createTurns(createFakeClock(0))
    const order: string[] = []
    const first = turns.take(10, () => {
      void setImmediate().then(() => order.push('warm answer'))
      return Promise.resolve(order.push('first'))
    })
    const second = turns.take(10, () => Promise.resolve(order.push('second')))
    await Promise.all([first, second])
    expect(order).toEqual(['first', 'warm answer', 'second'])
  })

  test('work that fails - fails for its own caller alone', async () => {
    const turns = createTurns(createFakeClock(0))
    const failed = turns.take(10, () => Promise.reject(new Error('broken')))
    const after = turns.take(10, () => Promise.resolve('fine'))
    await expect(failed).rejects.toThrow('broken')
    expect(await after).toBe('fine')
  })

  test('turn that comes later than its patience - is not run', async () => {
    const clock = createFakeClock(0)
    const turns = createTurns(clock)
    const slow = turns.take(10, () => Promise.resolve(clock.advance(11)))
    let isRun = false
    const late = turns.take(10, () => Promise.resolve((isRun = true)))
    await slow
    await expect(late).rejects.toMatchObject({ code: 'VITRINE_UNAVAILABLE' })
    expect(isRun).toBe(false)
    expect(await turns.take(10, () => Promise.resolve('in time'))).toBe('in time')
  })
})
