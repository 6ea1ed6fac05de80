import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DAY_SECONDS, HOUR_SECONDS } from '../../src/clock.ts'
import { parseConfig } from '../../src/config/config.ts'
import { type CacheLifetime, toCacheControl, toCacheStatus } from '../../src/http/cache-headers.ts'

const { freshSeconds } = parseConfig({}).config.freshness
const NOW_MS = Date.UTC(2026, 10, 21, 12)

function toHeader(ageSeconds: number, over: Partial<CacheLifetime> = {}): string {
  const asOfMs = NOW_MS - ageSeconds * 1_000
  const lifetime = { asOfMs, oldestPriceMs: asOfMs, saleEndMs: null, freshSeconds, isGrid: false }
  return toCacheControl({ ...lifetime, priceMaxAgeSeconds: DAY_SECONDS, ...over }, NOW_MS)
}

function readTimes(header: string): number[] {
  const match = /^public, max-age=(\d+), stale-while-revalidate=(\d+), stale-if-error=(\d+)$/.exec(header)
  return match === null ? [] : match.slice(1).map(Number)
}

describe('Cache-Control of a box', () => {
  it.each([
    ['just fetched', 0, [300, 600, 86_400]],
    ['dated in the future', -60, [300, 600, 86_400]],
    ['100 s old', 100, [200, 600, 86_300]],
    ['just above the minimum', 239, [61, 600, 86_161]],
    ['at the minimum', 240, [60, 600, 86_160]],
    ['no longer fresh', 301, [60, 600, 86_099]],
    ['an hour old', HOUR_SECONDS, [60, 600, 82_800]],
    ['price nearly too old', DAY_SECONDS - 100, [60, 100, 100]],
    ['price at its limit', DAY_SECONDS, [60, 0, 0]],
  ])('%s - has these lifetimes', (_name, ageSeconds, expected) => {
    expect(readTimes(toHeader(ageSeconds))).toEqual(expected)
  })

  it('short freshness - the remaining time, at least a minute', () => {
    expect(readTimes(toHeader(0, { freshSeconds: 90 }))[0]).toBe(90)
    expect(readTimes(toHeader(50, { freshSeconds: 90 }))[0]).toBe(60)
  })

  it('no price - full stale times', () => {
    expect(readTimes(toHeader(10 * DAY_SECONDS, { oldestPriceMs: null }))).toEqual([60, 600, 86_400])
  })

  it('some prices too old to be shown - the oldest shown price limits the stale times', () => {
    const oldestPriceMs = NOW_MS - (DAY_SECONDS - 30) * 1_000
    expect(readTimes(toHeader(10 * DAY_SECONDS, { isGrid: true, oldestPriceMs }))).toEqual([300, 30, 30])
  })

  it('any age - max-age 60 to 300, no s-maxage, no stale time beyond the price age', () => {
    fc.assert(
      fc.property(
        fc.nat(10 * DAY_SECONDS),
        fc.nat(DAY_SECONDS),
        fc.boolean(),
        (age, priceMaxAgeSeconds, isGrid) => {
          const header = toHeader(age, { priceMaxAgeSeconds, isGrid })
          const [maxAge = 0, whileRevalidate = 0, ifError = 0] = readTimes(header)
          expect(maxAge >= 60 && maxAge <= 300).toBe(true)
          expect(header).not.toContain('s-maxage')
          expect(Math.max(whileRevalidate, ifError)).toBeLessThanOrEqual(
            Math.max(0, priceMaxAgeSeconds - age),
          )
        },
      ),
    )
  })
})

