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
import { parseSerializedAddress } from '../../src/config/database-address.ts'
import type { Context } from '../../src/context.ts'
import { openStoredCopy } from '../../src/storage/stored-copy.ts'
import type { CopyState } from '../../src/storage/store.ts'
import { runWalk } from '../../src/sync/walk.ts'
import { LEASE_MS } from '../../src/storage/walk-leases.ts'
import type { WalkJob, WalkRunner } from '../../src/sync/walk-runner.ts'
import { listRows, makeProductOnSale, startHarness, fetchPath } from '../app/app-client.ts'
import { CHANNEL_ID, makeWireOffer, sendJson } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import { IS_FULL } from '../helpers/property-runs.ts'
import { startAppProcess } from './app-process.ts'

/** Number of random sequences. The seed of a failed run repeats its sequences. */
// oxlint-disable-next-line node/no-process-env -- for a longer run by hand
const { WALK_SEQUENCES_RUNS = IS_FULL ? '10' : '2', WALK_SEQUENCES_SEED } = process.env

/**
 * States of the catalog: all products valid, unreadable prices (a third of the products, one more than half, all), too few
 * products, no products, or no channels.
 */
const CATALOGS = ['good', 'third', 'half', 'malformed', 'shrunken', 'empty', 'unlisted'] as const
type CatalogKind = (typeof CATALOGS)[number]

/**
 * What happens between two visits. `jumpMs`: a clock jump on top of the elapsed time. `takenOverMs`: the walking process crashes
 * after its first page, and this much later another process takes over; `null`: no crash.
 */
type Step = Readonly<{
  catalog: CatalogKind
  passesMs: number
  jumpMs: number
  isRestarted: boolean
  takenOverMs: number | null
}>

const PRODUCTS = Array.from({ length: 100 }, (_, index) => makeProductOnSale({ gtin: toGtin(index) }))
const VISITED = [toGtin(0), toGtin(50), toGtin(99)]
const GRID = `/fragments/${CHANNEL_ID}/deals`
const PAGES = /\/products\?/
/** Fewer products than a walk requests, so that it has several pages. */
const PAGE_PRODUCTS = 40
const PERIOD_MS = HOUR_MS
const SLACK_MS = MINUTE_MS
const RESCUE_MS = 604_800 * SECOND_MS
const NOT_FOUND_MS = 5 * MINUTE_MS
const FRESH_MS = 5 * MINUTE_MS

const steps: Arbitrary<Step[]> = array(
  record({
    catalog: constantFrom(...CATALOGS),
    passesMs: constantFrom(10 * MINUTE_MS, HOUR_MS, 5 * HOUR_MS),
    jumpMs: oneof(
      { weight: 3, arbitrary: constant(0) },
      { weight: 1, arbitrary: constantFrom(-48 * HOUR_MS, -2 * HOUR_MS, 26 * HOUR_MS) },
    ),
    isRestarted: boolean(),
    takenOverMs: oneof(
      { weight: 3, arbitrary: constant(null) },
      { weight: 1, arbitrary: constantFrom(2 * MINUTE_MS, 2 * HOUR_MS, -2 * HOUR_MS) },
    ),
  }),
  { minLength: 3, maxLength: 12 },
)

/** Number of products, from the first, with an unreadable price. */
const MALFORMED: Readonly<Partial<Record<CatalogKind, number>>> = { third: 34, half: 51, malformed: 100 }

function listProducts(kind: CatalogKind): readonly WireProduct[] {
  if (kind === 'empty') return []
  if (kind === 'shrunken') return PRODUCTS.slice(0, 20)
  const offers = [makeWireOffer({ price: '12,50' })]
  return PRODUCTS.map((product, index) => (index < (MALFORMED[kind] ?? 0) ? { ...product, offers } : product))
}

const isOffered = (kind: CatalogKind, gtin: string): boolean =>
  listProducts(kind).findIndex((product) => product.gtin === gtin) >= (MALFORMED[kind] ?? 0)

