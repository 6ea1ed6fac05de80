import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import { parseSerializedAddress } from '../../config/database-address.ts'
import { parseSerializedProxies } from '../../config/proxies.ts'
import { Secret } from '../../config/secrets.ts'
import { ImportError, VitrineError } from '../../errors.ts'
import { describeInternalError } from '../../lib/internal-error.ts'
import { lowerThreadPriority } from '../../lib/thread-priority.ts'
import { openCatalogStore } from '../store/open-store.ts'
import type { FeedJob, FeedJobMessage } from './feed-job.ts'
import { runFeed } from './run-feed.ts'
import { isFeedDue } from './scheduler.ts'

// Entry point of the thread that runs one feed: sends one message, then exits.
const { database, secrets, proxies, ...job } = workerData as FeedJob
const stop = new AbortController()
const send = (message: FeedJobMessage): void => parentPort?.postMessage(message)

lowerThreadPriority()
let startImport = (): void => {}
const importStarted = new Promise<void>((resolve) => {
  startImport = resolve
})
parentPort?.on('message', (message: 'stop' | 'import') => {
  if (message === 'stop') stop.abort()
  // A stopped run must not wait for other imports.
  startImport()
})
try {
  const store = await openCatalogStore({ database: parseSerializedAddress(database), clock: systemClock })
  try {
    const run = await runFeed({
      ...job,
      store,
      secrets: new Map(secrets.map(([name, value]) => [name, new Secret(value)])),
      proxies: parseSerializedProxies(proxies),
      isDue: (previous) => isFeedDue(store, previous, job.feedId),
      signal: stop.signal,
      waitForImport() {
        send({ type: 'fetched' })
        return importStarted
      },
    })
    send({ type: 'run', run })
  } finally {
    await store.close()
  }
} catch (error) {
  const isKnown = error instanceof VitrineError
  const message = isKnown ? error.message : describeInternalError(error as Error)
  send({ type: 'failure', code: isKnown ? error.code : ImportError.code, message })
}
parentPort?.close()
