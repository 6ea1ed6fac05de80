import { once } from 'node:events'
import { SECOND_MS } from '../clock.ts'
import type { Primary } from '../cluster/primary.ts'
import { readEnvironment } from '../config/env.ts'
import type { Context } from '../context.ts'
import { isStudioReachable } from '../http/admin-auth.ts'
import { listenHttp } from '../http/server.ts'
import { toBuiltPath } from '../lib/files.ts'
import type { FeedState } from '../catalog/feed-report.ts'
import type { Tracing } from '../observability/opentelemetry.ts'
import { startTracing } from '../observability/tracing.ts'
import { STORE_THREADS } from '../storage/threads.ts'
import { readFeeds } from '../server-status.ts'
import { runWalkInThread } from '../sync/walk-runner.ts'
import { TRUST_ALL_WARNING } from './checks/network.ts'
import { type CommandContext, print } from '../command.ts'
import { type ContextWithCatalog, openContext, toLocalUrl } from './open-catalog.ts'
import { addSampleHistory } from './sample-history.ts'

/** After SIGTERM, `/readyz` reports the stop for this long before the port closes. Ctrl-C skips the wait. */
const SIGTERM_DRAIN_MS: number = 0.75 * SECOND_MS

/** Time for the rest of the process to end when the last traces could not be exported. */
const FORCED_EXIT_MS: number = SECOND_MS / 2

type Listener = Readonly<{
  port: number
  /** `null`: off, or each worker has its own. */
  tracing: Tracing | null
  /** Start to serve. Without workers, also after a stop signal: visitors who connected during the start get a response. */
  start(context: ContextWithCatalog): Promise<void>
  reload(context: Context): Promise<void>
  /** Continue to serve for `drainMs`, then stop. May be called more than once. */
  stop(drainMs?: number): Promise<void>
}>

/** @throws ListenError or ConfigError when the server cannot listen on the address; WorkerError when a worker does not start. */
export async function runServe(command: CommandContext): Promise<void> {
  const { config, io, logger } = command
  if (config.trustProxy === true) logger.warn(TRUST_ALL_WARNING)
  // SIGHUP never ends the process: a signal that arrives during the start is handled after it.
  let isReloadPending = false
  let reload = (): void => void (isReloadPending = true)
  io.onHangUp(() => reload())
  const isSingleProcess = config.workers === 1
  const listener = await (isSingleProcess ? listenInProcess(command) : listenWithWorkers(command))
  try {
    const contextOptions = {
      walkRunner: runWalkInThread,
      tracing: listener.tracing,
      ...(isSingleProcess && { threads: STORE_THREADS }),
    }
    // The first feed may run before the context exists; its walk is then the one at the start.
    const feeds: { onRun?: () => void } = {}
    const context = await openContext(command, contextOptions, {
      port: listener.port,
      shouldAddSample: true,
      feeds,
    })
    feeds.onRun = () => context.walks.requestWalk()
    try {
      await listener.start(context)
      if (io.signal.aborted) return
      startWebhook(context)
      reload = () => void listener.reload(context)
      if (isReloadPending) reload()
      const clusterFields = !isSingleProcess && { workers: config.workers }
      logger.info(
        { publicUrl: context.publicUrl, catalog: config.catalog.kind, ...clusterFields },
        'listening',
      )
      const stopped = waitForStop(io.signal)
      // Before the first walk, which then finds the falls of prices.
      await Promise.race([addSampleHistory(command, context), stopped])
      if (!io.signal.aborted) await Promise.race([context.walks.start(), stopped])
      if (!io.signal.aborted) await printAddresses(command, context, toLocalUrl(config.host, listener.port))
      await stopped
    } finally {
      logStop(command)
      const drainMs = io.signal.reason === 'SIGTERM' ? SIGTERM_DRAIN_MS : 0
      try {
        await Promise.all([listener.stop(drainMs), context.walks.stop()])
      } finally {
        await context.dispose()
      }
    }
  } finally {
    await listener.stop()
    // Last, because it may end the process: the counts are stored by then.
    await stopTracing(command, listener)
  }
}

async function listenInProcess(command: CommandContext): Promise<Listener> {
  const { config, clock } = command
  const loading = import('../app.ts')
  const server = await listenHttp(config.host, config.port, clock)
  const tracing = await startTracing({ ...command, environment: readEnvironment() })
  return {
    port: server.port,
    tracing,
    async start(context) {
      const { createApp } = await loading
      const app = createApp(context, server.isStopping)
      server.setHandler(tracing?.traceRequests(app, context.publicUrl) ?? app)
    },
    reload: refreshKey,
    stop: server.stop,
  }
}

