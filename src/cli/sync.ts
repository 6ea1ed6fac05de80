import type { Drops } from '../catalog/parse.ts'
import { listShown } from '../freshness/age.ts'
import { describeStoreFailure } from '../storage/reconnecting-store.ts'
import type { CopyStore } from '../storage/store.ts'
import type { ChannelWalk, WalkProgress } from '../sync/walk.ts'
import { type CatalogPlace, type Context, createContext } from '../context.ts'
import { HOLD_REMEDY } from '../sync/held-walk.ts'
import { NoChannelsError, StoreError, UsageError, WalkHeldError } from '../errors.ts'
import { describeDrops } from '../widgets/drop-words.ts'
import { openCatalog, toLocalUrl } from './catalog/place.ts'
import { pluralize } from '../lib/plural.ts'
import type { CommandContext, CommandIo, ExitCode } from './command.ts'
import { toPlain, toPlainJson } from './output.ts'
import { type Replaced, type WalkedNow, walkNow } from './walk-now.ts'

/** `--channel ID` narrows the walk to one channel; `--accept` believes whatever the walk finds. */
export type SyncOptions = Readonly<{ channel?: string; accept?: boolean }>

/**
 * `vitrine sync`: walks the catalog now. Progress goes to standard error, a line a channel to standard output. Exit
 * code 1 when a channel could not be walked.
 * @throws UsageError when the channel is none of those that are served.
 */
export async function runSync(command: CommandContext, options: SyncOptions): Promise<ExitCode> {
  const channel = options.channel?.toLowerCase() ?? null
  checkChannel(command, channel)
  const context = await openForCommand(command)
  const stop = (): void => void context.walks.stop()
  command.io.signal.addEventListener('abort', stop)
  try {
    await refuseUnwritable(context.store)
    const walked = await walkNow(context, {
      isAccepted: options.accept === true,
      channelIds: channel === null ? undefined : [channel],
      signal: command.io.signal,
      onProgress: createProgressPrinter(command.io),
      onWait: (walks) => command.io.err(`${toPlain(describeWait(walks))}\n`),
    })
    const isUnlisted = walked.report.failure === NoChannelsError.code
    if (isUnlisted && channel !== null) throw new UsageError(`the catalog lists no channel ${channel}`)
    if (isUnlisted && options.accept && (await hasLostChannels(context))) {
      command.io.err(EMPTY_ACCEPTED)
      if (command.json) command.io.out('[]')
      return 0
    }
    return printReport(command, walked)
  } finally {
    command.io.signal.removeEventListener('abort', stop)
    await context.dispose()
  }
}

const EMPTY_ACCEPTED =
  'The catalog lists no channels, and that is accepted. Boxes of the channels that it listed before stay until VITRINE_RESCUE_SECONDS have passed.\n'

/** Does the catalog list none, where it listed some that are still shown? */
async function hasLostChannels({ store, clock, config }: Context): Promise<boolean> {
  const list = await store.findChannelList()
  return list?.channels.length === 0 && listShown(list, clock.nowMs(), config.freshness).length > 0
}

function describeWait(walks: readonly ChannelWalk[]): string {
  const names = walks.map(({ channelName }) => channelName).join(', ')
  return `Another process is walking ${names}; waiting until it has ended, to walk then.`
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

/** A context for a command that serves nobody; it closes its catalog with it. */
export async function openForCommand(
  command: CommandContext,
): Promise<Context & Readonly<{ catalog: CatalogPlace }>> {
  const { config, secrets, clock, logger, io } = command
  const publicUrl = config.publicUrl ?? toLocalUrl(config.host, config.port)
  const catalog = await openCatalog(command, { publicUrl, mayPutSample: false })
  try {
    const context = await createContext({
      config,
      secrets,
      clock,
      logger,
      publicUrl: catalog.publicUrl,
      catalog: catalog.place,
      demo: null,
      walkRunner: io.runWalk,
    })
    const dispose = async (): Promise<void> => {
      await context.dispose()
      await catalog.close()
    }
    return { ...context, catalog: catalog.place, dispose }
  } catch (error) {
    await catalog.close()
    throw error
  }
}

function printReport({ config, io, json }: CommandContext, { report, replaced, drops }: WalkedNow): ExitCode {
  if (report.failure !== null) {
    const reason = report.reason === null ? '' : `: ${report.reason}`
    const advice = report.failure === WalkHeldError.code ? HOLD_REMEDY : '"vitrine check" says more.'
    io.err(`The catalog could not be walked (${report.failure})${reason}. ${advice}\n`)
  }
  if (report.walks.some(({ outcome }) => outcome === 'complete')) {
    const { freshSeconds } = config.freshness
    io.err(`A running server may show boxes from its memory for up to ${freshSeconds} more seconds.\n`)
  }
  const walks = report.walks.map((walk) => ({
    ...walk,
    replaced: replaced.get(walk.channelId) ?? null,
    drops: drops.get(walk.channelId) ?? {},
  }))
  if (json) io.out(toPlainJson(walks))
  else for (const walk of walks) io.out(toPlain(describeWalk(walk)))
  return report.failure === null && report.walks.every((walk) => walk.outcome === 'complete') ? 0 : 1
}

function checkChannel({ config }: CommandContext, channel: string | null): void {
  if (channel === null || config.channels === null || config.channels.includes(channel)) return
  throw new UsageError(`VITRINE_CHANNELS does not serve the channel ${channel}`)
}

/** A terminal gets one line that is drawn over; a log gets one line a channel at its end. */
function createProgressPrinter(io: CommandIo): (progress: WalkProgress) => void {
  return ({ channel, productCount, isDone }) => {
    const text = toPlain(`${channel.name}: ${pluralize(productCount, 'product')}`)
    if (io.isTerminal) io.err(`\r\u001b[K${text}${isDone ? '\n' : ' …'}`)
    else if (isDone) io.err(`${text}\n`)
  }
}

function describeWalk(walk: ChannelWalk & Readonly<{ replaced: Replaced | null; drops: Drops }>): string {
  const seconds = (walk.durationMs / 1_000).toFixed(1)
  const name = `${walk.channelName} (${walk.channelId})`
  if (walk.outcome === 'complete') {
    const accepted = walk.replaced === null ? '' : `, accepted ${describeReplaced(walk.replaced)}`
    return `${name}: ${pluralize(walk.productCount, 'product')} in ${seconds} s${accepted}${describeLeftOut(walk.drops)}`
  }
  if (walk.outcome === 'busy') return `${name}: another process is walking it`
  if (walk.outcome === 'held')
    return `${name}: held, because ${walk.reason ?? 'it is suspicious'}; the copy before stays. ${HOLD_REMEDY}`
  return `${name}: failed with ${walk.failure ?? 'no code'}; the old copy stays`
}

function describeReplaced({ reason, productCount }: Replaced): string {
  return reason === 'few_products'
    ? `in place of ${productCount.toLocaleString('en')}`
    : 'although most of what it found was malformed'
}

function describeLeftOut(drops: Drops): string {
  const words = describeDrops(drops)
  return words.length === 0 ? '' : `; left out: ${words.join(', ')}`
}
