import { SECOND_MS } from '../clock.ts'
import { isServed } from '../config/config.ts'
import type { Context } from '../context.ts'
import { NoChannelsError, StoreError, UsageError, WalkHeldError } from '../errors.ts'
import { listVisibleChannels } from '../freshness/age.ts'
import { formatNumber, pluralize } from '../lib/format.ts'
import { hasOwnerExited } from '../database/leases.ts'
import { describeStoreFailure } from '../database/failures.ts'
import type { CopyStore } from '../storage/store.ts'
import { HOLD_REMEDY } from '../sync/held-walk.ts'
import { runWalk } from '../sync/walk.ts'
import type { ChannelWalkResult, WalkReport } from '../sync/walk-runner.ts'
import type { WalkNowOptions } from '../sync/walk-supervisor.ts'
import { describeDrops } from '../widgets/hidden-reasons.ts'
import { type CommandContext, type CommandIo, type ExitCode, print } from '../command.ts'
import { openContext } from './open-catalog.ts'

const EMPTY_LIST_ACCEPTED_MESSAGE =
  'The catalog lists no channels, and that is accepted. Boxes of the channels that it listed before stay until VITRINE_RESCUE_SECONDS have passed.'

/** How often the walk of another process is checked. */
const POLL_INTERVAL_MS: number = 5 * SECOND_MS

/** Return exit code 1 when a channel could not be walked. @throws UsageError when the server does not serve the channel. */
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

/** The signal may have aborted before, for example while the context was opened. */
function runOnAbort(signal: AbortSignal, run: () => void): void {
  if (signal.aborted) run()
  else signal.addEventListener('abort', run)
}

/** Whether the catalog lists no channels, although it listed some that are still shown. */
async function hasLostChannels({ store, clock, config }: Context): Promise<boolean> {
  const list = await store.findChannelList()
  return list?.channels.length === 0 && listVisibleChannels(list, clock.nowMs(), config.freshness).length > 0
}

/** Fail when the database is read-only or unavailable: a walk would wait for it. */
async function assertWritable(store: CopyStore): Promise<void> {
  try {
    await store.checkWritable()
  } catch (error) {
    const reason = describeStoreFailure(error)
    throw new StoreError(`nothing was walked, because the stored copy cannot be written: ${reason}`, {
      cause: error,
      remedy: 'Run "vitrine check" to see what to do.',
    })
  }
}

function printReport(command: CommandContext, { walks, failure, reason }: WalkReport): ExitCode {
  const { config, io } = command
  if (failure !== null) {
    const advice = failure === WalkHeldError.code ? HOLD_REMEDY : 'Run "vitrine check" for details.'
    io.err(`The catalog could not be walked (${failure})${reason === null ? '' : `: ${reason}`}. ${advice}`)
  }
  if (walks.some(({ outcome }) => outcome === 'complete')) {
    const { freshSeconds } = config.freshness
    io.err(`A running server may show cached boxes for up to ${freshSeconds} more seconds.`)
  }
  print(command, walks, walks.map(describeWalk))
  return failure === null && walks.every(({ outcome }) => outcome === 'complete') ? 0 : 1
}

function describeWalk(walk: ChannelWalkResult): string {
  const name = `${walk.channelName} (${walk.channelId})`
  if (walk.outcome === 'complete') return `${name}: ${describeCompleteWalk(walk)}`
  if (walk.outcome === 'busy') return `${name}: another process is walking it`
  if (walk.outcome === 'failed')
    return `${name}: failed with ${walk.failure ?? 'no code'}${walk.reason === null ? '' : ` (${walk.reason})`}; the stored copy is unchanged`
  return `${name}: held, because ${walk.reason ?? 'its result is implausible'}; the stored copy is unchanged. ${HOLD_REMEDY}`
}

function describeCompleteWalk(walk: ChannelWalkResult): string {
  const { durationMs, productCount, replaced, drops } = walk
  let text = `${pluralize(productCount, 'product')} in ${(durationMs / 1_000).toFixed(1)} s`
  if (replaced?.reason === 'few_products')
    text += `, accepted in place of ${formatNumber(replaced.productCount)}`
  else if (replaced !== null) text += ', accepted although most of its products or offers were malformed'
  const dropTexts = describeDrops(drops)
  return dropTexts.length === 0 ? text : `${text}; left out: ${dropTexts.join(', ')}${nameTooLarge(walk)}`
}

/** Name the products that are too large: only the operator can change the limit. */
function nameTooLarge({ drops, droppedGtins }: ChannelWalkResult): string {
  const gtins = droppedGtins.product_too_large ?? []
  if (gtins.length === 0) return ''
  const more = (drops.product_too_large ?? 0) - gtins.length
  return `. Too large: ${gtins.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Walk the catalog now. With `isAccepted`, wait for the walks of other processes to end and then walk their channels, too. */
async function walkNow(context: Context, io: CommandIo, options: WalkNowOptions): Promise<WalkReport> {
  const { walks } = context
  // A terminal gets one line that is redrawn, because the results follow; a log gets one line per channel.
  const onProgress: WalkNowOptions['onProgress'] = ({ channel, productCount, isDone }) => {
    const text = `${channel.name}: ${pluralize(productCount, 'product')}`
    io.drawProgress(isDone ? '' : `${text} …`)
    if (isDone && !io.isTerminal) io.err(text)
  }
  let report = await walks.runNow({ ...options, onProgress })
  let busyWalks = options.isAccepted ? listBusyWalks(report) : []
  if (busyWalks.length > 0) {
    const names = busyWalks.map(({ channelName }) => channelName).join(', ')
    io.err(`Another process is walking ${names}; waiting for it to end before walking again.`)
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