/** What visitors may expect, modelled without the program's code. */
class ExpectedState {
  /** When each product was last seen in an accepted walk, by the server's clock. */
  readonly #acceptedAtMs = new Map<string, number>()
  /** Consecutive walks with the same result. */
  #similarWalks: Readonly<{ finding: string; startedAtMs: number }>[] = []
  readonly #withdrawn = new Set<string>()
  readonly #notFoundAtMs = new Map<string, number>()
  readonly #hidden: Readonly<{ gtin: string; atMs: number }>[] = []
  #hiddenBeforeSetBack: readonly Readonly<{ gtin: string; atMs: number }>[] = []
  /** When a walk of all products was last accepted; `null`: a worse one may have been accepted since. */
  #completeWalkAtMs: number | null = null

  /** Return how the walk ends; `either`: it repeats an earlier result, so it may be accepted. */
  recordWalk(kind: CatalogKind, startedAtMs: number): 'accepted' | 'held' | 'either' {
    // Without channels no product is requested, and copies stay.
    if (kind === 'unlisted') return 'either'
    const finding = kind === 'half' ? 'malformed' : kind
    if (this.#similarWalks.at(-1)?.finding !== finding) this.#similarWalks = []
    const isConfirmed = this.#similarWalks.some(
      (walk) => walk.startedAtMs <= startedAtMs - PERIOD_MS + SLACK_MS,
    )
    this.#similarWalks.push({ finding, startedAtMs })
    if (kind === 'good' || kind === 'third') {
      this.#recordAccepted(kind, startedAtMs)
      return 'accepted'
    }
    // The accepted copy is now too small to be protected, or malformed: the next similar walk is accepted at once.
    if (isConfirmed) this.#completeWalkAtMs = null
    if (this.#completeWalkAtMs !== null) return 'held'
    for (const gtin of VISITED) this.#withdrawn.add(gtin)
    return 'either'
  }

  #recordAccepted(kind: CatalogKind, startedAtMs: number): void {
    this.#completeWalkAtMs = startedAtMs
    for (const gtin of VISITED)
      if (isOffered(kind, gtin)) {
        this.#acceptedAtMs.set(gtin, startedAtMs)
        this.#withdrawn.delete(gtin)
      } else this.#withdrawn.add(gtin)
  }

  /** Record that the catalog returned 404 for this product. */
  recordNotFound(gtin: string, nowMs: number): void {
    this.#withdrawn.add(gtin)
    this.#notFoundAtMs.set(gtin, nowMs)
  }

  /** Record that a visitor did not see the product. */
  recordHidden(gtin: string, atMs: number): void {
    this.#hidden.push({ gtin, atMs })
  }

  /** Record that the clock was set back: what was cached before may be fresh again. */
  recordSetBack(): void {
    this.#hiddenBeforeSetBack = [...this.#hidden]
  }

