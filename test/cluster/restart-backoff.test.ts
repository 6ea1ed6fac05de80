import { expect, test } from 'vitest'
import { HOUR_MS, SECOND_MS } from '../../src/clock.ts'
import { createRestartWaits } from '../../src/cluster/restart-backoff.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'

test('deaths within moments - at once, then longer and longer, up to half a minute', () => {
  const waits = createRestartWaits(createFakeClock(0))
  const waitsMs = Array.from({ length: 10 }, () => waits.nextMs())
  expect(waitsMs).toEqual([0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
})

test('a life of ten seconds - the next start is at once again', () => {
  const clock = createFakeClock(0)
  const waits = createRestartWaits(clock)
  expect([waits.nextMs(), waits.nextMs()]).toEqual([0, 500])
  waits.noteStart()
  clock.advance(10 * SECOND_MS - 1)
  expect(waits.nextMs()).toBe(1_000)
  waits.noteStart()
  clock.advance(10 * SECOND_MS)
  expect([waits.nextMs(), waits.nextMs()]).toEqual([0, 0])
})

test('clock that is set back - is no long life', () => {
  const clock = createFakeClock(HOUR_MS)
  const waits = createRestartWaits(clock)
  waits.nextMs()
  waits.noteStart()
  clock.advance(-HOUR_MS)
  expect(waits.nextMs()).toBe(500)
})
