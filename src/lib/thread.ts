import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { type MessagePort, type ResourceLimits, Worker, parentPort, workerData } from 'node:worker_threads'
import { type Clock, systemClock } from '../clock.ts'
import * as errors from '../errors.ts'
import { toBuiltPath } from './files.ts'

type ThreadOptions = Readonly<{
  /** Structured clone for the thread. It may carry secrets: do not log or store it. */
  data: unknown
  resourceLimits?: ResourceLimits
  /** Not needed by callers that `receive`. */
  onMessage?(message: unknown, thread: Thread): void
  clock?: Clock
}>

export type Thread = Readonly<{
  /** Send a message. A thread that has ended ignores it. */
  send(message: unknown): void
  /** Wait for the next message. @throws AbortError when the thread has ended */
  receive(): Promise<unknown>
  /** Aborts when the thread has ended. */
  ended: AbortSignal
  /** Resolves when the thread has ended: with its error, or `undefined` after a normal end. */
  exitError: Promise<unknown>
  /** Let the process end while the thread is open, or not. */
  unref(): void
  ref(): void
  /** Give a thread that was asked to end `timeoutMs` for it; then terminate it. */
  waitForEnd(timeoutMs: number): Promise<void>
}>

/** Open a thread that runs until it is asked to end. `file`: its path in `dist/`, such as `storage/read-thread.js`. */
export function openThread(file: string, options: ThreadOptions): Thread {
  const { data, resourceLimits, onMessage, clock = systemClock } = options
  const worker = new Worker(toBuiltPath(file), {
    workerData: data,
    ...(resourceLimits && { resourceLimits }),
  })
  const ending = new AbortController()
  let failure: unknown
  worker.on('message', (message: unknown) => onMessage?.(message, thread))
  worker.on('error', (error) => (failure = restoreClass(error)))
  const exitError = new Promise<unknown>((resolve) => {
    worker.once('exit', () => {
      ending.abort(new Error(`the thread ${file} has ended`, { cause: failure }))
      resolve(failure)
    })
  })
  const thread: Thread = {
    send: (message) => worker.postMessage(message),
    receive: async () => ((await once(worker, 'message', { signal: ending.signal })) as [unknown])[0],
    ended: ending.signal,
    exitError,
    unref: () => worker.unref(),
    ref: () => worker.ref(),
    async waitForEnd(timeoutMs) {
      worker.ref()
      await clock.wait(timeoutMs, ending.signal)
      if (!ending.signal.aborted) await worker.terminate()
    },
  }
  return thread
}

type JobOptions<Progress> = Omit<ThreadOptions, 'onMessage'> &
  Readonly<{
    onProgress?: ((progress: Progress, thread: Thread) => void) | undefined
    /** When it aborts, the thread is asked to stop, and terminated after `stopTimeoutMs`. */
    signal: AbortSignal
    stopTimeoutMs: number
    /** Convert the error of a thread that crashed; `undefined`: it ended without a result. */
    toError(cause: unknown): Error
  }>

type JobMessage<Progress, Result> =
  | Readonly<{ type: 'progress'; progress: Progress }>
  | Readonly<{ type: 'result'; result: Result }>
  | Readonly<{ type: 'failure'; error: SerializedError }>

/**
 * Run a job (`serveJob`) in a thread of its own, and return its result once the thread has ended.
 * @throws the VitrineError of the job; otherwise what `toError` returns
 */
export async function runInThread<Result, Progress = never>(
  file: string,
  { onProgress, signal, stopTimeoutMs, toError, ...options }: JobOptions<Progress>,
): Promise<Result> {
  let end: Exclude<JobMessage<Progress, Result>, { type: 'progress' }> | undefined
  const thread = openThread(file, {
    ...options,
    onMessage(message: JobMessage<Progress, Result>, sender) {
      if (message.type === 'progress') return onProgress?.(message.progress, sender)
      end = message
      // What a job leaves open must not keep its caller waiting.
      void sender.waitForEnd(stopTimeoutMs)
    },
  })
  const stop = (): void => {
    thread.send('stop')
    void thread.waitForEnd(stopTimeoutMs)
  }
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { signal: thread.ended })
  const error = await thread.exitError
  // A result stays valid when the thread crashes after it.
  if (end === undefined) throw error instanceof errors.VitrineError ? error : toError(error)
  if (end.type === 'failure') throw deserializeError(end.error)
  return end.result
}

type JobControl = Readonly<{
  /** Aborts when the job must stop. */
  signal: AbortSignal
  /** Resolves at the first message of the caller, and when the job must stop. */
  firstMessage: Promise<unknown>
  sendProgress(progress: unknown): void
}>

/** In a thread of `runInThread`: run the job with the thread's data, send its result or error, and let the thread end. */
export async function serveJob(run: (data: unknown, control: JobControl) => Promise<unknown>): Promise<void> {
  const port = parentPort as MessagePort
  const stopping = new AbortController()
  const send = (message: JobMessage<unknown, unknown>): void => port.postMessage(message)
  port.on('message', (message) => message === 'stop' && stopping.abort())
  lowerThreadPriority()
  try {
    const result = await run(workerData, {
      signal: stopping.signal,
      firstMessage: once(port, 'message'),
      sendProgress: (progress) => send({ type: 'progress', progress }),
    })
    send({ type: 'result', result })
  } catch (error) {
    // Any other error is a bug: it ends the thread as a crash.
    if (!(error instanceof errors.VitrineError)) throw error
    send({ type: 'failure', error: serializeError(error) })
  }
  port.close()
}

/** An error as a message: threads cannot pass on classes, and own properties are lost. */
export type SerializedError = Readonly<{ message: string; code?: string }>

/** Return the message and, of an error of the project, its properties without the cause. */
export function serializeError(error: unknown): SerializedError {
  if (!(error instanceof errors.VitrineError))
    return { message: error instanceof Error ? error.message : String(error) }
  return Object.assign({}, error, { message: error.message })
}

/** Return the error that `serializeError` received: of the same class, with the same properties. */
export function deserializeError({ message, ...properties }: SerializedError): Error {
  return restoreClass(Object.assign(new Error(message), properties))
}

const PROTOTYPES = new Map<unknown, object>(
  Object.values(errors).flatMap((value) => ('code' in value ? [[value.code, value.prototype]] : [])),
)

function restoreClass<T>(error: T): T {
  const prototype = error instanceof Error && 'code' in error ? PROTOTYPES.get(error.code) : undefined
  return prototype === undefined ? error : (Object.setPrototypeOf(error, prototype) as T)
}

/** Nice value below the threads that serve requests. */
const NICENESS = 10

/** Lower the priority of this thread, so that requests come before a walk. Only Linux has a nice value for each thread. */
export function lowerThreadPriority(): void {
  if (process.platform !== 'linux') return
  try {
    const threadId = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    if (threadId !== process.pid && threadId > 0) setPriority(threadId, NICENESS)
  } catch {
    // Without /proc or the permission, the thread keeps its priority.
  }
}