  isShown(gtin: string, nowMs: number): boolean {
    // A 404 is cached for five minutes, even if a walk then finds the product. The clock may have jumped back.
    if (Math.abs(nowMs - (this.#notFoundAtMs.get(gtin) ?? Infinity)) <= NOT_FOUND_MS) return false
    const isHiddenOneFresh = this.#hiddenBeforeSetBack.some(
      (hidden) => hidden.gtin === gtin && Math.abs(nowMs - hidden.atMs) <= FRESH_MS,
    )
    if (isHiddenOneFresh) return false
    return !this.#withdrawn.has(gtin) && nowMs - (this.#acceptedAtMs.get(gtin) ?? 0) <= RESCUE_MS
  }

  hasDeals(nowMs: number): boolean {
    return this.#completeWalkAtMs !== null && nowMs - this.#completeWalkAtMs <= RESCUE_MS
  }
}

/** A server that can be restarted, and its catalog. */
class RestartableServer {
  readonly #harness: Harness
  #context: Context
  #seenCalls = 0
  #job: WalkJob | undefined

  constructor(harness: Harness) {
    this.#harness = harness
    this.#context = harness.context
  }

  static async start(): Promise<RestartableServer> {
    const walkRunner: WalkRunner = (job, control) => {
      server.#job = job
      return runWalk(job, control, harness.clock)
    }
    const harness = await startHarness({ over: { walkRunner } })
    const server = new RestartableServer(harness)
    return server
  }

  get clock(): Harness['clock'] {
    return this.#harness.clock
  }

  async restart(): Promise<void> {
    const process = await startAppProcess(this.#harness)
    if (this.#context !== this.#harness.context) await this.#context.dispose()
    this.#context = process.context
  }

  async walk(kind: CatalogKind): Promise<void> {
    this.#stock(kind)
    await this.#context.walks.runNow()
  }

  /** Run a walk whose process crashes after the first page: its lease remains. */
  async walkAndCrash(kind: CatalogKind): Promise<void> {
    this.#stock(kind)
    const overrides = { isTakeover: false, skipWalkedSinceMs: null, channels: null }
    const job = { ...this.#getJob(), ...overrides, owner: 'killed 1 elsewhere' }
    const crash = new AbortController()
    this.#servePages(() => crash.abort())
    await runWalk(job, { signal: crash.signal }, this.clock)
    this.#servePages()
    // An aborted walk releases its lease, a killed one does not: acquire the lease again.
    const store = await openStoredCopy({
      database: parseSerializedAddress(job.database),
      catalog: job.catalog,
      clock: this.clock,
    })
    await store.acquireWalkLease(CHANNEL_ID, { owner: job.owner, forMs: LEASE_MS })
    const progress = await store.beginWalk(CHANNEL_ID, { nowMs: this.clock.nowMs(), resumableSinceMs: 0 })
    await store.close()
    if (progress.productCount !== PAGE_PRODUCTS)
      throw new Error(`the walk stopped after ${progress.productCount} products`)
  }

  async takeOver(): Promise<void> {
    if (!(await this.#context.walks.runUnscheduled())) throw new Error('no walk was taken over')
  }

  /** Return whether the box is shown. */
  async visit(gtin: string): Promise<boolean> {
    return (await this.#visit(`/fragments/${CHANNEL_ID}/where-to-buy/${gtin}`)).length > 0
  }

  /** Return the number of deals in the grid. */
  async visitGrid(): Promise<number> {
    return listRows(await this.#visit(GRID)).length
  }

  /** Return the products that were looked up since the last call. */
  takeLookups(): readonly string[] {
    const { calls } = this.#harness.catalog
    const since = calls.slice(this.#seenCalls)
    this.#seenCalls = calls.length
    return since.flatMap(({ path }) => /products\/(\d+)$/.exec(path)?.[1] ?? [])
  }

  listErrors(): readonly string[] {
    return this.#harness
      .logs()
      .split('\n')
      .filter((line) => line.includes('"level":50'))
  }

  readState(): Promise<CopyState> {
    return this.#context.store.getCopyState(CHANNEL_ID)
  }

  dispose(): Promise<void> {
    return this.#harness.dispose()
  }

  async #visit(path: string): Promise<string> {
    const response = await fetchPath({ app: createApp(this.#context) }, path)
    await this.#context.waitForWrites()
    if (response.status !== 200) throw new Error(`${path} responded with ${response.status}`)
    return response.text
  }

  #stock(kind: CatalogKind): void {
    const { catalog } = this.#harness
    catalog.channels = kind === 'unlisted' ? [] : CHANNELS
    catalog.products.set(CHANNEL_ID, [...listProducts(kind)])
    this.#servePages()
  }

  /** Serve pages of products; `onSecond` replaces the second page. */
  #servePages(onSecond?: () => void): void {
    const { catalog } = this.#harness
    catalog.fault = {
      pathPattern: PAGES,
      respond: (request, response) => {
        const cursor = new URL(request.url ?? '', catalog.url).searchParams.get('cursor') ?? ''
        if (cursor !== '' && onSecond !== undefined) return onSecond()
        const rest = (catalog.products.get(CHANNEL_ID) ?? []).filter(({ gtin }) => gtin > cursor)
        const items = rest.slice(0, PAGE_PRODUCTS)
        const next = rest.length > PAGE_PRODUCTS ? (items.at(-1)?.gtin ?? null) : null
        sendJson(response, 200, { items, next_cursor: next })
      },
    }
  }

  #getJob(): WalkJob {
    if (this.#job === undefined) throw new Error('no walk has run yet')
    return this.#job
  }
}

const CHANNELS = [{ id: CHANNEL_ID, name: 'Magazine', kind: 'website', url: null } as const]

/** One sequence, and the problems found in it. */
class Sequence {
  readonly problems: string[] = []
  readonly #server: RestartableServer
  readonly #expected = new ExpectedState()
  #name = 'begin'

  constructor(server: RestartableServer) {
    this.#server = server
  }

  async begin(): Promise<void> {
    await this.#walk({ catalog: 'good', takenOverMs: null })
  }

  async play(step: Step, index: number): Promise<void> {
    this.#name = `step ${index}, ${step.catalog}`
    this.#advance(step.passesMs + step.jumpMs)
    if (step.isRestarted) await this.#server.restart()
    await this.#walk(step)
    // The second visit sees the result of the background refresh that the first one started.
    await this.#visit(step.catalog)
    await this.#visit(step.catalog)
  }

  async #walk({ catalog, takenOverMs }: Pick<Step, 'catalog' | 'takenOverMs'>): Promise<void> {
    const { clock } = this.#server
    let startedAtMs = clock.nowMs()
    const hasPages = catalog !== 'unlisted' && listProducts(catalog).length > PAGE_PRODUCTS
    if (takenOverMs !== null && hasPages) {
      await this.#server.walkAndCrash(catalog)
      await this.#visit(catalog)
      this.#advance(takenOverMs)
      // The walk resumes after two minutes; after a longer time or a backwards jump it starts again.
      if (takenOverMs !== 2 * MINUTE_MS) startedAtMs = clock.nowMs()
      await this.#server.takeOver()
    } else await this.#server.walk(catalog)
    await this.#checkEnd(this.#expected.recordWalk(catalog, startedAtMs), startedAtMs)
  }

  #advance(byMs: number): void {
    if (byMs < 0) this.#expected.recordSetBack()
    this.#server.clock.advance(byMs)
  }

  async #checkEnd(expected: 'accepted' | 'held' | 'either', startedAtMs: number): Promise<void> {
    const { held, completedStartedAtMs, isRunning } = await this.#server.readState()
    const ended = held === null && completedStartedAtMs === startedAtMs ? 'accepted' : 'held'
    if (isRunning || (expected !== 'either' && ended !== expected)) this.#addProblem(`not ${expected}`)
  }

  async #visit(kind: CatalogKind): Promise<void> {
    const { clock } = this.#server
    for (const gtin of VISITED) {
      const isShown = await this.#server.visit(gtin)
      for (const requestedGtin of this.#server.takeLookups())
        // Without a listed channel, all products exist here, and a 404 is ignored.
        if (!listProducts(kind).some((product) => product.gtin === requestedGtin))
          this.#expected.recordNotFound(requestedGtin, clock.nowMs())
      if (isShown) continue
      if (this.#expected.isShown(gtin, clock.nowMs())) this.#addProblem(`product ${gtin} is not shown`)
      this.#expected.recordHidden(gtin, clock.nowMs())
    }
    const dealCount = await this.#server.visitGrid()
    if (dealCount === 0 && this.#expected.hasDeals(clock.nowMs())) this.#addProblem('the grid is empty')
  }

  #addProblem(problem: string): void {
    this.problems.push(`${this.#name}: ${problem}`)
  }
}

async function play(sequence: readonly Step[]): Promise<void> {
  const server = await RestartableServer.start()
  const run = new Sequence(server)
  await run.begin()
  for (const [index, step] of sequence.entries()) await run.play(step, index)
  const errors = server.listErrors()
  await server.dispose()
  expect(errors).toEqual([])
  expect(run.problems).toEqual([])
}

test(
  'any sequence of walks, take-overs, clock jumps and restarts - boxes and grids stay shown unless the catalog withdrew them',
  async () => {
    const seed = WALK_SEQUENCES_SEED === undefined ? {} : { seed: Number(WALK_SEQUENCES_SEED) }
    await assert(asyncProperty(steps, play), { numRuns: Number(WALK_SEQUENCES_RUNS), ...seed })
  },
  Number(WALK_SEQUENCES_RUNS) * MINUTE_MS,
)