/** With several workers, this process runs the catalog and the walks, and supervises the workers. */
async function listenWithWorkers({ config, clock, io }: CommandContext): Promise<Listener> {
  const { Primary: WorkerPrimary } = await import('../cluster/primary.ts')
  // Fail here when the port is in use. When any free port was requested, all workers use the one found here.
  const probe = await listenHttp(config.host, config.port, clock)
  await probe.stop()
  let primary: Primary | undefined
  return {
    port: probe.port,
    tracing: null,
    async start(context) {
      const { catalog, demo, publicUrl } = context
      const { baseUrl, key, copyName } = catalog
      const embeddedKey = demo && key.current().reveal()
      const environment = readEnvironment()
      primary = new WorkerPrimary({
        context,
        workerCount: config.workers,
        workerFile: toBuiltPath('cli/worker.js'),
        parameters: {
          environment,
          port: probe.port,
          publicUrl,
          baseUrl,
          copyName,
          embeddedKey,
          shopData: context.shopFile.data,
          subData: context.subData,
        },
        embeddedCatalog: demo,
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

async function stopTracing({ clock }: CommandContext, { tracing }: Listener): Promise<void> {
  // An export that is repeated would keep the process alive for ten seconds.
  if ((await tracing?.stop()) === false) clock.startTimer(FORCED_EXIT_MS, () => process.exit())
}

function logStop({ io, logger }: CommandContext): void {
  if (io.signal.aborted) logger.info({ signal: io.signal.reason as unknown }, 'stopping')
}

async function waitForStop(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

function startWebhook({ webhook }: Context): void {
  webhook?.start()
}

/** Read the key again; a new key ends the pause that the old one caused. */
async function refreshKey({ key, callPolicy, logger }: Context): Promise<void> {
  const isNew = await key.refresh()
  if (isNew) callPolicy.clearKeyPause()
  logger.info(
    isNew ? 'read the key again: it changed' : 'read the key again: unchanged, or its file has no key',
  )
}

async function printAddresses(command: CommandContext, context: Context, localUrl: string): Promise<void> {
  const { publicUrl } = context
  // Without a password only this machine may open the studio, whatever the public address is.
  const studioBase = command.secrets.adminPassword === null ? localUrl : publicUrl
  const studio = isStudioReachable(context) ? `${studioBase}/studio` : null
  // Without a stored copy there is no product to choose; the log says why.
  const { box, grid } = await findAddresses(context).catch(() => NO_ADDRESSES)
  print(command, { studio, publicUrl, box, grid }, [
    '',
    box === null ? 'Vitrine runs, but has no product to show.' : 'Vitrine is ready.',
    ...(studio === null ? [] : [`  studio       ${studio}`]),
    ...(box === null
      ? (await explainMissingBox(context)).map((line) => `  ${line}`)
      : [`  a box        ${box}`]),
    ...(grid === null ? [] : [`  a deal grid  ${grid}`]),
    ...(command.io.isTerminal ? ['  Press Ctrl-C to stop.'] : []),
    '',
  ])
}

async function explainMissingBox(context: Context): Promise<readonly string[]> {
  const { config, findStoreFailure } = context
  const reason = findStoreFailure()?.reason
  if (reason !== undefined) {
    const meanwhile =
      config.database.kind === 'postgres'
        ? 'Until then only cached responses are shown.'
        : 'Until then boxes come from the catalog.'
    return [
      `The stored copy cannot be used: ${reason.replace(/\.?$/, '.')} Run "vitrine check" for details. ${meanwhile}`,
    ]
  }
  if (config.syncCron === null)
    return [
      'Walks are off. Run "vitrine sync" to walk the catalog; until then each box looks up its product.',
    ]
  if (context.demo === null)
    return ['The catalog could not be walked yet; the server tries again. Run "vitrine check" to see why.']
  return describeFeeds((await readFeeds(context))?.feeds ?? [])
}

/** Say of each feed why it has brought no product yet. */
function describeFeeds(feeds: readonly FeedState[]): readonly string[] {
  if (feeds.length === 0) return ['No feed fills the catalog yet: "vitrine catalog feeds add" adds one.']
  return feeds.map(
    ({ name, status, error }) => `feed ${name}: ${status}${error === null ? '' : `, ${error}`}`,
  )
}

const NO_ADDRESSES = { box: null, grid: null } as const

/** Return addresses to open: of the sample data's showcase product, otherwise of the first product in the copy. */
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
