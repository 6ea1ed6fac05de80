import { type RequestHandler, Router } from 'express'
import { SECOND_MS } from '../clock.ts'
import type { Context } from '../context.ts'
import { createOwnPageHeaders } from '../http/security-headers.ts'
import { type ServerState, readServerState, toMeasuredState } from './read-state.ts'

/** `Server` header of `/healthz`: `vitrine check` recognises a running server by it. */
export const SERVER_NAME = 'vitrine'

/** `gate`: who may see the metrics. */
export type HealthDetails = Readonly<{ isStopping(): boolean; gate: readonly RequestHandler[] }>

/** `/healthz`: the process is alive. `/readyz`: it can serve. `/metrics`: what it has done, for Prometheus. */
export function createHealthRouter(context: Context, details: HealthDetails): Router {
  const router = Router()
  router.use(['/healthz', '/readyz', '/metrics'], createOwnPageHeaders(context.ownOrigin))
  router.get('/healthz', (_request, response) => {
    response.set({ 'Cache-Control': 'no-store', Server: SERVER_NAME }).json({ status: 'ok' })
  })
  router.get('/readyz', async (_request, response) => {
    const readiness = details.isStopping()
      ? { ready: false, reason: 'stopping' }
      : await judgeReadiness(context)
    response
      .status(readiness.ready ? 200 : 503)
      .set('Cache-Control', 'no-store')
      .json(readiness)
  })
  router.get('/metrics', ...details.gate, async (_request, response) => {
    context.metrics.measureState(toMeasuredState(context, await readServerState(context)))
    const { contentType, text } = await context.metrics.print()
    response.set({ 'Content-Type': contentType, 'Cache-Control': 'no-store' }).send(text)
  })
  return router
}

/** What `/readyz` tells; the detail is for people, the status for machines. */
type Readiness = Readonly<{ ready: boolean; reason: string; detail?: ReadinessDetail }>

/**
 * Ready means: the store opens, and there is a copy or a catalog that has answered. A store that several machines share is away
 * for all of them: each one that knows its channels goes on from memory, as nobody else could do better.
 */
async function judgeReadiness(context: Context): Promise<Readiness> {
  const state = await readServerState(context)
  const detail = toDetail(context, state)
  if (!state.isStoreUp && !isShared(context))
    return { ready: false, reason: 'the stored copy cannot be read', detail }
  return (await context.channels.hasList())
    ? { ready: true, reason: 'the channels are known', detail }
    : { ready: false, reason: 'the channels could not be listed yet', detail }
}

function isShared({ config }: Context): boolean {
  return config.database.kind === 'postgres'
}

type ReadinessDetail = Readonly<{
  /** Which of several processes answered: the breaker, a refused key and the last failure are its own. */
  worker?: number
  store: Readonly<{ isUp: boolean; lastFailure: Readonly<{ at: string; reason: string }> | null }>
  catalog: Readonly<{
    breaker: string
    /** ISO times; `null` when nothing is paused. */
    limitedUntil: string | null
    keyRefusedUntil: string | null
  }>
  quota: Readonly<{
    dailyLimit: number | null
    isLearned: boolean
    callsToday: ServerState['gate']['quota']['calls']
    callsLeft: ServerState['gate']['left'] | null
  }>
  copies: readonly Readonly<{ channel: string; ageSeconds: number; products: number; deals: number }>[]
}>

function toDetail(context: Context, { isStoreUp, gate, copies }: ServerState): ReadinessDetail {
  const toTime = (timeMs: number): string | null =>
    timeMs > context.clock.nowMs() ? new Date(timeMs).toISOString() : null
  const failure = context.findStoreFailure()
  return {
    ...(context.worker !== undefined && { worker: context.worker }),
    store: {
      isUp: isStoreUp,
      // Anybody may ask: paths, machines and users are for the log and for "vitrine check".
      lastFailure: failure && {
        at: new Date(failure.atMs).toISOString(),
        reason: isShared(context)
          ? 'the database server could not be used'
          : failure.reason.replace(/\S*\/\S+/g, '(path)'),
      },
    },
    catalog: {
      breaker: gate.breaker,
      limitedUntil: toTime(gate.quota.limitedUntilMs),
      keyRefusedUntil: toTime(gate.keyRefusedUntilMs),
    },
    quota: {
      dailyLimit: gate.limit?.calls ?? null,
      isLearned: gate.limit?.isLearned ?? false,
      callsToday: gate.quota.calls,
      callsLeft: gate.left ?? null,
    },
    copies: copies.map(({ channel, ageMs, productCount, dealCount }) => ({
      channel,
      ageSeconds: Math.round(ageMs / SECOND_MS),
      products: productCount,
      deals: dealCount,
    })),
  }
}
