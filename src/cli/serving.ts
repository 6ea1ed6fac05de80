import { once } from 'node:events'
import { SECOND_MS } from '../clock.ts'
import type { Context, ContextDetails } from '../context.ts'
import { isStudioReachable } from '../http/admin-gate.ts'
import { runWalkInThread } from '../sync/walk-runner.ts'
import type { CommandContext, CommandIo } from './command.ts'
import { toPlainJson } from './output.ts'
import { type OpenCatalog, openCatalog, toLocalUrl } from './open-catalog.ts'

/**
 * How long a server that was told to end by SIGTERM, as balancers and orchestrators do, says so at `/readyz` before it
 * takes no more connections. A person at a keyboard (Ctrl-C) does not wait for it.
 */
const SIGTERM_DRAIN_MS: number = 0.75 * SECOND_MS

/** How long the server goes on answering after it was told to stop. */
export function computeDrainMs(signal: AbortSignal): number {
  return signal.reason === 'SIGTERM' ? SIGTERM_DRAIN_MS : 0
}

/** Resolves when the process was told to stop. */
export async function waitForStop(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** What SIGHUP brings about. */
export type HangUps = Readonly<{
  /** From now on SIGHUP calls this; one that came before does so at once. */
  answerWith(listener: () => void): void
}>

/** Heeds SIGHUP from the first moment on: one that comes during the start waits for its end, and never ends the process. */
export function heedHangUps(io: Pick<CommandIo, 'onHangUp'>): HangUps {
  let isEarly = false
  let answer = (): void => void (isEarly = true)
  io.onHangUp(() => answer())
  return {
    answerWith(listener) {
      answer = listener
      if (isEarly) listener()
    },
  }
}

/** Opens catalog and context of a server on `port`. Whatever ends it, nothing stays open: the process ends by itself. */
export async function withContext(
  command: CommandContext,
  { port, ...more }: Readonly<{ port: number }> & Pick<ContextDetails, 'openLongReads'>,
  serve: (context: Context, catalog: OpenCatalog) => Promise<void>,
): Promise<void> {
  const { config, secrets, clock, logger } = command
  const publicUrl = config.publicUrl ?? toLocalUrl(config.host, port)
  // The rest of the program is loaded while the embedded catalog starts in its thread.
  const [catalog, { createContext }] = await Promise.all([
    openCatalog(command, { publicUrl, mayPutSample: true }),
    import('../context.ts'),
  ])
  try {
    const parts = { config, secrets, clock, logger, publicUrl, catalog: catalog.place, demo: catalog.demo }
    const context = await createContext({ ...parts, walkRunner: runWalkInThread, ...more })
    try {
      await serve(context, catalog)
    } finally {
      await context.dispose()
    }
  } finally {
    await catalog.close()
  }
}

/** Walks, says where the server is, and waits until it is told to stop. */
export async function runUntilStopped(
  command: CommandContext,
  context: Context,
  port: number,
): Promise<void> {
  const { config, io, logger } = command
  if (io.signal.aborted) return
  const { publicUrl } = context
  const isCluster = config.workers > 1 && { workers: config.workers }
  logger.info({ publicUrl, catalog: config.catalog.kind, ...isCluster }, 'listening')
  const stopped = waitForStop(io.signal)
  await Promise.race([context.walks.start(), stopped])
  if (!io.signal.aborted) await announce(command, context, toLocalUrl(config.host, port))
  await stopped
}

/** SIGHUP: a new key ends the pause that the old one brought about. Answers whether it is another one. */
export async function takeNewKey({ key, gate, logger }: Context): Promise<boolean> {
  const isNew = await key.refresh()
  if (isNew) gate.liftKeyPause()
  const words = 'told to read the key again: it is the one used so far, or its file holds none'
  logger.info(isNew ? 'told to read the key again: it is another one now' : words)
  return isNew
}

/** Prints what a newcomer opens next, on standard output. */
async function announce(command: CommandContext, context: Context, localUrl: string): Promise<void> {
  const { io, json, secrets } = command
  const { publicUrl } = context
  // Without a password the studio opens to this machine alone, whatever the outside calls the server.
  const studioBase = secrets.adminPassword === null ? localUrl : publicUrl
  const studio = isStudioReachable(context) ? `${studioBase}/studio` : null
  // Without a stored copy there is nothing to choose an address from; the log says why.
  const { box, grid } = await findAddresses(context).catch(() => NOTHING)
  if (json) return io.out(toPlainJson({ studio, publicUrl, box, grid }))
  const lines = [
    '',
    'Vitrine is ready.',
    ...(studio === null ? [] : [`  studio       ${studio}`]),
    box === null ? `  ${explainNothing(context)}` : `  a box        ${box}`,
    ...(grid === null ? [] : [`  a deal grid  ${grid}`]),
    '  Ctrl-C ends it.',
    '',
  ]
  for (const line of lines) io.out(line)
}

function explainNothing({ config, findStoreFailure }: Context): string {
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

/** Addresses that really open; `null` where there is nothing to show. */
type Addresses = Readonly<{ box: string | null; grid: string | null }>

const NOTHING: Addresses = { box: null, grid: null }

async function findAddresses(context: Context): Promise<Addresses> {
  const { publicUrl, store, demo } = context
  const isShowcase = (id: string): boolean => id === demo?.showcase.channelId
  const channels = await context.channels.listChannels()
  for (const { id } of channels.toSorted((a, b) => Number(isShowcase(b.id)) - Number(isShowcase(a.id)))) {
    const gtin = await findShownGtin(context, id)
    if (gtin === undefined) continue
    const { dealCount } = await store.getCopyState(id)
    const base = `${publicUrl}/embeds/${id}`
    return { box: `${base}/where-to-buy/${gtin}`, grid: dealCount > 0 ? `${base}/deals` : null }
  }
  return NOTHING
}

/** A product to show: the demonstration's own, else the first of the copy. */
async function findShownGtin({ store, demo }: Context, channelId: string): Promise<string | undefined> {
  if (demo?.showcase.channelId === channelId) {
    const entry = await store.findProduct(channelId, demo.showcase.gtin)
    if (entry?.product) return entry.product.gtin
  }
  const [first] = await store.searchProducts(channelId, '', 1)
  return first?.product?.gtin
}
