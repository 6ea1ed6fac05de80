import { type RequestHandler, Router } from 'express'
import type { Context } from '../context.ts'

/** `gate`: who may see the metrics. */
export type HealthDetails = Readonly<{ isStopping(): boolean; gate: readonly RequestHandler[] }>

/** `/healthz`: the process is alive. `/readyz`: it can serve. `/metrics`: what it has done, for Prometheus. */
export function createHealthRouter(context: Context, details: HealthDetails): Router {
  const router = Router()
  router.get('/healthz', (_request, response) => {
    response.set('Cache-Control', 'no-store').json({ status: 'ok' })
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
    const { contentType, text } = await context.metrics.print()
    response.set({ 'Content-Type': contentType, 'Cache-Control': 'no-store' }).send(text)
  })
  return router
}

/** What `/readyz` tells. */
type Readiness = Readonly<{ ready: boolean; reason: string }>

/** Ready means: the store opens, and there is a copy or a catalog that has answered. */
async function judgeReadiness(context: Context): Promise<Readiness> {
  try {
    await context.store.ping()
  } catch {
    return { ready: false, reason: 'the stored copy cannot be read' }
  }
  return (await context.channels.hasList())
    ? { ready: true, reason: 'the channels are known' }
    : { ready: false, reason: 'the channels could not be listed yet' }
}
