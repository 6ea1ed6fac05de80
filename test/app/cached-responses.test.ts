import { once } from 'node:events'
import { type IncomingMessage, type OutgoingHttpHeaders, type RequestListener, request } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import * as fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createApp } from '../../src/app.ts'
import type { Context } from '../../src/context.ts'
import type { ResponseCache } from '../../src/http/response-cache.ts'
import { createLogger } from '../../src/observability/logger.ts'
import { startTestServer } from '../faults/test-server.ts'
import {
  CHANNEL_ID,
  type FaultHandler,
  makeWireOffer,
  makeWireProduct,
  sendJson,
} from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { GTIN, startHarness, stockCatalog } from './app-client.ts'
import { toRunCount } from '../helpers/property-runs.ts'

/** One event that is applied to both servers. */
type Step =
  | Readonly<{ kind: 'request'; method: string; path: string; encoding: string | undefined; tag: Tag }>
  | Readonly<{ kind: 'wait'; ms: number }>
  | Readonly<{
      kind: 'sell'
      price: string
      oldPrice: string | null
      ageMs: number | null
      endsInMs: number | null
    }>
  | Readonly<{ kind: 'withdraw' }>
  | Readonly<{ kind: 'move'; url: string }>
  | Readonly<{ kind: 'walk' }>
  | Readonly<{ kind: 'outage'; outage: Outage | null }>
  /** The clock is set, forward or back. */
  | Readonly<{ kind: 'step'; ms: number }>
type Outage = 'server error' | 'lost connection' | 'page'
type Tag = 'none' | 'last' | 'weak' | 'any' | 'other'

const SECOND = 1_000
const UNSOLD = toGtin(7)
const OTHER_GTIN = toGtin(8)

const anyChannel = fc.constantFrom(
  ...Array<string>(6).fill(CHANNEL_ID),
  CHANNEL_ID,
  CHANNEL_ID.toUpperCase(),
  `%33${CHANNEL_ID.slice(1)}`,
  'nobody',
)
const anyGtin = fc.constantFrom(
  ...Array<string>(4).fill(GTIN),
  GTIN.slice(1),
  OTHER_GTIN,
  UNSOLD,
  `${GTIN.slice(0, -1)}0`,
  'x',
  `${GTIN}/`,
)
const anyLocation = fc.tuple(
  fc.constantFrom('/fragments', '/fragments', '/embeds', '/embeds', '/data', '/FRAGMENTS', '/prefix/embeds'),
  anyChannel,
  fc.oneof(
    { weight: 3, arbitrary: anyGtin.map((gtin) => `/where-to-buy/${gtin}`) },
    { weight: 1, arbitrary: fc.constantFrom('/deals', '/deals/', '/Deals') },
  ),
)
const anyParameter = fc.constantFrom(
  'limit=3',
  'theme=dark',
  'locale=de',
  'locale=DE',
  'layout=table',
  'stock=in',
  'limit=0',
  'merchant=kopje',
  'merchant=nobody',
  'utm_source=x',
  'isolate=shadow',
  'markup=schema',
  'page=2',
  `q=${'a'.repeat(300)}`,
  'x=%',
  'sub=front',
  '#y',
)
const anyPath = fc
  .tuple(anyLocation, fc.array(anyParameter, { maxLength: 2 }))
  .map(([location, parameters]) => {
    const [folder, channel, rest] = location
    return `${folder}/${channel}${rest}${parameters.length === 0 ? '' : '?'}${parameters.join('&')}`
  })
/** Few values, so that they repeat. */
const anyRequest = fc.record({
  kind: fc.constant('request' as const),
  method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'POST'),
  path: anyPath,
  encoding: fc.constantFrom(undefined, 'gzip', 'br, gzip', 'br;q=0, gzip', 'identity'),
  tag: fc.constantFrom<Tag>('none', 'none', 'last', 'weak', 'any', 'other'),
})
const anyChange = fc.oneof(
  fc.record({
    kind: fc.constant('wait' as const),
    ms: fc.constantFrom(1, SECOND, 9 * SECOND, 60 * SECOND, 299_999, 300_000, 300_000, 3_600_001, 90_000_000),
  }),
  fc.record({
    kind: fc.constant('sell' as const),
    price: fc.constantFrom('10.00', '20.00'),
    oldPrice: fc.constantFrom(null, '30.00'),
    ageMs: fc.constantFrom(null, null, -90 * SECOND, 0, 86_300_000),
    endsInMs: fc.constantFrom(null, null, 0, 500, 60 * SECOND, 299_999, 3_600_000),
  }),
  fc.constant({ kind: 'withdraw' } as const),
  fc.record({
    kind: fc.constant('move' as const),
    url: fc.constantFrom('https://a.example', 'https://b.example'),
  }),
  fc.constant({ kind: 'walk' } as const),
  fc.record({
    kind: fc.constant('outage' as const),
    outage: fc.constantFrom<Outage | null>('server error', 'lost connection', 'page', null),
  }),
  fc.record({
    kind: fc.constant('step' as const),
    ms: fc.constantFrom(-7_200_000, -300_000, -30 * SECOND, 30 * SECOND, 600_000, 90_000_000),
  }),
)
const anySteps = fc
  .tuple(
    fc.array(anyRequest, { minLength: 1, maxLength: 4 }),
    fc.array(anyChange, { maxLength: 8 }),
    fc.infiniteStream(fc.nat()),
  )
  .map(([requests, changes, picks]) => {
    const steps: Step[] = []
    for (const change of [...changes, { kind: 'wait', ms: 1 } as const]) {
      for (let count = 0; count < 5; count += 1)
        steps.push(requests[(picks.next().value ?? 0) % requests.length] as Step)
      steps.push(change)
    }
    return steps
  })

