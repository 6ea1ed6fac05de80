import type { CallPolicy } from '../catalog/call-policy.ts'
import type { CatalogClient } from '../catalog/client.ts'
import type { Channel } from '../catalog/contract.ts'
import { type Clock, SECOND_MS, UNKNOWN_TIME_MS, isNewer, isWithin } from '../clock.ts'
import { type FreshnessConfig, isServed } from '../config/config.ts'
import type { ChannelList, CopyStore } from '../storage/store.ts'
import { UnavailableError, UnknownChannelError } from '../errors.ts'
import { tryWithTimeout } from '../lib/with-timeout.ts'
import { createSingleFlight } from '../lib/single-flight.ts'
import { classifyAge, listVisibleChannels } from './age.ts'
import type { NegativeCache } from './negative-cache.ts'

/** `unlisted`: the catalog lists none of the served channels, and none that it listed may still be shown. */
export type ChannelListState = 'unknown' | 'unlisted' | 'known'

type ChannelSourceDetails = Readonly<{
  client: CatalogClient
  callPolicy: CallPolicy
  store: Pick<CopyStore, 'findChannelList' | 'putChannelList' | 'recordEmptyChannelList'>
  failures: NegativeCache
  clock: Clock
  config: FreshnessConfig
  /** Ids to serve; `null`: all. */
  channels: readonly string[] | null
  onStoreFailure(error: unknown): void
}>

/** The one key of the list in flights and failures. */
const LIST_KEY = 'channels'

/** How long the list in memory is used before the store is asked for a newer one. */
const STORE_READ_INTERVAL_MS: number = 10 * SECOND_MS

/** The channels of the key. Only a channel that the list lacks makes it be fetched again, at most once in `freshSeconds`. */
export class ChannelSource {
  readonly #details: ChannelSourceDetails
  readonly #flights = createSingleFlight<ChannelList>()
  #cachedList: ChannelList | undefined
  #storeReadAtMs = 0
  /** Why the store was not read the last time; `undefined`: it was. */
  #storeFailure: unknown

  constructor(details: ChannelSourceDetails) {
    this.#details = details
  }

