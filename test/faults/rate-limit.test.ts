import { describe, expect, it, vi } from 'vitest'
import { HOUR_MS, MINUTE_MS, computeNextMidnightUtcMs } from '../../src/clock.ts'
import type { Context } from '../../src/context.ts'
import { BOX, BOX_EMBED, GRID, makeProductOnSale, startHarness, stockCatalog } from '../app/app-client.ts'
import { CHANNEL_ID, makeWireOffer, sendJson } from '../helpers/fake-catalog.ts'
import { type Harness, NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { type TestServer, startTestServer } from './test-server.ts'
import { startAppProcess } from './app-process.ts'

const STALE_GTIN = toGtin(1)
const toPath = (gtin: string): string => `/fragments/${CHANNEL_ID}/where-to-buy/${gtin}`
const STALE_BOX = toPath(STALE_GTIN)
const UNKNOWN_BOX = toPath(toGtin(2))
const OTHER_CHANNEL_BOX = BOX.replace(CHANNEL_ID, '11111111-2222-4333-8444-555555555555')
const MIDNIGHT_MS: number = computeNextMidnightUtcMs(NOON_MS)
const START_MS: number = NOON_MS + 2 * HOUR_MS

/** Start at 14:00 with one copy of two hours, one of ten minutes, and a catalog that returns 429 for everything. */
async function startLimited(retryAfter: string): Promise<Readonly<{ harness: Harness; server: TestServer }>> {
  const harness = await startHarness()
  const server = await startTestServer(harness.app)
  const { catalog, clock } = harness
  const stale = makeProductOnSale({ gtin: STALE_GTIN, offers: [makeWireOffer({ old_price: '99.80' })] })
  await stockCatalog(harness, [stale, makeProductOnSale()])
  clock.advance(START_MS - NOON_MS - 10 * MINUTE_MS)
  expect((await server.visit(STALE_BOX)).headers['cache-status']).toContain('miss')
  clock.advance(10 * MINUTE_MS)
  catalog.fault = {
    pathPattern: /./,
    respond(_request, response) {
      response.sendDate = false
      response.setHeader('retry-after', retryAfter)
      sendJson(response, 429, { error: 'limit' })
    },
  }
  return { harness, server }
}

type AppUnderTest = Readonly<{ server: TestServer; context: Context }>

/** Try everything that could call the catalog, and return the results. */
async function tryEverything({ server, context }: AppUnderTest): Promise<Readonly<Record<string, string>>> {
  const paths = { BOX, BOX_EMBED, STALE_BOX, UNKNOWN_BOX, OTHER_CHANNEL_BOX, GRID }
  const states: Record<string, string> = {}
  for (const [name, path] of Object.entries(paths)) {
    const { status, headers } = await server.visit(path)
    states[name] = `${status} ${headers['vitrine-state']}`
  }
  const report = await context.walks.runNow()
  return {
    ...states,
    walk: report.failure ?? 'walked',
    ready: String((await server.visit('/readyz')).status),
  }
}

const WHILE_LIMITED = {
  BOX: '200 shown',
  BOX_EMBED: '200 shown',
  STALE_BOX: '200 shown',
  UNKNOWN_BOX: '200 unavailable',
  OTHER_CHANNEL_BOX: '404 invalid',
  GRID: '200 shown',
  walk: 'VITRINE_CATALOG_CALL_BLOCKED',
  ready: '200',
}

describe('one 429 with Retry-After', () => {
  it.each([
    ['seconds until tomorrow', String((MIDNIGHT_MS - START_MS) / 1_000), 0],
    ['date of 00:00 UTC', new Date(MIDNIGHT_MS).toUTCString(), 0],
    ['three days', String(3 * 86_400), 5 * MINUTE_MS],
    ['date of next year', 'Fri, 01 Jan 2027 00:00:00 GMT', 5 * MINUTE_MS],
  ])(
    '%s - this process, a parallel one and the next one make no call until 00:00 UTC; copies are still shown',
    async (_name, retryAfter, slackMs) => {
      const { harness, server } = await startLimited(retryAfter)
      const { catalog, clock, context } = harness
      const before = catalog.calls.length
      const otherProcess = await startAppProcess(harness)
      expect((await server.visit(STALE_BOX)).headers['vitrine-state']).toBe('shown')
      await vi.waitFor(() => expect(context.callPolicy.getRateLimitedUntilMs()).toBe(MIDNIGHT_MS + slackMs))
      expect(catalog.calls.length - before).toBe(1)

      const expectNoCall = async (apps: readonly AppUnderTest[]): Promise<void> => {
        for (const app of apps) expect(await tryEverything(app)).toEqual(WHILE_LIMITED)
        expect(catalog.calls.length - before).toBe(1)
      }
      await expectNoCall([{ server, context }, otherProcess])
      for (let hour = 0; hour < 5; hour++) {
        clock.advance(HOUR_MS)
        await expectNoCall([{ server, context }, otherProcess])
      }
      await server.close()
      await context.dispose()
      const nextProcess = await startAppProcess(harness)
      await expectNoCall([nextProcess, otherProcess])
      clock.advance(MIDNIGHT_MS + slackMs - 1 - clock.nowMs())
      await expectNoCall([await startAppProcess(harness), nextProcess, otherProcess])

      catalog.fault = null
      clock.advance(1)
      const response = await nextProcess.server.visit(BOX)
      expect(response.headers).toMatchObject({
        'vitrine-state': 'shown',
        'cache-status': 'vitrine; fwd=miss; stored',
      })
      expect(catalog.calls.length - before).toBe(2)
      expect((await nextProcess.context.walks.runNow()).failure).toBeNull()
    },
  )
})
