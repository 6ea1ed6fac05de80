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
import type { WhereToBuyData } from '../../src/widgets/json-types.ts'
import { CHANNEL_ID, FAKE_KEY, makeWireProduct } from '../helpers/fake-catalog.ts'
import { type Harness, NOON_MS } from '../helpers/harness.ts'
import { type TestServer, startTestServer } from './test-server.ts'
import type { FaultRow } from './matrix.ts'
import { MAX_BYTES } from './matrix-bodies.ts'

/** What is stored about the product when the fault begins, and the page that is visited first. */
export const INITIAL_STATES = [
  { name: 'cold', path: BOX, ageMs: null },
  { name: 'cold, in a frame', path: BOX_EMBED, ageMs: null },
  { name: 'stale', path: BOX, ageMs: 10 * MINUTE_MS },
  { name: 'rescued', path: BOX, ageMs: 2 * HOUR_MS },
] as const

export type InitialState = (typeof INITIAL_STATES)[number]

const OLD_TITLE = 'Before the fault'
const NEW_TITLE = 'After the fault'
const PASSWORD = 'metrics-password'
const LOOK_UP = /\/products\//

/** One fault in the look-ups of one product, from before it until long after. */
export type Scenario = Readonly<{
  harness: Harness
  server: TestServer
  row: FaultRow
  initialState: InitialState
  /** Catalog responses that the fault controls. */
  faultyResponses: readonly ServerResponse[]
  /** Request a page, and record the response for `collectAll`. */
  visit(path?: string): Promise<TestResponse>
  advance(byMs: number): void
  countLookUps(): number
  /** Wait until the catalog has received every counted call. */
  settleCalls(): Promise<void>
  /** Return the counts of look-ups by outcome, from the metrics. */
  readOutcomes(): Promise<Readonly<Record<string, number>>>
  /** Return all responses, logs and metrics as one text. */
  collectAll(): Promise<string>
  unhandled: readonly unknown[]
}>

/** Start a server in its initial state, and a catalog with the fault. */
export async function startScenario(row: FaultRow, initialState: InitialState): Promise<Scenario> {
  // Without jitter a window is exact to the millisecond.
  const random = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => random.mockRestore())
  const harness = await startHarness({
    settings: {
      VITRINE_ADMIN_PASSWORD: PASSWORD,
      VITRINE_CATALOG_MAX_BYTES: String(MAX_BYTES),
      VITRINE_JSON: 'on',
      // Without a schedule no copy counts as complete, so unknown products are looked up.
      VITRINE_SYNC_CRON: 'off',
    },
  })
  // Counts have their own tests; their timer would stand among those of calls.
  vi.spyOn(harness.context.coverage, 'countWidget').mockReturnValue()
  const { catalog, clock, context } = harness
  const server = await startTestServer(harness.app)
  const faultyResponses: ServerResponse[] = []
  const received: string[] = []
  let callsBeforeToday = 0
  if (initialState.ageMs !== null) {
    await stockCatalog(harness, [makeProductOnSale({ title: OLD_TITLE })])
    clock.advance(initialState.ageMs)
  }
  catalog.fault = {
    pathPattern: LOOK_UP,
    respond(request, response) {
      faultyResponses.push(response)
      row.respond(request, response)
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
    faultyResponses,
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

/** Collect unhandled rejections and uncaught exceptions until the end of the test. */
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

/** What a visitor sees of a box, and its cache headers. */
export type BoxState = Readonly<{
  state: 'shown' | 'hidden' | 'unavailable'
  /** `null`: the box is empty. */
  title: string | null
  cacheStatus: string
  cacheControl: string
}>

/** Read what a visitor saw; for an embed, also check the state in its document. */
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

/** Check that the JSON of the box has the same state, title and headers. */
export function expectSameJson(response: TestResponse, expected: BoxState): void {
  const json = JSON.parse(response.text) as WhereToBuyData
  expect(response.status).toBe(200)
  expect({
    isShown: json.state === 'shown',
    title: json.state === 'shown' ? json.product.title : null,
    cacheControl: response.headers['cache-control'],
  }).toEqual({
    isShown: expected.state === 'shown',
    title: expected.title,
    cacheControl: expected.cacheControl,
  })
}

/** Return the product's title, or a description of any other text in the box. */
function readTitle(path: string, html: string): string | null {
  if (html === '' && path.startsWith('/fragments/')) return null
  const text = readVisibleText(html.replace(/<title>.*<\/title>/, ''))
  if (text === '' && path.startsWith('/embeds/')) return null
  return /(?:Before|From|After) (?:the|a) fault/.exec(text)?.[0] ?? `something else: ${text}`
}

/** Create the state of a box whose catalog response is `ageMs` old. */
export function createShownState(
  title: string | null,
  ageMs: number,
  status: 'hit' | 'miss' | 'stale' | 'rescued',
): BoxState {
  const ageSeconds = Math.floor(ageMs / 1_000)
  const maxAgeSeconds = Math.max(60, 300 - ageSeconds)
  // Only prices have a maximum age, so an empty box does not shorten it.
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

/** Create the state without a usable catalog response: the stored copy with its age, or nothing. */
export function createFallbackState({ harness, initialState }: Scenario): BoxState {
  if (initialState.ageMs === null) return UNAVAILABLE
  const ageMs = harness.clock.nowMs() - NOON_MS
  return createShownState(OLD_TITLE, ageMs, ageMs <= HOUR_MS ? 'stale' : 'rescued')
}

/** Two days later the catalog works again: expect the server to recover with one call. */
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

/** Expect that the fault leaked no key and left no unhandled error and no pending timer. */
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
