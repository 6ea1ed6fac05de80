import request from 'supertest'
import { describe, expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { StoreError } from '../../src/errors.ts'
import { BOX, BOX_EMBED, GRID, startHarness, startStockedHarness, fetchPath } from '../app/app-client.ts'
import { CHANNEL_ID, FAKE_KEY, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import { type Harness, NOON_MS } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'

const FAILING = (harness: Harness): void => {
  harness.catalog.fault = { pathPattern: /./, respond: (_request, response) => sendJson(response, 500, {}) }
}

const ADMIN = { Authorization: `Basic ${Buffer.from('admin:p').toString('base64')}` }
const WRONG = { Authorization: `Basic ${Buffer.from('admin:wrong').toString('base64')}` }
const WITH_PASSWORD = { settings: { VITRINE_ADMIN_PASSWORD: 'p' } }

async function readReadiness(
  harness: Pick<Harness, 'app'>,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const seen = await fetchPath(harness, '/readyz', headers)
  return { status: seen.status, cache: seen.headers['cache-control'], ...(JSON.parse(seen.text) as object) }
}

const failPing = (): Promise<void> => Promise.reject(new StoreError('broken'))

describe('/healthz', () => {
  test('stopping, store broken - 200', async () => {
    const { context } = await startHarness()
    const app = createApp({ ...context, store: { ...context.store, ping: failPing } }, () => true)
    const seen = await fetchPath({ app }, '/healthz')
    expect([seen.status, seen.text]).toEqual([200, '{"status":"ok"}'])
  })

  test('many requests - use neither catalog nor store', async () => {
    const harness = await startHarness()
    await fetchPath(harness, '/healthz')
    expect(harness.catalog.calls).toEqual([])
  })
})

describe('/readyz', () => {
  test('working catalog - ready, with the reason', async () => {
    expect(await readReadiness(await startHarness())).toMatchObject({
      status: 200,
      cache: 'no-store',
      ready: true,
      reason: 'the channels are known',
    })
  })

  test('catalog down, nothing stored - not ready', async () => {
    const harness = await startHarness()
    FAILING(harness)
    expect(await readReadiness(harness)).toMatchObject({
      status: 503,
      cache: 'no-store',
      ready: false,
      reason: 'the channels could not be listed yet',
    })
  })

  test('catalog that lists no channel - not ready, with the reason', async () => {
    const harness = await startHarness()
    harness.catalog.channels = []
    expect(await readReadiness(harness)).toMatchObject({
      status: 503,
      ready: false,
      reason: 'the catalog lists no channel that this server serves; check the key and VITRINE_CHANNELS',
    })
  })

  test('empty channel list on a server with channels - ready, and the detail has the time', async () => {
    const harness = await startStockedHarness(undefined, WITH_PASSWORD)
    harness.catalog.channels = []
    harness.clock.advance(HOUR_MS)
    await harness.context.walks.runNow()
    const { status, detail } = (await readReadiness(harness, ADMIN)) as { status: number; detail: unknown }
    expect([status, detail]).toMatchObject([
      200,
      { heldChannelList: { since: new Date(NOON_MS + HOUR_MS).toISOString() } },
    ])
  })

  test('catalog down, list of channels in the copy - ready without a call', async () => {
    const harness = await startHarness()
    FAILING(harness)
    await harness.context.store.putChannelList(harness.catalog.channels.slice(), harness.clock.nowMs())
    expect(await readReadiness(harness)).toMatchObject({ status: 200, ready: true })
    expect(harness.catalog.calls).toEqual([])
  })

  test('stopping - not ready', async () => {
    const { context } = await startStockedHarness()
    let isStopping = false
    const app = createApp(context, () => isStopping)
    expect(await readReadiness({ app })).toMatchObject({ status: 200, ready: true })
    isStopping = true
    expect(await readReadiness({ app })).toEqual({
      status: 503,
      cache: 'no-store',
      ready: false,
      reason: 'stopping',
    })
  })

  test('unreadable store - not ready although channels are in memory; ready after recovery', async () => {
    const { context, clock } = await startStockedHarness()
    await context.channels.listChannels()
    let isBroken = true
    const ping = (): Promise<void> => (isBroken ? Promise.reject(new StoreError('x')) : Promise.resolve())
    const app = createApp({ ...context, store: { ...context.store, ping } })
    expect(await readReadiness({ app })).toMatchObject({
      status: 503,
      ready: false,
      reason: 'the stored copy cannot be read',
    })
    isBroken = false
    clock.advance(SECOND_MS)
    expect(await readReadiness({ app })).toMatchObject({ status: 200, ready: true })
  })

  test('HEAD - the status without a body', async () => {
    const seen = await request((await startHarness()).app).head('/readyz')
    expect([seen.status, seen.text]).toEqual([200, undefined])
  })
})

describe('/readyz, detail', () => {
  const NOTHING = { walk: 0, refresh: 0, lookup: 0 }

  test('walked, no limit known - store, catalog, calls and the copy', async () => {
    const harness = await startStockedHarness(undefined, WITH_PASSWORD)
    harness.clock.advance(90 * SECOND_MS + 400)
    expect(await readReadiness(harness, ADMIN)).toMatchObject({
      detail: {
        store: { isUp: true, lastFailure: null },
        catalog: { breaker: 'closed', limitedUntil: null, keyRefusedUntil: null },
        quota: {
          dailyLimit: null,
          isLearned: false,
          callsToday: { walk: 2, refresh: 0, lookup: 0 },
          callsLeft: null,
        },
        copies: [{ channel: CHANNEL_ID, ageSeconds: 90, products: 1, deals: 1, observedDays: { all: 1 } }],
      },
    })
  })

  test('limit set - calls left', async () => {
    const settings = { ...WITH_PASSWORD.settings, VITRINE_CATALOG_DAILY_LIMIT: '100' }
    expect(await readReadiness(await startStockedHarness(undefined, { settings }), ADMIN)).toMatchObject({
      detail: {
        quota: { dailyLimit: 100, isLearned: false, callsLeft: { walk: 48, refresh: 40, lookup: 10 } },
      },
    })
  })

  test('limit learned the day before - is marked as learned', async () => {
    const harness = await startStockedHarness(undefined, WITH_PASSWORD)
    const nowMs = harness.clock.nowMs()
    await harness.context.store.updateQuota(nowMs, (state) => ({
      ...state,
      limitedAtMs: nowMs - 24 * 60 * MINUTE_MS,
      learnedCalls: 1_000,
    }))
    expect(await readReadiness(harness, ADMIN)).toMatchObject({
      detail: { quota: { dailyLimit: 1_000, isLearned: true } },
    })
  })

  test('429 - end of the pause; null afterwards', async () => {
    const harness = await startStockedHarness(undefined, WITH_PASSWORD)
    await harness.context.callPolicy.pauseUntil(harness.clock.nowMs() + MINUTE_MS)
    const limitedUntil = '2026-11-21T12:01:00.000Z'
    expect(await readReadiness(harness, ADMIN)).toMatchObject({
      ready: true,
      detail: { catalog: { limitedUntil } },
    })
    harness.clock.advance(MINUTE_MS)
    expect(await readReadiness(harness, ADMIN)).toMatchObject({ detail: { catalog: { limitedUntil: null } } })
  })

  test('key rejected - end of the pause, without the key', async () => {
    const harness = await startHarness({ ...WITH_PASSWORD, key: 'refused-key-of-the-test' })
    await fetchPath(harness, BOX)
    const seen = await fetchPath(harness, '/readyz', ADMIN)
    expect(JSON.parse(seen.text)).toMatchObject({
      detail: {
        catalog: { keyRefusedUntil: '2026-11-21T12:00:05.000Z' },
        quota: { callsToday: { lookup: 1 } },
      },
    })
    expect(seen.text).not.toMatch(new RegExp(`refused-key|${FAKE_KEY}`))
  })

  test('failing store - last failure with the message of the database, and no copies', async () => {
    const harness = await startStockedHarness(undefined, WITH_PASSWORD)
    const { context } = harness
    await context.store.close()
    expect(await readReadiness(harness, ADMIN)).toMatchObject({
      status: 503,
      ready: false,
      detail: {
        store: { isUp: false, lastFailure: { at: '2026-11-21T12:00:00.000Z', reason: expect.any(String) } },
        copies: [],
      },
    })
  })

  test('walk and channel list held - since when, unless a clock was wrong', async () => {
    const harness = await startHarness(WITH_PASSWORD)
    const { catalog, clock, context } = harness
    catalog.products.set(
      CHANNEL_ID,
      Array.from({ length: 100 }, (_, index) => makeWireProduct({ gtin: toGtin(index) })),
    )
    await context.walks.runNow()
    expect(await readReadiness(harness, ADMIN)).toMatchObject({
      detail: { walks: { callsPerDay: 48 }, heldChannelList: null, copies: [{ heldWalk: null }] },
    })
    clock.advance(HOUR_MS)
    catalog.products.set(CHANNEL_ID, [])
    await context.walks.runNow()
    catalog.channels = []
    await context.walks.runNow()
    const since = new Date(NOON_MS + HOUR_MS).toISOString()
    const heldWalk = { since, reason: 'it found 0 products where the copy has 100', products: 0 }
    expect(await readReadiness(harness, ADMIN)).toMatchObject({
      detail: { heldChannelList: { since }, copies: [{ heldWalk }] },
    })
    clock.step(-HOUR_MS)
    expect(await readReadiness(harness, ADMIN)).toMatchObject({
      detail: { heldChannelList: { since: null }, copies: [{ heldWalk: { ...heldWalk, since: null } }] },
    })
  })

  test('not walked yet - no copies, no calls', async () => {
    const harness = await startHarness(WITH_PASSWORD)
    FAILING(harness)
    await harness.context.store.putChannelList(harness.catalog.channels.slice(), harness.clock.nowMs())
    expect(await readReadiness(harness, ADMIN)).toMatchObject({
      detail: { copies: [], quota: { callsToday: NOTHING } },
    })
  })
})

/** Return the status and the keys of the body. */
async function readStatus(
  harness: Pick<Harness, 'app'>,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const seen = await fetchPath(harness, '/readyz', headers)
  expect(seen.headers['www-authenticate']).toBeUndefined()
  return [seen.status, ...Object.keys(JSON.parse(seen.text) as object)]
}

describe('/readyz, access to the detail', () => {
  const PUBLIC = [200, 'ready', 'reason']
  const WHOLE = [...PUBLIC, 'detail']

  test('with a password - clients that send it; others get the same status without the detail', async () => {
    const harness = await startStockedHarness(undefined, WITH_PASSWORD)
    expect(await readStatus(harness, ADMIN)).toEqual(WHOLE)
    for (const headers of [{}, WRONG, { Authorization: 'Basic' }, { Authorization: 'Bearer p' }])
      expect(await readStatus(harness, headers)).toEqual(PUBLIC)
  })

  test('without a password, remote catalog - no client', async () => {
    const harness = await startStockedHarness()
    for (const headers of [{}, ADMIN]) expect(await readStatus(harness, headers)).toEqual(PUBLIC)
  })

  test('without a password, local demo - local requests, but none through a proxy', async () => {
    const { context } = await startStockedHarness()
    const app = createApp({ ...context, config: { ...context.config, catalog: { kind: 'embedded' } } })
    expect(await readStatus({ app })).toEqual(WHOLE)
    expect(await readStatus({ app }, { 'X-Forwarded-For': '192.0.2.1' })).toEqual(PUBLIC)
    expect(await readStatus({ app }, { Host: 'evil.example' })).toEqual(PUBLIC)
  })

  test('wrong passwords - are counted and lock the detail, but not the status', async () => {
    const harness = await startStockedHarness(undefined, WITH_PASSWORD)
    for (let tries = 0; tries < 10; tries += 1) expect(await readStatus(harness, WRONG)).toEqual(PUBLIC)
    expect((await fetchPath(harness, '/metrics', ADMIN)).status).toBe(429)
    for (const headers of [{}, WRONG, ADMIN]) expect(await readStatus(harness, headers)).toEqual(PUBLIC)
  })

  test('not ready, stopping - the reason for all clients', async () => {
    const { context } = await startStockedHarness(undefined, WITH_PASSWORD)
    const broken = createApp({ ...context, store: { ...context.store, ping: failPing } })
    for (const app of [broken, createApp(context, () => true)])
      expect(await readStatus({ app })).toEqual([503, 'ready', 'reason'])
  })
})

describe('/readyz, many requests', () => {
  test('within a second - the store is read once, and its result is reported', async () => {
    const { context, clock } = await startStockedHarness()
    await context.channels.listChannels()
    let pings = 0
    let isBroken = false
    const ping = (): Promise<void> => {
      pings += 1
      return isBroken ? failPing() : Promise.resolve()
    }
    const app = createApp({ ...context, store: { ...context.store, ping } })
    await Promise.all(Array.from({ length: 20 }, () => fetchPath({ app }, '/readyz')))
    isBroken = true
    clock.advance(SECOND_MS - 1)
    expect((await fetchPath({ app }, '/readyz')).status).toBe(200)
    expect(pings).toBe(1)
    clock.advance(1)
    expect((await fetchPath({ app }, '/readyz')).status).toBe(503)
    expect(pings).toBe(2)
  })
})

describe('/metrics', () => {
  const settings = { VITRINE_ADMIN_PASSWORD: 'p' }
  const headers = { Authorization: `Basic ${Buffer.from('admin:p').toString('base64')}` }

  test('responses - are counted, and the page is not stored', async () => {
    const harness = await startStockedHarness(undefined, { settings })
    for (const path of [BOX, BOX, `${BOX}?limit=0`, '/nothing']) await fetchPath(harness, path)
    const seen = await fetchPath(harness, '/metrics', headers)
    expect(seen.headers['cache-control']).toBe('no-store')
    const counts = seen.text.split('\n').filter((line) => line.startsWith('vitrine_http_responses_total'))
    expect(counts.toSorted()).toEqual([
      'vitrine_http_responses_total{surface="fragment where-to-buy",state="shown",cache="hit"} 2',
      'vitrine_http_responses_total{surface="fragment",state="invalid",cache="none"} 1',
      'vitrine_http_responses_total{surface="page",state="invalid",cache="none"} 1',
    ])
  })

  test('health check - is not counted as a response', async () => {
    const harness = await startHarness({ settings })
    await fetchPath(harness, '/healthz')
    await fetchPath(harness, '/readyz')
    expect((await fetchPath(harness, '/metrics', headers)).text).not.toMatch(
      /^vitrine_http_responses_total\{/m,
    )
  })

  /** Names and labels of the vitrine series. */
  async function listSeries(harness: Harness): Promise<string[]> {
    const { text } = await fetchPath(harness, '/metrics', headers)
    const lines = text.split('\n').filter((line) => line.startsWith('vitrine_'))
    return lines.map((line) => line.slice(0, line.lastIndexOf(' '))).toSorted()
  }

  test('two hundred invented addresses, GTINs, channels and options - create no new series', async () => {
    const harness = await startStockedHarness(undefined, { settings })
    const visitAll = async (index: number): Promise<void> => {
      const channel = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
      const gtin = toGtin(500_000 + index)
      for (const path of [
        `/made-up/${index}?q=${index}`,
        `/fragments/${CHANNEL_ID}/where-to-buy/${gtin}`,
        `/embeds/${CHANNEL_ID}/where-to-buy/${gtin}?made-up-${index}=1`,
        `/fragments/${CHANNEL_ID}/where-to-buy/x${index}`,
        `/fragments/${channel}/deals`,
        `/embeds/${channel}/where-to-buy/${gtin}`,
        `${GRID}?q=words-${index}`,
        `${BOX}?merchant=shop-${index}`,
        `${BOX_EMBED}?limit=${index}x`,
        `/accents/${String(index).padStart(6, '0')}.css`,
      ])
        await fetchPath(harness, path)
    }
    await visitAll(0)
    const before = await listSeries(harness)
    for (let index = 1; index <= 20; index += 1) await visitAll(index)
    expect(await listSeries(harness)).toEqual(before)
    expect(before.join('\n')).not.toMatch(/made-up|words-|shop-|0000-4000|5000/)
    expect(before.length).toBeLessThan(60)
  })

  test('state - current calls, copy and caches', async () => {
    const harness = await startStockedHarness(undefined, {
      settings: { ...settings, VITRINE_CATALOG_DAILY_LIMIT: '100' },
    })
    await fetchPath(harness, BOX)
    harness.clock.advance(MINUTE_MS)
    const { text } = await fetchPath(harness, '/metrics', headers)
    for (const line of [
      'vitrine_store_up 1',
      'vitrine_catalog_calls_today{share="walk"} 2',
      'vitrine_catalog_calls_left{share="walk"} 48',
      'vitrine_catalog_daily_limit{known="set"} 100',
      'vitrine_catalog_breaker_state 0',
      `vitrine_copy_age_seconds{channel="${CHANNEL_ID}"} 60`,
      `vitrine_copy_products{channel="${CHANNEL_ID}"} 1`,
      'vitrine_cache_entries{cache="responses"} 1',
    ])
      expect(text.split('\n')).toContain(line)
  })
})
