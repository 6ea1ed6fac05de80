import type { CallPolicy } from '../catalog/call-policy.ts'
import type { CatalogClient } from '../catalog/client.ts'
import { type Clock, SECOND_MS } from '../clock.ts'
import type { Channel } from '../catalog/contract.ts'
import type { SerializedProxies } from '../config/proxies.ts'
import type { DroppedGtins, DropCounts } from '../catalog/parse.ts'
import { WalkError } from '../errors.ts'
import { runInThread } from '../lib/thread.ts'
import type { ShopEntry } from '../offers/shop-book.ts'
import type { HistoryRules } from '../storage/price-history.ts'
import type { StoredCopy } from '../storage/stored-copy.ts'
import type { HoldReason } from '../storage/store.ts'

/** The input of a walk in another thread. It carries the API key: do not log or store it. */
export type WalkJob = Readonly<{
  /** Serialized address: it must survive structured cloning. */
  database: string
  /** Name of the catalog under which the copy is stored. */
  catalog: string
  /** Which prices are recorded as observed, and for how long. */
  history: HistoryRules
  /** Which merchant names are one shop. */
  shops: readonly ShopEntry[]
  baseUrl: string
  key: string
  timeoutMs: number
  maxBytes: number
  proxies: SerializedProxies
  ownOrigin: string
  /** Ids to walk; `null`: every channel of the key. */
  channels: readonly string[] | null
  /** No call is sent before this time, Unix milliseconds. */
  pausedUntilMs: number
  /** Calls a day; `null` when the plan's limit is not known. */
  dailyLimit: number | null
  /** Whether the walk may wait between pages, for hours if needed, to stay within its share of the daily limit. */
  canWait: boolean
  /** Skip channels walked since this time (Unix milliseconds): another machine made the same scheduled run. `null`: skip none. */
  skipWalkedSinceMs: number | null
  /** Only resume walks that another process left unfinished. */
  isTakeover: boolean
  /** The owner of this walk's leases. */
  owner: string
  /** Accept every channel walk, even a suspicious one. */
  isAccepted: boolean
  /** Accept an empty list of channels. */
  isListAccepted: boolean
  /** Minimum time between the start of a held walk and of the walk that confirms it. */
  confirmAfterMs: number
}>

export type ChannelWalkResult = Readonly<{
  channelId: string
  channelName: string
  outcome: 'complete' | 'held' | 'failed' | 'busy'
  productCount: number
  /** The first malformed GTINs of this run, by reason. */
  droppedGtins: DroppedGtins
  durationMs: number
  /** Error code and message when the walk failed or was held. */
  failure: string | null
  reason: string | null
  drops: DropCounts
  /** The previous copy, when `isAccepted` replaced it with a walk that would have been held. */
  replaced: Readonly<{ reason: HoldReason; productCount: number }> | null
}>

export type WalkReport = Readonly<{
  walks: readonly ChannelWalkResult[]
  /** Error code and message when the channels could not be listed. */
  failure: string | null
  reason: string | null
  /** End of a pause after a 429, which applies to every other call too. */
  pausedUntilMs: number
  /** How far the catalog's clock is ahead of this machine's; `undefined`: unknown. */
  clockSkewMs: number | undefined
  calls: readonly Readonly<{ operation: string; outcome: string; count: number }>[]
}>

/** `isWaiting`: the walk waits for its share of the daily limit. */
export type WalkProgress = Readonly<{
  channel: Channel
  productCount: number
  isDone: boolean
  isWaiting: boolean
}>

export type WalkControl = Readonly<{ signal: AbortSignal; onProgress?: (progress: WalkProgress) => void }>

export type WalkContext = WalkJob &
  WalkControl &
  Readonly<{
    client: CatalogClient
    callPolicy: CallPolicy
    store: StoredCopy
    clock: Clock
    /** Maximum age of the last page of an interrupted walk that can be resumed. */
    resumeWithinMs: number
    /** Compare this machine's clock with others. Call it after a catalog response. `isUnreliable`: no other clock agrees. */
    checkClock(): Promise<Readonly<{ isUnreliable: boolean }>>
  }>

/**
 * Time for a stopped walk to finish the page that it writes. A terminated thread is safe: its transaction is rolled back, and
 * the next walk resumes after the pages before it.
 */
const STOP_TIMEOUT_MS: number = 3 * SECOND_MS

/** Data live for one page of each channel: a larger young generation would be collected later and retained. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 24 } as const

export type WalkRunner = (job: WalkJob, control: WalkControl) => Promise<WalkReport>

/** Run a walk in its own thread, so that its writes delay no response. @throws WalkError when the thread fails */
export const runWalkInThread: WalkRunner = (job, { signal, onProgress }) =>
  runInThread<WalkReport, WalkProgress>('sync/walk-thread.js', {
    data: job,
    resourceLimits: THREAD_LIMITS,
    signal,
    stopTimeoutMs: STOP_TIMEOUT_MS,
    onProgress,
    toError: (cause) =>
      cause === undefined
        ? new WalkError('the walk thread exited without a report')
        : new WalkError('the walk thread failed', { cause }),
  })
