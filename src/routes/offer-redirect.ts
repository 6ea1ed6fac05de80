import { Router } from 'express'
import type { Context } from '../context.ts'
import { isCountedRequest, isPrefetch } from '../coverage/counted-requests.ts'
import { OfferGoneError } from '../errors.ts'
import { toRefusalHeaders } from '../http/refusals.ts'
import { TEXT_TYPE, sendResponse } from '../http/response.ts'
import { createCrossOriginHeaders } from '../http/security-headers.ts'
import { normalizeGtin } from '../offers/gtin.ts'
import { createParameterReader, parseOrDefault } from '../widgets/parameters.ts'
import { toLinkOfPlacement } from '../offers/sub-ids.ts'
import { getParameter, parseQuery } from './requests.ts'

/** Create the route `/go/{channel}/{gtin}/{offer}` for sandboxed frames and `VITRINE_LINKS=counted`. The target is the stored link of the offer. */
export function createOfferRedirectRouter(context: Context): Router {
  const router = Router()
  router.use(
    '/go',
    createCrossOriginHeaders({ 'Cache-Control': 'no-store', 'X-Robots-Tag': 'noindex, nofollow' }),
  )
  router.get('/go/:channel/:gtin/:offer', async (request, response) => {
    // The policy of the link decides what the network learns; another one here would replace it.
    response.removeHeader('Referrer-Policy')
    if (isPrefetch(request.headers)) {
      // A network would count a click without a reader. Browsers discard a 503, and send another request on the click.
      const message = 'Links to shops are not prefetched.'
      return sendResponse(request, response, {
        status: 503,
        headers: { ...toRefusalHeaders(message), 'Vitrine-State': 'unavailable', 'Content-Type': TEXT_TYPE },
        body: `${message}\n`,
      })
    }
    const channelId = getParameter(request.params, 'channel').toLowerCase()
    const gtin = normalizeGtin(getParameter(request.params, 'gtin'))
    const offerId = getParameter(request.params, 'offer')
    const offer =
      gtin === undefined ? undefined : await context.widgets.findOffer({ channelId, gtin, offerId })
    if (gtin === undefined || offer === undefined) throw new OfferGoneError('no offer of that id')
    const read = createParameterReader(parseQuery(request))
    // A reader follows this link, so a broken id must not stop it.
    const sub = parseOrDefault(() => read('sub', 'sub'), null)
    // Without the setting, only links of sandboxed frames lead here: a misleading part of all clicks.
    if (context.config.links === 'counted' && isCountedRequest(request, 'go', context.publicUrl)) {
      const merchant = context.shopFile.book.toMainName(offer.merchant)
      context.coverage.countClick({ channelId, gtin, merchant, sub: sub ?? '' })
    }
    const link = toLinkOfPlacement(offer, context.subRules, sub)
    response.status(302).set('Location', toHeaderValue(link)).end()
  })
  return router
}

/** Percent-encode all characters that are invalid in a header. */
function toHeaderValue(url: string): string {
  return url.toWellFormed().replace(/[^!-~]+/g, encodeURIComponent)
}
