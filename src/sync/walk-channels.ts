import type { Channel } from '../catalog/contract.ts'
import { type Clock, SECOND_MS, isWithin, systemClock } from '../clock.ts'
import { isServed } from '../config/config.ts'
import { pluralize } from '../lib/plural.ts'
import { NoChannelsError, WalkError, WalkHeldError } from '../errors.ts'
import { isClockWrong, readDatabaseDifference } from '../observability/clock-watch.ts'
import { UNKNOWN_TIME_MS, isLater } from './held-walk.ts'
import type { CopyStore } from '../storage/store.ts'
import { withRetries } from './walk-calls.ts'
import type { Walk } from './walk-runner.ts'

/** In the place of a product, among the claims. */
const LIST_CLAIM = { channelId: '', gtin: 'channels' } as const

/** How long one machine has the list to itself, and how often the others look for it; of the machine's clock. */
const CLAIM_MS: number = 5 * SECOND_MS
const LOOK_EVERY_MS = 50

/** A list that another machine has fetched so lately is that of the same occasion. */
const SHARED_MS: number = 30 * SECOND_MS

/**
 * Return the channels to walk.
 * @throws CatalogError, WalkHeldError, NoChannelsError
 */
export async function listWalkedChannels(details: Walk): Promise<readonly Channel[]> {
  const listed = await getChannelList(details)
  const walked = listed.filter(({ id }) => isServed(details, id))
  if (walked.length > 0) return walked
  throw listed.length === 0
    ? new NoChannelsError('the catalog lists no channels for this key')
    : new NoChannelsError(
        `the catalog lists ${pluralize(listed.length, 'channel')}, and none that this server serves`,
      )
}

/** The list of channels, from the catalog or, where several machines begin a walk at the same time, from the one who asked. */
async function getChannelList(details: Walk): Promise<readonly Channel[]> {
  const shared = details.walkedSinceMs === null ? undefined : await findShared(details)
  if (shared !== undefined) return shared
  const { value, asOfMs } = await withRetries(details, () => details.client.fetchChannels('walk'))
  if (value.length === 0) await judgeEmptyList(details, asOfMs)
  await details.store.putChannelList(value, asOfMs)
  return value
}

/**
 * Hold a list without channels where there were some, until a later walk finds the same.
 * @throws WalkHeldError when it is held
 */
async function judgeEmptyList(details: Walk, asOfMs: number): Promise<void> {
  const { store, isListAccepted, confirmAfterMs } = details
  const list = await store.findChannelList()
  if (isListAccepted || list === undefined || list.channels.length === 0) return
  const { heldSinceMs } = list
  const { isDoubtful: isClockDoubtful } = await details.checkClock()
  const isEarlier = heldSinceMs !== null && heldSinceMs <= asOfMs
  if (isEarlier && isLater(heldSinceMs, asOfMs, { confirmAfterMs, isClockDoubtful })) return
  await store.holdChannelList(isClockDoubtful ? UNKNOWN_TIME_MS : asOfMs)
  throw new WalkHeldError(
    `the catalog lists no channels where it listed ${list.channels.length} before; the copies stay`,
  )
}

async function findShared(details: Walk): Promise<readonly Channel[] | undefined> {
  const { store, clock, owner, signal } = details
  for (let leftMs = CLAIM_MS; leftMs > 0 && !signal.aborted; leftMs -= LOOK_EVERY_MS) {
    const list = await store.findChannelList()
    if (list !== undefined && isWithin(list.asOfMs, SHARED_MS, clock.nowMs())) return list.channels
    if (await store.claimLookup(LIST_CLAIM, { owner, forMs: CLAIM_MS })) return undefined
    await systemClock.wait(LOOK_EVERY_MS, signal)
  }
  return undefined
}

type ClockDetails = Readonly<{
  store: Pick<CopyStore, 'readTime' | 'findFutureCopies'>
  clock: Clock
  /** By how much the catalog's clock is ahead of this one, in milliseconds; `undefined`: unknown. */
  catalogDifferenceMs: number | undefined
}>

/**
 * Compare this machine's clock before a walk dates everything by it. A machine that is behind would take what the others wrote for
 * future data, and write it anew with times that are too old.
 * @throws WalkError when the clock is wrong by every other one: another machine, or a later walk, walks then
 */
export async function checkWalkClock({
  store,
  clock,
  catalogDifferenceMs,
}: ClockDetails): Promise<Readonly<{ isDoubtful: boolean }>> {
  const databaseMs = await readDatabaseDifference(store, clock)
  const known = [databaseMs, catalogDifferenceMs].filter((differenceMs) => typeof differenceMs === 'number')
  if (known.length === 0 || !known.every(isClockWrong)) return { isDoubtful: false }
  const isBehind = known.some((differenceMs) => differenceMs > 0)
  if (known.length > 1 || (isBehind && (await store.findFutureCopies()).length > 0))
    throw new WalkError(
      `the clock of this machine differs from that of the ${typeof databaseMs === 'number' ? 'database' : 'catalog'} by more than a minute, so it walks nothing; set the wrong clock by NTP`,
    )
  return { isDoubtful: true }
}
