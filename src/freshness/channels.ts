import type { CallPolicy } from '../catalog/call-policy.ts'
import type { CatalogClient } from '../catalog/client.ts'
import type { Channel } from '../catalog/contract.ts'
import { type Clock, MINUTE_MS, SECOND_MS, UNKNOWN_TIME_MS, isNewer, isWithin } from '../clock.ts'
import { type FreshnessConfig, isServed } from '../config/config.ts'
import type { ChannelList, CopyStore } from '../storage/store.ts'
import { UnavailableError, UnknownChannelError } from '../errors.ts'
import { tryWithTimeout } from '../lib/with-timeout.ts'
import { createSingleFlight } from '../lib/concurrency.ts'
import { classifyAge, listVisibleChannels } from './age.ts'
import type { NegativeCache } from './negative-cache.ts'

/** `unlisted`: the catalog lists no served channel, and no removed channel may still be shown. */
export type ChannelListState = 'unknown' | 'unlisted' | 'known'

type ChannelSourceOptions = Readonly<{
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

/** Key in `#flights` and in the negative cache. */
const LIST_KEY = 'channels'

/** How long the list in memory is used before the store is read again in the background, and before visitors wait for that. */
const STORE_READ_INTERVAL_MS: number = 10 * SECOND_MS
const MEMORY_VALID_MS: number = MINUTE_MS

/** The channels of the API key. A visit fetches the list again only when a channel is missing, at most once per `freshSeconds`. */
export class ChannelSource {
  readonly #options: ChannelSourceOptions
  readonly #flights = createSingleFlight<ChannelList>()
  readonly #reads = createSingleFlight<ChannelList | undefined>()
  #cachedList: ChannelList | undefined
  #storeReadAtMs = 0
  /** Why the last read of the store failed; `undefined`: it succeeded. */
  #storeFailure: unknown

  constructor(options: ChannelSourceOptions) {
    this.#options = options
  }

  /**
   * Return a served channel. `isGone`: removed from the list so long ago that its copy must not be shown.
   * @throws UnknownChannelError when a fetched list lacks it or `VITRINE_CHANNELS` excludes it
   * @throws UnavailableError before any list could be fetched
   */
  async getChannel(channelId: string): Promise<Readonly<{ channel: Channel; isGone: boolean }>> {
    const { clock, config } = this.#options
    if (!isServed(this.#options, channelId)) throw new UnknownChannelError('the channel is not served')
    // An old list that lacks the channel is fetched again.
    const isSufficient = (list: ChannelList): boolean => hasChannel(list, channelId) || !this.#isStale(list)
    const recent = this.#findRecent()
    const isCached = recent !== undefined && hasChannel(recent, channelId)
    const list = isCached ? recent : await this.#findList(isSufficient)
    if (list === undefined)
      throw new UnavailableError('no list of channels could be fetched yet', { cause: this.#storeFailure })
    const channel = list.channels.find(({ id }) => id === channelId)
    if (channel !== undefined) return { channel, isGone: false }
    const gone = list.gone.find((entry) => entry.channel.id === channelId)
    if (gone === undefined) throw new UnknownChannelError('the catalog does not list the channel')
    return {
      channel: gone.channel,
      isGone: clock.nowMs() - gone.goneAtMs > config.rescueSeconds * SECOND_MS,
    }
  }

  /** Find a served channel, listed or removed, without a catalog call. */
  async findChannel(channelId: string): Promise<Channel | undefined> {
    if (!isServed(this.#options, channelId)) return undefined
    const list = this.#findRecent() ?? (await this.#findStored())
    const candidates = [...(list?.channels ?? []), ...(list?.gone ?? []).map(({ channel }) => channel)]
    return candidates.find(({ id }) => id === channelId)
  }

  /** Return the served channels of the last list; empty before the first list. */
  async listChannels(): Promise<readonly Channel[]> {
    const list = await this.#findList(() => true)
    return (list?.channels ?? []).filter(({ id }) => isServed(this.#options, id))
  }

  /** The list in memory counts whatever its age: without its database, a server serves from memory. */
  async getListState(): Promise<ChannelListState> {
    if (this.#cachedList !== undefined && this.#isShown(this.#cachedList)) return 'known'
    // An old list without served channels is fetched again.
    const list = await this.#findList((stored) => this.#isShown(stored) || !this.#isStale(stored))
    if (list === undefined) return 'unknown'
    return this.#isShown(list) ? 'known' : 'unlisted'
  }

  /** `true` when the newest available list has the channel. Otherwise, a 404 for one of its products is not trusted. */
  async isListed(channelId: string): Promise<boolean> {
    const newest = await this.#findList((list) => !this.#isStale(list))
    // While an empty list is held, a 404 is not trusted either.
    return newest !== undefined && newest.heldSinceMs === null && hasChannel(newest, channelId)
  }

  /** Return the list in memory, unless the store was not read for long. */
  #findRecent(): ChannelList | undefined {
    const nowMs = this.#options.clock.nowMs()
    if (!isWithin(this.#storeReadAtMs, MEMORY_VALID_MS, nowMs)) return undefined
    // Read in the background: a slow database must not delay the visitor.
    if (!isWithin(this.#storeReadAtMs, STORE_READ_INTERVAL_MS, nowMs)) void this.#findStored()
    return this.#cachedList
  }

  /** Find a sufficient list in memory or in the store; otherwise fetch it from the catalog within the visitor's timeout. */
  async #findList(isSufficient: (list: ChannelList) => boolean): Promise<ChannelList | undefined> {
    const stored = await this.#findStored()
    if (stored !== undefined && isSufficient(stored)) return stored
    return (await this.#fetchInTime()) ?? stored
  }

  /** Return the newer list of memory and store, without a catalog call. */
  #findStored(): Promise<ChannelList | undefined> {
    const { clock, config } = this.#options
    return this.#reads.run(LIST_KEY, async () => {
      const readAtMs = clock.nowMs()
      // The visitor's timeout applies to a slow database too.
      const stored = await tryWithTimeout(clock, config.visitorTimeoutMs, this.#readStore())
      if (stored !== undefined && isUpdate(stored, this.#cachedList, clock.nowMs())) this.#cachedList = stored
      this.#storeReadAtMs = readAtMs
      return this.#cachedList
    })
  }

  async #readStore(): Promise<ChannelList | undefined> {
    const { store, onStoreFailure } = this.#options
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

  async #fetchInTime(): Promise<ChannelList | undefined> {
    const { clock, config, failures, callPolicy } = this.#options
    if (failures.has(LIST_KEY) || !callPolicy.canCall('channels')) return undefined
    const fetching = this.#flights.run(LIST_KEY, async () => (this.#cachedList = await this.#fetch()))
    return tryWithTimeout(clock, config.visitorTimeoutMs, fetching)
  }

  async #fetch(): Promise<ChannelList> {
    const { client, failures, store, onStoreFailure } = this.#options
    const previous = this.#cachedList
    try {
      const { value, asOfMs } = await client.fetchChannels()
      // A CDN may return a list that is already old: do not fetch it again for every visitor.
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

  /** Return the previous list when the new one is empty: only a later walk may accept an empty list. */
  async #keepListWhenEmpty(previous: ChannelList | undefined): Promise<ChannelList | undefined> {
    const { store, failures, onStoreFailure } = this.#options
    const knownList = (await store.findChannelList().catch(() => undefined)) ?? previous
    if (knownList === undefined || knownList.channels.length === 0) return undefined
    // Otherwise every visitor would fetch the list again.
    failures.add(LIST_KEY, undefined)
    // This machine's clock is unchecked: the first walk that finds the same sets the time.
    await store.recordEmptyChannelList(UNKNOWN_TIME_MS).catch(onStoreFailure)
    return { ...knownList, heldSinceMs: knownList.heldSinceMs ?? UNKNOWN_TIME_MS }
  }

  #isShown(list: ChannelList): boolean {
    const { clock, config } = this.#options
    return listVisibleChannels(list, clock.nowMs(), config).some(({ id }) => isServed(this.#options, id))
  }

  #isStale({ asOfMs }: Pick<ChannelList, 'asOfMs'>): boolean {
    const { clock, config } = this.#options
    return classifyAge(asOfMs, clock.nowMs(), config) !== 'fresh'
  }
}

/** `true` when the stored list is newer, or a walk has held or released a list since. */
function isUpdate(stored: ChannelList, memory: ChannelList | undefined, nowMs: number): boolean {
  if (memory === undefined) return true
  if (stored.asOfMs === memory.asOfMs) return stored.heldSinceMs !== memory.heldSinceMs
  return isNewer(stored.asOfMs, memory.asOfMs, nowMs)
}

function hasChannel(list: ChannelList, channelId: string): boolean {
  return list.channels.some(({ id }) => id === channelId)
}

/** Compute the removed channels when the store cannot provide them. */
function computeGone(
  previous: ChannelList | undefined,
  channels: readonly Channel[],
  asOfMs: number,
): ChannelList['gone'] {
  const listedIds = new Set(channels.map(({ id }) => id))
  const newlyGone = (previous?.channels ?? []).map((channel) => ({ channel, goneAtMs: asOfMs }))
  return [...(previous?.gone ?? []), ...newlyGone].filter(({ channel }) => !listedIds.has(channel.id))
}
