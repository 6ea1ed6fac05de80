import { CHANNEL } from './catalog-data.mjs'
import { fetchAnswer } from './vitrine.mjs'

/**
 * The view of a box as the product itself makes it, for the peer that renders it for each request; made from the
 * catalog's answer and from what the box says of its time and style sheet.
 * @param {{ origin: string }} catalog
 * @param {{ gtin: string, publicUrl: string, box: string }} shown `box`: what Vitrine sent
 */
export async function makeBoxView(catalog, { gtin, publicUrl, box }) {
  const { parseProduct } = await import('../../dist/catalog/parse.js')
  const { parseBoxOptions } = await import('../../dist/widgets/options.js')
  const { toBoxView } = await import('../../dist/widgets/where-to-buy.js')
  const { createRenderer } = await import('../../dist/widgets/render.js')
  const { bytes } = await fetchAnswer(`${catalog.origin}/v0/channels/${CHANNEL.id}/products/${gtin}`)
  const { product } = parseProduct(JSON.parse(bytes.toString()), gtin, { ownOrigin: publicUrl })
  const asOfMs = Date.parse(/datetime="([^"]+)"/.exec(box)?.[1] ?? '')
  const stylePath = /href="([^"]+\.css)"/.exec(box)?.[1]?.replace(publicUrl, '') ?? ''
  const options = parseBoxOptions(new URLSearchParams(), { locale: 'en', currency: null }, 'fragment')
  const presentation = {
    publicUrl,
    stylePath,
    disclosure: { kind: 'locale' },
    priceMaxAgeSeconds: 86_400,
    nowMs: asOfMs,
    surface: 'fragment',
  }
  const view = toBoxView({ product, asOfMs }, options, presentation)
  return { view, isSame: createRenderer().renderBox(view) === box }
}
