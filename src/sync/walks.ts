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
  type Schedule,
  type UrgentWalk,
  computePeriodMs,
  findUrgent,
  isWalkDue,
  readServedCopies,
  startSchedule,
} from './walk-schedule.ts'
import type { CopyStore } from '../storage/store.ts'
import type { WalkProgress, WalkReport, WalkRunner, WalkWatch } from './walk-runner.ts'

/** The walks of one process: on a schedule, at a start without a copy, and on demand. */
export type Walks = Readonly<{
  /** Start the schedule, and `ensureCopied`. Resolves when that walk has ended, or waits for its share of the daily limit. */
  start(): Promise<void>
  /** Walk when the daily limit allows it, as the schedule does. */
  runIfDue(): Promise<void>
  /** Walk when a served channel has no copy, as at a start: the store may be another one now. */
  ensureCopied(): Promise<void>
  /** Go on with walks whose process has died, and walk copies whose time is of the future. Return whether there were any. */
  takeOver(): Promise<boolean>
  /** Walk now, without waiting for any share, or wait for the walk that is under way. */
  runNow(options?: WalkNowOptions): Promise<WalkReport>
  /** End the schedule and the walk under way; what it has stored stays and is resumed. */
  stop(): Promise<void>
}>

/**
 * `isAccepted`: the walk is believed, however little of the copy it leaves. `channelIds`: only these are walked, and a list without
 * channels is not accepted.
 */
export type WalkNowOptions = Pick<WalkWatch, 'onProgress'> &
  Readonly<{ isAccepted?: boolean; channelIds?: readonly string[] | undefined }>

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

/** Create the walks; nothing runs before `start` or `runNow`. */
export function createWalks(details: WalksDetails): Walks {
  const { config, clock, logger } = details
  const pattern = details.walkRunner === null ? null : config.syncCron
  const stopping = new AbortController()
  const { signal } = stopping
  let schedule: Schedule | undefined
  let running: Promise<WalkReport> | undefined
  let isRetrying = false

  /** Join the walk under way, or begin one. */
  const run = (occasion: Occasion, onProgress: NonNullable<WalkWatch['onProgress']>): Promise<WalkReport> => {
    running ??= runWithFreshKey(details, { signal, onProgress, occasion })
      .then((report) => noteReport(details, report))
      .finally(() => {
        running = undefined
      })
    return running
  }

  /** Resolves as soon as the walk waits, too: it may do so for hours. */
  const runQuietly = (occasion: Occasion): Promise<void> =>
    new Promise((resolve) => {
      let hasWaited = false
      const onProgress = ({ isWaiting, channel, productCount }: WalkProgress): void => {
        if (!isWaiting || hasWaited) return
        hasWaited = true
        const walk = { channelId: channel.id, productCount }
        logger.info({ walk }, 'the walk waits for its share of the daily limit')
        resolve()
      }
      run(occasion, onProgress)
        .catch((error: unknown) => logger.error({ err: error }, 'the walk failed'))
        .finally(resolve)
    })

  const runIfDue = async (): Promise<void> => {
    if (await isWalkDue(details)) await runQuietly({ why: 'scheduled' })
  }

  const takeOver = async (): Promise<boolean> => {
    const occasion = await findUrgent(details)
    if (occasion !== undefined) await runQuietly(occasion)
    return occasion !== undefined
  }

  const ensureCopied = async (): Promise<void> => {
    if (pattern === null) return
    const isCopied = await hasCopies(details).catch(() => undefined)
    if (isCopied === true) return
    // What cannot be read now may be there: the retries look again.
    if (isCopied === false) await runQuietly({ why: 'scheduled' })
    if (isRetrying) return
    isRetrying = true
    void retryUntilCopied(details, signal, () => runQuietly({ why: 'scheduled' })).finally(() => {
      isRetrying = false
    })
  }

  return {
    runIfDue,
    ensureCopied,
    takeOver,
    runNow: ({ onProgress = () => {}, isAccepted = false, channelIds } = {}) =>
      run({ why: 'told', isAccepted, channelIds }, onProgress),
    async start() {
      if (pattern !== null) {
        schedule = startSchedule(pattern, clock, runIfDue)
        void watchOthers(signal, takeOver)
      }
      await ensureCopied()
    },
    async stop() {
      stopping.abort()
      schedule?.stop()
      await running?.catch(() => {})
    },
  }
}

/** Why a walk is made: an operator ordered it, it is scheduled, or it is urgent. */
type Occasion =
  | Readonly<
      { why: 'told'; isAccepted: boolean; channelIds: readonly string[] | undefined } | { why: 'scheduled' }
    >
  | UrgentWalk

