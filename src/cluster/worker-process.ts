import cluster, { type Worker } from 'node:cluster'
import { type Clock, SECOND_MS } from '../clock.ts'
import { WorkerError } from '../errors.ts'
import { type RpcChannel, createRpcChannel } from '../lib/rpc-channel.ts'
import {
  HEARTBEAT_MS,
  type MetricValues,
  type ToPrimary,
  type ToWorker,
  type WorkerCall,
} from './messages.ts'

/** A worker that misses more heartbeats in a row is hung. */
const MAX_MISSED_HEARTBEATS = 10

/** A worker that is not ready by then is killed. */
const READY_TIMEOUT_MS: number = 30 * SECOND_MS

/** If a worker misses this deadline, its previous values are reused: Prometheus treats a falling counter as a restart. */
const METRICS_TIMEOUT_MS: number = SECOND_MS

type WorkerProcessOptions = Readonly<{
  workerNumber: number
  clock: Clock
  handleCall(call: WorkerCall): Promise<unknown>
}>

export type WorkerExit = Readonly<{ code: number | null; signal: string | null; isHung: boolean }>

/** A worker as its primary sees it. A hung worker is killed. */
export class WorkerProcess {
  readonly workerNumber: number
  /** Rejects with WorkerError when the worker ends before it is ready. */
  readonly ready: Promise<void>
  readonly exit: Promise<WorkerExit>
  values: MetricValues = []
  isReady = false
  readonly #worker: Worker
  readonly #options: WorkerProcessOptions
  readonly #calls: RpcChannel
  readonly #exited = new AbortController()
  #missedHeartbeats = 0
  #startFailure: string | undefined

  constructor(options: WorkerProcessOptions) {
    this.#options = options
    this.workerNumber = options.workerNumber
    this.#worker = cluster.fork()
    const endSignal = this.#exited.signal
    this.#calls = createRpcChannel({ clock: options.clock, timeoutMs: METRICS_TIMEOUT_MS, endSignal })
    // A channel error precedes the exit; without a listener it would be an uncaught exception.
    this.#worker.on('error', () => {})
    this.exit = this.#supervise()
    this.ready = new Promise((resolve, reject) => {
      this.#worker.on('message', (message: ToPrimary) => {
        this.#onMessage(message)
        if (this.isReady) resolve()
      })
      void this.exit.then((exit) =>
        reject(
          new WorkerError(
            `worker ${this.workerNumber} ended during its start: ${this.#startFailure ?? describeExit(exit)}`,
          ),
        ),
      )
    })
    this.ready.catch(() => {})
  }

  get pid(): number | undefined {
    return this.#worker.process.pid
  }

  get hasExited(): boolean {
    return this.#exited.signal.aborted
  }

  send(message: ToWorker): void {
    if (this.#worker.isConnected()) this.#worker.send(message, () => {})
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL')
  }

  /** Request the metrics of the worker. Return `false` when it misses the deadline. */
  async refreshValues(): Promise<boolean> {
    if (!this.isReady) return true
    const values = await this.#calls.call((id) => this.send({ type: 'call', id }))
    if (!Array.isArray(values)) return false
    this.values = values as MetricValues
    return true
  }

  /** Stop the worker and wait until it has ended. Kill it after `timeoutMs`. */
  async stop(message: Extract<ToWorker, { type: 'stop' }>, timeoutMs: number): Promise<void> {
    if (this.isReady) this.send(message)
    // It may not listen to messages yet; Node ends a worker when its channel closes.
    else if (this.#worker.isConnected()) this.#worker.process.disconnect()
    await this.#options.clock.wait(timeoutMs, this.#exited.signal)
    if (!this.hasExited) this.kill()
    await this.exit
  }

  #onMessage(message: ToPrimary): void {
    this.#missedHeartbeats = 0
    if (message.type === 'ready') this.isReady = true
    else if (message.type === 'failed') this.#startFailure = message.reason
    else if (message.type === 'ended') this.values = message.values
    else if (message.type === 'reply') this.#calls.resolve(message.id, message.value)
    else if (message.type === 'call') void this.#reply(message.id, message.call)
  }

  async #reply(id: number, call: WorkerCall): Promise<void> {
    const value = await this.#options.handleCall(call).catch(() => undefined)
    this.send({ type: 'reply', id, value })
  }

  /** Count heartbeats, not time: a clock change or a suspended machine must not make a worker look hung. */
  #supervise(): Promise<WorkerExit> {
    const heartbeatTimer = setInterval(() => {
      this.#missedHeartbeats += 1
      if (this.#isHung()) this.kill()
    }, HEARTBEAT_MS)
    const readyTimer = setTimeout(() => this.isReady || this.kill(), READY_TIMEOUT_MS)
    return new Promise((resolve) => {
      this.#worker.once('exit', (code, signal) => {
        clearInterval(heartbeatTimer)
        clearTimeout(readyTimer)
        this.#exited.abort()
        resolve({ code, signal, isHung: this.#isHung() })
      })
    })
  }

  #isHung(): boolean {
    return this.#missedHeartbeats > MAX_MISSED_HEARTBEATS
  }
}

export function describeExit({ code, signal, isHung }: WorkerExit): string {
  if (isHung) return 'its event loop was blocked'
  return signal === null ? `exit code ${code}` : `killed by ${signal}`
}
