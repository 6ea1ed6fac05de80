import { describe, expect, test } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { classifyAge } from '../../src/freshness/age.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { FRESHNESS } from './sources-fixture.ts'

describe('age', () => {
  test.each([
    [-86_400, 'unknown'],
    [-60.001, 'unknown'],
    [-60, 'fresh'],
    [0, 'fresh'],
    [299.999, 'fresh'],
    [300, 'stale'],
    [3_600, 'stale'],
    [3_600.001, 'rescue'],
    [604_800, 'rescue'],
    [604_800.001, 'gone'],
  ])('age of %d s - %s', (seconds, expected) => {
    expect(classifyAge(NOON_MS - seconds * SECOND_MS, NOON_MS, FRESHNESS)).toBe(expected)
  })

  test('stale and rescue as short as fresh - changes directly from fresh to gone', () => {
    const config = { ...FRESHNESS, freshSeconds: 10, staleSeconds: 1, rescueSeconds: 1 }
    expect([9_999, 10_000].map((ageMs) => classifyAge(0, ageMs, config))).toEqual(['fresh', 'gone'])
  })
})
