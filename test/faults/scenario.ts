import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, vi } from 'vitest'
import { HOUR_MS, MINUTE_MS, computeNextMidnightUtcMs } from '../../src/clock.ts'
import {
  BOX,
  BOX_EMBED,
  GTIN,
  type TestResponse,
  getAttribute,
  listElements,
  makeProductOnSale,
  readVisibleText,
  startHarness,
  stockCatalog,
} from '../app/app-client.ts'
import { CHANNEL_ID, FAKE_KEY, makeWireProduct } from '../helpers/fake-catalog.ts'
import { type Harness, NOON_MS } from '../helpers/harness.ts'
import { type TestServer, startTestServer } from './test-server.ts'
import type { FaultRow } from './matrix.ts'
import { MAX_BYTES } from './matrix-bodies.ts'

/** The stored data of the product when the fault begins, and the surface of the first visit. */
export const INITIAL_STATES = [
  { name: 'cold', path: BOX, ageMs: null },
  { name: 'cold, in a frame', path: BOX_EMBED, ageMs: null },
  { name: 'stale', path: BOX, ageMs: 10 * MINUTE_MS },
  { name: 'rescue', path: BOX, ageMs: 2 * HOUR_MS },
] as const

export type InitialState = (typeof INITIAL_STATES)[number]

const OLD_TITLE = 'Before the fault'
const NEW_TITLE = 'After the fault'
const PASSWORD = 'metrics-password'
const LOOK_UP = /\/products\//

/** One fault of one product, from before until long after it. */
export type Scenario = Readonly<{
  harness: Harness
  server: TestServer
  row: FaultRow
  initialState: InitialState
  /** Number of responses with the fault. */
  heldResponses: readonly ServerResponse[]
  /** Request a path, and record the response for the search for the key. */
  visit(path?: string): Promise<TestResponse>
  advance(byMs: number): void
  countLookUps(): number
  /** Wait until every counted call has arrived at the catalog. */
  settleCalls(): Promise<void>
  /** Outcomes of look-ups with their counts in the metrics. */
  readOutcomes(): Promise<Readonly<Record<string, number>>>
  /** All responses, logs and metrics. */
  collectAll(): Promise<string>
  unhandled: readonly unknown[]
}>

