import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createKeyPause } from '../../src/catalog/key-pause.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

type Under = Readonly<{
  pause: ReturnType<typeof createKeyPause>
  clock: ReturnType<typeof createFakeClock>
}>

function makePause(): Under {
  const clock = createFakeClock(NOON_MS)
  return { pause: createKeyPause(clock), clock }
}

/** Refused again at the end of each pause; seconds of each. */
function measure({ pause, clock }: Under, times: number): number[] {
  return Array.from({ length: times }, () => {
    pause.noteRefused()
    const pauseMs = pause.untilMs() - clock.nowMs()
    clock.advance(pauseMs)
    return pauseMs / SECOND_MS
  })
}

describe('pause after a refused key', () => {
  test('never refused - there is none', () => {
    const { pause, clock } = makePause()
    expect(pause.isOn()).toBe(false)
    expect(pause.untilMs()).toBeLessThan(clock.nowMs())
  })

  test('refused - on to the last of five seconds', () => {
    const { pause, clock } = makePause()
    pause.noteRefused()
    expect(pause.untilMs()).toBe(NOON_MS + 5 * SECOND_MS)
    clock.advance(5 * SECOND_MS - 1)
    expect(pause.isOn()).toBe(true)
    clock.advance(1)
    expect(pause.isOn()).toBe(false)
  })

  test('clock set back during it - there is none', () => {
    const { pause, clock } = makePause()
    pause.noteRefused()
    clock.step(-HOUR_MS)
    expect(pause.isOn()).toBe(false)
    expect(pause.untilMs()).toBeLessThan(clock.nowMs())
  })

  test('refused again and again - doubled up to ten minutes', () => {
    expect(measure(makePause(), 10)).toEqual([5, 10, 20, 40, 80, 160, 320, 600, 600, 600])
  })

  test('refused during the pause - neither longer nor counted', () => {
    const under = makePause()
    under.pause.noteRefused()
    under.clock.advance(SECOND_MS)
    for (let turn = 0; turn < 30; turn += 1) under.pause.noteRefused()
    expect(under.pause.untilMs()).toBe(NOON_MS + 5 * SECOND_MS)
    under.clock.advance(4 * SECOND_MS)
    expect(measure(under, 1)).toEqual([10])
  })

  test('taken - the next pause is short again, the one that is on stays', () => {
    const under = makePause()
    measure(under, 4)
    under.pause.noteTaken()
    expect(measure(under, 1)).toEqual([5])
    under.pause.noteRefused()
    under.pause.noteTaken()
    expect(under.pause.isOn()).toBe(true)
  })

  test('another key - ends the pause at once, and the next is short', () => {
    const under = makePause()
    measure(under, 3)
    under.pause.noteRefused()
    under.pause.lift()
    expect(under.pause.isOn()).toBe(false)
    expect(measure(under, 1)).toEqual([5])
  })

  test('any refusals, answers and keys - between five seconds and ten minutes, never shortened by a refusal', () => {
    const step = fc.record({
      event: fc.constantFrom('refused', 'refused', 'refused', 'taken', 'lifted'),
      waitMs: fc.nat({ max: 3 * MINUTE_MS }),
    })
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const { pause, clock } = makePause()
        for (const { event, waitMs } of steps) {
          clock.advance(waitMs)
          const before = { untilMs: pause.untilMs(), isOn: pause.isOn() }
          if (event === 'taken') pause.noteTaken()
          if (event === 'lifted') pause.lift()
          if (event !== 'refused') continue
          pause.noteRefused()
          const leftMs = pause.untilMs() - clock.nowMs()
          const shortestMs = before.isOn ? before.untilMs - clock.nowMs() : 5 * SECOND_MS
          expect(leftMs).toBeGreaterThanOrEqual(shortestMs)
          expect(leftMs).toBeLessThanOrEqual(before.isOn ? shortestMs : 10 * MINUTE_MS)
        }
      }),
    )
  })
})
