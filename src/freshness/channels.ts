import type { CallGate } from '../catalog/call-gate.ts'
import type { CatalogClient } from '../catalog/client.ts'
import type { Channel } from '../catalog/contract.ts'
import { type Clock, SECOND_MS, isNewer, isWithin } from '../clock.ts'
import type { FreshnessConfig } from '../config/config.ts'
import { UNKNOWN_TIME_MS } from '../sync/held-walk.ts'
import type { ChannelList, CopyStore } from '../storage/store.ts'
import { UnavailableError, UnknownChannelError } from '../errors.ts'
import { judgeAge, listShown } from './age.ts'
import type { Failures } from './failures.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { waitInTime } from '../lib/in-time.ts'

/** A served channel. `isGone`: it was served and is no longer listed for longer than a copy may be shown. */
export type ServedChannel = Readonly<{ channel: Channel; isGone: boolean }>

/** `unlisted`: the catalog lists none of the served channels, and none that it listed may still be shown. */
export type ChannelKnowledge = 'unknown' | 'unlisted' | 'known'

/** The channels of the key. */
export type ChannelSource = Readonly<{
  /**
   * @throws UnknownChannelError when a fetched list lacks it, or `VITRINE_CHANNELS` does.
   * @throws UnavailableError before any list could be fetched.
   */
  getChannel(channelId: string): Promise<ServedChannel>
  /** A served channel of the list at hand, or one that has gone from it, without a call. */
  findKnown(channelId: string): Promise<Channel | undefined>
  /** The served channels as last listed; empty before any list. */
  listChannels(): Promise<readonly Channel[]>
  /** What is known of the served channels: no list yet, a list with none of them, or some that can be shown. */
  getKnowledge(): Promise<ChannelKnowledge>
  /** Is the channel in the newest list that can be had? A 404 for one of its products is believed only then. */
  isListed(channelId: string): Promise<boolean>
}>

/** What a channel source is made of. */
export type ChannelSourceDetails = Readonly<{
  client: CatalogClient
  gate: CallGate
  store: Pick<CopyStore, 'findChannelList' | 'putChannelList' | 'holdChannelList'>
  failures: Failures
  clock: Clock
  config: FreshnessConfig
  /** Ids to serve; `null`: all. */
  served: readonly string[] | null
  onStoreFailure(error: unknown): void
}>

/** The one key of the list in flights and failures. */
const LIST_KEY = 'channels'

/** How long the list in memory is used before the store is asked for a newer one. */
const STORE_READ_EVERY_MS: number = 10 * SECOND_MS

/** Create the source of channels. Only a channel that the list lacks makes it be fetched again, at most once in `freshSeconds`. */
export function createChannelSource(details: ChannelSourceDetails): ChannelSource {
  const { clock, config, served } = details
  const lists = createListSource(details)

  const isServed = (channelId: string): boolean => served === null || served.includes(channelId)
  const isShown = (list: ChannelList): boolean =>
    listShown(list, clock.nowMs(), config).some(({ id }) => isServed(id))
  return {
    async getChannel(channelId) {
      if (!isServed(channelId)) throw new UnknownChannelError('the channel is not served')
      const list = await lists.findFor(channelId)
      if (list === undefined)
        throw new UnavailableError('no list of channels could be fetched yet', { cause: lists.findFailure() })
      const channel = list.channels.find(({ id }) => id === channelId)
      if (channel !== undefined) return { channel, isGone: false }
      const gone = list.gone.find((entry) => entry.channel.id === channelId)
      if (gone === undefined) throw new UnknownChannelError('the list of channels lacks it')
      const isGone = clock.nowMs() - gone.goneAtMs > config.rescueSeconds * SECOND_MS
      return { channel: gone.channel, isGone }
    },
    async findKnown(channelId) {
      if (!isServed(channelId)) return undefined
      const list = await lists.findKnown()
      const known = [...(list?.channels ?? []), ...(list?.gone ?? []).map(({ channel }) => channel)]
      return known.find(({ id }) => id === channelId)
    },
    async listChannels() {
      const list = (await lists.findStored()) ?? (await lists.fetchInTime())
      return (list?.channels ?? []).filter(({ id }) => isServed(id))
    },
    async getKnowledge() {
      const list = await lists.findKnown()
      if (list !== undefined && isShown(list)) return 'known'
      // A list without served channels is fetched again while it is old: there may be some by now.
      const newest = await lists.findNewest()
      if (newest === undefined) return 'unknown'
      return isShown(newest) ? 'known' : 'unlisted'
    },
    async isListed(channelId) {
      // A 404 is not believed either while the catalog wrongly lists nothing.
      const newest = await lists.findNewest()
      return newest !== undefined && newest.heldSinceMs === null && hasChannel(newest, channelId)
    },
  }
}

type ListSource = Readonly<{
  /** The list in memory, else the stored one. */
  findKnown(): Promise<ChannelList | undefined>
  /** The newer of memory and store, without a call. */
  findStored(): Promise<ChannelList | undefined>
  /** Why the store was not read the last time; `undefined`: it was. */
  findFailure(): unknown
  /** A list from the catalog within the visitor's timeout. */
  fetchInTime(): Promise<ChannelList | undefined>
  /** The list for a channel: another process may have a newer one, and the catalog is asked when that is old, too. */
  findFor(channelId: string): Promise<ChannelList | undefined>
  /** A new list when the known one is old and the catalog answers in time, else the known one. */
  findNewest(): Promise<ChannelList | undefined>
}>

