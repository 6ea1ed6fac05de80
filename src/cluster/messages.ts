import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import type { Environment } from '../config/config.ts'
import type { ShopData } from '../config/shop-file.ts'
import type { SubData } from '../config/sub-ids-file.ts'
import type { AdminAttempt } from '../http/admin-limiter.ts'

export type MetricValues = readonly MetricObjectWithValues<MetricValue<string>>[]

/** Start parameters of a worker. They contain secrets and are sent only over the channel of the primary. */
export type WorkerParameters = Readonly<{
  /** Settings of the primary; a reload does not read them again. */
  environment: Environment
  /** Starts at 1; a replacement keeps the number of the worker that it replaces. */
  workerNumber: number
  /** The port of the server; overrides the settings. */
  port: number
  publicUrl: string
  /** Address of the catalog, and the name of its stored copy. */
  baseUrl: string
  copyName: string
  /** Key of the embedded catalog in this run; `null` with a remote catalog. */
  embeddedKey: string | null
  shopData: ShopData
  subData: SubData
}>

/**
 * Calls from a worker. `content`: what the embedded catalog contains; `feeds`: its feeds. An attempt returns how long its address
 * is locked.
 */
export type WorkerCall =
  'parameters' | 'metrics-page' | 'content' | 'feeds' | 'feeds-with-warnings' | AdminAttempt

type Reply = Readonly<{ type: 'reply'; id: number; value: unknown }>

export type ToWorker =
  /** Continue to serve for `drainMs`, then end. `isServerStop`: all workers stop, and `/readyz` reports it. */
  | Readonly<{ type: 'stop'; drainMs: number; isServerStop: boolean }>
  | Readonly<{ type: 'refresh-key' }>
  /** Request the metrics of the worker. */
  | Readonly<{ type: 'call'; id: number }>
  | Reply

export type ToPrimary =
  | Readonly<{ type: 'ready' }>
  /** The last message of a worker that cannot start. */
  | Readonly<{ type: 'failed'; reason: string }>
  /** Sent every `HEARTBEAT_MS` while the event loop runs. */
  | Readonly<{ type: 'heartbeat' }>
  /** The last message, with the final metrics. */
  | Readonly<{ type: 'ended'; values: MetricValues }>
  | Readonly<{ type: 'call'; id: number; call: WorkerCall }>
  | Reply

export const HEARTBEAT_MS = 1_000
