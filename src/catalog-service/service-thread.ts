import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import { parseDatabaseText } from '../config/database-address.ts'
import { Secret } from '../config/secrets.ts'
import { createCatalogService } from './service.ts'
import type { ThreadMessage, ThreadOrder, ThreadRequest } from './start-thread.ts'
import { readContent } from './store/meta.ts'
import { openCatalogStore } from './store/open-store.ts'

/** Body of the embedded catalog's thread: it opens the database, listens, and lives until it is told to close. */
const order = workerData as ThreadOrder
const send = (message: ThreadMessage): void => parentPort?.postMessage(message)

const store = await openCatalogStore({
  database: parseDatabaseText(order.database),
  clock: systemClock,
  role: 'embedded',
})
const service = createCatalogService({
  store,
  logger: { error: (fields, words) => send({ type: 'log', fields, words }) },
  ownKey: new Secret(order.key),
})
parentPort?.on('message', (request: ThreadRequest) => {
  if (request.type === 'close')
    void service
      .close()
      .then(store.close)
      .finally(() => parentPort?.close())
  else
    void readContent(store.reader)
      .catch(() => 'own' as const)
      .then((content) => send({ type: 'content', id: request.id, content }))
})
const { url } = await service.listen('127.0.0.1', order.port)
send({ type: 'listening', url })
