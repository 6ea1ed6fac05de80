import { expect, test } from 'vitest'
import type { AdminAttempt } from '../../src/http/admin-limiter.ts'
import { MINUTE_MS } from '../../src/clock.ts'
import { UnavailableError } from '../../src/errors.ts'
import { createRemoteLimiter } from '../../src/cluster/remote-limiter.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

const WRONG = { address: 'a', isWrong: true }

test('not locked - the primary is asked each time', async () => {
  const asked: AdminAttempt[] = []
  const limiter = createRemoteLimiter(createFakeClock(NOON_MS), (attempt) => {
    asked.push(attempt)
    return Promise.resolve(0)
  })
  expect([await limiter.admit(WRONG), await limiter.admit({ ...WRONG, isWrong: false })]).toEqual([0, 0])
  expect(asked).toEqual([WRONG, { ...WRONG, isWrong: false }])
})

test('locked - is remembered for that address until it ends', async () => {
  const clock = createFakeClock(NOON_MS)
  const asked: string[] = []
  const limiter = createRemoteLimiter(clock, ({ address }) => {
    asked.push(address)
    return Promise.resolve(address === 'a' ? MINUTE_MS : 0)
  })
  expect(await limiter.admit(WRONG)).toBe(MINUTE_MS)
  clock.advance(MINUTE_MS - 1)
  expect(await limiter.admit(WRONG)).toBe(1)
  expect(await limiter.admit({ ...WRONG, address: 'b' })).toBe(0)
  clock.advance(1)
  await limiter.admit(WRONG)
  expect(asked).toEqual(['a', 'b', 'a'])
})

test('primary that does not answer - nothing is let through', async () => {
  const limiter = createRemoteLimiter(createFakeClock(NOON_MS), () => Promise.resolve(undefined))
  await expect(limiter.admit(WRONG)).rejects.toThrow(UnavailableError)
})
