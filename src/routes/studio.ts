import { type Request, type RequestHandler, Router } from 'express'
import type { Channel, Product } from '../catalog/contract.ts'
import type { Context } from '../context.ts'
import { findGtin } from '../offers/gtin.ts'
import { createOwnPageHeaders } from '../http/security-headers.ts'
import { type StudioChoice, type StudioData, parseStudioChoice, toStudioView } from '../widgets/studio.ts'
import type { StudioView } from '../widgets/view-models.ts'
import { sendPage } from './own-page.ts'
import { parseQuery } from './widget-answer.ts'

/** Products that a search of the start page shows. */
const MAX_MATCHES = 8

/** `/studio`, the start page, and `/`, which leads there for whoever may see it. */
export function createStudioRouter(context: Context, gate: readonly RequestHandler[]): Router {
  const router = Router()
  router.get('/', ...gate, (_request, response) => {
    response.set('Cache-Control', 'no-store').redirect(302, `${context.publicUrl}/studio`)
  })
  router.get('/studio', ...gate, createOwnPageHeaders(context.ownOrigin), async (request, response) => {
    const view = await getStudioView(context, request)
    await sendPage(request, response, context.renderer.renderStudio(view))
  })
  return router
}

async function getStudioView(context: Context, request: Request): Promise<StudioView> {
  const { assets, publicUrl, widgets } = context
  const choice = parseStudioChoice(parseQuery(request), widgets.defaults.locale)
  const channels = await context.channels.listChannels()
  const wanted = choice.channelId ?? context.demo?.showcase.channelId
  const channel = channels.find(({ id }) => id === wanted) ?? channels[0] ?? null
  return toStudioView({
    publicUrl,
    styles: [`${publicUrl}${assets.get('studio.css').path}`],
    studioScript: `${publicUrl}${assets.get('studio.js').path}`,
    loaderScript: `${publicUrl}/embed.js`,
    isSample: context.demo !== null && (await context.demo.isSampleOnly()),
    channels,
    channel,
    choice,
    defaultLocale: widgets.defaults.locale,
    defaultCurrency: widgets.defaults.currency,
    ...(channel === null ? NOTHING : await findChannelData(context, channel, choice)),
  })
}

/** What is shown of a channel. */
type ChannelData = Pick<StudioData, 'matches' | 'product' | 'state'>

const NOTHING: ChannelData = { matches: [], product: null, state: null }

async function findChannelData(
  context: Context,
  channel: Channel,
  choice: StudioChoice,
): Promise<ChannelData> {
  const matches = await findMatches(context, channel, choice)
  const product = await findProduct(context, channel, { choice, matches })
  return { matches, product, state: await context.store.getCopyState(channel.id) }
}

async function findMatches(
  context: Context,
  channel: Channel,
  choice: StudioChoice,
): Promise<readonly Product[]> {
  const found = await context.store.searchProducts(channel.id, choice.query, MAX_MATCHES)
  return found.flatMap(({ product }) => (product === null ? [] : [product]))
}

/** The chosen product, else the first match, else the one that the demonstration puts first. */
async function findProduct(
  context: Context,
  channel: Channel,
  known: Readonly<{ choice: StudioChoice; matches: readonly Product[] }>,
): Promise<Product | null> {
  const { choice, matches } = known
  const chosen = choice.gtin ?? (choice.query === '' ? context.demo?.showcase.gtin : undefined)
  const gtin = chosen === undefined ? undefined : findGtin(chosen)
  const entry = gtin === undefined ? undefined : await context.store.findProduct(channel.id, gtin)
  return entry?.product ?? matches[0] ?? null
}
