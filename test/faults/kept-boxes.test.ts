import {
  type Arbitrary,
  array,
  assert,
  asyncProperty,
  boolean,
  constant,
  constantFrom,
  oneof,
  record,
} from 'fast-check'
import { expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import type { WireProduct } from '../../src/catalog/contract.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import type { Context } from '../../src/context.ts'
import { makeSale, startHarness, visit } from '../app/visit.ts'
import { CHANNEL_ID, makeWireOffer } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { startProcess } from './restart.ts'

/** What the catalog says: all is well, nothing, too little, prices that cannot be read, or that there are no channels. */
const CATALOGS = ['good', 'empty', 'shrunken', 'malformed', 'unlisted'] as const
type CatalogKind = (typeof CATALOGS)[number]

/** What happens between two visits. `jumpMs`: how far the clock is set, beside the time that passes. */
type Step = Readonly<{ catalog: CatalogKind; passesMs: number; jumpMs: number; isRestarted: boolean }>

const PRODUCTS = Array.from({ length: 100 }, (_, index) => makeSale({ gtin: toGtin(index) }))
const VISITED = [toGtin(0), toGtin(50), toGtin(99)]
const PERIOD_MS = HOUR_MS
const SLACK_MS = MINUTE_MS
const RESCUE_MS = 604_800 * SECOND_MS

const steps: Arbitrary<Step[]> = array(
  record({
    catalog: constantFrom(...CATALOGS),
    passesMs: constantFrom(10 * MINUTE_MS, HOUR_MS, 5 * HOUR_MS),
    jumpMs: oneof(
      { weight: 3, arbitrary: constant(0) },
      { weight: 1, arbitrary: constantFrom(-48 * HOUR_MS, -2 * HOUR_MS, 26 * HOUR_MS) },
    ),
    isRestarted: boolean(),
  }),
  { minLength: 3, maxLength: 12 },
)

function listProducts(kind: CatalogKind): readonly WireProduct[] {
  if (kind === 'empty') return []
  if (kind === 'shrunken') return PRODUCTS.slice(0, 20)
  if (kind !== 'malformed') return PRODUCTS
  return PRODUCTS.map((product) => ({ ...product, offers: [makeWireOffer({ price: '12,50' })] }))
}

/** What readers may expect: the rule of the test, without any of the program's. */
class Expected {
  /** When each product was last seen in a good walk, by the clock of the server. */
  #goodAtMs = 0
  /** Walks of the products that found the same, in a row. */
  #streak: Readonly<{ kind: CatalogKind; startedAtMs: number }>[] = []
  readonly #withdrawn = new Set<string>()

  noteWalk(kind: CatalogKind, nowMs: number): void {
    // Without channels no product is asked for, and copies stay.
    if (kind === 'unlisted') return
    const isConfirmed = this.#streak.some(
      (walk) => walk.kind === kind && walk.startedAtMs <= nowMs - PERIOD_MS + SLACK_MS,
    )
    if (this.#streak.at(-1)?.kind !== kind) this.#streak = []
    this.#streak.push({ kind, startedAtMs: nowMs })
    if (kind === 'good') {
      this.#goodAtMs = nowMs
      this.#withdrawn.clear()
    } else if (isConfirmed) {
      // What is left has fewer products than are guarded.
      for (const gtin of VISITED) this.#withdrawn.add(gtin)
    }
  }

  /** The catalog answered 404 for one of them. */
  noteNotFound(gtin: string): void {
    this.#withdrawn.add(gtin)
  }

  isShown(gtin: string, nowMs: number): boolean {
    return !this.#withdrawn.has(gtin) && nowMs - this.#goodAtMs <= RESCUE_MS
  }
}

/** A server that is restarted, and the catalog that it calls. */
class Server {
  readonly #harness: Harness
  #context: Context
  #seenCalls = 0

  constructor(harness: Harness) {
    this.#harness = harness
    this.#context = harness.context
  }

  async restart(): Promise<void> {
    const process = await startProcess(this.#harness)
    if (this.#context !== this.#harness.context) await this.#context.dispose()
    this.#context = process.context
  }

  async walk(kind: CatalogKind): Promise<void> {
    const { catalog } = this.#harness
    catalog.channels = kind === 'unlisted' ? [] : CHANNELS
    catalog.products.set(CHANNEL_ID, [...listProducts(kind)])
    await this.#context.walks.runNow()
  }

  /** Is the box shown? */
  async visit(gtin: string): Promise<boolean> {
    const seen = await visit(
      { app: createApp(this.#context) },
      `/fragments/${CHANNEL_ID}/where-to-buy/${gtin}`,
    )
    await this.#context.settle()
    return seen.status === 200 && seen.body.length > 0
  }

  /** Products that the catalog was asked for since the last time. */
  takeLookups(): readonly string[] {
    const { calls } = this.#harness.catalog
    const since = calls.slice(this.#seenCalls)
    this.#seenCalls = calls.length
    return since.flatMap(({ path }) => /products\/(\d+)$/.exec(path)?.[1] ?? [])
  }
}

const CHANNELS = [{ id: CHANNEL_ID, name: 'Magazine', kind: 'website', url: null } as const]

async function play(story: readonly Step[]): Promise<void> {
  const harness = await startHarness()
  const server = new Server(harness)
  const expected = new Expected()
  const { clock } = harness
  const lost: string[] = []
  await server.walk('good')
  expected.noteWalk('good', clock.nowMs())
  for (const [index, step] of story.entries()) {
    clock.advance(step.passesMs + step.jumpMs)
    if (step.isRestarted) await server.restart()
    await server.walk(step.catalog)
    expected.noteWalk(step.catalog, clock.nowMs())
    // The second visit finds what a refresh behind the first one brought.
    for (const gtin of [...VISITED, ...VISITED]) {
      const isShown = await server.visit(gtin)
      for (const asked of server.takeLookups())
        // Where no channel is listed, a 404 is not to be believed.
        if (!listProducts(step.catalog).some((product) => product.gtin === asked))
          expected.noteNotFound(asked)
      if (!isShown && expected.isShown(gtin, clock.nowMs()))
        lost.push(`step ${index}, ${step.catalog}, product ${gtin}`)
    }
  }
  await harness.dispose()
  expect(lost).toEqual([])
}

test('any sequence of walks, clock jumps and restarts - no box is lost that the catalog did not withdraw', async () => {
  await assert(asyncProperty(steps, play), { numRuns: 12 })
}, 60_000)