/** A response and its frame policy, which is the only part that may be cached longer. */
type RecordedResponse = Readonly<{
  status: number | undefined
  headers: object
  body: string
  policy: string | undefined
}>

/** A server with or without a response cache, otherwise equal. */
type ComparedServer = Readonly<{
  harness: Harness
  run(step: Step): Promise<RecordedResponse | undefined>
  countCached(): number
}>

async function startComparedServer(isCached: boolean): Promise<ComparedServer> {
  const logger = createLogger({ level: 'info', stream: { write: () => {} } })
  const settings = { VITRINE_PUBLIC_URL: 'https://widgets.example/prefix', VITRINE_NOT_FOUND_SECONDS: '60' }
  const harness = await startHarness({ settings, over: { logger } })
  let cachedCount = 0
  const calls = vi.spyOn(harness.context.callPolicy, 'execute')
  const { responses } = harness.context.caches
  const app = withCache(
    harness.context,
    isCached
      ? {
          ...responses,
          sendByTarget: (request, response) => count(responses.sendByTarget(request, response)),
        }
      : WITHOUT_CACHE,
  )
  const count = (isSent: boolean): boolean => {
    if (isSent) cachedCount += 1
    return isSent
  }
  const listening = await startTestServer(app)
  const tags = new Map<string, string>()
  const sendStep = async (step: Step & { kind: 'request' }): Promise<RecordedResponse> => {
    const headers: OutgoingHttpHeaders = { ...toTagHeader(step.tag, tags.get(step.path)) }
    if (step.encoding !== undefined) headers['accept-encoding'] = step.encoding
    const { method, path } = step
    const sent = request({ host: '127.0.0.1', port: listening.port, method, path, headers }).end()
    const [received] = (await once(sent, 'response')) as [IncomingMessage]
    const body = Buffer.concat((await received.toArray()) as Buffer[]).toString('latin1')
    if (received.headers.etag !== undefined) tags.set(step.path, received.headers.etag)
    const {
      date: _date,
      'vitrine-request-id': _id,
      'content-security-policy': policy,
      ...seen
    } = received.headers
    // A stale box is refreshed after its response.
    await Promise.allSettled(calls.mock.results.map(({ value }) => value as Promise<unknown>))
    await setImmediate()
    // A grid may be read before or after a look-up is stored.
    await harness.context.waitForWrites()
    return { status: received.statusCode, headers: seen, body, policy: policy?.toString() }
  }
  return {
    harness,
    countCached: () => cachedCount,
    run: (step) => (step.kind === 'request' ? sendStep(step) : change(harness, step)),
  }
}

const WITHOUT_CACHE: ResponseCache = {
  sendByTarget: () => false,
  sendByKey: () => false,
  findCurrent: () => undefined,
  findLast: () => undefined,
  findBodies: () => undefined,
  set: () => {},
  send: () => {},
  setBodies: () => {},
  addTarget: () => {},
  entryCount: () => 0,
  byteCount: () => 0,
}

const withCache = (context: Context, responses: ResponseCache): RequestListener =>
  createApp({ ...context, caches: { ...context.caches, responses } })

function toTagHeader(tag: Tag, last: string | undefined): OutgoingHttpHeaders {
  const texts = { none: undefined, last, weak: last && `"x", W/${last}`, any: '*', other: '"other"' }
  const text = texts[tag]
  return text === undefined ? {} : { 'if-none-match': text }
}

const toTimestamp = (timeMs: number): string => new Date(timeMs).toISOString()

