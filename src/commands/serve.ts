import { createApp } from '../app.ts'
import { SECOND_MS } from '../clock.ts'
import { runWalkInThread } from '../copy/walk-runner.ts'
import { type Context, createContext } from '../context.ts'
import { type HttpServer, listenHttp } from '../http/server.ts'
import { isStudioReachable } from '../routes/admin-gate.ts'
import { openCatalog, toLocalUrl } from './catalog-place.ts'
import type { CommandContext, ExitCode } from './command.ts'

/**
 * How long a server that was told to end by SIGTERM, as balancers and orchestrators do, says so at `/readyz` before it
 * takes no more connections. A person at a keyboard (Ctrl-C) does not wait for it.
 */
const DRAIN_MS: number = 0.75 * SECOND_MS

/**
 * `vitrine serve`: runs the widget server, and with it the embedded catalog service when no other is set, until it is
 * told to stop. Prints addresses that really open once the first walk has ended.
 * @throws UsageError when the address cannot be listened on.
 */
export async function runServe(command: CommandContext): Promise<ExitCode> {
  const { config, secrets, clock, logger, io } = command
  const server = await listenHttp(config.host, config.port, clock)
  const publicUrl = config.publicUrl ?? toLocalUrl(config.host, server.port)
  try {
    const catalog = await openCatalog(command, { publicUrl, mayPutSample: true })
    try {
      const { place, demo } = catalog
      const parts = { config, secrets, clock, logger, publicUrl, catalog: place, demo }
      const context = await createContext({ ...parts, walkRunner: runWalkInThread })
      io.onHangUp(() => void takeNewKey(context))
      await serveUntilStopped(command, server, context)
      return 0
    } finally {
      await catalog.close()
    }
  } finally {
    await server.stop()
  }
}

/** Whatever ends the service, nothing of it stays open: the process ends by itself. */
async function serveUntilStopped(
  command: CommandContext,
  server: HttpServer,
  context: Context,
): Promise<void> {
  const { config, io, logger } = command
  try {
    server.answerWith(createApp(context, server.isStopping))
    logger.info({ publicUrl: context.publicUrl, catalog: config.catalog.kind }, 'listening')
    const stopped = waitForStop(io.signal)
    await Promise.race([context.walks.start(), stopped])
    if (!io.signal.aborted) await announce(command, context, toLocalUrl(server.host, server.port))
    await stopped
  } finally {
    const drainMs = io.signal.reason === 'SIGTERM' ? DRAIN_MS : 0
    await Promise.all([server.stop(drainMs), context.walks.stop()])
    await context.dispose()
  }
}

function waitForStop(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}

/** SIGHUP: a new key ends the pause that the old one brought about. */
async function takeNewKey({ key, gate, logger }: Context): Promise<void> {
  const isNew = await key.refresh()
  if (isNew) gate.liftKeyPause()
  const words = 'told to read the key again: it is the one used so far, or its file holds none'
  logger.info(isNew ? 'told to read the key again: it is another one now' : words)
}

/** What a newcomer opens next, on standard output. */
async function announce(command: CommandContext, context: Context, localUrl: string): Promise<void> {
  const { io, json, secrets } = command
  // Without a password the studio opens to this machine alone, whatever the outside calls the server.
  const studioBase = secrets.adminPassword === null ? localUrl : context.publicUrl
  const studio = isStudioReachable(context) ? `${studioBase}/studio` : null
  const nothing: Addresses = { publicUrl: context.publicUrl, box: null, grid: null }
  // Without a stored copy there is nothing to choose an address from; the log says why.
  const addresses = { studio, ...(await findAddresses(context).catch(() => nothing)) }
  if (json) return io.out(JSON.stringify(addresses))
  io.out('')
  io.out('Vitrine is ready.')
  if (addresses.studio !== null) io.out(`  studio       ${addresses.studio}`)
  if (addresses.box !== null) io.out(`  a box        ${addresses.box}`)
  if (addresses.grid !== null) io.out(`  a deal grid  ${addresses.grid}`)
  if (addresses.box === null) io.out(`  ${explainNothing(context)}`)
  io.out('  Ctrl-C ends it.')
  io.out('')
}

function explainNothing({ config, findStoreFailure }: Context): string {
  const failure = findStoreFailure()
  if (failure !== null)
    return `The stored copy cannot be used (${failure.reason}); "vitrine check" says more. Boxes come from the catalog meanwhile.`
  return config.syncCron === null
    ? 'Walks are switched off: "vitrine sync" walks the catalog, and boxes look products up meanwhile.'
    : 'The catalog could not be walked yet; "vitrine check" says why. It is tried again.'
}

/** Addresses that really open; `null` where there is nothing to show. */
type Addresses = Readonly<{
  publicUrl: string
  box: string | null
  grid: string | null
}>

async function findAddresses(context: Context): Promise<Addresses> {
  const { publicUrl, store, demo } = context
  const channels = await context.channels.listChannels()
  const preferred = channels.find(({ id }) => id === demo?.showcase.channelId)
  for (const channel of preferred === undefined ? channels : [preferred, ...channels]) {
    const state = await store.getCopyState(channel.id)
    const gtin = await findShownGtin(context, channel.id)
    if (gtin === undefined) continue
    const base = `${publicUrl}/embeds/${channel.id}`
    const grid = state.dealCount > 0 ? `${base}/deals` : null
    return { publicUrl, box: `${base}/where-to-buy/${gtin}`, grid }
  }
  return { publicUrl, box: null, grid: null }
}

/** A product to show: the demonstration's own, else the first of the copy. */
async function findShownGtin({ store, demo }: Context, channelId: string): Promise<string | undefined> {
  if (demo !== null && demo.showcase.channelId === channelId) {
    const entry = await store.findProduct(channelId, demo.showcase.gtin)
    if (entry !== undefined && entry.product !== null) return entry.product.gtin
  }
  const [first] = await store.searchProducts(channelId, '', 1)
  return first?.product?.gtin
}
