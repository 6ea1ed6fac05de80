import type { Context } from '../context.ts'
import { isStudioReachable } from '../http/admin-gate.ts'
import type { CommandContext } from './command.ts'
import { toPlainJson } from './output.ts'

/** Print what a newcomer opens next, on standard output. */
export async function announce(command: CommandContext, context: Context, localUrl: string): Promise<void> {
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
