import { SECOND_MS } from '../clock.ts'
import { isServed } from '../config/config.ts'
import type { Context } from '../context.ts'
import { NoChannelsError, StoreError, UsageError, WalkHeldError } from '../errors.ts'
import { listVisibleChannels } from '../freshness/age.ts'
import { pluralize } from '../lib/plural.ts'
import { hasOwnerExited } from '../storage/lease-owner.ts'
import { describeStoreFailure } from '../storage/store-failures.ts'
import type { CopyStore } from '../storage/store.ts'
import { HOLD_REMEDY } from '../sync/held-walk.ts'
import { runWalk } from '../sync/walk.ts'
import type { ChannelWalkResult, WalkReport } from '../sync/walk-runner.ts'
import type { WalkNowOptions } from '../sync/walk-supervisor.ts'
import { describeDrops } from '../widgets/hidden-reasons.ts'
import { type CommandContext, type CommandIo, type ExitCode, print } from './command.ts'
import { openContext } from './open-catalog.ts'

const EMPTY_LIST_ACCEPTED_MESSAGE =
  'The catalog lists no channels, and that is accepted. Boxes of the channels that it listed before stay until VITRINE_RESCUE_SECONDS have passed.'

/** How often a walk of another process is looked at. */
const POLL_INTERVAL_MS: number = 5 * SECOND_MS

/**
 * `vitrine sync`: walks the catalog now. Progress goes to standard error, a line a channel to standard output. Exit
 * code 1 when a channel could not be walked.
 * @throws UsageError when the channel is none of those that are served.
 */
export async function runSync(
  command: CommandContext,
  { channel, accept: isAccepted = false }: Readonly<{ channel?: string; accept?: boolean }>,
): Promise<ExitCode> {
  const { clock, config, io } = command
  if (channel !== undefined && !isServed(config, channel))
    throw new UsageError(`VITRINE_CHANNELS does not serve the channel ${channel}`)
  const context = await openContext(command, {
    walkRunner: (order, watch) => runWalk(order, watch, clock),
  })
  runOnAbort(io.signal, () => void context.walks.stop())
  try {
    await assertWritable(context.store)
    const channelIds = channel === undefined ? undefined : [channel]
    const report = await walkNow(context, io, { isAccepted, channelIds }).finally(() => io.drawProgress(''))
    const isUnlisted = report.failure === NoChannelsError.code
    if (isUnlisted && channel !== undefined) throw new UsageError(`the catalog lists no channel ${channel}`)
    if (isUnlisted && isAccepted && (await hasLostChannels(context))) {
      io.err(EMPTY_LIST_ACCEPTED_MESSAGE)
      print(command, [], [])
      return 0
    }
    return printReport(command, report)
  } finally {
    await context.dispose()
  }
}

/** A signal may have been aborted before, such as while a context was opened. */
function runOnAbort(signal: AbortSignal, run: () => void): void {
  if (signal.aborted) run()
  else signal.addEventListener('abort', run)
}

/** Does the catalog list none, where it listed some that are still shown? */
async function hasLostChannels({ store, clock, config }: Context): Promise<boolean> {
  const list = await store.findChannelList()
  return list?.channels.length === 0 && listVisibleChannels(list, clock.nowMs(), config.freshness).length > 0
}

/** Refuse to walk into a database that only reads or is away: a walk would wait for it. */
async function assertWritable(store: CopyStore): Promise<void> {
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

function printReport(command: CommandContext, { walks, failure, reason }: WalkReport): ExitCode {
  const { config, io } = command
  if (failure !== null) {
    const advice = failure === WalkHeldError.code ? HOLD_REMEDY : '"vitrine check" says more.'
    io.err(`The catalog could not be walked (${failure})${reason === null ? '' : `: ${reason}`}. ${advice}`)
  }
  if (walks.some(({ outcome }) => outcome === 'complete')) {
    const { freshSeconds } = config.freshness
    io.err(`A running server may show boxes from its memory for up to ${freshSeconds} more seconds.`)
  }
  print(command, walks, walks.map(describeWalk))
  return failure === null && walks.every(({ outcome }) => outcome === 'complete') ? 0 : 1
}

function describeWalk(walk: ChannelWalkResult): string {
  const name = `${walk.channelName} (${walk.channelId})`
  if (walk.outcome === 'complete') return `${name}: ${describeCompleteWalk(walk)}`
  if (walk.outcome === 'busy') return `${name}: another process is walking it`
  if (walk.outcome === 'failed')
    return `${name}: failed with ${walk.failure ?? 'no code'}; the old copy stays`
  return `${name}: held, because ${walk.reason ?? 'it is suspicious'}; the copy before stays. ${HOLD_REMEDY}`
}

function describeCompleteWalk({ durationMs, productCount, replaced, drops }: ChannelWalkResult): string {
  let text = `${pluralize(productCount, 'product')} in ${(durationMs / 1_000).toFixed(1)} s`
  if (replaced?.reason === 'few_products')
    text += `, accepted in place of ${replaced.productCount.toLocaleString('en')}`
  else if (replaced !== null) text += ', accepted although most of its products or offers were malformed'
  const dropTexts = describeDrops(drops)
  return dropTexts.length === 0 ? text : `${text}; left out: ${dropTexts.join(', ')}`
}

/** Walk the catalog now; with `isAccepted` also the channels that another process is walking, as soon as it has ended. */
async function walkNow(context: Context, io: CommandIo, options: WalkNowOptions): Promise<WalkReport> {
  const { walks } = context
  // A terminal gets one line that is drawn over; a log gets one line a channel at its end.
  const onProgress: WalkNowOptions['onProgress'] = ({ channel, productCount, isDone }) => {
    const text = `${channel.name}: ${pluralize(productCount, 'product')}`
    io.drawProgress(isDone ? '' : `${text} …`)
    if (isDone) io.err(text)
  }
  let report = await walks.runNow({ ...options, onProgress })
  let busyWalks = options.isAccepted ? listBusyWalks(report) : []
  if (busyWalks.length > 0) {
    const names = busyWalks.map(({ channelName }) => channelName).join(', ')
    io.err(`Another process is walking ${names}; waiting until it has ended, to walk then.`)
  }
  while (busyWalks.length > 0) {
    const channelIds = busyWalks.map(({ channelId }) => channelId)
    await waitForOtherWalks(context, channelIds, io.signal)
    if (io.signal.aborted) break
    const next = await walks.runNow({ ...options, onProgress, channelIds })
    const repeatedWalks = new Map(next.walks.map((walk) => [walk.channelId, walk]))
    report = { ...next, walks: report.walks.map((walk) => repeatedWalks.get(walk.channelId) ?? walk) }
    busyWalks = next.failure === null ? listBusyWalks(next) : []
  }
  return report
}

function listBusyWalks({ walks }: WalkReport): readonly ChannelWalkResult[] {
  return walks.filter(({ outcome }) => outcome === 'busy')
}

/** Wait until no other process goes on with a walk of the channels. */
async function waitForOtherWalks(
  { store, clock }: Context,
  channelIds: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const isAnyWalkRunning = async (): Promise<boolean> =>
    (await store.findUnfinishedWalks()).some(
      ({ channelId, owner, isLeaseExpired }) =>
        channelIds.includes(channelId) && !isLeaseExpired && !hasOwnerExited(owner),
    )
  do await clock.wait(POLL_INTERVAL_MS, signal)
  while (!signal.aborted && (await isAnyWalkRunning()))
}
