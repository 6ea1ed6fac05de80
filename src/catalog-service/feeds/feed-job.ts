import { SECOND_MS } from '../../clock.ts'
import { type DatabaseAddress, serializeDatabaseAddress } from '../../config/database-address.ts'
import { type SerializedProxies, serializeProxies } from '../../config/proxies.ts'
import { FeedThreadError } from '../../errors.ts'
import { describeInternalError } from '../../lib/internal-error.ts'
import { type SerialQueue, createSerialQueue } from '../../lib/concurrency.ts'
import { runInThread } from '../../lib/thread.ts'
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

/** Time for a stopped run to roll back; then its thread is terminated, which also rolls back. */
const STOP_TIMEOUT_MS: number = 2 * SECOND_MS

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
    runJob({ ...job, feedId }, signal, imports)
}

/** @throws what `runFeed` throws; FeedThreadError when the thread ends without a result */
function runJob(job: FeedJob, signal: AbortSignal, imports: SerialQueue): Promise<FeedRun> {
  return runInThread<FeedRun, 'fetched'>('catalog-service/feeds/feed-thread.js', {
    data: job,
    signal,
    stopTimeoutMs: STOP_TIMEOUT_MS,
    // The file is fetched, and the thread waits for its turn to import it.
    onProgress: (_fetched, thread) =>
      void imports.run(async () => {
        thread.send('import')
        await thread.exitError
      }),
    toError: (cause) =>
      cause === undefined
        ? new FeedThreadError('its thread ended without a result')
        : new FeedThreadError(`its thread failed: ${describeInternalError(cause as Error)}`, { cause }),
  })
}
