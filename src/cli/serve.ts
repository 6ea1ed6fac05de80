import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { SECOND_MS } from '../clock.ts'
import type { Primary } from '../cluster/primary.ts'
import { readEnvironment } from '../config/env.ts'
import type { Context } from '../context.ts'
import { isStudioReachable } from '../http/admin-auth.ts'
import { listenHttp } from '../http/server.ts'
import { openReadThread } from '../storage/long-reads.ts'
import { runWalkInThread } from '../sync/walk-runner.ts'
import { TRUST_ALL_WARNING } from './checks/listener.ts'
import { type CommandContext, print } from './command.ts'
import { type ContextWithCatalog, openContext, toLocalUrl } from './open-catalog.ts'

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
  start(context: ContextWithCatalog): Promise<void>
  /** What SIGHUP does. */
  reload(context: Context): Promise<void>
  /** Go on answering for `drainMs`, then stop. Called more than once. */
  stop(drainMs?: number): Promise<void>
}>

/**
 * `vitrine serve`: runs the widget server, and with it the embedded catalog service when no other is set, until it is
 * told to stop. Prints addresses that really open once the first walk has ended.
 * @throws UsageError when the address cannot be listened on; WorkerError when a worker does not come up.
 */
export async function runServe(command: CommandContext): Promise<void> {
  const { config, io, logger } = command
  if (config.trustProxy === true) logger.warn(TRUST_ALL_WARNING)
  // SIGHUP never ends the process: one that comes during the start waits for its end.
  let isReloadPending = false
  let reload = (): void => void (isReloadPending = true)
  io.onHangUp(() => reload())
  const isSingleProcess = config.workers === 1
  const listener = await (isSingleProcess ? listenInProcess(command) : listenWithWorkers(command))
  try {
    const contextOptions = {
      walkRunner: runWalkInThread,
      ...(isSingleProcess && { openLongReads: openReadThread }),
    }
    const context = await openContext(command, contextOptions, { port: listener.port, shouldAddSample: true })
    try {
      await listener.start(context)
      if (io.signal.aborted) return
      reload = () => void listener.reload(context)
      if (isReloadPending) reload()
      const clusterFields = !isSingleProcess && { workers: config.workers }
      logger.info(
        { publicUrl: context.publicUrl, catalog: config.catalog.kind, ...clusterFields },
        'listening',
      )
      const stopped = waitForStop(io.signal)
      await Promise.race([context.walks.start(), stopped])
      if (!io.signal.aborted) await printAddresses(command, context, toLocalUrl(config.host, listener.port))
      await stopped
    } finally {
      const drainMs = io.signal.reason === 'SIGTERM' ? SIGTERM_DRAIN_MS : 0
      try {
        await Promise.all([listener.stop(drainMs), context.walks.stop()])
      } finally {
        await context.dispose()
      }
    }
  } finally {
    await listener.stop()
  }
}

async function listenInProcess({ config, clock }: CommandContext): Promise<Listener> {
  const loading = import('../app.ts')
  const server = await listenHttp(config.host, config.port, clock)
  return {
    port: server.port,
    async start(context) {
      const { createApp } = await loading
      server.setHandler(createApp(context, server.isStopping))
    },
    reload: refreshKey,
    stop: server.stop,
  }
}

/** With `VITRINE_WORKERS` of more than one, this process has the catalog and the walks, and keeps the workers running. */
async function listenWithWorkers({ config, clock, io }: CommandContext): Promise<Listener> {
  const { Primary: WorkerPrimary } = await import('../cluster/primary.ts')
  // A port that is taken ends the start here, and a free one that was asked for stays the same for all workers.
  const probe = await listenHttp(config.host, config.port, clock)
  await probe.stop()
  let primary: Primary | undefined
  return {
    port: probe.port,
    async start(context) {
      const { catalog, demo, publicUrl } = context
      const { baseUrl, key, identity } = catalog
      const embeddedKey = demo && key.current().reveal()
      const environment = readEnvironment()
      primary = new WorkerPrimary({
        context,
        workerCount: config.workers,
        workerFile: WORKER_FILE,
        parameters: { environment, port: probe.port, publicUrl, baseUrl, identity, embeddedKey },
        readContent: () => demo?.readContent() ?? Promise.resolve('own'),
      })
      if (!io.signal.aborted) await Promise.race([primary.start(), waitForStop(io.signal)])
    },
    async reload(context) {
      await refreshKey(context)
      primary?.refreshKeys()
      await primary?.reload()
    },
    stop: async (drainMs = 0) => primary?.stop(drainMs),
  }
}

async function waitForStop(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** Read the key again: a new one ends the pause that the old one brought about. */
async function refreshKey({ key, callPolicy, logger }: Context): Promise<void> {
  const isNew = await key.refresh()
  if (isNew) callPolicy.endKeyPause()
  const unchangedMessage = 'told to read the key again: it is the one used so far, or its file holds none'
  logger.info(isNew ? 'told to read the key again: it is another one now' : unchangedMessage)
}

/** Print what a newcomer opens next, on standard output. */
async function printAddresses(command: CommandContext, context: Context, localUrl: string): Promise<void> {
  const { publicUrl } = context
  // Without a password the studio opens to this machine alone, whatever the outside calls the server.
  const studioBase = command.secrets.adminPassword === null ? localUrl : publicUrl
  const studio = isStudioReachable(context) ? `${studioBase}/studio` : null
  // Without a stored copy there is nothing to choose an address from; the log says why.
  const { box, grid } = await findAddresses(context).catch(() => NO_ADDRESSES)
  print(command, { studio, publicUrl, box, grid }, [
    '',
    'Vitrine is ready.',
    ...(studio === null ? [] : [`  studio       ${studio}`]),
    box === null ? `  ${explainMissingBox(context)}` : `  a box        ${box}`,
    ...(grid === null ? [] : [`  a deal grid  ${grid}`]),
    '  Ctrl-C ends it.',
    '',
  ])
}

function explainMissingBox({ config, findStoreFailure }: Context): string {
  const reason = findStoreFailure()?.reason
  if (reason !== undefined) {
    const meanwhile =
      config.database.kind === 'postgres'
        ? 'Until it can, only what is in memory is shown.'
        : 'Boxes come from the catalog meanwhile.'
    return `The stored copy cannot be used: ${reason.replace(/\.?$/, '.')} "vitrine check" says more. ${meanwhile}`
  }
  return config.syncCron === null
    ? 'Walks are switched off: "vitrine sync" walks the catalog, and boxes look products up meanwhile.'
    : 'The catalog could not be walked yet; "vitrine check" says why. It is tried again.'
}

const NO_ADDRESSES = { box: null, grid: null } as const

/** Find addresses that really open: of a product that the demonstration shows first, else of the first one in the copy. */
async function findAddresses({ channels, store, demo, publicUrl }: Context) {
  const showcase = demo?.showcase
  const isShowcase = (id: string): boolean => id === showcase?.channelId
  const channelList = await channels.listChannels()
  for (const { id } of channelList.toSorted((a, b) => Number(isShowcase(b.id)) - Number(isShowcase(a.id)))) {
    const showcaseProduct =
      showcase && isShowcase(id) ? await store.findProduct(id, showcase.gtin) : undefined
    const product = showcaseProduct?.product ?? (await store.searchProducts(id, '', 1))[0]?.product
    if (!product) continue
    const { dealCount } = await store.getCopyState(id)
    const base = `${publicUrl}/embeds/${id}`
    return { box: `${base}/where-to-buy/${product.gtin}`, grid: dealCount > 0 ? `${base}/deals` : null }
  }
  return NO_ADDRESSES
}
