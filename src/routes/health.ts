import { type Request, type Response, Router } from 'express'
import { TIME_UNKNOWN } from '../widgets/format.ts'
import { SECOND_MS, isFuture, isPauseActive } from '../clock.ts'
import type { Context } from '../context.ts'
import type { ChannelListState } from '../freshness/channels.ts'
import { describeHold } from '../sync/held-walk.ts'
import { describeWalkProblem } from '../sync/walk-plan.ts'
import { tryWithTimeout } from '../lib/with-timeout.ts'
import { sendJson, sendResponse } from '../http/response.ts'
import { SERVER_NAME } from '../http/server.ts'
import { createOwnPageHeaders } from '../http/security-headers.ts'
import type { AdminAuth } from '../http/admin-auth.ts'
import { parseQuery } from './requests.ts'
import type { FeedReport } from '../catalog/feed-report.ts'
import { type ServerState, readFeeds, readServerState, updateStateGauges } from '../server-status.ts'

/** Limits the database reads that requests can cause. */
const READINESS_CACHE_MS: number = SECOND_MS

/** Create `/healthz` (alive), `/readyz` (can serve; `?require=database` for several servers) and `/metrics`. */
export function createHealthRouter(
  context: Context,
  { isStopping, adminAuth }: Readonly<{ isStopping(): boolean; adminAuth: AdminAuth }>,
): Router {
  const router = Router()
  const getReadiness = createReadinessCache(context)
  router.use(['/healthz', '/readyz', '/metrics'], createOwnPageHeaders(context.pageSources))
  router.get('/healthz', (request, response) => {
    sendJson(request, response, { status: 'ok' }, { headers: { Server: SERVER_NAME } })
  })
  // Balancers send no password: only the detail depends on it, never the status.
  router.get('/readyz', async (request, response) => {
    const isDatabaseRequired = parseQuery(request).get('require') === 'database'
    const { detail, isDatabaseUnavailable, ...found } = isStopping() ? STOPPING : await getReadiness()
    const readiness =
      found.ready && isDatabaseRequired && isDatabaseUnavailable ? DATABASE_UNAVAILABLE : found
    const isDetailShown = detail !== undefined && (await adminAuth.isAdmin(request))
    const value = isDetailShown ? { ...readiness, detail } : readiness
    sendJson(request, response, value, { status: readiness.ready ? 200 : 503 })
  })
  router.get('/metrics', adminAuth.requireAdmin, async (request: Request, response: Response) => {
    await updateStateGauges(context)
    const { contentType, text } = await context.metrics.render()
    const headers = { 'Content-Type': contentType, 'Cache-Control': 'no-store' }
    sendResponse(request, response, { headers, body: text })
  })
  return router
}

/** Only the admin sees `detail`. */
type Readiness = Readonly<{
  ready: boolean
  reason: string
  isDatabaseUnavailable: boolean
  detail?: ReturnType<typeof toDetail> & ReturnType<typeof toFeedsDetail>
}>

const STOPPING: Readiness = { ready: false, reason: 'stopping', isDatabaseUnavailable: false }

const DATABASE_UNAVAILABLE = { ready: false, reason: 'the database cannot be reached' } as const

/** Check readiness at most once per `READINESS_CACHE_MS`. */
function createReadinessCache(context: Context): () => Promise<Readiness> {
  let last: Promise<Readiness> | undefined
  let untilMs = 0
  return () => {
    const nowMs = context.clock.nowMs()
    if (last === undefined || !isPauseActive({ untilMs, nowMs, maxMs: READINESS_CACHE_MS })) {
      last = checkReadiness(context)
      untilMs = nowMs + READINESS_CACHE_MS
    }
    return last
  }
}

/** Ready: the store is readable and the channels are known. Without its shared database, a server serves from memory. */
async function checkReadiness(context: Context): Promise<Readiness> {
  const { channels, clock, config } = context
  const [state, feedReport, knowledge] = await Promise.all([
    readServerState(context),
    readFeeds(context),
    tryWithTimeout(clock, config.freshness.visitorTimeoutMs, channels.getListState()),
  ])
  const common = {
    isDatabaseUnavailable: !state.isStoreUp,
    detail: { ...toDetail(context, state), ...toFeedsDetail(context, feedReport) },
  }
  if (!state.isStoreUp && !isStoreShared(context))
    return { ready: false, reason: 'the stored copy cannot be read', ...common }
  return { ...READINESS_BY_CHANNELS[knowledge ?? 'unknown'], ...common }
}

