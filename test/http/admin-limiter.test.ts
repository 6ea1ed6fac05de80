import { expect, test } from 'vitest'
import { createAdminLimiter } from '../../src/http/admin-limiter.ts'
import { MINUTE_MS } from '../../src/clock.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

const WRONG = { address: 'a', hasWrongPassword: true }
const RIGHT = { address: 'a', hasWrongPassword: false }

test('ten wrong passwords - locked until fifteen minutes after the first', async () => {
  const clock = createFakeClock(NOON_MS)
  const limiter = createAdminLimiter(clock)
  for (let tries = 0; tries < 10; tries += 1) {
    expect(await limiter.admit(WRONG)).toBe(0)
    clock.advance(MINUTE_MS)
  }
  for (const attempt of [WRONG, RIGHT]) expect(await limiter.admit(attempt)).toBe(5 * MINUTE_MS)
  expect(await limiter.admit({ ...WRONG, address: 'b' })).toBe(0)
  clock.advance(5 * MINUTE_MS)
  expect(await limiter.admit(RIGHT)).toBe(0)
})

test('correct passwords - are not counted', async () => {
  const limiter = createAdminLimiter(createFakeClock(NOON_MS))
  for (let visits = 0; visits < 100; visits += 1) expect(await limiter.admit(RIGHT)).toBe(0)
})

test('twelve thousand addresses - the least recently used are dropped, a locked one in use is not', async () => {
  const limiter = createAdminLimiter(createFakeClock(NOON_MS))
  const guessFrom = async (address: string): Promise<void> => {
    for (let tries = 0; tries < 10; tries += 1) await limiter.admit({ address, hasWrongPassword: true })
  }
  for (const address of ['idle', 'used']) await guessFrom(address)
  for (let index = 0; index < 12_000; index += 1) {
    await limiter.admit({ address: `other ${index}`, hasWrongPassword: true })
    if (index % 1_000 === 0) await limiter.admit({ address: 'used', hasWrongPassword: false })
  }
  expect(await limiter.admit({ address: 'idle', hasWrongPassword: false })).toBe(0)
  expect(await limiter.admit({ address: 'used', hasWrongPassword: false })).toBeGreaterThan(0)
})

test('clock set back by an hour - ends the lock', async () => {
  const clock = createFakeClock(NOON_MS)
  const limiter = createAdminLimiter(clock)
  for (let tries = 0; tries < 10; tries += 1) await limiter.admit(WRONG)
  clock.advance(-60 * MINUTE_MS)
  expect(await limiter.admit(RIGHT)).toBe(0)
})
