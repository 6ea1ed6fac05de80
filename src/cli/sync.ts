import { HOUR_MS, SECOND_MS } from '../clock.ts'
import { isServed } from '../config/config.ts'
import type { Context } from '../context.ts'
import { NoChannelsError, StoreError, UsageError, WalkHeldError } from '../errors.ts'
import { listShown } from '../freshness/age.ts'
import { pluralize } from '../lib/plural.ts'
import { isOwnerGone } from '../storage/lease-owner.ts'
import { describeStoreFailure } from '../storage/unavailable.ts'
import type { CopyStore } from '../storage/store.ts'
import { HOLD_REMEDY } from '../sync/held-walk.ts'
import type { ChannelWalk, WalkProgress, WalkReport } from '../sync/walk-runner.ts'
import type { WalkNowOptions } from '../sync/walks.ts'
import { describeDrops } from '../widgets/hidden-reasons.ts'
import { openForCommand } from './open-catalog.ts'
import type { CommandContext, CommandIo, ExitCode } from './command.ts'
import { toPlain, toPlainJson } from './output.ts'

/** `--channel ID` narrows the walk to one channel; `--accept` believes whatever the walk finds. */
export type SyncOptions = Readonly<{ channel?: string; accept?: boolean }>

const EMPTY_ACCEPTED =
  'The catalog lists no channels, and that is accepted. Boxes of the channels that it listed before stay until VITRINE_RESCUE_SECONDS have passed.\n'

/**
 * `vitrine sync`: walks the catalog now. Progress goes to standard error, a line a channel to standard output. Exit
 * code 1 when a channel could not be walked.
 * @throws UsageError when the channel is none of those that are served.
 */
export async function runSync(
  command: CommandContext,
  { channel: typed, accept: isAccepted = false }: SyncOptions,
): Promise<ExitCode> {
  const { io } = command
  const channel = typed?.toLowerCase()
  refuseUnserved(command, channel)
  const context = await openForCommand(command)
  const stop = (): void => void context.walks.stop()
  io.signal.addEventListener('abort', stop)
  try {
    await refuseUnwritable(context.store)
    const report = await walkNow(context, {
      isAccepted,
      channelIds: channel === undefined ? undefined : [channel],
      signal: io.signal,
      onProgress: createProgressPrinter(io),
      onWait(walks) {
        const names = toPlain(walks.map(({ channelName }) => channelName).join(', '))
        io.err(`Another process is walking ${names}; waiting until it has ended, to walk then.\n`)
      },
    })
    const isUnlisted = report.failure === NoChannelsError.code
    if (isUnlisted && channel !== undefined) throw new UsageError(`the catalog lists no channel ${channel}`)
    if (isUnlisted && isAccepted && (await hasLostChannels(context))) {
      io.err(EMPTY_ACCEPTED)
      if (command.json) io.out('[]')
      return 0
    }
    return printReport(command, report)
  } finally {
    io.signal.removeEventListener('abort', stop)
    await context.dispose()
  }
}

function refuseUnserved({ config }: CommandContext, channel: string | undefined): void {
  if (channel === undefined || isServed(config, channel)) return
  throw new UsageError(`VITRINE_CHANNELS does not serve the channel ${channel}`)
}

/** Does the catalog list none, where it listed some that are still shown? */
async function hasLostChannels({ store, clock, config }: Context): Promise<boolean> {
  const list = await store.findChannelList()
  return list?.channels.length === 0 && listShown(list, clock.nowMs(), config.freshness).length > 0
}

/** Refuse to walk into a database that only reads or is away: a walk would wait for it. */
async function refuseUnwritable(store: CopyStore): Promise<void> {
  try {
    await store.checkWritable()
  } catch (error) {
    const reason = describeStoreFailure(error)
    throw new StoreError(`nothing was walked, because the stored copy cannot be written: ${reason}`, {
      cause: error,
      remedy: '"vitrine check" says what to do.',
    })
  }
}

