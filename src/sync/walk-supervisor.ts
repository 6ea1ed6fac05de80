import type { CallPolicy } from '../catalog/call-policy.ts'
import type { KeySource } from '../config/key-source.ts'
import { serializeProxies } from '../config/proxies.ts'
import type { Secrets } from '../config/secrets.ts'
import type { ClockMonitor } from '../observability/clock-monitor.ts'
import { type Clock, HOUR_MS, MINUTE_MS, SECOND_MS, systemClock } from '../clock.ts'
import { serializeDatabaseAddress } from '../config/database-address.ts'
import type { Config } from '../config/config.ts'
import { CatalogKeyRefusedError, NoChannelsError, WalkError, WalkHeldError } from '../errors.ts'
import { createBackoff } from '../lib/backoff.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { createLeaseOwner } from '../database/leases.ts'
import { HOLD_REMEDY } from './held-walk.ts'
import {
  RECENT_WALK_MS,
  type UnscheduledWalk,
  findUnscheduledWalk,
  isWalkDue,
  readServedCopies,
  readWalkPlan,
  runSchedule,
} from './walk-schedule.ts'
import { type WalkProblem, describeWalkProblem } from './walk-plan.ts'
import type { ShopEntry } from '../offers/shop-book.ts'
import type { CopyStore } from '../storage/store.ts'
import type { ChannelWalkResult, WalkProgress, WalkReport, WalkRunner, WalkControl } from './walk-runner.ts'

/** `isAccepted`: accept even a suspicious walk. `channelIds`: walk only these, and do not accept an empty list of channels. */
export type WalkNowOptions = Pick<WalkControl, 'onProgress'> &
  Readonly<{ isAccepted?: boolean; channelIds?: readonly string[] | undefined }>

/** `requested`: by an operator. */
type WalkTrigger = Omit<WalkNowOptions, 'onProgress'> &
  Readonly<{ reason: 'requested' | 'scheduled' | UnscheduledWalk['reason'] }>

export type WalkSupervisorOptions = Readonly<{
  config: Config
  clock: Clock
  logger: Logger
  metrics: Metrics
  callPolicy: CallPolicy
  store: CopyStore
  clockMonitor: Pick<ClockMonitor, 'recordSkew'>
  catalog: Readonly<{ baseUrl: string; key: KeySource; copyName: string }>
  secrets: Pick<Secrets, 'proxies'>
  ownOrigin: string
  /** `null`: another process runs the walks. */
  walkRunner: WalkRunner | null
  /** Which merchant names are one shop. */
  shops: readonly ShopEntry[]
  /** Called after a walk of this process, once its channels are recorded. It must not throw. */
  onWalkComplete(): Promise<void>
}>

/** Waits between attempts at the first walk: without a copy there are no grids. */
const FIRST_WALK_WAITS = { initialMs: MINUTE_MS, maxMs: 15 * MINUTE_MS } as const

/** Waits between checks for walks of dead processes. With the lease, the first takeover comes within a minute. */
const TAKEOVER_POLL_WAITS = { initialMs: 5 * SECOND_MS, maxMs: 15 * MINUTE_MS, jitterShare: 1 } as const

/** Runs the walks of one process: on a schedule, at startup without a copy, and on demand. */
export class WalkSupervisor {
  readonly #options: WalkSupervisorOptions
  /** Cron pattern; `null`: no automatic walks. */
  readonly #pattern: string | null
  readonly #stopping = new AbortController()
  readonly #signal: AbortSignal = this.#stopping.signal
  #running: Promise<WalkReport> | undefined
  #isRetrying = false
  /** Whether a walk follows the one in progress. */
  #isRequested = false
  /** What the log said last about the schedule, so that it does not say the same after each walk. */
  #loggedProblem: string | null = null
  /** The walk that the log called late. */
  #lateWalk: Promise<WalkReport> | undefined

  constructor(options: WalkSupervisorOptions) {
    this.#options = options
    this.#pattern = options.walkRunner === null ? null : options.config.syncCron
  }

