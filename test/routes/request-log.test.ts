import type { Request, Response } from 'express'
import { describe, expect, test } from 'vitest'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { BadOptionError, CatalogDeadlineError } from '../../src/errors.ts'
import type { LogLevel } from '../../src/config/settings.ts'
import { createLogger } from '../../src/observability/logger.ts'
import { logFailure } from '../../src/routes/request-log.ts'
import { BOX, BOX_EMBED, GRID, startHarness, startStockedHarness, fetchPath } from '../app/app-client.ts'
import { CHANNEL_ID, makeWireProduct, sendJson } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'

type Line = Readonly<Record<string, unknown> & { err?: Readonly<{ message: string; stack: string }> }>

const DEBUG = 20
const INFO = 30
const WARN = 40
const ERROR = 50

/** Lines about failed responses, without time and process. */
function listLines(harness: Harness): Line[] {
  const lines = harness
    .logs()
    .split('\n')
    .filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as Line).filter(({ surface }) => surface !== undefined)
}

type Exchange = Readonly<{ request: Request; response: Response }>

/** A request and its response. The client is connected unless `socket` differs. */
function toExchange(path: string, socket: object = {}, isDestroyed = false): Exchange {
  const present = { remoteAddress: '192.0.2.1', destroyed: false }
  return {
    request: { originalUrl: path, socket: { ...present, ...socket } } as unknown as Request,
    response: { locals: {}, destroyed: isDestroyed } as unknown as Response,
  }
}

async function countResponses({ context }: Harness): Promise<string[]> {
  const { text } = await context.metrics.render()
  return text.split('\n').filter((line) => line.startsWith('vitrine_http_responses_total'))
}

describe('failed response', () => {
  test('error with a code - a warning with its code, without a stack', async () => {
    const harness = await startHarness()
    const error = new CatalogDeadlineError('no response in time')
    logFailure(harness.context, { error, surface: 'embed', state: 'unavailable', ...toExchange('/c/deals') })
    const [line] = listLines(harness)
    expect(line).toMatchObject({
      level: WARN,
      code: 'VITRINE_CATALOG_DEADLINE',
      surface: 'embed',
      path: '/c/deals',
      msg: 'no response in time',
    })
    expect(JSON.stringify(line)).not.toContain('stack')
  })

  test.each([
    [new TypeError('x is not a function'), 'x is not a function'],
    [Object.assign(new Error('half an error'), { code: 'VITRINE_FAKE' }), 'half an error'],
  ])('%s - bug: an error with its stack', async (error, message) => {
    const harness = await startHarness()
    logFailure(harness.context, { error, surface: 'page', state: 'unavailable', ...toExchange('/studio') })
    const [line] = listLines(harness)
    expect(line).toMatchObject({
      level: ERROR,
      msg: 'unexpected error; this is a bug',
      surface: 'page',
      path: '/studio',
    })
    expect(line?.err?.message).toBe(message)
    expect(line?.err?.stack).toContain('request-log.test.ts')
  })

  test.each([
    ['address is lost', toExchange('/studio', { remoteAddress: undefined })],
    ['connection is closed', toExchange('/studio', { destroyed: true })],
    ['response is closed', toExchange('/studio', {}, true)],
  ])('any error of a request whose %s - not a bug: a debug line with its stack', async (_case, exchange) => {
    const harness = await startHarness()
    const error = new TypeError('x is not a function')
    logFailure(harness.context, { error, surface: 'page', state: 'unavailable', ...exchange })
    const [line] = listLines(harness)
    expect(line).toMatchObject({ level: DEBUG, msg: 'request failed after the client disconnected' })
    expect(line?.err?.stack).toContain('request-log.test.ts')
  })

  test.each([undefined, null, 'a text', { status: 500 }])(
    'thrown %j - is counted and logged',
    async (error) => {
      const harness = await startHarness()
      logFailure(harness.context, { error, surface: 'page', state: 'unavailable', ...toExchange('/') })
      expect(listLines(harness)).toHaveLength(1)
      expect(await countResponses(harness)).toHaveLength(1)
    },
  )

  test('several failures - are counted by surface and state, never as cached', async () => {
    const harness = await startHarness()
    const error = new BadOptionError('limit', 'a number')
    const recordCall = (surface: string, state: string): void =>
      logFailure(harness.context, { error, surface, state, ...toExchange('/') })
    recordCall('fragment', 'invalid')
    recordCall('fragment', 'invalid')
    recordCall('embed', 'unavailable')
    expect(await countResponses(harness)).toEqual([
      'vitrine_http_responses_total{surface="fragment",state="invalid",cache="none"} 2',
      'vitrine_http_responses_total{surface="embed",state="unavailable",cache="none"} 1',
    ])
  })

  test('request with a secret in its query - only the path is logged', async () => {
    const harness = await startHarness()
    for (const path of [`${BOX}?limit=0&token=secret-7f3a`, '/nothing?token=secret-7f3a'])
      await fetchPath(harness, path)
    expect(listLines(harness).map(({ surface }) => surface)).toEqual(['fragment', 'page'])
    expect(harness.logs()).not.toContain('secret-7f3a')
  })
})

