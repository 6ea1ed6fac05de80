import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type RateLimiter, createRateLimiter } from '../../../src/catalog/rate-limiter.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../../src/clock.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import { CatalogRateLimitedError } from '../../../src/errors.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { useDatabase } from '../use-database.ts'
import { makeProduct, toGtin } from '../../helpers/products.ts'
import { CHANNEL, type Copy, readBox } from '../../storage/conformance/subject.ts'

/** Several machines share one PostgreSQL server with a correct clock. One machine has a wrong clock. */

const CATALOG = 'https://one.example'
const GTIN = toGtin(1)
const database = useDatabase()
beforeEach(() => database.truncate())

type Machine = Readonly<{ copy: Copy; limiter: RateLimiter; nowMs: number }>

/** Open a machine whose clock is ahead of the server's clock. */
async function openMachine(aheadMs: number): Promise<Machine> {
  const nowMs = Date.now() + aheadMs
  const clock = createFakeClock(nowMs)
  const copy = await openStoredCopy({ database: database.address, catalog: CATALOG, clock })
  onTestFinished(() => copy.close())
  return { copy, limiter: createRateLimiter({ clock, unknownLookupsPerHour: 10, store: copy }), nowMs }
}

const lookUp = ({ copy, nowMs }: Machine, title: string): Promise<void> =>
  copy.putLookups([
    { channelId: CHANNEL, gtin: GTIN, entry: { product: makeProduct({ gtin: GTIN, title }), asOfMs: nowMs } },
  ])

const limited = (retryAfterMs: number): CatalogRateLimitedError =>
  new CatalogRateLimitedError('429', retryAfterMs)

describe('pause after a 429', () => {
  test('machine a day behind - neither calls nor ends the pause of the other machines', async () => {
    const [correct, behind] = [await openMachine(0), await openMachine(-DAY_MS)]
    await correct.limiter.recordRateLimit(limited(3 * MINUTE_MS), correct.nowMs)
    await expect(behind.limiter.acquire('refresh')).rejects.toThrow('paused')
    await behind.limiter.read()
    await expect(correct.limiter.acquire('refresh')).rejects.toThrow('paused')
  })

  test('machine two days ahead - observes the pause that it recorded', async () => {
    const ahead = await openMachine(2 * DAY_MS)
    await ahead.limiter.recordRateLimit(limited(3 * MINUTE_MS), ahead.nowMs)
    await expect(ahead.limiter.acquire('refresh')).rejects.toThrow('paused')
  })

  test('pause of a machine two days ahead, beyond the next reset - is ignored by the other machines', async () => {
    const [correct, ahead] = [await openMachine(0), await openMachine(2 * DAY_MS)]
    await ahead.limiter.recordRateLimit(limited(3 * MINUTE_MS), ahead.nowMs)
    await correct.limiter.acquire('refresh')
    expect((await correct.limiter.read()).quota.limitedUntilMs).toBe(0)
  })
})

describe('look-ups of one product', () => {
  test('machine a day behind - does not overwrite look-ups of the other machines', async () => {
    const [correct, behind] = [await openMachine(0), await openMachine(-DAY_MS)]
    await lookUp(correct, 'now')
    await lookUp(behind, 'a day behind')
    expect(await readBox(correct.copy, GTIN)).toBe(`now @${correct.nowMs}`)
  })

  test('machine a day ahead - its look-up is replaced by those of the other machines', async () => {
    const [correct, ahead] = [await openMachine(-SECOND_MS), await openMachine(DAY_MS)]
    await lookUp(ahead, 'a day ahead')
    await lookUp(correct, 'now')
    expect(await readBox(correct.copy, GTIN)).toBe(`now @${correct.nowMs}`)
  })
})