  /** Start the schedule and make the first walk if needed. Resolve when that walk has ended or waits for its daily share. */
  async start(): Promise<void> {
    if (this.#pattern !== null) {
      const { clock } = this.#options
      void runSchedule(this.#pattern, () => this.runIfDue(), {
        clock,
        signal: this.#signal,
        onOverrun: () => void this.#logOverrun(),
      })
      void this.#pollForUnscheduledWalks()
    }
    await this.ensureCopied()
  }

  /** Make a scheduled walk, if it is due and the daily limit allows it. */
  async runIfDue(): Promise<void> {
    if (await isWalkDue(this.#options)) await this.#runQuietly({ reason: 'scheduled' })
  }

  /** Walk when a served channel has no copy: at startup, or after the database was replaced. */
  async ensureCopied(): Promise<void> {
    if (this.#pattern === null) return
    const hasCopies = await this.#hasCopies().catch(() => undefined)
    if (hasCopies === true) return
    // When the store cannot be read, copies may exist: the retries check again.
    if (hasCopies === false) {
      this.#options.logger.info('walking the catalog: there is no stored copy yet')
      await this.#runQuietly({ reason: 'scheduled' })
    }
    if (this.#isRetrying) return
    this.#isRetrying = true
    void this.#retryUntilCopied().finally(() => {
      this.#isRetrying = false
    })
  }

  /** Take over walks of dead processes and repeat walks dated in the future. Return whether there was one. */
  async runUnscheduled(): Promise<boolean> {
    const trigger = await findUnscheduledWalk(this.#options)
    if (trigger !== undefined) await this.#runQuietly(trigger)
    return trigger !== undefined
  }

  /** Walk now, without waiting for the daily share, or join the walk in progress. */
  runNow({ onProgress, ...options }: WalkNowOptions = {}): Promise<WalkReport> {
    return this.#run({ ...options, reason: 'requested' }, onProgress)
  }

  /** Walk after the walk in progress, because the embedded catalog has changed. Without automatic walks, do nothing. */
  requestWalk(): void {
    if (this.#pattern === null || this.#isRequested) return
    this.#isRequested = true
    void this.#waitForRunning().then(() => {
      this.#isRequested = false
      return this.#signal.aborted ? undefined : this.#runQuietly({ reason: 'requested' })
    })
  }

  /** A walk is due while the last one goes on: readers see older prices than the schedule says. */
  async #logOverrun(): Promise<void> {
    if (this.#lateWalk === this.#running) return
    this.#lateWalk = this.#running
    const problem = await this.#findProblem()
    this.#options.logger.warn(
      problem === null ? {} : { reason: problem.message, remedy: problem.remedy },
      'a walk is due, but the last one has not ended',
    )
  }

  /** Tell the operator that the schedule cannot be kept, when that changes. */
  async #logPlan(): Promise<void> {
    const problem = await this.#findProblem()
    const message = problem?.message ?? null
    if (problem !== null && message !== this.#loggedProblem)
      this.#options.logger.warn({ remedy: problem.remedy }, `walks do not keep their schedule: ${message}`)
    this.#loggedProblem = message
  }

  async #findProblem(): Promise<WalkProblem | null> {
    const plan = await readWalkPlan(this.#options).catch(() => null)
    return plan && describeWalkProblem(plan, this.#options.config)
  }

  async #waitForRunning(): Promise<void> {
    await this.#running?.catch(() => {})
  }

  /** Stop the schedule and the walk in progress. The next walk resumes after the stored pages. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running?.catch(() => {})
  }

  #run(trigger: WalkTrigger, onProgress: WalkControl['onProgress']): Promise<WalkReport> {
    const control = { signal: this.#signal, ...(onProgress && { onProgress }) }
    this.#running ??= runWithFreshKey(this.#options, trigger, control)
      .then((report) => recordReport(this.#options, report))
      .then(async (report) => {
        await this.#logPlan()
        return report
      })
      .finally(() => {
        this.#running = undefined
      })
    return this.#running
  }

  /** Run a walk and log its failure. Resolve when it ends or starts to wait, which may take hours. */
  #runQuietly(trigger: WalkTrigger): Promise<void> {
    const { logger } = this.#options
    return new Promise((resolve) => {
      let hasWaited = false
      const onProgress = ({ isWaiting, channel, productCount }: WalkProgress): void => {
        if (!isWaiting || hasWaited) return
        hasWaited = true
        const walk = { channelId: channel.id, productCount }
        logger.info({ walk }, 'walk waits for its share of the daily limit')
        void this.#logPlan()
        resolve()
      }
      this.#run(trigger, onProgress)
        .catch((error: unknown) => logger.error({ err: error }, 'walk ended with an unexpected error'))
        .finally(resolve)
    })
  }

  /** Poll in real time, as other machines do. A walk that cannot be taken over is tried less and less often. */
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
      await this.#options.clock.wait(backoff.nextMs(), this.#signal)
      if (!this.#signal.aborted) await this.#runQuietly({ reason: 'scheduled' })
    }
  }

  /** `true` when every served channel of the last list has a complete copy. */
  async #hasCopies(): Promise<boolean> {
    const states = await readServedCopies(this.#options)
    return states.length > 0 && states.every((state) => state.currentWalk > 0)
  }
}

