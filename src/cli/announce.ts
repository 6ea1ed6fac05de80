import type { Context } from '../context.ts'
import { isStudioReachable } from '../http/admin-gate.ts'
import type { CommandContext } from './command.ts'
import { toPlainJson } from './output.ts'

/** What a newcomer opens next, on standard output. */
export async function announce(command: CommandContext, context: Context, localUrl: string): Promise<void> {
  const { io, json, secrets } = command
  // Without a password the studio opens to this machine alone, whatever the outside calls the server.
  const studioBase = secrets.adminPassword === null ? localUrl : context.publicUrl
  const studio = isStudioReachable(context) ? `${studioBase}/studio` : null
  const nothing: Addresses = { publicUrl: context.publicUrl, box: null, grid: null }
  // Without a stored copy there is nothing to choose an address from; the log says why.
  const addresses = { studio, ...(await findAddresses(context).catch(() => nothing)) }
  if (json) return io.out(toPlainJson(addresses))
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
    return `The stored copy cannot be used: ${toSentence(failure.reason)} "vitrine check" says more. ${config.database.kind === 'postgres' ? 'Until it can, only what is in memory is shown.' : 'Boxes come from the catalog meanwhile.'}`
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

function toSentence(text: string): string {
  return text.endsWith('.') ? text : `${text}.`
}
