import type { CallGate } from '../catalog/call-gate.ts'
import type { KeySource } from '../config/key-source.ts'
import type { ClockWatch } from '../observability/clock-watch.ts'
import { type Clock, HOUR_MS, MINUTE_MS, SECOND_MS, systemClock } from '../clock.ts'
import { toDatabaseText } from '../config/database-address.ts'
import type { Config } from '../config/config.ts'
import { CatalogKeyRefusedError, NoChannelsError, WalkError, WalkHeldError } from '../errors.ts'
import { createBackoff } from '../lib/backoff.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { createLeaseOwner } from '../storage/lease-owner.ts'
import { HOLD_REMEDY } from './held-walk.ts'
import {
  JUST_WALKED_MS,
  type UrgentWalk,
  findUrgent,
  isWalkDue,
  readServedCopies,
  runSchedule,
} from './walk-schedule.ts'
import type { CopyStore } from '../storage/store.ts'
import type { ChannelWalk, WalkProgress, WalkReport, WalkRunner, WalkWatch } from './walk-runner.ts'

/**
 * `isAccepted`: the walk is believed, however little of the copy it leaves. `channelIds`: only these are walked, and a list without
 * channels is not accepted.
 */
export type WalkNowOptions = Pick<WalkWatch, 'onProgress'> &
  Readonly<{ isAccepted?: boolean; channelIds?: readonly string[] | undefined }>

/** Why a walk is made: an operator ordered it (`told`), it is scheduled, or it is urgent. */
type Occasion = Omit<WalkNowOptions, 'onProgress'> &
  Readonly<{ why: 'told' | 'scheduled' | UrgentWalk['why'] }>

/** What the walks are made of. */
export type WalksDetails = Readonly<{
  config: Config
  clock: Clock
  logger: Logger
  metrics: Metrics
  gate: CallGate
  store: CopyStore
  clocks: Pick<ClockWatch, 'note'>
  catalog: Readonly<{ baseUrl: string; key: KeySource; identity: string }>
  ownOrigin: string
  /** `null`: another process makes the walks. */
  walkRunner: WalkRunner | null
}>

/** Waits after failed first walks, until one succeeds: without a copy there are no grids. */
const FIRST_WALK_WAITS = { firstMs: MINUTE_MS, longestMs: 15 * MINUTE_MS } as const

/** Up to twice this passes between two looks for walks of processes that have died; with the lease that is within a minute. */
const WATCH_WAITS = { firstMs: 5 * SECOND_MS, longestMs: 15 * MINUTE_MS, jitterShare: 1 } as const

/** The walks of one process: on a schedule, at a start without a copy, and on demand. */
export class Walks {
  readonly #details: WalksDetails
  /** When walks are made; `null`: none by itself. */
  readonly #pattern: string | null
  readonly #stopping = new AbortController()
  readonly #signal: AbortSignal = this.#stopping.signal
  #running: Promise<WalkReport> | undefined
  #isRetrying = false

  /** Nothing runs before `start` or `runNow`. */
  constructor(details: WalksDetails) {
    this.#details = details
    this.#pattern = details.walkRunner === null ? null : details.config.syncCron
  }

