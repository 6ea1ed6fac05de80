import { once } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../clock.ts'
import { parseDatabaseText } from '../config/database-address.ts'
import { Secret } from '../config/secrets.ts'
import { StoreError, VitrineError } from '../errors.ts'
import { createCatalogService } from './service.ts'
import type { CopiedCatalog, ThreadMessage, ThreadOrder, ThreadRequest } from './start-thread.ts'
import type { CatalogStore } from './store/catalog-store.ts'
import { findMeta, getCatalogId, isCatalogEmpty, putMeta, readContent } from './store/meta.ts'
import { openCatalogStore } from './store/open-store.ts'

/** Body of the embedded catalog's thread: it opens the database, listens, and lives until it is told to close. */
const order = workerData as ThreadOrder
const send = (message: ThreadMessage): void => parentPort?.postMessage(message)

type Opened = Readonly<{ store: CatalogStore; isLost: boolean }>

async function openStore(): Promise<Opened> {
  const store = await openCatalogStore({
    database: parseDatabaseText(order.database),
    clock: systemClock,
    role: 'embedded',
  })
  if (order.sampleBase === null) return { store, isLost: false }
  try {
    const copied = (await isCatalogEmpty(store.reader)) ? await askCopied() : undefined
    if (copied === undefined) await fillWithSample(store, order.sampleBase)
    return { store, isLost: typeof copied === 'string' && (await takePlaceOf(store, copied)) }
  } catch (error) {
    await store.close()
    throw error
  }
}

async function askCopied(): Promise<CopiedCatalog> {
  if (parentPort === null) return undefined
  const told = once(parentPort, 'message') as Promise<[Extract<ThreadRequest, { type: 'copied' }>]>
  send({ type: 'empty' })
  const [{ catalogId }] = await told
  return catalogId
}

async function fillWithSample(store: CatalogStore, base: string): Promise<void> {
  // Only `serve` puts sample data: nobody else loads it.
  const { putSampleData, refreshSampleData } = await import('./sample/put-sample.ts')
  await putSampleData(store, base)
  await refreshSampleData(store, base)
}

/** With the id of the lost catalog, its copy is that of this one: it is shown, and an import goes on with it. */
function takePlaceOf(store: CatalogStore, catalogId: string): Promise<boolean> {
  return store.write(async (transaction) => {
    if (!(await isCatalogEmpty(transaction))) return false
    await putMeta(transaction, 'catalog_id', catalogId)
    return true
  })
}

async function serve({ store, isLost }: Opened): Promise<void> {
  const service = createCatalogService({
    store,
    logger: { error: (fields, words) => send({ type: 'log', fields, words }) },
    ownKey: new Secret(order.key),
  })
  const { url } = await service.listen('127.0.0.1', order.port)
  parentPort?.on('message', (request: ThreadRequest) => {
    if (request.type === 'close')
      void service
        .close()
        .then(store.close)
        .finally(() => parentPort?.close())
    else if (request.type === 'content')
      void readContent(store.reader)
        .catch(() => 'own' as const)
        .then((content) => send({ type: 'content', id: request.id, content }))
  })
  const sampleBase = (await findMeta(store.reader, 'sample_base')) ?? null
  send({ type: 'listening', url, catalogId: await getCatalogId(store), sampleBase, isLost })
}

/** What the database said: an error of a class of ours does not travel, its texts do. */
function findReason(error: Error): string | null {
  if (!(error.cause instanceof Error)) return null
  return findReason(error.cause) ?? error.cause.message
}

try {
  const opened = await openStore()
  await serve(opened).catch(async (error: unknown) => {
    await opened.store.close()
    throw error
  })
} catch (error) {
  if (!(error instanceof VitrineError)) throw error
  const remedy = error instanceof StoreError ? error.remedy : null
  send({ type: 'failed', name: error.name, message: error.message, reason: findReason(error), remedy })
  parentPort?.close()
}