describe('Cache-Control with a sale', () => {
  it.each([
    ['ended', -1, {}, [0, 0, 0]],
    ['ends now', 0, {}, [0, 0, 0]],
    ['ends in less than a second', 0.5, {}, [0, 0, 0]],
    ['ends within the minimum', 20, {}, [20, 0, 0]],
    ['ends within the freshness', 200.9, {}, [200, 0, 0]],
    ['ends during revalidation', 700, {}, [300, 400, 400]],
    ['ends within a day', HOUR_SECONDS, {}, [300, 600, 3_300]],
    ['ends after all times', 2 * DAY_SECONDS, {}, [300, 600, 86_400]],
    ['ends within the freshness, grid', 200, { isGrid: true }, [200, 0, 0]],
    ['ends after the price is too old', 2 * DAY_SECONDS, { priceMaxAgeSeconds: 100 }, [300, 100, 100]],
    ['ends before the price is too old', 350, { priceMaxAgeSeconds: 100 }, [300, 50, 50]],
  ])('%s - no time reaches beyond its end', (_name, endsInSeconds, over, expected) => {
    const saleEndMs = NOW_MS + endsInSeconds * 1_000
    expect(readTimes(toHeader(0, { saleEndMs, ...over }))).toEqual(expected)
  })

  it('data no longer fresh, sale ends within the minimum - ends with the sale', () => {
    expect(readTimes(toHeader(400, { saleEndMs: NOW_MS + 10_000 }))).toEqual([10, 0, 0])
  })
})

describe('Cache-Control of a grid', () => {
  it.each([0, 400, HOUR_SECONDS])('%i s old - five minutes', (age) => {
    expect(readTimes(toHeader(age, { isGrid: true }))[0]).toBe(300)
  })
})

/** Compute the expected header independently. */
function computeTimes(lifetime: CacheLifetime, nowMs: number): number[] {
  const { asOfMs, oldestPriceMs, saleEndMs, priceMaxAgeSeconds } = lifetime
  const toAge = (sinceMs: number): number => Math.max(0, Math.floor((nowMs - sinceMs) / 1_000))
  const left = oldestPriceMs === null ? Infinity : Math.max(0, priceMaxAgeSeconds - toAge(oldestPriceMs))
  // A date more than a minute ahead has no known age.
  const freshLeft = asOfMs - nowMs > 60_000 ? 0 : freshSeconds - toAge(asOfMs)
  const saleLeft = saleEndMs === null ? Infinity : Math.max(0, Math.floor((saleEndMs - nowMs) / 1_000))
  const maxAge = Math.min(300, Math.max(60, freshLeft), saleLeft)
  const staleLeft = Math.min(left, saleLeft - maxAge)
  return [maxAge, Math.min(600, staleLeft), Math.min(86_400, staleLeft)]
}

describe('lifetimes over time', () => {
  const anyTime = fc.integer({ min: -3_000, max: 400_000 }).map((afterMs) => NOW_MS + afterMs)

  const anyEnd = fc.option(anyTime)

  it('any times in any order - the remaining lifetimes at each time', () => {
    fc.assert(
      fc.property(anyTime, anyEnd, anyEnd, fc.array(anyTime, { maxLength: 20 }), (...given) => {
        const [asOfMs, oldestPriceMs, saleEndMs, times] = given
        const prices = { oldestPriceMs, saleEndMs, priceMaxAgeSeconds: 300 }
        const ages = { asOfMs, ...prices, freshSeconds, isGrid: false }
        for (const timeMs of times.flatMap((one) => [one, one + 1, one + 999, one + 1_000]))
          expect(readTimes(toCacheControl(ages, timeMs))).toEqual(computeTimes(ages, timeMs))
      }),
    )
  })
})

describe('Cache-Status', () => {
  it.each([
    ['hit', 'vitrine; hit'],
    ['miss', 'vitrine; fwd=miss; stored'],
    ['stale', 'vitrine; fwd=stale; detail=stale'],
    ['rescued', 'vitrine; fwd=stale; detail=rescued'],
    ['unavailable', 'vitrine; fwd=miss; detail=unavailable'],
    ['invalid', 'vitrine; fwd=miss; detail=invalid'],
  ] as const)('%s - %s', (status, expected) => {
    expect(toCacheStatus(status)).toBe(expected)
  })
})
