import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SECOND_MS } from '../clock.ts'
import { UsageError } from '../errors.ts'
import { createGuardedServer } from '../http/guarded-server.ts'
import { VERSION_PATH } from '../catalog/contract.ts'
import { createCatalogServiceApp } from './app.ts'
import { type CatalogServiceOptions, createCatalogHandler } from './handler.ts'
import { type OperatorPagesOptions, createOperatorPages } from './operator-pages.ts'
import { type RequestLog, type RequestLogOptions, createRequestLog } from './request-log.ts'
import { formatRefusal } from './send.ts'
import { createServiceMetrics } from './service-metrics.ts'
import type { CatalogStore } from './store/catalog-store.ts'
import { getCatalogId } from './store/meta.ts'

/** How long `close` waits for answers that are under way, or on their way to a slow reader; then their connections are cut. */
const CLOSE_GRACE_MS: number = 2 * SECOND_MS

/** The running catalog service. The store stays open when it closes: it belongs to whoever opened it. */
export type CatalogService = Readonly<{
  /** Starts to listen; port 0 chooses a free one. `url` is `{base_url}`, without a slash at its end. */
  listen(host: string, port: number): Promise<{ url: string }>
  /** See `getCatalogId` of the store: read anew at each call. */
  getCatalogId(): Promise<string>
  /** Ends the listener and its connections. Closing twice, or before listening, does nothing. */
  close(): Promise<void>
}>

/** What a service that runs alone has beside the interface: pages for its operator, a request log, compression. */
export type StandaloneOptions = Pick<OperatorPagesOptions, 'adminPassword' | 'isLocal'> &
  Pick<RequestLogOptions, 'logger'>

/** Makes the catalog service over an open store. It listens only when told to. */
export function createCatalogService(
  options: CatalogServiceOptions & Readonly<{ alone?: StandaloneOptions }>,
): CatalogService {
  const alone = options.alone && createStandalone(options.store, options.alone)
  const handler = createCatalogHandler({ ...options, ...alone?.ofHandler })
  const app = createCatalogServiceApp(handler)
  // What programs ask for does not pass through Express, which takes longer than a look-up does.
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (alone?.answerPage(request, response)) return
    alone?.note(request, response)
    if (request.url?.startsWith(`${VERSION_PATH}/`)) void handler.answer(request, response)
    else app(request, response)
  }
  const guarded = createGuardedServer({
    options: {},
    answer,
    // A request with `Expect` is answered like any other: no body is ever read.
    answerExpectation: answer,
    formatRefusal,
  })
  return {
    listen: (host, port) => listen(guarded.server, host, port),
    getCatalogId: () => getCatalogId(options.store),
    async close() {
      if (guarded.server.listening) await guarded.end(options.clock, CLOSE_GRACE_MS)
    },
  }
}

function createStandalone(
  store: CatalogStore,
  { adminPassword, isLocal, logger }: StandaloneOptions,
): {
  ofHandler: Pick<CatalogServiceOptions, 'compress' | 'onCaller'>
  answerPage: ReturnType<typeof createOperatorPages>
  note: RequestLog['note']
} {
  const { clock } = store
  const metrics = createServiceMetrics()
  const log = createRequestLog({ clock, metrics, logger })
  const reads = store.openReads()
  // Of no organization: a statement that every database answers at once.
  const readDatabase = async (): Promise<unknown> => reads.fetchChannels('')
  return {
    ofHandler: { compress: true, onCaller: log.noteOrganization },
    answerPage: createOperatorPages({ clock, metrics, adminPassword, isLocal, readDatabase }),
    note: log.note,
  }
}

/** @throws UsageError when the address is taken, unknown or not allowed. */
async function listen(server: Server, host: string, port: number): Promise<{ url: string }> {
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
    throw new UsageError(`the catalog service cannot listen on ${host}, port ${port}: ${reason}`, {
      cause: error,
    })
  }
  const { port: chosenPort } = server.address() as AddressInfo
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${chosenPort}` }
}
