import { expect, test } from 'vitest'
import { computeDifferenceMs } from '../../src/catalog/clock-difference.ts'
import { DAY_MS, SECOND_MS } from '../../src/clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

const DATE = new Date(NOON_MS).toUTCString()
const RESPONSE = { date: DATE, ageMs: 0, sentAtMs: NOON_MS, receivedAtMs: NOON_MS + SECOND_MS }

test.each([
  ['right clock, a second on the way', RESPONSE, 0],
  [
    'catalog a day ahead',
    { ...RESPONSE, sentAtMs: NOON_MS - DAY_MS, receivedAtMs: NOON_MS - DAY_MS + SECOND_MS },
    DAY_MS,
  ],
  [
    'catalog a day behind',
    { ...RESPONSE, sentAtMs: NOON_MS + DAY_MS, receivedAtMs: NOON_MS + DAY_MS + SECOND_MS },
    -DAY_MS,
  ],
  ['from a cache, a minute old', { ...RESPONSE, ageMs: 60_000 }, 60_000],
  ['no Date', { ...RESPONSE, date: undefined }, null],
  ['Date that is not one', { ...RESPONSE, date: 'yesterday' }, null],
  ['clock set back meanwhile', { ...RESPONSE, receivedAtMs: NOON_MS - 1 }, null],
])('%s', (_name, response, expected) => {
  expect(computeDifferenceMs(response)).toBe(expected)
})