  /**
   * Return a served channel. `isGone`: it is no longer listed, for longer than a copy may be shown.
   * @throws UnknownChannelError when a fetched list lacks it, or `VITRINE_CHANNELS` does.
   * @throws UnavailableError before any list could be fetched.
   */
  async getChannel(channelId: string): Promise<Readonly<{ channel: Channel; isGone: boolean }>> {
    const { clock, config } = this.#details
    if (!isServed(this.#details, channelId)) throw new UnknownChannelError('the channel is not served')
    // A list that lacks the channel is fetched again while it is old.
    const isSufficient = (list: ChannelList): boolean => hasChannel(list, channelId) || !this.#isStale(list)
    const list = this.#findCached(channelId) ?? (await this.#findList(isSufficient))
    if (list === undefined)
      throw new UnavailableError('no list of channels could be fetched yet', { cause: this.#storeFailure })
    const channel = list.channels.find(({ id }) => id === channelId)
    if (channel !== undefined) return { channel, isGone: false }
    const gone = list.gone.find((entry) => entry.channel.id === channelId)
    if (gone === undefined) throw new UnknownChannelError('the list of channels lacks it')
    return {
      channel: gone.channel,
      isGone: clock.nowMs() - gone.goneAtMs > config.rescueSeconds * SECOND_MS,
    }
  }

  /** A served channel of the list at hand, or one that has gone from it, without a call. */
  async findChannel(channelId: string): Promise<Channel | undefined> {
    if (!isServed(this.#details, channelId)) return undefined
    const list = this.#cachedList ?? (await this.#findStored())
    const candidates = [...(list?.channels ?? []), ...(list?.gone ?? []).map(({ channel }) => channel)]
    return candidates.find(({ id }) => id === channelId)
  }

  /** The served channels as last listed; empty before any list. */
  async listChannels(): Promise<readonly Channel[]> {
    const list = await this.#findList(() => true)
    return (list?.channels ?? []).filter(({ id }) => isServed(this.#details, id))
  }

  /** What is known of the served channels: no list yet, a list with none of them, or some that can be shown. */
  async getListState(): Promise<ChannelListState> {
    if (this.#cachedList !== undefined && this.#isShown(this.#cachedList)) return 'known'
    // A list without served channels is fetched again while it is old: there may be some by now.
    const list = await this.#findList((stored) => this.#isShown(stored) || !this.#isStale(stored))
    if (list === undefined) return 'unknown'
    return this.#isShown(list) ? 'known' : 'unlisted'
  }

  /** Is the channel in the newest list that can be had? A 404 for one of its products is believed only then. */
  async isListed(channelId: string): Promise<boolean> {
    const newest = await this.#findList((list) => !this.#isStale(list))
    // A 404 is not believed either while the catalog wrongly lists nothing.
    return newest !== undefined && newest.heldSinceMs === null && hasChannel(newest, channelId)
  }

  #findCached(channelId: string): ChannelList | undefined {
    if (this.#cachedList === undefined || !hasChannel(this.#cachedList, channelId)) return undefined
    // Read behind: a database that says nothing would take all of the visitor's time.
    if (!isWithin(this.#storeReadAtMs, STORE_READ_INTERVAL_MS, this.#details.clock.nowMs()))
      void this.#findStored()
    return this.#cachedList
  }

  /** The newer list of memory and store; one of the catalog where that is not enough and it answers in time. */
  async #findList(isSufficient: (list: ChannelList) => boolean): Promise<ChannelList | undefined> {
    const stored = await this.#findStored()
    if (stored !== undefined && isSufficient(stored)) return stored
    return (await this.#fetchInTime()) ?? stored
  }

  /** The newer of memory and store, without a call. */
  async #findStored(): Promise<ChannelList | undefined> {
    const { clock, config } = this.#details
    this.#storeReadAtMs = clock.nowMs()
    // A database that is slow is waited for no longer than a catalog that is.
    const stored = await tryWithTimeout(clock, config.visitorTimeoutMs, this.#readStore())
    if (stored !== undefined && isUpdate(stored, this.#cachedList, clock.nowMs())) this.#cachedList = stored
    return this.#cachedList
  }

  async #readStore(): Promise<ChannelList | undefined> {
    const { store, onStoreFailure } = this.#details
    try {
      const found = await store.findChannelList()
      this.#storeFailure = undefined
      return found
    } catch (error) {
      this.#storeFailure = error
      onStoreFailure(error)
      return undefined
    }
  }

  /** A list from the catalog within the visitor's timeout. */
  async #fetchInTime(): Promise<ChannelList | undefined> {
    const { clock, config, failures, callPolicy } = this.#details
    if (failures.has(LIST_KEY) || !callPolicy.canCall('channels')) return undefined
    const fetching = this.#flights.run(LIST_KEY, async () => (this.#cachedList = await this.#fetch()))
    return tryWithTimeout(clock, config.visitorTimeoutMs, fetching)
  }

  async #fetch(): Promise<ChannelList> {
    const { client, failures, store, onStoreFailure } = this.#details
    const previous = this.#cachedList
    try {
      const { value, asOfMs } = await client.fetchChannels()
      // A list that is no longer fresh, from a cache on the way, would be asked for again by every visitor.
      if (this.#isStale({ asOfMs })) failures.add(LIST_KEY, undefined)
      else failures.delete(LIST_KEY)
      const held = value.length === 0 ? await this.#keepListWhenEmpty(previous) : undefined
      if (held !== undefined) return held
      await store.putChannelList(value, asOfMs).catch(onStoreFailure)
      const stored = await store.findChannelList().catch(() => undefined)
      return (
        stored ?? { asOfMs, heldSinceMs: null, channels: value, gone: computeGone(previous, value, asOfMs) }
      )
    } catch (error) {
      failures.add(LIST_KEY, error)
      throw error
    }
  }

  /** A list without channels where there were some is not believed: only a later walk decides. */
  async #keepListWhenEmpty(previous: ChannelList | undefined): Promise<ChannelList | undefined> {
    const { store, failures, onStoreFailure } = this.#details
    const knownList = (await store.findChannelList().catch(() => undefined)) ?? previous
    if (knownList === undefined || knownList.channels.length === 0) return undefined
    // Else every visitor would ask for the list again.
    failures.add(LIST_KEY, undefined)
    // Nobody has compared the clock of this machine: the time is that of the first walk that finds the same.
    await store.recordEmptyChannelList(UNKNOWN_TIME_MS).catch(onStoreFailure)
    return { ...knownList, heldSinceMs: knownList.heldSinceMs ?? UNKNOWN_TIME_MS }
  }

  #isShown(list: ChannelList): boolean {
    const { clock, config } = this.#details
    return listVisibleChannels(list, clock.nowMs(), config).some(({ id }) => isServed(this.#details, id))
  }

  #isStale({ asOfMs }: Pick<ChannelList, 'asOfMs'>): boolean {
    const { clock, config } = this.#details
    return classifyAge(asOfMs, clock.nowMs(), config) !== 'fresh'
  }
}

/** Is the stored list newer, or has a walk held a list since? */
function isUpdate(stored: ChannelList, memory: ChannelList | undefined, nowMs: number): boolean {
  if (memory === undefined) return true
  if (stored.asOfMs === memory.asOfMs) return stored.heldSinceMs !== memory.heldSinceMs
  return isNewer(stored.asOfMs, memory.asOfMs, nowMs)
}

function hasChannel(list: ChannelList, channelId: string): boolean {
  return list.channels.some(({ id }) => id === channelId)
}

/** What was listed and is no longer, where no store remembers it. */
function computeGone(
  previous: ChannelList | undefined,
  channels: readonly Channel[],
  asOfMs: number,
): ChannelList['gone'] {
  const listedIds = new Set(channels.map(({ id }) => id))
  const newlyGone = (previous?.channels ?? []).map((channel) => ({ channel, goneAtMs: asOfMs }))
  return [...(previous?.gone ?? []), ...newlyGone].filter(({ channel }) => !listedIds.has(channel.id))
}
