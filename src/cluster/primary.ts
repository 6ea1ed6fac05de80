import cluster from 'node:cluster'
import { SECOND_MS } from '../clock.ts'
import type { Context, EmbeddedCatalog } from '../context.ts'
import { type RestartBackoff, createRestartBackoff } from '../lib/backoff.ts'
import { type SerialQueue, createSerialQueue } from '../lib/concurrency.ts'
import { ClusterMetrics } from './cluster-metrics.ts'
import type { WorkerCall, WorkerParameters } from './messages.ts'
import { type WorkerExit, WorkerProcess, describeExit } from './worker-process.ts'

type PrimaryOptions = Readonly<{
  context: Context
  workerCount: number
  workerFile: string
  parameters: Omit<WorkerParameters, 'workerNumber'>
  /** `null` with a remote catalog. */
  embeddedCatalog: EmbeddedCatalog | null
}>

/** Drain of a replaced worker, in which its responses carry `Connection: close`. */
const REPLACED_DRAIN_MS: number = SECOND_MS

/** The drain, 8 s for responses in progress, and time to send the metrics. */
const REPLACED_TIMEOUT_MS: number = 9.75 * SECOND_MS

/** When the server stops, kill a hung worker before the primary ends itself after 9.5 s. */
const STOP_TIMEOUT_MS: number = 9.25 * SECOND_MS

/** A worker number and the process that has it now. */
type Slot = { readonly workerNumber: number; worker: WorkerProcess; readonly backoff: RestartBackoff }

export class Primary {
  readonly #options: PrimaryOptions
  readonly #slots: Slot[] = []
  /** All workers that have not ended, including those that are being replaced. */
  readonly #running = new Set<WorkerProcess>()
  readonly #stopping = new AbortController()
  readonly #metrics: ClusterMetrics
  #isStarted = false
  readonly #reloads: SerialQueue = createSerialQueue()

  constructor(options: PrimaryOptions) {
    this.#options = options
    this.#metrics = new ClusterMetrics(options.context, this.#running)
    // Workers accept connections themselves, not through the primary (ADR 0017).
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({ exec: options.workerFile, args: [], serialization: 'advanced' })
  }

  /** Start all workers. @throws WorkerError when one does not start. */
  async start(): Promise<void> {
    for (let workerNumber = 1; workerNumber <= this.#options.workerCount; workerNumber += 1) {
      const backoff = createRestartBackoff(this.#options.context.clock)
      this.#slots.push({ workerNumber, backoff, worker: this.#launch(workerNumber) })
    }
    await Promise.all(this.#slots.map(({ worker }) => worker.ready))
    this.#isStarted = true
    // A worker may have ended while others were still starting.
    for (const slot of this.#slots) if (slot.worker.hasExited) void this.#replaceEnded(slot)
  }

  refreshKeys(): void {
    for (const worker of this.#running) if (worker.isReady) worker.send({ type: 'refresh-key' })
  }

  /** Replace the workers one by one without losing a request. Stop at the first replacement that does not start. */
  reload(): Promise<void> {
    return this.#reloads.run(() => this.#replaceAll())
  }

  async stop(drainMs: number): Promise<void> {
    this.#stopping.abort()
    const message = { type: 'stop', drainMs, isServerStop: true } as const
    await Promise.all([...this.#running].map((worker) => worker.stop(message, STOP_TIMEOUT_MS)))
  }

  #launch(workerNumber: number): WorkerProcess {
    const { clock } = this.#options.context
    const worker = new WorkerProcess({
      workerNumber,
      clock,
      handleCall: (call) => this.#handleCall(call, workerNumber),
    })
    this.#running.add(worker)
    void worker.exit.then((exit) => this.#onExit(worker, exit))
    return worker
  }

  async #handleCall(call: WorkerCall, workerNumber: number): Promise<unknown> {
    if (call === 'parameters') return { ...this.#options.parameters, workerNumber }
    if (call === 'metrics-page') return this.#metrics.render()
    const { embeddedCatalog } = this.#options
    if (call === 'content') return embeddedCatalog?.readCatalogContent()
    if (call === 'feeds' || call === 'feeds-with-warnings')
      return embeddedCatalog?.readFeeds(call === 'feeds-with-warnings')
    return this.#options.context.adminLimiter.admit(call)
  }

  async #onExit(worker: WorkerProcess, exit: WorkerExit): Promise<void> {
    this.#running.delete(worker)
    this.#metrics.fold(worker.values)
    const slot = this.#slots.find((slot) => slot.worker === worker)
    if (slot === undefined || this.#stopping.signal.aborted || !this.#isStarted) return
    this.#options.context.logger.error(
      { worker: slot.workerNumber, pid: worker.pid, ...exit },
      `a worker ended (${describeExit(exit)}) and will be replaced`,
    )
    await this.#replaceEnded(slot)
  }

  async #replaceEnded(slot: Slot): Promise<void> {
    const endedWorker = slot.worker
    await this.#options.context.clock.wait(slot.backoff.nextMs(), this.#stopping.signal)
    // A reload may have replaced the worker in the meantime.
    if (this.#stopping.signal.aborted || slot.worker !== endedWorker) return
    this.#metrics.restarts.inc()
    slot.backoff.recordStart()
    slot.worker = this.#launch(slot.workerNumber)
  }

  async #replaceAll(): Promise<void> {
    const { logger } = this.#options.context
    for (const slot of this.#slots) {
      if (this.#stopping.signal.aborted) return
      const newWorker = this.#launch(slot.workerNumber)
      try {
        await newWorker.ready
      } catch (error) {
        newWorker.kill()
        if (this.#stopping.signal.aborted) return
        this.#metrics.reloads.inc({ outcome: 'failed' })
        const fields = { err: error, worker: slot.workerNumber }
        logger.error(fields, 'reload stopped: a new worker did not start; the old workers continue')
        return
      }
      const oldWorker = slot.worker
      slot.worker = newWorker
      slot.backoff.recordStart()
      const message = { type: 'stop', drainMs: REPLACED_DRAIN_MS, isServerStop: false } as const
      await oldWorker.stop(message, REPLACED_TIMEOUT_MS)
    }
    this.#metrics.reloads.inc({ outcome: 'done' })
    logger.info({ workers: this.#slots.length }, 'reload done: all workers were replaced')
  }
}
