import type { CallGate } from '../catalog/call-gate.ts'
import { NoChannelsError, WalkHeldError } from '../errors.ts'
import type { ClockWatch } from '../observability/clock-watch.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { HOLD_REMEDY } from './held-walk.ts'
import type { CopyStore } from '../storage/store.ts'
import type { WalkReport } from './walk-runner.ts'

type ReportDetails = Readonly<{
  gate: CallGate
  logger: Logger
  metrics: Metrics
  store: CopyStore
  clocks: Pick<ClockWatch, 'note'>
}>

/** Log and measure how a walk ended, and keep to the pause that it met. */
export async function noteReport(details: ReportDetails, report: WalkReport): Promise<WalkReport> {
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
    metrics.countDrops(state?.drops ?? {}, walk.channelId)
    logger.info({ walk, drops: state?.drops }, 'walked a channel')
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
