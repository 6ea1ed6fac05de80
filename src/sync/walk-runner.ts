import { Worker } from 'node:worker_threads'
import type { CallPolicy } from '../catalog/call-policy.ts'
import type { CatalogClient } from '../catalog/client.ts'
import { type Clock, SECOND_MS, systemClock } from '../clock.ts'
import type { Channel } from '../catalog/contract.ts'
import type { DroppedGtins, DropCounts } from '../catalog/parse.ts'
import { WalkError } from '../errors.ts'
import type { SqlStore } from '../storage/sql-store.ts'
import type { HoldReason } from '../storage/store.ts'

/** Everything that a walk in another thread needs; the key goes there and nowhere else. */
export type WalkJob = Readonly<{
  /** The address as a text; a thread gets no more than texts and numbers. */
  database: string
  /** Which catalog's copy. */
  catalog: string
  baseUrl: string
  key: string
  timeoutMs: number
  maxBytes: number
  ownOrigin: string
  /** Ids to walk; `null`: every channel of the key. */
  channels: readonly string[] | null
  /** No call leaves before, Unix milliseconds. */
  pausedUntilMs: number
  /** Calls a day; `null` when the plan's limit is not known. */
  dailyLimit: number | null
  /** May it wait between its pages, hours if need be, so as to fit into its share of the daily limit? */
  canWait: boolean
  /**
   * Channels whose copy was begun at or after this time, Unix milliseconds, are left out: another machine has walked them for the
   * same occasion, and a list of channels of that time is used. `null`: everything is walked.
   */
  skipWalkedSinceMs: number | null
  /** Only walks that somebody began and did not end are gone on with. */
  isTakeover: boolean
  /** Names this walk in leases. */
  owner: string
  /** Are the walks of channels believed whatever they find? */
  isAccepted: boolean
  /** Is a list without channels believed? */
  isListAccepted: boolean
  /** How much later than a walk that was held another one has to begin to confirm it, in milliseconds. */
  confirmAfterMs: number
}>

/** How the walk of one channel ended. */
export type ChannelWalkResult = Readonly<{
  channelId: string
  channelName: string
  outcome: 'complete' | 'held' | 'failed' | 'busy'
  productCount: number
  /** The first GTINs of what this run found malformed, by reason. */
  droppedGtins: DroppedGtins
  durationMs: number
  /** Code of the error when it failed or was held, and its words. */
  failure: string | null
  reason: string | null
  /** What a complete walk left out, by reason. */
  drops: DropCounts
  /** The copy that an accepted walk replaced, which would have been held otherwise. */
  replaced: Readonly<{ reason: HoldReason; productCount: number }> | null
}>

/** How a walk ended, and a pause that it learned of: a 429 met there holds for every call. */
export type WalkReport = Readonly<{
  walks: readonly ChannelWalkResult[]
  /** Code of the error when not even the channels could be listed. */
  failure: string | null
  /** Its words, or those of the database. */
  reason: string | null
  pausedUntilMs: number
  /** By how much the catalog's clock is ahead of this machine's, in milliseconds; `undefined` when no response told. */
  clockSkewMs: number | undefined
  calls: readonly Readonly<{ operation: string; outcome: string; count: number }>[]
}>

/** What a walk tells while it goes. `isWaiting`: the rest would use up the walk's share of the daily limit too soon. */
export type WalkProgress = Readonly<{
  channel: Channel
  productCount: number
  isDone: boolean
  isWaiting: boolean
}>

/** What the thread sends. */
export type WalkMessage =
  Readonly<{ type: 'progress'; progress: WalkProgress }> | Readonly<{ type: 'report'; report: WalkReport }>

/** How a walk is watched and stopped. */
export type WalkControl = Readonly<{ signal: AbortSignal; onProgress?: (progress: WalkProgress) => void }>

/** A walk under way, and what it works with. */
export type WalkContext = WalkJob &
  WalkControl &
  Readonly<{
    client: CatalogClient
    callPolicy: CallPolicy
    store: SqlStore
    clock: Clock
    /** How old the last page of a broken walk may be to go on there, in milliseconds. */
    resumeWithinMs: number
    /** Compare this machine's clock with others, after the catalog has answered. `isDoubtful`: none agrees with it. */
    checkClock(): Promise<Readonly<{ isUnreliable: boolean }>>
  }>

/** How long a walk that was told to stop may take for the page that it is writing; then its thread is ended. */
const STOP_TIMEOUT_MS: number = 3 * SECOND_MS

/** Memory for what lives for a page only: more is collected less often, and kept; in mebibytes. */
const THREAD_LIMITS = { maxYoungGenerationSizeMb: 24 } as const

/** Runs one walk. */
export type WalkRunner = (job: WalkJob, control: WalkControl) => Promise<WalkReport>

/**
 * Run a walk in a thread of its own, which ends with it: writing a page there delays no response here.
 * @throws WalkError when the thread ends without a report.
 */
export const runWalkInThread: WalkRunner = (job, control) =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./walk-thread.js', import.meta.url), {
      workerData: job,
      resourceLimits: THREAD_LIMITS,
    })
    const ended = new AbortController()
    const stop = (): void => {
      worker.postMessage('stop')
      // What a cut transaction wrote is rolled back, and the pages before it are resumed.
      void systemClock.wait(STOP_TIMEOUT_MS, ended.signal).then(() => worker.terminate())
    }
    control.signal.addEventListener('abort', stop)
    let report: WalkReport | undefined
    worker.on('message', (message: WalkMessage) => {
      if (message.type === 'report') report = message.report
      else control.onProgress?.(message.progress)
    })
    worker.on('error', (error) => {
      reject(new WalkError('the thread of the walk failed', { cause: error }))
    })
    worker.on('exit', () => {
      ended.abort()
      control.signal.removeEventListener('abort', stop)
      if (report === undefined) reject(new WalkError('the thread of the walk ended without a report'))
      else resolve(report)
    })
  })
