import { systemClock } from '../../clock.ts'
import { parseSerializedAddress } from '../../config/database-address.ts'
import { parseSerializedProxies } from '../../config/proxies.ts'
import { Secret } from '../../config/secrets.ts'
import { serveJob } from '../../lib/thread.ts'
import { openCatalogStore } from '../store/open-store.ts'
import type { FeedJob } from './feed-job.ts'
import { runFeed } from './run-feed.ts'
import { isFeedDue } from './scheduler.ts'

// Entry point of the thread that runs one feed.
await serveJob(async (data, { signal, firstMessage, sendProgress }) => {
  const { database, secrets, proxies, ...job } = data as FeedJob
  const store = await openCatalogStore({ database: parseSerializedAddress(database), clock: systemClock })
  try {
    return await runFeed({
      ...job,
      store,
      secrets: new Map(secrets.map(([name, value]) => [name, new Secret(value)])),
      proxies: parseSerializedProxies(proxies),
      isDue: (previous) => isFeedDue(store, previous, job.feedId),
      signal,
      async waitForImport() {
        sendProgress('fetched')
        // The turn to import, or the stop: a stopped run must not wait for other imports.
        await firstMessage
      },
    })
  } finally {
    await store.close()
  }
})
