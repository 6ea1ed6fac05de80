import { describe, expect, test } from 'vitest'
import { MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import {
  CatalogCallBlockedError,
  CatalogDeadlineError,
  CatalogInvalidError,
  CatalogRedirectError,
  CatalogStatusError,
  CatalogTooLargeError,
  CatalogUnreachableError,
} from '../../src/errors.ts'
import { createNegativeCache } from '../../src/freshness/negative-cache.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'

const PASSING = [
  new CatalogUnreachableError('x'),
  new CatalogDeadlineError('x'),
  new CatalogStatusError('x', 500),
  undefined,
]
const UNUSABLE = [new CatalogInvalidError('x'), new CatalogTooLargeError('x'), new CatalogRedirectError('x')]

describe('negative cache', () => {
  test.each([
    ...PASSING.map((error) => [error?.name ?? 'no error', error, 5 * SECOND_MS] as const),
    ...UNUSABLE.map((error) => [error.name, error, MINUTE_MS] as const),
  ])('%s - is cached for its window plus at most a fifth', (_name, error, expectedMs) => {
    for (const [random, factor] of [
      [0, 1],
      [1, 1.2],
    ] as const) {
      const clock = createFakeClock(0)
      const failures = createNegativeCache(clock, () => random)
      failures.add('a', error)
      clock.advance(expectedMs * factor - 1)
      expect(failures.has('a')).toBe(true)
      clock.advance(1)
      expect(failures.has('a')).toBe(false)
    }
  })

  test('blocked call - is not a failure', () => {
    const failures = createNegativeCache(createFakeClock(0))
    failures.add('a', new CatalogCallBlockedError('paused'))
    expect(failures.has('a')).toBe(false)
  })

  test('deleted entry or another key - may be called', () => {
    const failures = createNegativeCache(createFakeClock(0))
    failures.add('a', undefined)
    expect(failures.has('b')).toBe(false)
    failures.delete('a')
    expect(failures.has('a')).toBe(false)
  })

  test('more keys than the limit - the oldest is removed first', () => {
    const failures = createNegativeCache(createFakeClock(0))
    for (let index = 0; index <= 20_000; index += 1) failures.add(String(index), undefined)
    expect([failures.has('0'), failures.has('1'), failures.has('20000')]).toEqual([false, true, true])
  })
})
