/**
 * The product's own rules as the simulation uses them: nothing of what decides is copied here. From the built program, like
 * everything that the bench runs.
 */
import {
  checkQuota,
  computeLeft,
  countCall,
  createQuotaState,
  divideLimit,
  startDay,
  toDay,
} from '../../dist/catalog/quota.js'
import { createRateLimiter } from '../../dist/catalog/rate-limiter.js'
import { parseConfig } from '../../dist/config/config.js'
import { computePeriodMs, isWalkDue } from '../../dist/sync/walk-schedule.js'
import { judgeAge } from '../../dist/freshness/age.js'
import { createMemory } from '../../dist/lib/lru-cache.js'
import { toCacheControl } from '../../dist/http/cache-headers.js'
import { shareBounds } from '../../dist/caches.js'

export {
  checkQuota,
  computeLeft,
  computePeriodMs,
  countCall,
  createMemory,
  createQuotaState,
  createRateLimiter,
  divideLimit,
  isWalkDue,
  judgeAge,
  shareBounds,
  startDay,
}

/** Settings as they are by default. */
export const { config: CONFIG } = parseConfig({})

/** Simulated time is in seconds from this midnight UTC on: days of the daily limit begin at its whole days. */
const BEGIN_MS = Date.UTC(2030, 0, 1)

/** Simulated seconds as Unix milliseconds, whole ones as everywhere in the product. */
export const toMs = (timeS) => BEGIN_MS + Math.round(timeS * 1e3)

/** The day of the daily limit that a simulated second is of; the same one that the product counts it for. */
export const toDayNumber = (timeS) => toDay(toMs(timeS)) - toDay(BEGIN_MS)

/**
 * How long caches in front may keep a box, by the header that it is sent with.
 * @param {number} asOfS when the catalog gave it
 * @param {number} nowS
 * @returns {{ maxAgeS: number, whileRevalidateS: number }} seconds
 */
export function computeLifetimes(asOfS, nowS) {
  const asOfMs = toMs(asOfS)
  const { freshness: config, priceMaxAgeSeconds } = CONFIG
  const ages = { asOfMs, oldestPriceMs: asOfMs, config, priceMaxAgeSeconds, isGrid: false }
  const text = toCacheControl(ages, toMs(nowS))
  const [, maxAge, whileRevalidate] = HEADER.exec(text)
  return { maxAgeS: Number(maxAge), whileRevalidateS: Number(whileRevalidate) }
}

const HEADER = /max-age=(\d+), stale-while-revalidate=(\d+)/