function printReport({ config, io, json }: CommandContext, report: WalkReport): ExitCode {
  const { walks, failure } = report
  if (failure !== null) {
    const reason = report.reason === null ? '' : `: ${report.reason}`
    const advice = failure === WalkHeldError.code ? HOLD_REMEDY : '"vitrine check" says more.'
    io.err(`The catalog could not be walked (${failure})${reason}. ${advice}\n`)
  }
  if (walks.some(({ outcome }) => outcome === 'complete')) {
    const { freshSeconds } = config.freshness
    io.err(`A running server may show boxes from its memory for up to ${freshSeconds} more seconds.\n`)
  }
  if (json) io.out(toPlainJson(walks))
  else for (const walk of walks) io.out(toPlain(describeWalk(walk)))
  return failure === null && walks.every(({ outcome }) => outcome === 'complete') ? 0 : 1
}

/** A terminal gets one line that is drawn over; a log gets one line a channel at its end. */
function createProgressPrinter(io: CommandIo): (progress: WalkProgress) => void {
  return ({ channel, productCount, isDone }) => {
    const text = toPlain(`${channel.name}: ${pluralize(productCount, 'product')}`)
    if (io.isTerminal) io.err(`\r\u001b[K${text}${isDone ? '\n' : ' …'}`)
    else if (isDone) io.err(`${text}\n`)
  }
}

function describeWalk(walk: ChannelWalk): string {
  const name = `${walk.channelName} (${walk.channelId})`
  if (walk.outcome === 'complete') return `${name}: ${describeComplete(walk)}`
  if (walk.outcome === 'busy') return `${name}: another process is walking it`
  if (walk.outcome === 'failed')
    return `${name}: failed with ${walk.failure ?? 'no code'}; the old copy stays`
  return `${name}: held, because ${walk.reason ?? 'it is suspicious'}; the copy before stays. ${HOLD_REMEDY}`
}

function describeComplete({ durationMs, productCount, replaced, drops }: ChannelWalk): string {
  let text = `${pluralize(productCount, 'product')} in ${(durationMs / 1_000).toFixed(1)} s`
  if (replaced?.reason === 'few_products')
    text += `, accepted in place of ${replaced.productCount.toLocaleString('en')}`
  else if (replaced !== null) text += ', accepted although most of what it found was malformed'
  const leftOut = describeDrops(drops)
  return leftOut.length === 0 ? text : `${text}; left out: ${leftOut.join(', ')}`
}

/** How often a walk of another process is looked at. */
export const LOOK_EVERY_MS: number = 5 * SECOND_MS

/** What a walk of now is asked for. With `isAccepted`, one of another process, which believes less, is waited for. */
export type WalkRequest = Omit<WalkNowOptions, 'isAccepted'> &
  Readonly<{
    isAccepted: boolean
    signal: AbortSignal
    /** Called once for all walks that are waited for. */
    onWait(walks: readonly ChannelWalk[]): void
  }>

type Parts = Pick<Context, 'walks' | 'store' | 'clock'>

/** Walk the catalog now; with `isAccepted` also the channels that another process is walking, as soon as it has ended. */
export async function walkNow(parts: Parts, request: WalkRequest): Promise<WalkReport> {
  let report = await parts.walks.runNow(request)
  let busy = request.isAccepted ? listBusy(report) : []
  if (busy.length > 0) request.onWait(busy)
  while (busy.length > 0) {
    const channelIds = busy.map(({ channelId }) => channelId)
    await waitForOthers(parts, channelIds, request.signal)
    if (request.signal.aborted) break
    const next = await parts.walks.runNow({ ...request, channelIds })
    const again = new Map(next.walks.map((walk) => [walk.channelId, walk]))
    report = { ...next, walks: report.walks.map((walk) => again.get(walk.channelId) ?? walk) }
    busy = next.failure === null ? listBusy(next) : []
  }
  return report
}

function listBusy({ walks }: WalkReport): readonly ChannelWalk[] {
  return walks.filter(({ outcome }) => outcome === 'busy')
}

/** Wait until no other process goes on with a walk of the channels. */
async function waitForOthers(
  { store, clock }: Parts,
  channelIds: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const isWalked = async (): Promise<boolean> =>
    (await store.findUnfinishedWalks()).some(
      ({ channelId, owner, isOver }) => channelIds.includes(channelId) && !isOver && !isOwnerGone(owner),
    )
  // The clock keeps no process alive.
  const alive = setInterval(() => {}, HOUR_MS)
  try {
    do await clock.wait(LOOK_EVERY_MS, signal)
    while (!signal.aborted && (await isWalked()))
  } finally {
    clearInterval(alive)
  }
}
