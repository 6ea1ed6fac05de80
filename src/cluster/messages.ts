import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import type { Environment } from '../config/config.ts'
import type { AdminAttempt } from '../http/admin-limiter.ts'

/** The metrics of one process, as prom-client exports them. */
export type MetricValues = readonly MetricObjectWithValues<MetricValue<string>>[]

/** What a worker is started with. It goes over the channel to the primary and nowhere else: secrets are in it. */
export type WorkerParameters = Readonly<{
  /** The settings of the primary, also after a reload. */
  environment: Environment
  /** From 1; a worker that replaces another one has the same number. */
  workerNumber: number
  /** The port that is listened on, whatever the settings ask for. */
  port: number
  publicUrl: string
  /** Address of the catalog, and the name under which its copy is stored. */
  baseUrl: string
  identity: string
  /** The key of the embedded catalog in this run; `null`: a remote catalog. */
  embeddedKey: string | null
}>

/** What a worker asks its primary; `content` is what the embedded catalog holds, an attempt whether its address is locked. */
export type WorkerCall = 'parameters' | 'metrics-page' | 'content' | AdminAttempt

type Reply = Readonly<{ type: 'reply'; id: number; value: unknown }>

export type ToWorker =
  /** Go on serving for `drainMs`, then end. `isServerStop`: all workers stop, and `/readyz` says so. */
  | Readonly<{ type: 'stop'; drainMs: number; isServerStop: boolean }>
  | Readonly<{ type: 'refresh-key' }>
  /** Send the metrics of this worker. */
  | Readonly<{ type: 'call'; id: number }>
  | Reply

export type ToPrimary =
  | Readonly<{ type: 'ready' }>
  /** Sent every `HEARTBEAT_MS` while the event loop turns. */
  | Readonly<{ type: 'heartbeat' }>
  /** The last message: the metrics of the whole run. */
  | Readonly<{ type: 'ended'; values: MetricValues }>
  | Readonly<{ type: 'call'; id: number; call: WorkerCall }>
  | Reply

export const HEARTBEAT_MS = 1_000