/** Let the catalog respond to each call with 500 after a delay. */
function failCalls({ catalog, clock }: Harness, afterMs = 0): void {
  catalog.fault = {
    pathPattern: /./,
    respond: (_request, response) => {
      clock.advance(afterMs)
      sendJson(response, 500, {})
    },
  }
}

describe('line about a response', () => {
  test('fetched during the request - one complete line, with the duration of the test clock', async () => {
    const harness = await startHarness()
    harness.catalog.products.set(CHANNEL_ID, [makeWireProduct()])
    harness.catalog.fault = {
      pathPattern: /\/products\//,
      respond: (_request, response) => {
        harness.clock.advance(120)
        sendJson(response, 200, makeWireProduct())
      },
    }
    await fetchPath(harness, `${BOX}?limit=3&token=secret-7f3a`)
    const lines = listLines(harness)
    expect(lines).toEqual([
      {
        level: INFO,
        time: expect.any(String),
        requestId: expect.stringMatching(/^[0-9a-f]{16}$/),
        surface: 'fragment where-to-buy',
        state: 'shown',
        cache: 'miss',
        durationMs: 120,
        path: BOX,
        msg: 'response sent',
      },
    ])
  })

  test.each([
    ['box', BOX, 'fragment where-to-buy'],
    ['embed', BOX_EMBED, 'embed where-to-buy'],
  ])('%s from a copy an hour past stale, failing calls - rescued: info', async (...[, path, surface]) => {
    const harness = await startStockedHarness()
    harness.clock.advance(2 * HOUR_MS)
    failCalls(harness)
    await fetchPath(harness, path)
    expect(listLines(harness)).toMatchObject([
      { level: INFO, surface, state: 'shown', cache: 'rescued', path },
    ])
  })

  test('stale - debug', async () => {
    const harness = await startStockedHarness()
    harness.clock.advance(10 * MINUTE_MS)
    await fetchPath(harness, BOX)
    expect(listLines(harness)).toMatchObject([{ level: DEBUG, cache: 'stale', state: 'shown' }])
  })

  test('cached - no line', async () => {
    const harness = await startStockedHarness()
    for (const path of [BOX, BOX, BOX_EMBED, GRID, `${BOX}?theme=dark`]) await fetchPath(harness, path)
    expect(listLines(harness)).toEqual([])
  })

  test('unavailable - a warning with code and duration', async () => {
    const harness = await startHarness()
    failCalls(harness, 70)
    await fetchPath(harness, BOX)
    expect(listLines(harness)).toMatchObject([
      { level: WARN, surface: 'fragment', state: 'unavailable', cache: 'none', durationMs: 70, path: BOX },
    ])
    expect(listLines(harness)[0]?.['code']).toMatch(/^VITRINE_/)
  })

  test.each([
    ['info', ['miss']],
    ['debug', ['miss', 'stale']],
    ['warn', []],
  ] as const)('level %s, a fetched and a stale response - lines %j', async (level: LogLevel, expected) => {
    const lines: string[] = []
    const logger = createLogger({ level, stream: { write: (line) => void lines.push(line) } })
    const harness = await startHarness({ over: { logger } })
    harness.catalog.products.set(CHANNEL_ID, [makeWireProduct()])
    await fetchPath(harness, BOX)
    harness.clock.advance(10 * MINUTE_MS)
    await fetchPath(harness, BOX)
    const caches = lines.map((line) => (JSON.parse(line) as Line)['cache'])
    expect(caches.filter((cache) => cache !== undefined)).toEqual(expected)
  })

  test('page of this server - the response has the id of its log line', async () => {
    const harness = await startHarness()
    const seen = [await fetchPath(harness, '/nothing'), await fetchPath(harness, '/nothing')]
    const ids = listLines(harness).map(({ requestId }) => requestId)
    expect(seen.map(({ headers }) => headers['vitrine-request-id'])).toEqual(ids)
    expect(new Set(ids).size).toBe(2)
  })

  test.each([{}, { VITRINE_TRUST_PROXY: 'loopback' }])(
    'visitor behind a proxy, settings %j - no line has their address, agent or cookie',
    async (settings) => {
      const harness = await startHarness({ settings })
      harness.catalog.products.set(CHANNEL_ID, [makeWireProduct()])
      const headers = {
        'X-Forwarded-For': '198.51.100.77',
        Forwarded: 'for=198.51.100.77',
        'User-Agent': 'agent-of-the-visitor',
        Cookie: 'session=cookie-of-the-visitor',
        Referer: 'https://magazine.example/page-of-the-visitor',
      }
      for (const path of [BOX, '/nothing', `${BOX}?limit=0`]) await fetchPath(harness, path, headers)
      expect(listLines(harness)).toHaveLength(3)
      expect(JSON.stringify(listLines(harness))).not.toMatch(/198\.51|127\.0\.0\.1|::ffff|of-the-visitor/)
    },
  )
})

