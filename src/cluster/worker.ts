import type { AdminAttempt } from '../http/admin-limiter.ts'
import { createApp } from '../app.ts'
import type { KeySource } from '../config/key-source.ts'
import { SECOND_MS, systemClock } from '../clock.ts'
import { parseDatabaseText } from '../config/database-address.ts'
import { Secret } from '../config/secrets.ts'
import { type Context, type Demo, createContext } from '../context.ts'
import { openReadThreads } from '../storage/read-threads.ts'
import { createEnding } from '../lib/shutdown.ts'
import { VitrineError } from '../errors.ts'
import { type HttpServer, listenHttp } from '../http/server.ts'
import { createLogger } from '../observability/logger.ts'
import { createQuestions } from '../lib/rpc-channel.ts'
import { createHandedKey } from './handed-key.ts'
import type { StopOrder, ToPrimary, ToWorker, WorkerOrder, WorkerQuestion } from './messages.ts'
import { createRemoteLimiter } from './remote-limiter.ts'
import { collectValues } from './sums.ts'

/** How long the primary may take for an answer: it asks every other worker, each for less. */
const ANSWER_WITHIN_MS: number = 3 * SECOND_MS

/** Body of a process that answers: it is told everything by its primary, and ends when that has gone. */
let logger = createLogger({ level: 'fatal' })
const ending = createEnding((fields, message) => logger.fatal(fields, message))
const questions = createQuestions({ clock: systemClock, withinMs: ANSWER_WITHIN_MS })

// Ctrl-C, a service manager and a closed terminal tell every process of the group; ours is told by the primary.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

/** The parent may have gone in the same moment. */
function send(message: ToPrimary, whenSent: () => void = () => {}): void {
  if (process.connected) process.send?.(message, undefined, undefined, whenSent)
  else whenSent()
}

const ask = (what: WorkerQuestion, attempt?: AdminAttempt): Promise<unknown> =>
  questions.ask((id) => send({ type: 'ask', id, what, ...(attempt && { attempt }) }))

type Running = Readonly<{
  context: Context
  server: HttpServer
  takeKey(key: string): void
  stop(order: StopOrder): void
}>

/** Builds everything, then listens: whoever connects is answered at once. */
async function start(order: WorkerOrder): Promise<Running> {
  logger = createLogger({ level: order.config.logLevel }).child({ worker: order.number })
  const key = createHandedKey(order.catalog.key, () => ask('key'))
  const context = await openContext(order, key)
  const state = { isWhole: false }
  const metrics = { ...context.metrics, print: printSums }
  const adminLimiter = createRemoteLimiter(systemClock, (attempt) => ask('admin-attempt', attempt))
  const app = createApp({ ...context, metrics, adminLimiter }, () => state.isWhole)
  const server = await listenHttp(order.config.host, order.port, systemClock).catch(
    async (error: unknown) => {
      await context.dispose()
      throw error
    },
  )
  server.answerWith(app)
  return {
    context,
    server,
    takeKey(next) {
      key.take(next)
      context.gate.liftKeyPause()
    },
    stop({ drainMs, withinMs, isWhole }) {
      state.isWhole = isWhole
      ending.stopFor('stop', withinMs)
      void end({ context, server }, drainMs)
    },
  }
}

/** The same as in a single process, but that others make the walks, read the key and have the sample data. */
async function openContext(order: WorkerOrder, key: KeySource): Promise<Context> {
  const { publicUrl, catalog, demoUrl } = order
  // Its password does not travel within an object.
  const config = { ...order.config, database: parseDatabaseText(order.database) }
  const adminPassword = order.adminPassword === null ? null : new Secret(order.adminPassword)
  return createContext({
    config,
    secrets: { catalogKey: null, catalogKeyFile: null, adminPassword },
    clock: systemClock,
    logger,
    publicUrl,
    catalog: { ...catalog, key },
    demo: demoUrl === null ? null : (await import('./demo.ts')).createDemo(demoUrl, askContent),
    walkRunner: null,
    openLongReads: openReadThreads,
    worker: order.number,
  })
}

async function askContent(): ReturnType<Demo['readContent']> {
  return ((await ask('content')) as Awaited<ReturnType<Demo['readContent']>> | undefined) ?? 'own'
}

/** `/metrics` of any worker is the page of all. */
async function printSums(): Promise<Readonly<{ contentType: string; text: string }>> {
  const page = await ask('metrics')
  if (page === undefined) throw new Error('the primary did not answer with the sums of all processes')
  return page as Readonly<{ contentType: string; text: string }>
}

/** Answers under way end; the last word is what was counted. */
async function end({ context, server }: Pick<Running, 'context' | 'server'>, drainMs: number): Promise<void> {
  await server.stop(drainMs)
  const values = await collectValues(context).catch(() => [])
  await context.dispose()
  send({ type: 'ended', values }, () => process.exit(ending.toExitCode(0)))
}

let running: Running | undefined

async function begin(order: WorkerOrder): Promise<void> {
  try {
    running = await start(order)
    send({ type: 'ready' })
  } catch (error) {
    if (!(error instanceof VitrineError)) throw error
    send({ type: 'failed', name: error.name, message: error.message }, () => process.exit(1))
  }
}

/** What came before everything stood is nothing to answer. */
async function answerPrimary(id: number): Promise<void> {
  const value = running === undefined ? [] : await collectValues(running.context).catch(() => undefined)
  send({ type: 'answer', id, value })
}

process.on('message', (message: ToWorker) => {
  if (message.type === 'serve') void begin(message.order)
  else if (message.type === 'look') send({ type: 'alive' })
  else if (message.type === 'key') running?.takeKey(message.key)
  else if (message.type === 'answer') questions.take(message.id, message.value)
  else if (message.type === 'ask') void answerPrimary(message.id)
  else if (running === undefined) process.exit(ending.toExitCode(0))
  else if (!ending.signal.aborted) running.stop(message.order)
})

send({ type: 'here' })

// After an error that nobody caught, nobody told this process to stop: it does so itself.
ending.signal.addEventListener('abort', () => {
  if (ending.signal.reason === 'stop') return
  if (running === undefined) process.exit(ending.toExitCode(0))
  else void end(running, 0)
})