/** Walk; after a refused key, read the key again and retry once if it has changed. */
async function runWithFreshKey(
  options: WalkSupervisorOptions,
  trigger: WalkTrigger,
  control: WalkControl,
): Promise<WalkReport> {
  const { key } = options.catalog
  const usedKey = key.current()
  const report = await runOnce(options, trigger, control)
  const refusedCode = CatalogKeyRefusedError.code
  const isRefused =
    report.failure === refusedCode || report.walks.some((walk) => walk.failure === refusedCode)
  if (!isRefused) return report
  await key.refresh()
  if (key.current().reveal() === usedKey.reveal()) return report
  options.callPolicy.clearKeyPause()
  return runOnce(options, trigger, control)
}

async function runOnce(
  options: WalkSupervisorOptions,
  trigger: WalkTrigger,
  control: WalkControl,
): Promise<WalkReport> {
  const { config, clock, catalog, walkRunner } = options
  if (walkRunner === null) throw new WalkError('another process runs the walks')
  if (control.signal.aborted) throw new WalkError('the server is stopping')
  const { reason, isAccepted = false, channelIds } = trigger
  const periodMs = config.findWalkPeriodMs?.(clock.nowMs())
  const job = {
    database: serializeDatabaseAddress(config.database),
    catalog: catalog.copyName,
    history: config.history,
    shops: options.shops,
    baseUrl: catalog.baseUrl,
    key: catalog.key.current().reveal(),
    timeoutMs: config.catalogTimeoutMs,
    maxBytes: config.catalogMaxBytes,
    proxies: serializeProxies(options.secrets.proxies),
    ownOrigin: options.ownOrigin,
    channels: channelIds ?? config.channels,
    pausedUntilMs: options.callPolicy.getRateLimitedUntilMs(),
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

/** Log and measure the result of a walk, and apply a rate-limit pause that it met. */
async function recordReport(options: WalkSupervisorOptions, report: WalkReport): Promise<WalkReport> {
  const { callPolicy, logger, metrics, store } = options
  await callPolicy.pauseUntil(report.pausedUntilMs)
  options.clockMonitor.recordSkew('catalog', report.clockSkewMs)
  for (const call of report.calls) metrics.countCall(call, call.count)
  if (report.failure !== null) logFailure(logger, report)
  for (const walk of report.walks) {
    const state = await store.getCopyState(walk.channelId).catch(() => undefined)
    const completedAtMs = state?.completedAtMs ?? null
    metrics.recordWalk({ ...walk, channel: walk.channelId, completedAtMs })
    metrics.countDrops(walk.drops, walk.channelId)
    logChannelWalk(logger, walk)
  }
  if (report.walks.some(({ outcome }) => outcome === 'complete')) await options.onWalkComplete()
  return report
}

function logFailure(logger: Logger, { failure, reason }: WalkReport): void {
  const remedy = failure === WalkHeldError.code ? { remedy: HOLD_REMEDY } : {}
  const message = failure === NoChannelsError.code ? 'walk found no channels' : 'walk failed'
  logger.warn({ code: failure, reason, ...remedy }, message)
}

function logChannelWalk(logger: Logger, walk: ChannelWalkResult): void {
  if (walk.outcome === 'complete') logger.info({ walk, drops: walk.drops }, 'walked a channel')
  // Normal with several machines: only one of them walks.
  else if (walk.outcome === 'busy')
    logger.debug({ walk }, 'skipped a channel: another process walks it or has just walked it')
  else if (walk.outcome === 'held')
    logger.warn({ walk, remedy: HOLD_REMEDY }, 'walk held; the previous copy stays current')
  else logger.warn({ walk }, 'channel walk failed; the previous copy stays current')
}