describe('flood of failing visits', () => {
  test('two hundred in a second - fifty lines, and the next one counts the others', async () => {
    const harness = await startHarness()
    for (let index = 0; index < 200; index += 1) await fetchPath(harness, `/nothing/${index}`)
    expect(listLines(harness)).toHaveLength(50)
    expect(listLines(harness).some(({ leftOut }) => leftOut !== undefined)).toBe(false)
    harness.clock.advance(SECOND_MS)
    await fetchPath(harness, '/nothing/more')
    await fetchPath(harness, '/nothing/again')
    expect(listLines(harness).slice(50)).toMatchObject([{ path: '/nothing/more', leftOut: 150 }, {}])
    expect(listLines(harness).at(-1)).not.toHaveProperty('leftOut')
    expect(await countResponses(harness)).toEqual([
      'vitrine_http_responses_total{surface="page",state="invalid",cache="none"} 202',
    ])
  })

  test('lines below the log level - do not count towards the limit', async () => {
    const lines: string[] = []
    const logger = createLogger({ level: 'warn', stream: { write: (line) => void lines.push(line) } })
    const harness = await startHarness({ over: { logger } })
    for (let index = 0; index < 60; index += 1) await fetchPath(harness, '/nothing')
    expect(lines).toEqual([])
    failCalls(harness)
    await fetchPath(harness, BOX)
    const surfaces = lines.map((line) => (JSON.parse(line) as Line)['surface'])
    expect(surfaces.filter((surface) => surface !== undefined)).toEqual(['fragment'])
  })

  test('bugs - are logged during a flood of other lines', async () => {
    const harness = await startHarness()
    for (let index = 0; index < 60; index += 1) await fetchPath(harness, '/nothing')
    const error = new TypeError('a bug')
    logFailure(harness.context, { error, surface: 'page', state: 'unavailable', ...toExchange('/') })
    expect(listLines(harness).at(-1)).toMatchObject({ level: ERROR, err: { message: 'a bug' } })
  })

  test('fetched and failed responses - share the limit', async () => {
    const harness = await startHarness()
    harness.catalog.products.set(CHANNEL_ID, [makeWireProduct()])
    for (let index = 0; index < 50; index += 1) await fetchPath(harness, '/nothing')
    await fetchPath(harness, BOX)
    expect(listLines(harness)).toHaveLength(50)
  })
})
