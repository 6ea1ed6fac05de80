import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { HOUR_MS, SECOND_MS } from '../clock.ts'
import type { Primary } from '../cluster/primary.ts'
import { readEnvironment } from '../config/env.ts'
import type { Context, ContextDetails } from '../context.ts'
import { listenHttp } from '../http/server.ts'
import { openReadThread } from '../storage/long-reads.ts'
import { runWalkInThread } from '../sync/walk-runner.ts'
import { announce } from './announce.ts'
import { TRUST_ALL_WARNING } from './checks/listener.ts'
import type { CommandContext } from './command.ts'
import { type OpenCatalog, openCatalog, toLocalUrl } from './open-catalog.ts'

/** Compiled: a process needs JavaScript. */
const WORKER_FILE = fileURLToPath(new URL('../../dist/cli/worker.js', import.meta.url))

/**
 * How long a server that was told to end by SIGTERM, as balancers and orchestrators do, says so at `/readyz` before it
 * takes no more connections. A person at a keyboard (Ctrl-C) does not wait for it.
 */
const SIGTERM_DRAIN_MS: number = 0.75 * SECOND_MS

/** What answers requests: this process, or workers. */
type Listener = Readonly<{
  port: number
  /** Answer; without workers also when the server was told to stop, for visitors who came before. */
  start(context: Context, catalog: OpenCatalog): Promise<void>
  /** What SIGHUP does. */
  reload(context: Context): Promise<void>
  /** Go on answering for `drainMs`, then stop. */
  stop(drainMs: number): Promise<void>
  /** Release what was opened before `start`. */
  close(): Promise<void>
}> &
  Pick<ContextDetails, 'openLongReads'>

/**
 * `vitrine serve`: runs the widget server, and with it the embedded catalog service when no other is set, until it is
 * told to stop. Prints addresses that really open once the first walk has ended.
 * @throws UsageError when the address cannot be listened on; WorkerError when a worker does not come up.
 */
export async function runServe(command: CommandContext): Promise<void> {
  const { config, io, logger } = command
  if (config.trustProxy === true) logger.warn(TRUST_ALL_WARNING)
  // SIGHUP never ends the process: one that comes during the start waits for its end.
  let isReloadDue = false
  let reload = (): void => void (isReloadDue = true)
  io.onHangUp(() => reload())
  const listener = config.workers === 1 ? await listenHere(command) : await listenWithWorkers(command)
  try {
    await withContext(command, listener, async (context, catalog) => {
      try {
        await listener.start(context, catalog)
        if (io.signal.aborted) return
        reload = () => void listener.reload(context)
        if (isReloadDue) reload()
        await runUntilStopped(command, context, listener.port)
      } finally {
        const drainMs = io.signal.reason === 'SIGTERM' ? SIGTERM_DRAIN_MS : 0
        await Promise.all([listener.stop(drainMs), context.walks.stop()])
      }
    })
  } finally {
    await listener.close()
  }
}

async function listenHere({ config, clock }: CommandContext): Promise<Listener> {
  const loading = import('../app.ts')
  const server = await listenHttp(config.host, config.port, clock)
  return {
    port: server.port,
    openLongReads: openReadThread,
    async start(context) {
      const { createApp } = await loading
      server.answerWith(createApp(context, server.isStopping))
    },
    async reload(context) {
      await refreshKey(context)
    },
    stop: (drainMs) => server.stop(drainMs),
    close: () => server.stop(),
  }
}

/** With `VITRINE_WORKERS` of more than one, this process has the catalog and the walks, and keeps the workers running. */
async function listenWithWorkers({ config, clock, io }: CommandContext): Promise<Listener> {
  const { Primary: WorkerPrimary } = await import('../cluster/primary.ts')
  // A port that is taken ends the start here, and a free one that was asked for stays the same for all workers.
  const probe = await listenHttp(config.host, config.port, clock)
  await probe.stop()
  // No wait of ours keeps a process alive, and while no worker lives nothing else may: Node would end this one.
  const alive = setInterval(() => {}, HOUR_MS)
  let primary: Primary | undefined
  return {
    port: probe.port,
    async start(context, { place, demo, publicUrl: demoUrl }) {
      const { baseUrl, key, identity } = place
      const embedded = demo && { key: key.current().reveal(), demoUrl }
      const environment = readEnvironment()
      const { publicUrl } = context
      primary = new WorkerPrimary({
        context,
        size: config.workers,
        workerFile: WORKER_FILE,
        parameters: { environment, port: probe.port, publicUrl, baseUrl, identity, embedded },
        readContent: () => demo?.readContent() ?? Promise.resolve('own'),
      })
      if (!io.signal.aborted) await Promise.race([primary.start(), waitForStop(io.signal)])
    },
    async reload(context) {
      await refreshKey(context)
      primary?.refreshKeys()
      await primary?.reload()
    },
    stop: async (drainMs) => primary?.stop(drainMs),
    close: async () => clearInterval(alive),
  }
}

/** Open catalog and context of the server. Whatever ends it, nothing stays open: the process ends by itself. */
async function withContext(
  command: CommandContext,
  { port, openLongReads }: Listener,
  serve: (context: Context, catalog: OpenCatalog) => Promise<void>,
): Promise<void> {
  const { config, secrets, clock, logger } = command
  const publicUrl = config.publicUrl ?? toLocalUrl(config.host, port)
  // The rest of the program is loaded while the embedded catalog starts in its thread.
  const [catalog, { createContext }] = await Promise.all([
    openCatalog(command, { port, mayPutSample: true }),
    import('../context.ts'),
  ])
  try {
    const parts = { config, secrets, clock, logger, publicUrl, catalog: catalog.place, demo: catalog.demo }
    const context = await createContext({
      ...parts,
      walkRunner: runWalkInThread,
      ...(openLongReads && { openLongReads }),
    })
    try {
      await serve(context, catalog)
    } finally {
      await context.dispose()
    }
  } finally {
    await catalog.close()
  }
}

/** Walk, say where the server is, and wait until it is told to stop. */
async function runUntilStopped(command: CommandContext, context: Context, port: number): Promise<void> {
  const { config, io, logger } = command
  const { publicUrl } = context
  const isCluster = config.workers > 1 && { workers: config.workers }
  logger.info({ publicUrl, catalog: config.catalog.kind, ...isCluster }, 'listening')
  const stopped = waitForStop(io.signal)
  await Promise.race([context.walks.start(), stopped])
  if (!io.signal.aborted) await announce(command, context, toLocalUrl(config.host, port))
  await stopped
}

async function waitForStop(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** Read the key again: a new one ends the pause that the old one brought about. */
async function refreshKey({ key, gate, logger }: Context): Promise<void> {
  const isNew = await key.refresh()
  if (isNew) gate.liftKeyPause()
  const words = 'told to read the key again: it is the one used so far, or its file holds none'
  logger.info(isNew ? 'told to read the key again: it is another one now' : words)
}
