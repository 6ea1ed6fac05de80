import type { CallPolicy } from '../catalog/call-policy.ts'
import type { KeySource } from '../config/key-source.ts'
import type { ClockMonitor } from '../observability/clock-monitor.ts'
import { type Clock, HOUR_MS, MINUTE_MS, SECOND_MS, systemClock } from '../clock.ts'
import { serializeDatabaseAddress } from '../config/database-address.ts'
import type { Config } from '../config/config.ts'
import { CatalogKeyRefusedError, NoChannelsError, WalkError, WalkHeldError } from '../errors.ts'
import { createBackoff } from '../lib/backoff.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { createLeaseOwner } from '../storage/lease-owner.ts'
import { HOLD_REMEDY } from './held-walk.ts'
import {
  RECENT_WALK_MS,
  type UnscheduledWalk,
  findUnscheduledWalk,
  isWalkDue,
  readServedCopies,
  runSchedule,
} from './walk-schedule.ts'
import type { CopyStore } from '../storage/store.ts'
import type { ChannelWalkResult, WalkProgress, WalkReport, WalkRunner, WalkControl } from './walk-runner.ts'

/**
 * `isAccepted`: the walk is believed, however little of the copy it leaves. `channelIds`: only these are walked, and a list without
 * channels is not accepted.
 */
export type WalkNowOptions = Pick<WalkControl, 'onProgress'> &
  Readonly<{ isAccepted?: boolean; channelIds?: readonly string[] | undefined }>

/** Why a walk is made: an operator ordered it (`requested`), it is scheduled, or it is urgent. */
type WalkTrigger = Omit<WalkNowOptions, 'onProgress'> &
  Readonly<{ reason: 'requested' | 'scheduled' | UnscheduledWalk['reason'] }>

/** What the walks are made of. */
export type WalkSupervisorDetails = Readonly<{
  config: Config
  clock: Clock
  logger: Logger
  metrics: Metrics
  callPolicy: CallPolicy
  store: CopyStore
  clockMonitor: Pick<ClockMonitor, 'recordSkew'>
  catalog: Readonly<{ baseUrl: string; key: KeySource; identity: string }>
  ownOrigin: string
  /** `null`: another process makes the walks. */
  walkRunner: WalkRunner | null
}>

/** Waits after failed first walks, until one succeeds: without a copy there are no grids. */
const FIRST_WALK_WAITS = { initialMs: MINUTE_MS, maxMs: 15 * MINUTE_MS } as const

/** Up to twice this passes between two looks for walks of processes that have died; with the lease that is within a minute. */
const TAKEOVER_POLL_WAITS = { initialMs: 5 * SECOND_MS, maxMs: 15 * MINUTE_MS, jitterShare: 1 } as const

/** The walks of one process: on a schedule, at a start without a copy, and on demand. */
export class WalkSupervisor {
  readonly #details: WalkSupervisorDetails
  /** When walks are made; `null`: none by itself. */
  readonly #pattern: string | null
  readonly #stopping = new AbortController()
  readonly #signal: AbortSignal = this.#stopping.signal
  #running: Promise<WalkReport> | undefined
  #isRetrying = false

  /** Nothing runs before `start` or `runNow`. */
  constructor(details: WalkSupervisorDetails) {
    this.#details = details
    this.#pattern = details.walkRunner === null ? null : details.config.syncCron
  }

