import type { CatalogClient } from '../catalog/client.ts'
import type { Channel } from '../catalog/contract.ts'
import { type Clock, SECOND_MS, isWithin, systemClock } from '../clock.ts'
import type { CopyStore, WalkStore } from './store.ts'
import { withRetries } from './walk-retries.ts'

/** What of the store the list is taken from and put into. */
export type ListStore = Pick<CopyStore, 'findChannelList' | 'claimLookup'> & Pick<WalkStore, 'putChannelList'>

type ListDetails = Readonly<{
  client: Pick<CatalogClient, 'fetchChannels'>
  store: ListStore
  clock: Clock
  owner: string
  signal: AbortSignal
  /** `null`: the list is asked for, whoever may have done so. */
  walkedSinceMs: number | null
}>

/** In the place of a product, among the claims. */
const LIST_CLAIM = { channelId: '', gtin: 'channels' } as const

/** How long one machine has the list to itself, and how often the others look for it; of the machine's clock. */
const CLAIM_MS: number = 5 * SECOND_MS
const LOOK_EVERY_MS = 50

/** A list that another machine has fetched so lately is that of the same occasion. */
const SHARED_MS: number = 30 * SECOND_MS

/** The list of channels, from the catalog or, where several machines begin a walk at the same time, from the one who asked. */
export async function getChannelList(details: ListDetails): Promise<readonly Channel[]> {
  const shared = details.walkedSinceMs === null ? undefined : await findShared(details)
  if (shared !== undefined) return shared
  const { value, asOfMs } = await withRetries(details, () => details.client.fetchChannels('walk'))
  await details.store.putChannelList(value, asOfMs)
  return value
}

async function findShared(details: ListDetails): Promise<readonly Channel[] | undefined> {
  const { store, clock, owner, signal } = details
  for (let leftMs = CLAIM_MS; leftMs > 0 && !signal.aborted; leftMs -= LOOK_EVERY_MS) {
    const list = await store.findChannelList()
    if (list !== undefined && isWithin(list.asOfMs, SHARED_MS, clock.nowMs())) return list.channels
    if (await store.claimLookup(LIST_CLAIM, { owner, forMs: CLAIM_MS })) return undefined
    await systemClock.wait(LOOK_EVERY_MS, signal)
  }
  return undefined
}
