import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import { parseSerializedAddress } from '../config/database-address.ts'
import { Secret } from '../config/secrets.ts'
import { createCatalogService } from './service.ts'
import type { ThreadMessage, ThreadOptions, ThreadRequest } from './start-thread.ts'
import { readCatalogContent } from './store/meta.ts'
import { openCatalogStore } from './store/open-store.ts'

/** Entry point of the embedded catalog's thread: open the database and serve until a `close` message arrives. */
const options = workerData as ThreadOptions
const send = (message: ThreadMessage): void => parentPort?.postMessage(message)

const store = await openCatalogStore({
  database: parseSerializedAddress(options.database),
  clock: systemClock,
  role: 'embedded',
})
const service = createCatalogService({
  store,
  logger: { error: (fields, message) => send({ type: 'log', fields, message }) },
  internalKey: new Secret(options.key),
})
parentPort?.on('message', (request: ThreadRequest) => {
  if (request.type === 'close')
    void service
      .close()
      .then(store.close)
      .finally(() => parentPort?.close())
  else
    void readCatalogContent(store.reader)
      .catch(() => 'own' as const)
      .then((content) => send({ type: 'content', id: request.id, content }))
})
const { url } = await service.listen('127.0.0.1', options.port)
send({ type: 'listening', url })