  /** Start the schedule, and `ensureCopied`. Resolves when that walk has ended, or waits for its share of the daily limit. */
  async start(): Promise<void> {
    if (this.#pattern !== null) {
      const { clock } = this.#details
      void runSchedule(this.#pattern, () => this.runIfDue(), { clock, signal: this.#signal })
      void this.#pollForUnscheduledWalks()
    }
    await this.ensureCopied()
  }

  /** Walk when the daily limit allows it, as the schedule does. */
  async runIfDue(): Promise<void> {
    if (await isWalkDue(this.#details)) await this.#runQuietly({ reason: 'scheduled' })
  }

  /** Walk when a served channel has no copy, as at a start: the store may be another one now. */
  async ensureCopied(): Promise<void> {
    if (this.#pattern === null) return
    const hasCopies = await this.#hasCopies().catch(() => undefined)
    if (hasCopies === true) return
    // What cannot be read now may be there: the retries look again.
    if (hasCopies === false) await this.#runQuietly({ reason: 'scheduled' })
    if (this.#isRetrying) return
    this.#isRetrying = true
    void this.#retryUntilCopied().finally(() => {
      this.#isRetrying = false
    })
  }

  /** Go on with walks whose process has died, and walk copies whose time is of the future. Return whether there were any. */
  async runUnscheduled(): Promise<boolean> {
    const trigger = await findUnscheduledWalk(this.#details)
    if (trigger !== undefined) await this.#runQuietly(trigger)
    return trigger !== undefined
  }

  /** Walk now, without waiting for any share, or wait for the walk that is under way. */
  runNow({ onProgress, ...options }: WalkNowOptions = {}): Promise<WalkReport> {
    return this.#run({ ...options, reason: 'requested' }, onProgress)
  }

  /** End the schedule and the walk under way; what it has stored stays and is resumed. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running?.catch(() => {})
  }

  /** Join the walk under way, or begin one. */
  #run(trigger: WalkTrigger, onProgress: WalkControl['onProgress']): Promise<WalkReport> {
    const control = { signal: this.#signal, ...(onProgress && { onProgress }) }
    this.#running ??= runWithFreshKey(this.#details, trigger, control)
      .then((report) => recordReport(this.#details, report))
      .finally(() => {
        this.#running = undefined
      })
    return this.#running
  }

  /** Resolves as soon as the walk waits, too: it may do so for hours. */
  #runQuietly(trigger: WalkTrigger): Promise<void> {
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
      this.#run(trigger, onProgress)
        .catch((error: unknown) => logger.error({ err: error }, 'the walk failed'))
        .finally(resolve)
    })
  }

  /** By the machine's clock: a matter between machines. A walk that cannot be taken over now is tried less and less often. */
  async #pollForUnscheduledWalks(): Promise<void> {
    const backoff = createBackoff(TAKEOVER_POLL_WAITS)
    for (;;) {
      await systemClock.wait(backoff.nextMs(), this.#signal)
      if (this.#signal.aborted) return
      if (!(await this.runUnscheduled())) backoff.reset()
    }
  }

  async #retryUntilCopied(): Promise<void> {
    const backoff = createBackoff(FIRST_WALK_WAITS)
    while (!this.#signal.aborted && !(await this.#hasCopies().catch(() => false))) {
      await this.#details.clock.wait(backoff.nextMs(), this.#signal)
      if (!this.#signal.aborted) await this.#runQuietly({ reason: 'scheduled' })
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
  details: WalkSupervisorDetails,
  trigger: WalkTrigger,
  control: WalkControl,
): Promise<WalkReport> {
  const { key } = details.catalog
  const usedKey = key.current()
  const report = await runOnce(details, trigger, control)
  const refusedCode = CatalogKeyRefusedError.code
  const isRefused =
    report.failure === refusedCode || report.walks.some((walk) => walk.failure === refusedCode)
  if (!isRefused) return report
  await key.refresh()
  if (key.current().reveal() === usedKey.reveal()) return report
  details.callPolicy.endKeyPause()
  return runOnce(details, trigger, control)
}

async function runOnce(
  details: WalkSupervisorDetails,
  trigger: WalkTrigger,
  control: WalkControl,
): Promise<WalkReport> {
  const { config, clock, catalog, walkRunner } = details
  if (walkRunner === null) throw new WalkError('another process makes the walks')
  if (control.signal.aborted) throw new WalkError('the server is stopping')
  const { reason, isAccepted = false, channelIds } = trigger
  const periodMs = config.findWalkPeriodMs?.(clock.nowMs())
  const job = {
    database: serializeDatabaseAddress(config.database),
    catalog: catalog.identity,
    baseUrl: catalog.baseUrl,
    key: catalog.key.current().reveal(),
    timeoutMs: config.catalogTimeoutMs,
    maxBytes: config.catalogMaxBytes,
    ownOrigin: details.ownOrigin,
    channels: channelIds ?? config.channels,
    pausedUntilMs: details.callPolicy.getRateLimitedUntilMs(),
    dailyLimit: config.catalogDailyLimit,
    canWait: reason !== 'requested',
    isTakeover: reason === 'takeover',
    skipWalkedSinceMs:
      reason === 'requested' ? null : clock.nowMs() - Math.min(RECENT_WALK_MS, (periodMs ?? 0) / 2),
    owner: createLeaseOwner(),
    isAccepted,
    isListAccepted: isAccepted && channelIds === undefined,
    confirmAfterMs: periodMs ?? HOUR_MS,
  }
  return walkRunner(job, control)
}

/** Log and measure how a walk ended, and keep to the pause that it met. */
async function recordReport(details: WalkSupervisorDetails, report: WalkReport): Promise<WalkReport> {
  const { callPolicy, logger, metrics, store } = details
  await callPolicy.pauseUntil(report.pausedUntilMs)
  details.clockMonitor.recordSkew('catalog', report.clockSkewMs)
  for (const call of report.calls) metrics.countCall(call, call.count)
  if (report.failure !== null) logFailure(logger, report)
  for (const walk of report.walks) {
    const state = await store.getCopyState(walk.channelId).catch(() => undefined)
    const completedAtMs = state?.completedAtMs ?? null
    metrics.recordWalk({ ...walk, channel: walk.channelId, completedAtMs })
    metrics.countDrops(walk.drops, walk.channelId)
    logChannelWalk(logger, walk)
  }
  return report
}

function logFailure(logger: Logger, { failure, reason }: WalkReport): void {
  const remedy = failure === WalkHeldError.code ? { remedy: HOLD_REMEDY } : {}
  const message = failure === NoChannelsError.code ? 'nothing to walk' : 'the catalog could not be walked'
  logger.warn({ code: failure, reason, ...remedy }, message)
}

function logChannelWalk(logger: Logger, walk: ChannelWalkResult): void {
  if (walk.outcome === 'complete') logger.info({ walk, drops: walk.drops }, 'walked a channel')
  // Of several machines all but one find it so.
  else if (walk.outcome === 'busy')
    logger.debug({ walk }, 'another process walks the channel, or has just done so')
  else if (walk.outcome === 'held')
    logger.warn({ walk, remedy: HOLD_REMEDY }, 'a walk was held; the copy before it stays current')
  else logger.warn({ walk }, 'the walk of a channel did not complete; its old copy stays')
}
