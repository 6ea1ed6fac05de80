import { Worker } from 'node:worker_threads'
import { SECOND_MS, systemClock } from '../../clock.ts'
import { type DatabaseAddress, serializeDatabaseAddress } from '../../config/database-address.ts'
import { type SerializedProxies, serializeProxies } from '../../config/proxies.ts'
import {
  FeedFetchError,
  FeedHeldError,
  FeedThreadError,
  ImportError,
  StoreError,
  UsageError,
} from '../../errors.ts'
import { describeInternalError } from '../../lib/internal-error.ts'
import { type SerialQueue, createSerialQueue } from '../../lib/serial-queue.ts'
import type { FeedSecrets } from './feed-address.ts'
import { type FeedRun, getFeedsFolder } from './run-feed.ts'
import type { Proxies } from '../../config/secrets.ts'

/** The input of a feed thread. `database`, `secrets` and `proxies` are secret: do not log or store them. */
export type FeedJob = Readonly<{
  database: string
  feedId: number
  owner: string
  folder: string
  secrets: readonly (readonly [name: string, value: string])[]
  proxies: SerializedProxies
}>

export type FeedJobMessage =
  /** The file is fetched. The thread waits for the message `import`. */
  | Readonly<{ type: 'fetched' }>
  | Readonly<{ type: 'run'; run: FeedRun }>
  /** An error by its code, because threads cannot pass on error classes. */
  | Readonly<{ type: 'failure'; code: string; message: string }>

/** Time for a stopped run to roll back; then its thread is terminated, which also rolls back. */
const STOP_TIMEOUT_MS: number = 2 * SECOND_MS

/** Always the built file, also when this module runs from `src/`: a thread needs JavaScript. */
const THREAD_FILE = new URL('../../../dist/catalog-service/feeds/feed-thread.js', import.meta.url)

export type FeedJobOptions = Readonly<{
  database: DatabaseAddress
  /** Name of this process (`createLeaseOwner`). */
  owner: string
  secrets: FeedSecrets
  proxies: Proxies
}>

/** Return a function that runs one feed in its own thread, so that reading a file delays no response. */
export function createFeedJobRunner({ database, owner, secrets, proxies }: FeedJobOptions) {
  const job = {
    database: serializeDatabaseAddress(database),
    owner,
    folder: getFeedsFolder(database),
    secrets: [...secrets].map(([name, secret]) => [name, secret.reveal()] as const),
    proxies: serializeProxies(proxies),
  }
  // The catalog has one writer.
  const imports = createSerialQueue()
  return (feedId: number, signal: AbortSignal): Promise<FeedRun> =>
    runJob({ ...job, feedId }, { signal, imports })
}

/** @throws what `runFeed` throws; FeedThreadError when the thread ends without a result */
function runJob(
  job: FeedJob,
  { signal, imports }: Readonly<{ signal: AbortSignal; imports: SerialQueue }>,
): Promise<FeedRun> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(THREAD_FILE, { workerData: job })
    const ended = new AbortController()
    const hasEnded = new Promise<void>((resolveEnd) => worker.once('exit', () => resolveEnd()))
    const stop = (): void => {
      worker.postMessage('stop')
      void systemClock.wait(STOP_TIMEOUT_MS, ended.signal).then(() => worker.terminate())
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop)
    worker.on('message', (message: FeedJobMessage) => {
      if (message.type === 'fetched')
        void imports.run(() => {
          worker.postMessage('import')
          return hasEnded
        })
      else if (message.type === 'run') resolve(message.run)
      else reject(toError(message))
    })
    worker.on('error', (cause) =>
      reject(new FeedThreadError(`its thread failed: ${describeInternalError(cause)}`, { cause })),
    )
    worker.on('exit', () => {
      ended.abort()
      signal.removeEventListener('abort', stop)
      reject(new FeedThreadError('its thread ended without a result'))
    })
  })
}

type ErrorClass = Readonly<{ code: string }> & (new (message: string) => Error)

const ERROR_CLASSES: readonly ErrorClass[] = [
  FeedFetchError,
  FeedHeldError,
  ImportError,
  StoreError,
  UsageError,
]

function toError({ code, message }: Readonly<{ code: string; message: string }>): Error {
  const ErrorClass = ERROR_CLASSES.find((known) => known.code === code) ?? ImportError
  return new ErrorClass(message)
}
