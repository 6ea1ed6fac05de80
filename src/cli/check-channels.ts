import { isServed } from '../config/config.ts'
import type { Channel } from '../catalog/contract.ts'
import { HOLD_REMEDY, describeHold } from '../sync/held-walk.ts'
import type { SqlStore } from '../storage/sql-store.ts'
import type { ChannelList, CopyState } from '../storage/store.ts'
import { formatSince, formatWalked } from '../widgets/format.ts'
import { isFuture } from '../clock.ts'
import { pluralize } from '../lib/plural.ts'
import { listShown } from '../freshness/age.ts'
import { adviseNoChannels } from '../studio/explain.ts'
import type { CommandContext } from './command.ts'
import { type Finding, type Report, attempt, bad, good } from './findings.ts'
import { hasMalformedOffers, judgeDrops } from './judge-drops.ts'
import { findUnframedHint } from './unframed.ts'

/** What the catalog lists now, `undefined` when it did not answer, and what the copy knows. */
type KnownChannels = Readonly<{
  listed: readonly Channel[] | undefined
  stored: ChannelList | undefined
  store: SqlStore | undefined
}>

/** Judge the served channels and their copies. Without a list of the catalog, those of the copy. */
export async function checkChannels(
  command: CommandContext,
  report: Report,
  { listed, stored, store }: KnownChannels,
): Promise<void> {
  const channels = selectKnown(report, listed, stored)
  if (channels === null) return
  report.findings.push(...findUnlisted(command, channels, stored))
  for (const channel of selectServed(command, channels)) {
    const finding = await checkChannel(command, report, { channel, isListed: listed !== undefined, store })
    if (finding !== undefined) report.findings.push(finding)
  }
}

/** The channels of the catalog, else those of the copy, also where the catalog lists none any more; `null`: nothing is known. */
function selectKnown(
  { findings }: Report,
  listed: KnownChannels['listed'],
  stored: KnownChannels['stored'],
): readonly Channel[] | null {
  if (listed?.length !== 0 || stored === undefined || stored.channels.length === 0)
    return listed ?? stored?.channels ?? null
  findings.push(describeHeldList(stored.channels.length))
  return stored.channels
}

function selectServed({ config }: CommandContext, channels: readonly Channel[]): readonly Channel[] {
  return channels.filter(({ id }) => isServed(config, id))
}

/** Channels of VITRINE_CHANNELS that the catalog does not list, or that there are none at all. */
function findUnlisted(
  command: CommandContext,
  channels: readonly Channel[],
  stored: ChannelList | undefined,
): readonly Finding[] {
  const missing = (command.config.channels ?? []).filter(
    (id) => !channels.some((channel) => channel.id === id),
  )
  return channels.length === 0 && missing.length === 0
    ? [describeNone(command, stored)]
    : missing.map(describeMissing)
}

/** `undefined` where reading its copy failed, which is a finding already, or where nothing is worth a line. */
async function checkChannel(
  { config, clock }: CommandContext,
  report: Report,
  known: Readonly<{ channel: Channel; isListed: boolean; store: SqlStore | undefined }>,
): Promise<Finding | undefined> {
  const { channel, isListed, store } = known
  const subject = `channel ${channel.name} (${channel.id})`
  const state = await attempt(report, subject, async () => {
    const copy = await store?.getCopyState(channel.id)
    const isCounted = copy !== undefined && hasMalformedOffers(copy)
    return { copy, offerCount: isCounted ? ((await store?.countOffers(channel.id)) ?? 0) : 0 }
  })
  // Where the catalog did not answer, only a channel that was walked is worth a line.
  if (state === undefined || !(isListed || isWalked(state.copy))) return undefined
  return judgeCopy(report, { subject, hint: findUnframedHint(config, channel), nowMs: clock.nowMs() }, state)
}

function describeNone({ config, clock }: CommandContext, stored: ChannelList | undefined): Finding {
  const isAnyGone = stored !== undefined && listShown(stored, clock.nowMs(), config.freshness).length > 0
  const shown = isAnyGone
    ? 'boxes of the channels that it listed before stay until VITRINE_RESCUE_SECONDS have passed'
    : 'so nothing is shown'
  return bad(
    'channels',
    `the catalog lists none for this key${isAnyGone ? '; ' : ', '}${shown}`,
    adviseNoChannels(config),
  )
}

function describeMissing(id: string): Finding {
  return bad(
    `channel ${id}`,
    'the catalog does not list it',
    'Take it out of VITRINE_CHANNELS, or correct the id.',
  )
}

function describeHeldList(keptCount: number): Finding {
  const kept =
    keptCount === 1
      ? 'the channel that it listed before is'
      : `the ${keptCount} channels that it listed before are`
  return bad('channels', `the catalog lists none for this key; ${kept} still shown`, HOLD_REMEDY)
}

const MALFORMED_REMEDY =
  'Have the catalog or the feed behind it corrected. The log line of the walk names GTINs; "vitrine explain CHANNEL GTIN" says what is wrong with one.'

function isWalked(state: CopyState | undefined): boolean {
  return state !== undefined && (state.completedAtMs !== null || state.failure !== null)
}

function judgeCopy(
  { cures }: Report,
  { subject, hint, nowMs }: Readonly<{ subject: string; hint: string | null; nowMs: number }>,
  { copy: state, offerCount }: Readonly<{ copy: CopyState | undefined; offerCount: number }>,
): Finding {
  if (state === undefined) return good(subject, 'listed', hint)
  const walked =
    state.completedAtMs === null
      ? 'not walked yet'
      : `${describeContent(state)}, ${formatWalked(state.completedAtMs, nowMs)}`
  if (state.held !== null) {
    const since = formatSince(state.held.sinceMs, nowMs)
    const why = describeHold(state.held, state.productCount)
    return bad(subject, `${walked}; a walk is held ${since}, because ${why}`, HOLD_REMEDY)
  }
  const malformed = judgeDrops(state, offerCount)
  if (malformed !== null) return bad(subject, `${walked}; ${malformed}`, MALFORMED_REMEDY)
  if (state.failure === null && !isFuture(state.completedAtMs ?? 0, nowMs)) return good(subject, walked, hint)
  if (state.failure === null)
    return bad(subject, walked, 'A running server walks it again by itself; else run "vitrine sync".')
  const cure = cures[state.failure] ?? 'See docs/errors.md.'
  return bad(subject, `${walked}; the last walk failed with ${state.failure}`, cure)
}

function describeContent({ productCount, dealCount }: CopyState): string {
  return productCount === 0
    ? 'no products'
    : `${pluralize(productCount, 'product')}, ${dealCount.toLocaleString('en')} with a deal`
}