/** By the machine's clock: a matter between machines. A walk that cannot be taken over now is tried less and less often. */
async function watchOthers(signal: AbortSignal, takeOver: () => Promise<boolean>): Promise<void> {
  const backoff = createBackoff(WATCH_WAITS)
  for (;;) {
    await systemClock.wait(backoff.nextMs(), signal)
    if (signal.aborted) return
    if (!(await takeOver())) backoff.reset()
  }
}

async function retryUntilCopied(
  details: WalksDetails,
  signal: AbortSignal,
  walk: () => Promise<void>,
): Promise<void> {
  const backoff = createBackoff(FIRST_WALK_WAITS)
  while (!signal.aborted && !(await hasCopies(details).catch(() => false))) {
    await details.clock.wait(backoff.nextMs(), signal)
    if (!signal.aborted) await walk()
  }
}

/** Has every served channel of the last list a complete copy? */
async function hasCopies(details: WalksDetails): Promise<boolean> {
  const states = await readServedCopies(details)
  return states.length > 0 && states.every((state) => state.currentWalk > 0)
}

type Watch = WalkWatch & Readonly<{ occasion: Occasion }>

/** A refused key is read again, and if it is another one than the walk had, the walk is tried once more with it. */
async function runWithFreshKey(details: WalksDetails, watch: Watch): Promise<WalkReport> {
  const { key } = details.catalog
  const used = key.current()
  const report = await runOnce(details, watch)
  const refused = CatalogKeyRefusedError.code
  const isRefused = report.failure === refused || report.walks.some((walk) => walk.failure === refused)
  if (!isRefused) return report
  await key.refresh()
  if (key.current().reveal() === used.reveal()) return report
  details.gate.liftKeyPause()
  return runOnce(details, watch)
}

function runOnce(details: WalksDetails, watch: Watch): Promise<WalkReport> {
  const { config, catalog, walkRunner } = details
  if (walkRunner === null) return Promise.reject(new WalkError('another process makes the walks'))
  if (watch.signal.aborted) return Promise.reject(new WalkError('the server is stopping'))
  const { occasion } = watch
  const isAccepted = occasion.why === 'told' && occasion.isAccepted
  const channelIds = 'channelIds' in occasion ? occasion.channelIds : undefined
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
    mayWait: occasion.why !== 'told',
    isTakeOver: occasion.why === 'taken-over',
    walkedSinceMs: computeWalkedSinceMs(details, occasion),
    owner: createLeaseOwner(),
    isAccepted,
    isListAccepted: isAccepted && channelIds === undefined,
    confirmAfterMs: computePeriodMs(config.syncCron, details.clock.nowMs()) ?? HOUR_MS,
  }
  return walkRunner(order, watch)
}

/** What was walked since then needs no walk now. */
function computeWalkedSinceMs({ clock, config }: WalksDetails, { why }: Occasion): number | null {
  if (why === 'told') return null
  const nowMs = clock.nowMs()
  const periodMs = computePeriodMs(config.syncCron, nowMs) ?? 0
  return nowMs - Math.min(JUST_WALKED_MS, periodMs / 2)
}

/** Log and measure how a walk ended, and keep to the pause that it met. */
async function noteReport(details: WalksDetails, report: WalkReport): Promise<WalkReport> {
  const { gate, logger, metrics, store } = details
  await gate.pauseUntil(report.pausedUntilMs)
  details.clocks.note('catalog', report.clockDifferenceMs)
  for (const call of report.calls) metrics.countCall(call, call.count)
  if (report.failure !== null) noteFailure(logger, report)
  for (const walk of report.walks) {
    const state = await store.getCopyState(walk.channelId).catch(() => undefined)
    const completedAtMs = state?.completedAtMs ?? null
    metrics.measureWalk({ ...walk, channel: walk.channelId, completedAtMs })
    if (walk.outcome !== 'complete') {
      noteIncomplete(logger, walk)
      continue
    }
    metrics.countDrops(walk.drops, walk.channelId)
    logger.info({ walk, drops: walk.drops }, 'walked a channel')
  }
  return report
}

function noteFailure(logger: Logger, { failure, reason }: WalkReport): void {
  const remedy = failure === WalkHeldError.code ? { remedy: HOLD_REMEDY } : {}
  const words = failure === NoChannelsError.code ? 'nothing to walk' : 'the catalog could not be walked'
  logger.warn({ code: failure, reason, ...remedy }, words)
}

function noteIncomplete(logger: Logger, walk: WalkReport['walks'][number]): void {
  // Of several machines all but one find it so.
  if (walk.outcome === 'busy')
    logger.debug({ walk }, 'another process walks the channel, or has just done so')
  else if (walk.outcome === 'held')
    logger.warn({ walk, remedy: HOLD_REMEDY }, 'a walk was held; the copy before it stays current')
  else logger.warn({ walk }, 'the walk of a channel did not complete; its old copy stays')
}
