import { createApp } from '../app.ts'
import { createFixedKeySource, openKeySource } from '../config/key-source.ts'
import { SECOND_MS, systemClock } from '../clock.ts'
import { parseConfig } from '../config/config.ts'
import { Secret } from '../config/secrets.ts'
import { type Context, type Demo, type EmbeddedCatalog, createContext } from '../context.ts'
import { UnavailableError, VitrineError, WorkerError } from '../errors.ts'
import type { AdminAttempt } from '../http/admin-limiter.ts'
import { type HttpServer, listenHttp } from '../http/server.ts'
import { createRpcChannel } from '../lib/rpc-channel.ts'
import { createShutdown } from '../lib/shutdown.ts'
import { createLogger } from '../observability/logger.ts'
import type { Tracing } from '../observability/opentelemetry.ts'
import { startTracing } from '../observability/tracing.ts'
import { STORE_THREADS } from '../storage/threads.ts'
import { type MetricsPage, collectMetricValues } from './cluster-metrics.ts'
import {
  HEARTBEAT_MS,
  type ToPrimary,
  type ToWorker,
  type WorkerCall,
  type WorkerParameters,
} from './messages.ts'

/** The primary requests the metrics of each worker with a shorter timeout before it replies. */
const REPLY_TIMEOUT_MS: number = 3 * SECOND_MS

const PRIMARY_STOP_REASON = 'stop'

let logger = createLogger({ level: 'fatal' })
const shutdown = createShutdown((fields, message) => logger.fatal(fields, message))
const calls = createRpcChannel({ clock: systemClock, timeoutMs: REPLY_TIMEOUT_MS })
let active: Readonly<{ context: Context; server: HttpServer; tracing: Tracing | null }> | undefined
let isServerStopping = false

function send(message: ToPrimary, onSent: () => void = () => {}): void {
  // The primary may have exited in the meantime.
  if (process.connected) process.send?.(message, undefined, undefined, onSent)
  else onSent()
}

const callPrimary = (call: WorkerCall): Promise<unknown> =>
  calls.call((id) => send({ type: 'call', id, call }))

/** Load the demo of the sample data. `catalog` queries the embedded catalog; `publicUrl` is the address of its pictures. */
type DemoLoader = (publicUrl: string, catalog: EmbeddedCatalog) => Promise<Demo>

/** Create the app before listening, so that every connection is served at once. */
async function start(loadDemo: DemoLoader): Promise<void> {
  const parameters = (await callPrimary('parameters')) as WorkerParameters | undefined
  if (parameters === undefined) throw new WorkerError('the primary did not send the start parameters')
  const { environment, publicUrl, baseUrl, copyName, embeddedKey } = parameters
  const { config, secrets } = parseConfig(environment)
  logger = createLogger({ level: config.logLevel }).child({ worker: parameters.workerNumber })
  const key = embeddedKey === null ? openKeySource(secrets) : createFixedKeySource(new Secret(embeddedKey))
  const tracing = await startTracing({ environment, clock: systemClock, logger })
  const context = await createContext({
    catalog: { baseUrl, copyName, key },
    demo: embeddedKey === null ? null : await loadDemo(publicUrl, embeddedCatalog),
    config,
    secrets,
    clock: systemClock,
    logger,
    publicUrl,
    walkRunner: null,
    threads: STORE_THREADS,
    shopData: parameters.shopData,
    subData: parameters.subData,
    tracing,
    worker: parameters.workerNumber,
  })
  const metrics = { ...context.metrics, render: readMetricsPage }
  const app = createApp({ ...context, metrics, adminLimiter: { admit } }, () => isServerStopping)
  const server = await listenHttp(config.host, parameters.port, systemClock).catch(async (error: unknown) => {
    await context.dispose()
    throw error
  })
  server.setHandler(tracing?.traceRequests(app, publicUrl) ?? app)
  active = { context, server, tracing }
  send({ type: 'ready' })
}

/** The embedded catalog runs in the primary. */
const embeddedCatalog: EmbeddedCatalog = {
  async readCatalogContent() {
    const content = await callPrimary('content')
    return (content as Awaited<ReturnType<EmbeddedCatalog['readCatalogContent']>> | undefined) ?? 'own'
  },
  async readFeeds(hasWarnings) {
    const report = await callPrimary(hasWarnings ? 'feeds-with-warnings' : 'feeds')
    return report as Awaited<ReturnType<EmbeddedCatalog['readFeeds']>>
  },
}

/** `/metrics` of any worker returns the page of all processes. */
async function readMetricsPage(): Promise<MetricsPage> {
  const page = await callPrimary('metrics-page')
  if (page === undefined) throw new Error('the primary did not send the metrics of all processes')
  return page as MetricsPage
}

/** The primary counts wrong admin passwords for all workers. */
async function admit(attempt: AdminAttempt): Promise<number> {
  const lockedMs = await callPrimary(attempt)
  if (typeof lockedMs === 'number') return lockedMs
  throw new UnavailableError('the primary process did not reply whether the address is locked')
}

async function refreshKey(): Promise<void> {
  if (await active?.context.key.refresh()) active?.context.callPolicy.clearKeyPause()
}

async function replyWithMetrics(id: number): Promise<void> {
  const value = active && (await collectMetricValues(active.context).catch(() => undefined))
  send({ type: 'reply', id, value })
}

const exitProcess = (): never => process.exit(shutdown.toExitCode(0))

/** Wait for responses in progress, then send the final metrics. */
async function shutDown(drainMs: number): Promise<void> {
  if (active === undefined) return exitProcess()
  const { context, server, tracing } = active
  await server.stop(drainMs)
  const values = await collectMetricValues(context).catch(() => [])
  await Promise.all([context.dispose(), tracing?.stop()])
  send({ type: 'ended', values }, exitProcess)
}

export async function runWorker(loadDemo: DemoLoader): Promise<void> {
  // Terminals and service managers signal the whole process group; only the primary acts on signals.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('message', onMessage)
  // After an uncaught error the worker ends without a message from the primary.
  shutdown.signal.addEventListener('abort', () => {
    if (shutdown.signal.reason !== PRIMARY_STOP_REASON) void shutDown(0)
  })
  setInterval(() => send({ type: 'heartbeat' }), HEARTBEAT_MS).unref()
  try {
    await start(loadDemo)
  } catch (error) {
    if (!(error instanceof VitrineError)) throw error
    logger.fatal({ code: error.code, reason: error.message }, 'worker cannot start')
    const reason = error.describeWithRemedy().replace(/\.$/, '')
    send({ type: 'failed', reason }, () => process.exit(1))
  }
}

function onMessage(message: ToWorker): void {
  if (message.type === 'reply') calls.resolve(message.id, message.value)
  else if (message.type === 'call') void replyWithMetrics(message.id)
  else if (message.type === 'refresh-key') void refreshKey()
  else if (!shutdown.signal.aborted) {
    isServerStopping = message.isServerStop
    shutdown.begin(PRIMARY_STOP_REASON)
    void shutDown(message.drainMs)
  }
}