async function change(harness: Harness, step: Exclude<Step, { kind: 'request' }>): Promise<undefined> {
  const { catalog, clock, context } = harness
  if (step.kind === 'wait') clock.advance(step.ms)
  else if (step.kind === 'step') clock.step(step.ms)
  else if (step.kind !== 'walk') changeCatalog(harness, step)
  // During an outage, a walk would wait.
  else if (catalog.fault === null) {
    await context.walks.runNow()
    // A process notices the walk of another one within a second.
    clock.advance(SECOND)
  }
}

type CatalogStep = Exclude<Step, { kind: 'request' | 'wait' | 'step' | 'walk' }>

function changeCatalog({ catalog, clock }: Harness, step: CatalogStep): void {
  const otherProduct = makeWireProduct({ gtin: OTHER_GTIN, offers: [makeWireOffer({ old_price: '99.80' })] })
  switch (step.kind) {
    case 'sell': {
      const offer = makeWireOffer({
        price: step.price,
        ...(step.oldPrice !== null && { old_price: step.oldPrice }),
        ...(step.ageMs !== null && { checked_at: toTimestamp(clock.nowMs() - step.ageMs) }),
        ...(step.endsInMs !== null && { sale_ends_at: toTimestamp(clock.nowMs() + step.endsInMs) }),
      })
      catalog.products.set(CHANNEL_ID, [otherProduct, makeWireProduct({ offers: [offer] })])
      break
    }
    case 'move':
      catalog.channels = catalog.channels.map((channel) => ({ ...channel, url: step.url }))
      break
    case 'outage':
      catalog.fault = step.outage && { pathPattern: /./, respond: OUTAGES[step.outage] }
      break
    default:
      catalog.products.set(CHANNEL_ID, [otherProduct])
  }
}

const OUTAGES: Readonly<Record<Outage, FaultHandler>> = {
  'server error': (_request, response) => sendJson(response, 503, { error: 'down' }),
  'lost connection': (_request, response) => response.destroy(),
  page: (_request, response) => response.end('<h1>Back soon</h1>'),
}

/** Longest `max-age`, and how long the cached server may use the list of channels that it has in memory. */
const MAX_AGE_MS = 300 * SECOND
const LIST_AGE_MS = 60 * SECOND

/** Frame policies of the uncached server by time. */
type Policies = Map<string | undefined, number>

/**
 * A cached response is never older than its `max-age`. Data of a product or grid expire earlier, so the response equals
 * an uncached one. The site of a channel may be some minutes old, or newer: the two servers refresh it at different times.
 */
async function runOnBoth(
  step: Step,
  {
    cached,
    routed,
    policies,
  }: Readonly<{ cached: ComparedServer; routed: ComparedServer; policies: Policies }>,
): Promise<void> {
  const nowMs = routed.harness.clock.nowMs()
  const expected = await routed.run(step)
  const seen = await cached.run(step)
  if (expected === undefined || seen === undefined) return
  const { policy, ...rest } = seen
  const { policy: newest, ...others } = expected
  expect(rest, JSON.stringify(step)).toEqual(others)
  policies.set(newest, nowMs)
  const [{ url } = { url: null }] = cached.harness.catalog.channels
  if (url !== null && policy?.endsWith(` ${url}`) === true) return
  const ageMs = nowMs - (policies.get(policy) ?? -Infinity)
  expect(ageMs, `${JSON.stringify(step)}: ${policy}`).toBeLessThanOrEqual(MAX_AGE_MS + LIST_AGE_MS)
}

test('random requests, delays, prices, walks, outages and clocks - same responses, calls and counts as without a cache, none older than its max-age', async () => {
  let cachedCount = 0
  // The circuit breakers of both servers wait equally long.
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.5)
  onTestFinished(() => random.mockRestore())
  await fc.assert(
    fc.asyncProperty(anySteps, async (steps) => {
      const [cached, routed] = [await startComparedServer(true), await startComparedServer(false)]
      for (const { harness } of [cached, routed])
        await stockCatalog(harness, [makeWireProduct(), makeWireProduct({ gtin: OTHER_GTIN })])
      const policies: Policies = new Map()
      for (const step of steps) await runOnBoth(step, { cached, routed, policies })
      expect(await countResponses(cached.harness)).toEqual(await countResponses(routed.harness))
      expect(listCalls(cached.harness)).toEqual(listCalls(routed.harness))
      cachedCount += cached.countCached()
      await Promise.all([cached.harness.dispose(), routed.harness.dispose()])
    }),
    { numRuns: toRunCount(25), endOnFailure: true },
  )
  expect(cachedCount).toBeGreaterThan(0)
})

const listCalls = ({ catalog }: Harness): string[] => catalog.calls.map(({ path }) => path)

async function countResponses({ context }: Harness): Promise<string[]> {
  const { text } = await context.metrics.render()
  return text.split('\n').filter((line) => line.startsWith('vitrine_http_responses_total'))
}