/** Start a server whose fault has just begun. */
export async function startScenario(row: FaultRow, initialState: InitialState): Promise<Scenario> {
  // Without jitter, a pause can be tested to the millisecond.
  const random = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => random.mockRestore())
  const harness = await startHarness({
    settings: {
      VITRINE_ADMIN_PASSWORD: PASSWORD,
      VITRINE_CATALOG_MAX_BYTES: String(MAX_BYTES),
      // Without a schedule no copy counts as complete, so unknown products are looked up.
      VITRINE_SYNC_CRON: 'off',
    },
  })
  const { catalog, clock, context } = harness
  const server = await startTestServer(harness.app)
  const heldResponses: ServerResponse[] = []
  const received: string[] = []
  let callsBeforeToday = 0
  if (initialState.ageMs !== null) {
    await stockCatalog(harness, [makeProductOnSale({ title: OLD_TITLE })])
    clock.advance(initialState.ageMs)
  }
  catalog.fault = {
    pathPattern: LOOK_UP,
    respond(request, response) {
      heldResponses.push(response)
      row.does(request, response)
    },
  }
  const visit = async (path: string = initialState.path): Promise<TestResponse> => {
    const response = await server.visit(path)
    received.push(`${path} ${response.status} ${JSON.stringify(response.headers)} ${response.text}`)
    return response
  }
  const readMetrics = async (): Promise<string> => {
    const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`
    const response = await server.visit('/metrics', { authorization })
    expect(response.status).toBe(200)
    return response.text
  }
  return {
    harness,
    server,
    row,
    initialState,
    heldResponses,
    visit,
    unhandled: collectUnhandled(),
    advance(byMs) {
      if (clock.nowMs() + byMs >= computeNextMidnightUtcMs(clock.nowMs()))
        callsBeforeToday = catalog.calls.length
      clock.advance(byMs)
    },
    countLookUps: () => catalog.countCalls(LOOK_UP),
    async settleCalls() {
      const { calls } = (await context.callPolicy.readState()).quota
      const made = callsBeforeToday + calls.walk + calls.refresh + calls.lookup
      await vi.waitFor(() => expect(catalog.calls.length).toBe(made))
    },
    async readOutcomes() {
      const lines = (await readMetrics()).matchAll(
        /^vitrine_catalog_calls_total\{operation="product",outcome="(\w+)"\} (\d+)$/gm,
      )
      return Object.fromEntries([...lines].map(([, outcome, count]) => [outcome, Number(count)]))
    },
    async collectAll() {
      for (const path of ['/healthz', '/readyz', '/metrics', '/nowhere']) await visit(path)
      return [...received, harness.logs(), await readMetrics()].join('\n')
    },
  }
}

/** Collect unhandled rejections and errors until the end of the test. */
export function collectUnhandled(): readonly unknown[] {
  const unhandled: unknown[] = []
  const record = (reason: unknown): void => void unhandled.push(reason)
  const events = ['unhandledRejection', 'uncaughtException'] as const
  for (const event of events) process.on(event, record)
  onTestFinished(() => {
    for (const event of events) process.off(event, record)
  })
  return unhandled
}

/** The expected response of a visitor. */
export type BoxState = Readonly<{
  state: 'shown' | 'hidden' | 'unavailable'
  /** `null`: nothing. */
  title: string | null
  cacheStatus: string
  cacheControl: string
}>

/** Classify the response of a visitor in the same way; for a frame, the state that its document reports. */
export function readBoxState(path: string, response: TestResponse): BoxState {
  expect(response.status).toBe(200)
  expect(response.headers['content-length']).toBe(String(response.body.length))
  const state = response.headers['vitrine-state'] as BoxState['state']
  if (path.startsWith('/embeds/')) {
    const body = listElements(response.text).find(({ tagName }) => tagName === 'body')
    const documentState = body === undefined ? 'no document' : getAttribute(body, 'data-vitrine-state')
    expect(documentState).toBe(state === 'shown' ? 'shown' : 'hidden')
  }
  return {
    state,
    title: readTitle(path, response.text),
    cacheStatus: response.headers['cache-status'] ?? '',
    cacheControl: response.headers['cache-control'] ?? '',
  }
}

/** Return the title of the product, or a description of any other content. */
function readTitle(path: string, html: string): string | null {
  if (html === '' && path.startsWith('/fragments/')) return null
  const text = readVisibleText(html.replace(/<title>.*<\/title>/, ''))
  if (text === '' && path.startsWith('/embeds/')) return null
  return /(?:Before|From|After) (?:the|a) fault/.exec(text)?.[0] ?? `something else: ${text}`
}

/** The expected response from data that is `ageMs` old. */
export function createShownState(
  title: string | null,
  ageMs: number,
  status: 'hit' | 'miss' | 'stale' | 'rescued',
): BoxState {
  const ageSeconds = Math.floor(ageMs / 1_000)
  const maxAgeSeconds = Math.max(60, 300 - ageSeconds)
  // The maximum age of prices does not apply without a price.
  const ifErrorSeconds = title === null ? 86_400 : 86_400 - ageSeconds
  const statuses = {
    hit: 'vitrine; hit',
    miss: 'vitrine; fwd=miss; stored',
    stale: 'vitrine; fwd=stale; detail=stale',
    rescued: 'vitrine; fwd=stale; detail=rescued',
  }
  return {
    state: title === null ? 'hidden' : 'shown',
    title,
    cacheStatus: statuses[status],
    cacheControl: `public, max-age=${maxAgeSeconds}, stale-while-revalidate=600, stale-if-error=${ifErrorSeconds}`,
  }
}

const UNAVAILABLE: BoxState = {
  state: 'unavailable',
  title: null,
  cacheStatus: 'vitrine; fwd=miss; detail=unavailable',
  cacheControl: 'no-store',
}

/** The expected response while the catalog fails: the copy with its age, or nothing. */
export function createFallbackState({ harness, initialState }: Scenario): BoxState {
  if (initialState.ageMs === null) return UNAVAILABLE
  const ageMs = harness.clock.nowMs() - NOON_MS
  return createShownState(OLD_TITLE, ageMs, ageMs <= HOUR_MS ? 'stale' : 'rescued')
}

/** Long after the fault, the catalog works again, and the server recovers with one call. */
export async function expectRecovery(scenario: Scenario, lookUpsBefore: number): Promise<void> {
  const { harness } = scenario
  harness.catalog.fault = null
  harness.catalog.products.set(CHANNEL_ID, [makeWireProduct({ gtin: GTIN, title: NEW_TITLE })])
  scenario.advance(2 * 24 * HOUR_MS)
  expect(readBoxState(BOX, await scenario.visit(BOX))).toEqual(createShownState(NEW_TITLE, 0, 'miss'))
  expect(readBoxState(BOX_EMBED, await scenario.visit(BOX_EMBED))).toEqual(
    createShownState(NEW_TITLE, 0, 'hit'),
  )
  await scenario.settleCalls()
  expect(scenario.countLookUps()).toBe(lookUpsBefore + 1)
}

/** Check what must be true after any fault: no unhandled error, and no visible key. */
export async function expectCleanProcess(scenario: Scenario): Promise<void> {
  const { harness } = scenario
  const all = await scenario.collectAll()
  for (const encodedKey of [FAKE_KEY, Buffer.from(FAKE_KEY).toString('base64').slice(0, -2)]) {
    expect(
      all.includes(encodedKey),
      all.slice(Math.max(0, all.indexOf(encodedKey) - 200)).slice(0, 400),
    ).toBe(false)
  }
  expect(harness.logs()).not.toContain('a bug')
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  expect(harness.clock.pendingDelaysMs).toEqual([])
  expect(scenario.unhandled).toEqual([])
}
