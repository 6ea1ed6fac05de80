import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, vi } from 'vitest'
import { HOUR_MS, MINUTE_MS, nextMidnightUtcMs } from '../../src/clock.ts'
import {
  BOX,
  BOX_EMBED,
  GTIN,
  type Seen,
  getAttribute,
  listElements,
  makeSale,
  readText,
  startHarness,
  stock,
} from '../app/visit.ts'
import { CHANNEL_ID, FAKE_KEY, makeWireProduct } from '../helpers/fake-catalog.ts'
import { type Harness, NOON_MS } from '../helpers/harness.ts'
import { type Front, openFront } from './front.ts'
import type { FaultRow } from './matrix.ts'
import { MAX_BYTES } from './matrix-bodies.ts'

/** What is known of the product when the fault begins, and where it is looked at first. */
export const BEGINNINGS = [
  { known: 'cold', path: BOX, ageMs: null },
  { known: 'cold, in a frame', path: BOX_EMBED, ageMs: null },
  { known: 'stale', path: BOX, ageMs: 10 * MINUTE_MS },
  { known: 'rescue', path: BOX, ageMs: 2 * HOUR_MS },
] as const

export type Beginning = (typeof BEGINNINGS)[number]

const OLD_TITLE = 'Before the fault'
const NEW_TITLE = 'After the fault'
const PASSWORD = 'metrics-password'
const LOOK_UP = /\/products\//

/** One fault of one product, from before it until long after it. */
export type Trial = Readonly<{
  harness: Harness
  front: Front
  row: FaultRow
  beginning: Beginning
  /** Answers that the fault got hold of. */
  held: readonly ServerResponse[]
  /** Asks, and keeps what came for the search for the key. */
  look(path?: string): Promise<Seen>
  advance(byMs: number): void
  countLookUps(): number
  /** Waits until every call that was counted as made has arrived; so nothing is still on its way. */
  settleCalls(): Promise<void>
  /** Outcomes of look-ups with their counts, as the metrics tell them. */
  readOutcomes(): Promise<Readonly<Record<string, number>>>
  /** Everything that anybody got, the logs and the metrics included. */
  collectAll(): Promise<string>
  unhandled: readonly unknown[]
}>