function createListSource(details: ChannelSourceDetails): ListSource {
  const { clock, config, store, failures, gate, onStoreFailure } = details
  const flights = createSingleFlight<ChannelList>()
  let memory: ChannelList | undefined
  let storeReadAtMs = 0
  let failure: unknown
  const isAged = (list: ChannelList): boolean => judgeAge(list.asOfMs, clock.nowMs(), config) !== 'fresh'
  const readStore = async (): Promise<ChannelList | undefined> => {
    try {
      const found = await store.findChannelList()
      failure = undefined
      return found
    } catch (error) {
      failure = error
      onStoreFailure(error)
      return undefined
    }
  }
  const findStored = async (): Promise<ChannelList | undefined> => {
    storeReadAtMs = clock.nowMs()
    // A database that is slow is waited for no longer than a catalog that is.
    const stored = await waitInTime(clock, config.visitorTimeoutMs, readStore())
    if (stored !== undefined && isNews(stored, memory, clock.nowMs())) memory = stored
    return memory
  }
  const fetchInTime = async (): Promise<ChannelList | undefined> => {
    if (failures.isRemembered(LIST_KEY) || !gate.isOpen('channels')) return undefined
    const fetching = flights.run(LIST_KEY, async () => (memory = await fetchChannelList(details, memory)))
    return waitInTime(clock, config.visitorTimeoutMs, fetching)
  }
  return {
    findKnown: async () => memory ?? findStored(),
    findStored,
    findFailure: () => failure,
    fetchInTime,
    async findFor(channelId) {
      if (memory !== undefined && hasChannel(memory, channelId)) {
        // Read behind: a database that says nothing would take all of the visitor's time.
        if (!isWithin(storeReadAtMs, STORE_READ_EVERY_MS, clock.nowMs())) void findStored()
        return memory
      }
      const stored = await findStored()
      if (stored !== undefined && (hasChannel(stored, channelId) || !isAged(stored))) return stored
      return (await fetchInTime()) ?? stored
    },
    async findNewest() {
      const list = await findStored()
      return list === undefined || isAged(list) ? ((await fetchInTime()) ?? list) : list
    },
  }
}

/** Is the stored list newer, or has a walk held a list since? */
function isNews(stored: ChannelList, memory: ChannelList | undefined, nowMs: number): boolean {
  if (memory === undefined) return true
  if (stored.asOfMs === memory.asOfMs) return stored.heldSinceMs !== memory.heldSinceMs
  return isNewer(stored.asOfMs, memory.asOfMs, nowMs)
}

function hasChannel(list: ChannelList, channelId: string): boolean {
  return list.channels.some(({ id }) => id === channelId)
}

async function fetchChannelList(
  details: ChannelSourceDetails,
  before: ChannelList | undefined,
): Promise<ChannelList> {
  try {
    const { value, asOfMs } = await details.client.fetchChannels()
    // A list that is no longer fresh, from a cache on the way, would be asked for again by every visitor.
    if (judgeAge(asOfMs, details.clock.nowMs(), details.config) === 'fresh') details.failures.forget(LIST_KEY)
    else details.failures.remember(LIST_KEY, undefined)
    const held = value.length === 0 ? await holdEmptyList(details, before) : undefined
    if (held !== undefined) return held
    await details.store.putChannelList(value, asOfMs).catch(details.onStoreFailure)
    const stored = await details.store.findChannelList().catch(() => undefined)
    return stored ?? { asOfMs, heldSinceMs: null, channels: value, gone: toGone(before, value, asOfMs) }
  } catch (error) {
    details.failures.remember(LIST_KEY, error)
    throw error
  }
}

/** A list without channels where there were some is not believed: only a later walk decides. */
async function holdEmptyList(
  { store, failures, onStoreFailure }: ChannelSourceDetails,
  before: ChannelList | undefined,
): Promise<ChannelList | undefined> {
  const known = (await store.findChannelList().catch(() => undefined)) ?? before
  if (known === undefined || known.channels.length === 0) return undefined
  // Else every visitor would ask for the list again.
  failures.remember(LIST_KEY, undefined)
  // Nobody has compared the clock of this machine: the time is that of the first walk that finds the same.
  await store.holdChannelList(UNKNOWN_TIME_MS).catch(onStoreFailure)
  return { ...known, heldSinceMs: known.heldSinceMs ?? UNKNOWN_TIME_MS }
}

/** What was listed and is no longer, where no store remembers it. */
function toGone(
  before: ChannelList | undefined,
  channels: readonly Channel[],
  asOfMs: number,
): ChannelList['gone'] {
  const isBack = (channelId: string): boolean => channels.some(({ id }) => id === channelId)
  const fresh = (before?.channels ?? [])
    .filter(({ id }) => !isBack(id))
    .map((channel) => ({ channel, goneAtMs: asOfMs }))
  return [...(before?.gone ?? []).filter(({ channel }) => !isBack(channel.id)), ...fresh]
}