  /** Start the schedule, and `ensureCopied`. Resolves when that walk has ended, or waits for its share of the daily limit. */
  async start(): Promise<void> {
    if (this.#pattern !== null) {
      const { clock } = this.#details
      void runSchedule(this.#pattern, () => this.runIfDue(), { clock, signal: this.#signal })
      void this.#watchOthers()
    }
    await this.ensureCopied()
  }

  /** Walk when the daily limit allows it, as the schedule does. */
  async runIfDue(): Promise<void> {
    if (await isWalkDue(this.#details)) await this.#runQuietly({ why: 'scheduled' })
  }

  /** Walk when a served channel has no copy, as at a start: the store may be another one now. */
  async ensureCopied(): Promise<void> {
    if (this.#pattern === null) return
    const isCopied = await this.#hasCopies().catch(() => undefined)
    if (isCopied === true) return
    // What cannot be read now may be there: the retries look again.
    if (isCopied === false) await this.#runQuietly({ why: 'scheduled' })
    if (this.#isRetrying) return
    this.#isRetrying = true
    void this.#retryUntilCopied().finally(() => {
      this.#isRetrying = false
    })
  }

  /** Go on with walks whose process has died, and walk copies whose time is of the future. Return whether there were any. */
  async takeOver(): Promise<boolean> {
    const occasion = await findUrgent(this.#details)
    if (occasion !== undefined) await this.#runQuietly(occasion)
    return occasion !== undefined
  }

  /** Walk now, without waiting for any share, or wait for the walk that is under way. */
  runNow({ onProgress, ...options }: WalkNowOptions = {}): Promise<WalkReport> {
    return this.#run({ ...options, why: 'told' }, onProgress)
  }

  /** End the schedule and the walk under way; what it has stored stays and is resumed. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running?.catch(() => {})
  }

  /** Join the walk under way, or begin one. */
  #run(occasion: Occasion, onProgress: WalkWatch['onProgress']): Promise<WalkReport> {
    const watch = { signal: this.#signal, ...(onProgress && { onProgress }) }
    this.#running ??= runWithFreshKey(this.#details, occasion, watch)
      .then((report) => noteReport(this.#details, report))
      .finally(() => {
        this.#running = undefined
      })
    return this.#running
  }

  /** Resolves as soon as the walk waits, too: it may do so for hours. */
  #runQuietly(occasion: Occasion): Promise<void> {
    const { logger } = this.#details
    return new Promise((resolve) => {
      let hasWaited = false
      const onProgress = ({ isWaiting, channel, productCount }: WalkProgress): void => {
        if (!isWaiting || hasWaited) return
        hasWaited = true
        const walk = { channelId: channel.id, productCount }
        logger.info({ walk }, 'the walk waits for its share of the daily limit')
        resolve()
      }
      this.#run(occasion, onProgress)
        .catch((error: unknown) => logger.error({ err: error }, 'the walk failed'))
        .finally(resolve)
    })
  }

  /** By the machine's clock: a matter between machines. A walk that cannot be taken over now is tried less and less often. */
  async #watchOthers(): Promise<void> {
    const backoff = createBackoff(WATCH_WAITS)
    for (;;) {
      await systemClock.wait(backoff.nextMs(), this.#signal)
      if (this.#signal.aborted) return
      if (!(await this.takeOver())) backoff.reset()
    }
  }

  async #retryUntilCopied(): Promise<void> {
    const backoff = createBackoff(FIRST_WALK_WAITS)
    while (!this.#signal.aborted && !(await this.#hasCopies().catch(() => false))) {
      await this.#details.clock.wait(backoff.nextMs(), this.#signal)
      if (!this.#signal.aborted) await this.#runQuietly({ why: 'scheduled' })
    }
  }

  /** Has every served channel of the last list a complete copy? */
  async #hasCopies(): Promise<boolean> {
    const states = await readServedCopies(this.#details)
    return states.length > 0 && states.every((state) => state.currentWalk > 0)
  }
}

/** A refused key is read again, and if it is another one than the walk had, the walk is tried once more with it. */
async function runWithFreshKey(
  details: WalksDetails,
  occasion: Occasion,
  watch: WalkWatch,
): Promise<WalkReport> {
  const { key } = details.catalog
  const used = key.current()
  const report = await runOnce(details, occasion, watch)
  const refused = CatalogKeyRefusedError.code
  const isRefused = report.failure === refused || report.walks.some((walk) => walk.failure === refused)
  if (!isRefused) return report
  await key.refresh()
  if (key.current().reveal() === used.reveal()) return report
  details.gate.liftKeyPause()
  return runOnce(details, occasion, watch)
}

async function runOnce(details: WalksDetails, occasion: Occasion, watch: WalkWatch): Promise<WalkReport> {
  const { config, clock, catalog, walkRunner } = details
  if (walkRunner === null) throw new WalkError('another process makes the walks')
  if (watch.signal.aborted) throw new WalkError('the server is stopping')
  const { why, isAccepted = false, channelIds } = occasion
  const periodMs = config.findWalkPeriodMs?.(clock.nowMs())
  const order = {
    database: toDatabaseText(config.database),
    catalog: catalog.identity,
    baseUrl: catalog.baseUrl,
    key: catalog.key.current().reveal(),
    timeoutMs: config.catalogTimeoutMs,
    maxBytes: config.catalogMaxBytes,
    ownOrigin: details.ownOrigin,
    channels: channelIds ?? config.channels,
    pausedUntilMs: details.gate.limitedUntilMs(),
    dailyLimit: config.catalogDailyLimit,
    mayWait: why !== 'told',
    isTakeOver: why === 'taken-over',
    walkedSinceMs: why === 'told' ? null : clock.nowMs() - Math.min(JUST_WALKED_MS, (periodMs ?? 0) / 2),
    owner: createLeaseOwner(),
    isAccepted,
    isListAccepted: isAccepted && channelIds === undefined,
    confirmAfterMs: periodMs ?? HOUR_MS,
  }
  return walkRunner(order, watch)
}

/** Log and measure how a walk ended, and keep to the pause that it met. */
async function noteReport(details: WalksDetails, report: WalkReport): Promise<WalkReport> {
  const { gate, logger, metrics, store } = details
  await gate.pauseUntil(report.pausedUntilMs)
  details.clocks.note('catalog', report.clockDifferenceMs)
  for (const call of report.calls) metrics.countCall(call, call.count)
  if (report.failure !== null) logFailure(logger, report)
  for (const walk of report.walks) {
    const state = await store.getCopyState(walk.channelId).catch(() => undefined)
    const completedAtMs = state?.completedAtMs ?? null
    metrics.measureWalk({ ...walk, channel: walk.channelId, completedAtMs })
    metrics.countDrops(walk.drops, walk.channelId)
    logChannelWalk(logger, walk)
  }
  return report
}

function logFailure(logger: Logger, { failure, reason }: WalkReport): void {
  const remedy = failure === WalkHeldError.code ? { remedy: HOLD_REMEDY } : {}
  const words = failure === NoChannelsError.code ? 'nothing to walk' : 'the catalog could not be walked'
  logger.warn({ code: failure, reason, ...remedy }, words)
}

function logChannelWalk(logger: Logger, walk: ChannelWalk): void {
  if (walk.outcome === 'complete') logger.info({ walk, drops: walk.drops }, 'walked a channel')
  // Of several machines all but one find it so.
  else if (walk.outcome === 'busy')
    logger.debug({ walk }, 'another process walks the channel, or has just done so')
  else if (walk.outcome === 'held')
    logger.warn({ walk, remedy: HOLD_REMEDY }, 'a walk was held; the copy before it stays current')
  else logger.warn({ walk }, 'the walk of a channel did not complete; its old copy stays')
}