/** A server before the fault, which has just set in. */
export async function startTrial(row: FaultRow, beginning: Beginning): Promise<Trial> {
  // Without the jitter a window can be tried to the millisecond.
  const random = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => random.mockRestore())
  const harness = await startHarness({
    settings: {
      VITRINE_ADMIN_PASSWORD: PASSWORD,
      VITRINE_CATALOG_MAX_BYTES: String(MAX_BYTES),
      // Without a schedule no copy counts as complete: what is not known is asked for.
      VITRINE_SYNC_CRON: 'off',
    },
  })
  const { catalog, clock, context } = harness
  const front = await openFront(harness.app)
  const held: ServerResponse[] = []
  const got: string[] = []
  let callsBeforeToday = 0
  if (beginning.ageMs !== null) {
    await stock(harness, [makeSale({ title: OLD_TITLE })])
    clock.advance(beginning.ageMs)
  }
  catalog.fault = {
    matches: LOOK_UP,
    does(request, response) {
      held.push(response)
      row.does(request, response)
    },
  }
  const look = async (path: string = beginning.path): Promise<Seen> => {
    const seen = await front.visit(path)
    got.push(`${path} ${seen.status} ${JSON.stringify(seen.headers)} ${seen.text}`)
    return seen
  }
  const readMetrics = async (): Promise<string> => {
    const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`
    const seen = await front.visit('/metrics', { authorization })
    expect(seen.status).toBe(200)
    return seen.text
  }
  return {
    harness,
    front,
    row,
    beginning,
    held,
    look,
    unhandled: watchUnhandled(),
    advance(byMs) {
      if (clock.nowMs() + byMs >= nextMidnightUtcMs(clock.nowMs())) callsBeforeToday = catalog.calls.length
      clock.advance(byMs)
    },
    countLookUps: () => catalog.countCalls(LOOK_UP),
    async settleCalls() {
      const { calls } = (await context.gate.readState()).quota
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
      for (const path of ['/healthz', '/readyz', '/metrics', '/nowhere']) await look(path)
      return [...got, harness.logs(), await readMetrics()].join('\n')
    },
  }
}

/** Rejections and errors that nobody handles, and that end a process, from now to the end of the test. */
export function watchUnhandled(): readonly unknown[] {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)
  const events = ['unhandledRejection', 'uncaughtException'] as const
  for (const event of events) process.on(event, note)
  onTestFinished(() => {
    for (const event of events) process.off(event, note)
  })
  return unhandled
}

/** What a visitor is to get, in the terms of product.md, section 5. */
export type Expected = Readonly<{
  state: 'shown' | 'hidden' | 'unavailable'
  /** `null`: nothing at all. */
  title: string | null
  cacheStatus: string
  cacheControl: string
}>

/** What a visitor got, in the same terms; for a frame what its document reports. */
export function readAnswer(path: string, seen: Seen): Expected {
  expect(seen.status).toBe(200)
  expect(seen.headers['content-length']).toBe(String(seen.body.length))
  const state = seen.headers['vitrine-state'] as Expected['state']
  if (path.startsWith('/embeds/')) {
    const body = listElements(seen.text).find(({ tagName }) => tagName === 'body')
    const reported = body === undefined ? 'no document' : getAttribute(body, 'data-vitrine-state')
    expect(reported).toBe(state === 'shown' ? 'shown' : 'hidden')
  }
  return {
    state,
    title: readTitle(path, seen.text),
    cacheStatus: seen.headers['cache-status'] ?? '',
    cacheControl: seen.headers['cache-control'] ?? '',
  }
}

/** The product's name; for anything else that stands there, what that is. */
function readTitle(path: string, html: string): string | null {
  if (html === '' && path.startsWith('/fragments/')) return null
  const text = readText(html.replace(/<title>.*<\/title>/, ''))
  if (text === '' && path.startsWith('/embeds/')) return null
  return /(?:Before|From|After) (?:the|a) fault/.exec(text)?.[0] ?? `something else: ${text}`
}

/** The answer of what the catalog said `ageMs` ago. */
export function expectAnswer(
  title: string | null,
  ageMs: number,
  status: 'hit' | 'miss' | 'stale' | 'rescued',
): Expected {
  const ageSeconds = Math.floor(ageMs / 1_000)
  const maxAgeSeconds = Math.max(60, 300 - ageSeconds)
  // What has no price is not cut to the age that a price may have.
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

const UNAVAILABLE: Expected = {
  state: 'unavailable',
  title: null,
  cacheStatus: 'vitrine; fwd=miss; detail=unavailable',
  cacheControl: 'no-store',
}

/** The answer without a usable one of the catalog: the copy as it was, with its age, or nothing. */
export function expectKnown({ harness, beginning }: Trial): Expected {
  if (beginning.ageMs === null) return UNAVAILABLE
  const ageMs = harness.clock.nowMs() - NOON_MS
  return expectAnswer(OLD_TITLE, ageMs, ageMs <= HOUR_MS ? 'stale' : 'rescued')
}

/** Long after: the catalog answers again, and so does the server, with one more call. */
export async function expectRecovery(trial: Trial, lookUpsBefore: number): Promise<void> {
  const { harness } = trial
  harness.catalog.fault = null
  harness.catalog.products.set(CHANNEL_ID, [makeWireProduct({ gtin: GTIN, title: NEW_TITLE })])
  trial.advance(2 * 24 * HOUR_MS)
  expect(readAnswer(BOX, await trial.look(BOX))).toEqual(expectAnswer(NEW_TITLE, 0, 'miss'))
  expect(readAnswer(BOX_EMBED, await trial.look(BOX_EMBED))).toEqual(expectAnswer(NEW_TITLE, 0, 'hit'))
  await trial.settleCalls()
  expect(trial.countLookUps()).toBe(lookUpsBefore + 1)
}

/** What holds after any fault, for the process and for the key. */
export async function expectCleanProcess(trial: Trial): Promise<void> {
  const { harness } = trial
  const all = await trial.collectAll()
  for (const form of [FAKE_KEY, Buffer.from(FAKE_KEY).toString('base64').slice(0, -2)]) {
    expect(all.includes(form), all.slice(Math.max(0, all.indexOf(form) - 200)).slice(0, 400)).toBe(false)
  }
  expect(harness.logs()).not.toContain('a bug')
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  expect(harness.clock.pendingDelaysMs).toEqual([])
  expect(trial.unhandled).toEqual([])
}
