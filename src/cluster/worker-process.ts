import cluster, { type Worker } from 'node:cluster'
import type { AdminAttempt } from '../http/admin-limiter.ts'
import { type Clock, SECOND_MS } from '../clock.ts'
import { UsageError, WorkerError } from '../errors.ts'
import { createQuestions } from '../lib/rpc-channel.ts'
import type { MetricValues, ToPrimary, ToWorker, WorkerOrder, WorkerQuestion } from './messages.ts'

/** How often a worker is asked whether its event loop turns, and how often it may leave that unanswered. */
const LOOK_MS: number = SECOND_MS
const MAX_MISSED_LOOKS = 10

/** A worker that is not ready by then never will be. */
const READY_WITHIN_MS: number = 30 * SECOND_MS

/** How long a worker may take to say what it has counted; afterwards what it said last stands for it. */
const METRICS_WITHIN_MS: number = SECOND_MS

/** How a process ended: its exit code, or the signal that killed it. */
export type WorkerEnd = Readonly<{ code: number | null; signal: string | null; isHung: boolean }>

/** One process that answers, as its primary sees it. */
export type WorkerProcess = Readonly<{
  number: number
  pid: number | undefined
  /** Rejects when it ends before: with UsageError for settings, with WorkerError for everything else. */
  ready: Promise<void>
  end: Promise<WorkerEnd>
  /** What it counted, as far as it said. */
  lastValues(): MetricValues
  /** Asks it what it counted; `false`: it did not answer in time. */
  refreshValues(): Promise<boolean>
  tell(message: ToWorker): void
  kill(): void
}>

/** What a worker is made of; `answer` is what the primary says to its questions. */
export type WorkerDetails = Readonly<{
  order: WorkerOrder
  clock: Clock
  answer(what: WorkerQuestion, attempt: AdminAttempt | undefined): Promise<unknown>
}>

/** Starts a process that answers, and looks after it until it ends: one whose event loop stands still is killed. */
export function startWorker({ order, clock, answer }: WorkerDetails): WorkerProcess {
  const worker = cluster.fork()
  const ended = new AbortController()
  const questions = createQuestions({ clock, withinMs: METRICS_WITHIN_MS, ended: ended.signal })
  const state: WorkerState = { missedLooks: 0, isHung: false, values: [], first: { type: 'serve', order } }
  const tell = createTell(worker, state)
  const end = new Promise<WorkerEnd>((resolve) => {
    worker.once('exit', (code: number | null, signal: string | null) => {
      ended.abort()
      resolve({ code, signal, isHung: state.isHung })
    })
  })
  // Without a listener an error of the channel would be one that nobody caught; the end follows it.
  worker.on('error', () => {})
  const ready = new Promise<void>((resolve, reject) => {
    worker.on('message', (message: ToPrimary) => {
      state.missedLooks = 0
      if (message.type === 'here') tell(state.first)
      else if (message.type === 'ready') resolve()
      else if (message.type === 'failed') reject(toError(message))
      else if (message.type === 'ended') state.values = message.values
      else if (message.type === 'answer') questions.take(message.id, message.value)
      else if (message.type === 'ask') void reply(message, { answer, tell })
    })
    void end.then((how) =>
      reject(new WorkerError(`worker ${order.number} ended at its start: ${describeEnd(how)}`)),
    )
  })
  ready.catch(() => {})
  void watch(worker, { state, clock, ended: ended.signal, tell })
  void killIfLate(worker, { ready, clock, ended: ended.signal })
  return {
    number: order.number,
    pid: worker.process.pid,
    ready,
    end,
    lastValues: () => state.values,
    async refreshValues() {
      const values = await questions.ask((id) => tell({ type: 'ask', id }))
      if (!Array.isArray(values)) return false
      state.values = values as MetricValues
      return true
    },
    tell,
    kill: () => void worker.process.kill('SIGKILL'),
  }
}

/** How it ended, in words for the log. */
export function describeEnd({ code, signal, isHung }: WorkerEnd): string {
  if (isHung) return 'its event loop stood still'
  return signal === null ? `exit code ${code}` : `killed by ${signal}`
}

/** `first`: what it is told as soon as it listens. */
type WorkerState = { missedLooks: number; isHung: boolean; values: MetricValues; first: ToWorker }
function createTell(worker: Worker, state: WorkerState): (message: ToWorker) => void {
  return (message) => {
    // One that does not listen yet would serve, and be killed in the end.
    if (message.type === 'stop') state.first = message
    // A channel that closes meanwhile belongs to a worker whose end is about to be told.
    if (worker.isConnected()) worker.send(message, () => {})
  }
}

type Watching = Readonly<{ clock: Clock; ended: AbortSignal }>

/** Counts looks and not time: neither a clock that is set nor a machine that sleeps makes a worker look hung. */
async function watch(
  worker: Worker,
  { state, clock, ended, tell }: Watching & Readonly<{ state: WorkerState; tell(message: ToWorker): void }>,
): Promise<void> {
  while (!ended.aborted) {
    await clock.wait(LOOK_MS, ended)
    if (ended.aborted) return
    state.missedLooks += 1
    if (state.missedLooks > MAX_MISSED_LOOKS) {
      state.isHung = true
      worker.process.kill('SIGKILL')
      return
    }
    tell({ type: 'look' })
  }
}

async function killIfLate(
  worker: Worker,
  { ready, clock, ended }: Watching & Readonly<{ ready: Promise<void> }>,
): Promise<void> {
  const inTime = new AbortController()
  const isLate = await Promise.race([
    ready.then(
      () => false,
      () => false,
    ),
    clock.wait(READY_WITHIN_MS, AbortSignal.any([ended, inTime.signal])).then(() => !ended.aborted),
  ])
  inTime.abort()
  if (isLate) worker.process.kill('SIGKILL')
}

async function reply(
  { id, what, attempt }: Extract<ToPrimary, { type: 'ask' }>,
  { answer, tell }: Pick<WorkerDetails, 'answer'> & Readonly<{ tell(message: ToWorker): void }>,
): Promise<void> {
  const value = await answer(what, attempt).catch(() => undefined)
  tell({ type: 'answer', id, value })
}

/** The errors of a start, as one process would have them. */
function toError({ name, message }: Readonly<{ name: string; message: string }>): UsageError | WorkerError {
  return name === 'UsageError' ? new UsageError(message) : new WorkerError(message)
}
