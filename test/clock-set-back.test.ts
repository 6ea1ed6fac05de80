import { describe, expect, test, vi } from 'vitest'
import { createCatalogHealthLog } from '../src/observability/catalog-health-log.ts'
import { createRateLimiter } from '../src/catalog/rate-limiter.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../src/clock.ts'
import { openConnection } from '../src/database/connection.ts'
import { createLogger } from '../src/observability/logger.ts'
import { createMetrics } from '../src/observability/metrics.ts'
import { createStoreHealth } from '../src/storage/store-health.ts'
import { CHANNEL_ID } from './helpers/fake-catalog.ts'
import { createFakeClock } from './helpers/fake-clock.ts'
import { NOON_MS } from './helpers/harness.ts'
import { makeSources } from './freshness/sources-fixture.ts'

/** State with a time, after the clock was a day ahead and has been corrected. */
describe('clock set a day back', () => {
  const clock = createFakeClock(NOON_MS)
  const lines: string[] = []
  const logger = createLogger({ level: 'info', stream: { write: (line) => void lines.push(line) } })

  test('failures of the store - are logged again', () => {
    const health = createStoreHealth({ clock, logger, metrics: createMetrics() })
    lines.length = 0
    health.recordFailure(new Error('first'))
    clock.step(-DAY_MS)
    health.recordFailure(new Error('second'))
    expect(lines).toHaveLength(2)
  })

  test('failures of the catalog - are logged again', () => {
    const recordOutcome = createCatalogHealthLog({ clock, logger, limitedUntilMs: () => 0 })
    lines.length = 0
    recordOutcome({ operation: 'product', outcome: 'VITRINE_CATALOG_DEADLINE' })
    clock.step(-DAY_MS)
    recordOutcome({ operation: 'product', outcome: 'VITRINE_CATALOG_DEADLINE' })
    expect(lines).toHaveLength(2)
  })

  test('database that could not be opened - opening is retried', async () => {
    const open = vi.fn<() => Promise<never>>(() => Promise.reject(new Error('no room')))
    const service = { maxSilenceMs: SECOND_MS, lockedMs: 0, reopenMs: MINUTE_MS, onFailure: () => {} }
    const options = { open, kind: 'file', table: 'copies', failure: 'failed', clock, service } as const
    const store = await openConnection(options)
    await expect(store.ping()).rejects.toThrow('a moment ago')
    clock.step(-DAY_MS)
    await expect(store.ping()).rejects.toThrow('no room')
    expect(open).toHaveBeenCalledTimes(2)
    await store.close()
  })

  test('look-ups and pause of the day ahead - no longer apply', async () => {
    const limiter = createRateLimiter({ clock, unknownLookupsPerHour: 1 })
    await limiter.acquire('lookup')
    expect(limiter.canCall('lookup')).toBe(false)
    await limiter.pauseUntil(clock.nowMs() + HOUR_MS)
    expect(limiter.canCall('refresh')).toBe(false)
    clock.step(-DAY_MS)
    expect([limiter.canCall('refresh'), limiter.getLocalReport().quota.limitedUntilMs]).toEqual([true, 0])
    await limiter.acquire('lookup')
  })

  test('list of channels - is read from the store again, and a newer one is used', async () => {
    const sources = await makeSources()
    sources.clock.step(DAY_MS)
    await sources.channels.getChannel(CHANNEL_ID)
    sources.clock.step(-DAY_MS)
    const other = {
      id: '00000000-0000-4000-8000-000000000002',
      name: 'New',
      kind: 'website',
      url: null,
    } as const
    await sources.store.putChannelList([other], sources.clock.nowMs())
    const { channel } = await sources.channels.getChannel(other.id)
    expect([channel.name, sources.countChannelCalls()]).toEqual(['New', 1])
  })
})
