import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import { parseSerializedAddress } from '../config/database-address.ts'
import { parseSerializedProxies } from '../config/proxies.ts'
import { Secret } from '../config/secrets.ts'
import { createFeedJobRunner } from './feeds/feed-job.ts'
import { readFeedReport } from './feeds/feed-warnings.ts'
import { startFeedScheduler } from './feeds/scheduler.ts'
import { createCatalogService } from './service.ts'
import type { ThreadMessage, ThreadOptions, ThreadRequest } from './start-thread.ts'
import { readCatalogContent } from './store/meta.ts'
import { openCatalogStore } from './store/open-store.ts'

/** Entry point of the embedded catalog's thread: open the database and serve until a `close` message arrives. */
const options = workerData as ThreadOptions
const send = (message: ThreadMessage): void => parentPort?.postMessage(message)

const sendLog =
  (level: 'info' | 'warn' | 'error') =>
  (fields: object, message: string): void =>
    send({ type: 'log', level, fields, message })
const logger = { info: sendLog('info'), warn: sendLog('warn'), error: sendLog('error') }
const store = await openCatalogStore({
  database: parseSerializedAddress(options.database),
  clock: systemClock,
  role: 'embedded',
  onMigrated: (migrations) => logger.info({ migrations }, 'catalog migrated'),
})
const scheduler =
  options.feeds &&
  startFeedScheduler({
    store,
    logger,
    owner: options.feeds.owner,
    runFeed: createFeedJobRunner({
      database: parseSerializedAddress(options.database),
      owner: options.feeds.owner,
      secrets: new Map(options.feeds.secrets.map(([name, value]) => [name, new Secret(value)])),
      proxies: parseSerializedProxies(options.feeds.proxies),
    }),
    onRun: () => send({ type: 'feed-run' }),
  })
const service = createCatalogService({
  store,
  logger,
  internalKey: new Secret(options.key),
})
parentPort?.on('message', (request: ThreadRequest) => {
  if (request.type === 'close')
    void Promise.all([service.close(), scheduler?.stop()])
      .then(store.close)
      .finally(() => parentPort?.close())
  else if (request.type === 'feeds')
    void readFeedReport(store, {
      priceMaxAgeSeconds: options.priceMaxAgeSeconds,
      hasWarnings: request.hasWarnings,
    })
      .catch(() => undefined)
      .then((report) => send({ type: 'feeds', id: request.id, report }))
  else
    void store
      .read(readCatalogContent)
      .catch(() => 'own' as const)
      .then((content) => send({ type: 'content', id: request.id, content }))
})
const { url } = await service.listen('127.0.0.1', options.port)
send({ type: 'listening', url })
