import { describe, expect, it } from 'vitest'
import { computeClockSkewMs, parseRetryAfter } from '../../src/outgoing/response-headers.ts'
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../src/clock.ts'

const NOW_MS = Date.UTC(2026, 10, 21, 12)
const AT_ONE = 'Sat, 21 Nov 2026 13:00:00 GMT'

describe('Retry-After', () => {
  it.each([
    ['0', null],
    ['000', null],
    ['1', SECOND_MS],
    [' 3600 ', HOUR_MS],
    ['007', 7 * SECOND_MS],
    ['999999999', 999_999_999 * SECOND_MS],
    ['1000000000', null],
    ['12345678901234567890', null],
    ['-5', null],
    ['+5', null],
    ['1.5', null],
    ['1e9', null],
    ['0x10', null],
    ['Infinity', null],
    ['', null],
    [' ', null],
    ['tomorrow', null],
    ['5 s', null],
    ['5, 6', null],
    ['\u0665', null],
  ])('seconds "%s" - %j ms', (retryAfter, expected) => {
    expect(parseRetryAfter({ retryAfter, date: undefined, nowMs: NOW_MS })).toBe(expected)
  })

  it('absent - null', () => {
    expect(parseRetryAfter({ retryAfter: undefined, date: undefined, nowMs: NOW_MS })).toBeNull()
  })

  it.each([
    [AT_ONE, HOUR_MS],
    ['Sat, 21 Nov 2026 12:00:00 GMT', null],
    ['Sat, 21 Nov 2026 11:00:00 GMT', null],
    ['Sun, 22 Nov 2026 00:00:00 GMT', DAY_MS / 2],
    ['Saturday, 21-Nov-26 13:00:00 GMT', null],
    ['Sat Nov 21 13:00:00 2026', null],
    ['2026-11-21T13:00:00Z', null],
    ['Sat, 21 Nov 2026 13:00:00 +0100', null],
    ['Sat, 99 Nov 2026 13:00:00 GMT', null],
    ['Sat, 21 Nov 2026 99:00:00 GMT', null],
  ])('date %s - %j ms', (retryAfter, expected) => {
    expect(parseRetryAfter({ retryAfter, date: undefined, nowMs: NOW_MS })).toBe(expected)
  })

  it.each([
    ['same clock', 'Sat, 21 Nov 2026 12:00:00 GMT', HOUR_MS],
    ["the catalog's clock is a day behind ours", 'Fri, 20 Nov 2026 12:00:00 GMT', DAY_MS + HOUR_MS],
    ["the catalog's clock is ahead of the date", 'Sat, 21 Nov 2026 14:00:00 GMT', null],
    ['no date', 'yesterday', HOUR_MS],
    ['no day of any month', 'Sat, 99 Nov 2026 12:00:00 GMT', HOUR_MS],
  ])("date - relative to the response's Date: %s - %j", (_name, date, expected) => {
    expect(parseRetryAfter({ retryAfter: AT_ONE, date, nowMs: NOW_MS })).toBe(expected)
  })
})

describe("difference of the catalog's clock", () => {
  const DATE = new Date(NOW_MS).toUTCString()
  const RESPONSE = { date: DATE, ageMs: 0, sentAtMs: NOW_MS, receivedAtMs: NOW_MS + SECOND_MS }

  it.each([
    ['correct clock, response time of a second', RESPONSE, 0],
    [
      'catalog a day ahead',
      { ...RESPONSE, sentAtMs: NOW_MS - DAY_MS, receivedAtMs: NOW_MS - DAY_MS + SECOND_MS },
      DAY_MS,
    ],
    [
      'catalog a day behind',
      { ...RESPONSE, sentAtMs: NOW_MS + DAY_MS, receivedAtMs: NOW_MS + DAY_MS + SECOND_MS },
      -DAY_MS,
    ],
    ['from a cache that sets Date to now', { ...RESPONSE, ageMs: 200_000 }, 0],
    [
      'from a cache that keeps Date',
      { ...RESPONSE, ageMs: 200_000, sentAtMs: NOW_MS + 200_000, receivedAtMs: NOW_MS + 201_000 },
      0,
    ],
    [
      'from a cache, later than Date + Age by a day',
      { ...RESPONSE, ageMs: 200_000, sentAtMs: NOW_MS + DAY_MS, receivedAtMs: NOW_MS + DAY_MS + SECOND_MS },
      200_000 - DAY_MS,
    ],
    [
      'from a cache, earlier than Date by a day',
      { ...RESPONSE, ageMs: 200_000, sentAtMs: NOW_MS - DAY_MS, receivedAtMs: NOW_MS - DAY_MS + SECOND_MS },
      DAY_MS,
    ],
    ['no Date', { ...RESPONSE, date: undefined }, null],
    ['invalid Date', { ...RESPONSE, date: 'yesterday' }, null],
    ['clock set back in the meantime', { ...RESPONSE, receivedAtMs: NOW_MS - 1 }, null],
  ])('%s', (_name, response, expected) => {
    expect(computeClockSkewMs(response)).toBe(expected)
  })
})
