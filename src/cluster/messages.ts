import type { MetricObjectWithValues, MetricValue } from 'prom-client'
import type { AdminAttempt } from '../http/admin-limiter.ts'
import type { Config } from '../config/config.ts'

/** What a process has counted, as prom-client hands it on. */
export type MetricValues = readonly MetricObjectWithValues<MetricValue<string>>[]

/** Everything that a worker is given at its start, over the channel to its parent and nowhere else: the key is in it. */
export type WorkerOrder = Readonly<{
  /** 1 and up; a worker that replaces another one takes its number. */
  number: number
  config: Config
  /** The address of the stored copy's database, with its password. */
  database: string
  /** The port that is listened on, whatever `config` asks for. */
  port: number
  publicUrl: string
  catalog: Readonly<{ baseUrl: string; key: string; identity: string }>
  adminPassword: string | null
  /** The address that sample data leads to; `null` with a real catalog. */
  demoUrl: string | null
}>

/**
 * What a worker asks its primary: the sums over all processes, the key read again, what the embedded catalog holds, whether an
 * address is locked after wrong admin passwords.
 */
export type WorkerQuestion = 'metrics' | 'key' | 'content' | 'admin-attempt'

/**
 * How a worker is to end: for `drainMs` it goes on answering, and after `withinMs` in all it ends itself, whatever hangs.
 * `isWhole`: the whole server ends, as `/readyz` then says; otherwise this worker alone is replaced.
 */
export type StopOrder = Readonly<{ drainMs: number; withinMs: number; isWhole: boolean }>

/** From the primary to a worker. */
export type ToWorker =
  | Readonly<{ type: 'serve'; order: WorkerOrder }>
  /** Another key than before. */
  | Readonly<{ type: 'key'; key: string }>
  /** Is answered by `alive`: the event loop turns. */
  | Readonly<{ type: 'look' }>
  | Readonly<{ type: 'stop'; order: StopOrder }>
  | Readonly<{ type: 'ask'; id: number }>
  | Readonly<{ type: 'answer'; id: number; value: unknown }>

/** From a worker to the primary. */
export type ToPrimary =
  /** It listens to what it is told; what came before is lost. */
  | Readonly<{ type: 'here' }>
  | Readonly<{ type: 'ready' }>
  /** The start failed for a reason that is no bug. */
  | Readonly<{ type: 'failed'; name: string; message: string }>
  | Readonly<{ type: 'alive' }>
  /** The last word: what it counted in its life. */
  | Readonly<{ type: 'ended'; values: MetricValues }>
  | Readonly<{ type: 'ask'; id: number; what: WorkerQuestion; attempt?: AdminAttempt }>
  | Readonly<{ type: 'answer'; id: number; value: unknown }>