const READINESS_BY_CHANNELS: Readonly<Record<ChannelListState, Pick<Readiness, 'ready' | 'reason'>>> = {
  known: { ready: true, reason: 'the channels are known' },
  unknown: { ready: false, reason: 'the channels could not be listed yet' },
  unlisted: {
    ready: false,
    reason: 'the catalog lists no channel that this server serves; check the key and VITRINE_CHANNELS',
  },
}

function isStoreShared({ config }: Context): boolean {
  return config.database.kind === 'postgres'
}

/** Times are ISO texts; a past time is `null` if a clock was wrong. */
function toDetail(context: Context, state: ServerState) {
  const { callPolicy, copies, channelsHeldSinceMs } = state
  const nowMs = context.clock.nowMs()
  const toFutureTime = (timeMs: number): string | null =>
    timeMs > nowMs ? new Date(timeMs).toISOString() : null
  const toPastTime = (timeMs: number): string | null =>
    isFuture(timeMs, nowMs) ? null : new Date(timeMs).toISOString()
  const failure = context.findStoreFailure()
  return {
    ...(context.worker !== undefined && { worker: context.worker }),
    store: {
      isUp: state.isStoreUp,
      isWritable: state.isStoreWritable,
      // Paths, hosts and users are only in the log and "vitrine check".
      lastFailure: failure && {
        at: toPastTime(failure.atMs),
        reason: isStoreShared(context)
          ? 'the database server could not be used'
          : failure.reason.replace(/\S*\/\S+/g, '(path)'),
      },
    },
    catalog: {
      breaker: callPolicy.breaker,
      limitedUntil: toFutureTime(callPolicy.quota.limitedUntilMs),
      keyRefusedUntil: toFutureTime(callPolicy.keyRefusedUntilMs),
    },
    quota: {
      dailyLimit: callPolicy.limit?.calls ?? null,
      isLearned: callPolicy.limit?.isLearned ?? false,
      callsToday: callPolicy.quota.calls,
      callsLeft: callPolicy.remaining ?? null,
    },
    walks: toWalksDetail(context, state),
    heldChannelList: channelsHeldSinceMs === null ? null : { since: toPastTime(channelsHeldSinceMs) },
    copies: copies.map(({ channel, ageMs, productCount, dealCount, held, observedDays }) => ({
      channel,
      ageSeconds: ageMs === null ? null : Math.round(ageMs / SECOND_MS),
      ...(ageMs === null && { warning: TIME_UNKNOWN }),
      products: productCount,
      deals: dealCount,
      // With VITRINE_HISTORY_DAYS=0, none are kept.
      observedDays,
      heldWalk: held && {
        since: toPastTime(held.sinceMs),
        reason: describeHold(held, productCount),
        products: held.productCount,
      },
    })),
  }
}

/** Return what walks on the schedule need; `null` without a schedule. */
function toWalksDetail({ config }: Context, { walkPlan }: ServerState) {
  if (walkPlan === null) return null
  const { periodMs, calls, callsPerDay, neededDailyLimit } = walkPlan
  const problem = describeWalkProblem(walkPlan, config)
  return {
    periodSeconds: periodMs / SECOND_MS,
    calls,
    callsPerDay,
    neededDailyLimit,
    problem: problem && `${problem.message}. ${problem.remedy}`,
  }
}

/** Return no feeds for a remote catalog. */
function toFeedsDetail({ clock }: Context, report: FeedReport | undefined) {
  const nowMs = clock.nowMs()
  const toTime = (timeMs: number | null): string | null =>
    timeMs === null || isFuture(timeMs, nowMs) ? null : new Date(timeMs).toISOString()
  return {
    feeds: report?.feeds.map(({ fetchedAtMs, attemptedAtMs, nextRunAtMs, ...feed }) => ({
      ...feed,
      fetchedAt: toTime(fetchedAtMs),
      attemptedAt: toTime(attemptedAtMs),
      nextRunAt: nextRunAtMs === null ? null : new Date(nextRunAtMs).toISOString(),
    })),
  }
}
