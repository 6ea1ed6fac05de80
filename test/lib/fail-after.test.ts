import { expect, test } from 'vitest'
import { failAfter } from '../../src/lib/with-timeout.ts'
import { defer } from '../helpers/defer.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'

const fail = (clock = createFakeClock(0)) => {
  const call = defer<string>()
  const result = failAfter({ clock, timeoutMs: 10 }, () => new Error('too late'), call.promise)
  return { clock, call, result }
}

test('call in time - its result, and no timer is left', async () => {
  const { clock, call, result } = fail()
  clock.advance(9)
  call.resolve('done')
  expect(await result).toBe('done')
  expect(clock.pendingWaits).toBe(0)
})

test('call that fails in time - its error', async () => {
  const { call, result } = fail()
  call.reject(new Error('broken'))
  await expect(result).rejects.toThrow('broken')
})

test('call that takes longer - the error of the timeout; a later failure is no unhandled rejection', async () => {
  const { clock, call, result } = fail()
  clock.advance(10)
  await expect(result).rejects.toThrow('too late')
  call.reject(new Error('broken'))
})
