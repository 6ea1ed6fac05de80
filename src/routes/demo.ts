import { Router } from 'express'
import { HOUR_SECONDS } from '../clock.ts'
import type { Context } from '../context.ts'
import { UnknownAddressError } from '../errors.ts'
import { HTML_TYPE, sendResponse } from '../http/response.ts'
import { createOwnPageHeaders, createCrossOriginHeaders } from '../http/security-headers.ts'
import { formatPrice } from '../widgets/format.ts'
import { getParameter, parseQuery } from './requests.ts'

/** Limits of the tracking parameters that the demo shop prints. */
const MAX_PRINTED_CHARACTERS = 300
const MAX_PRINTED_PARAMETERS = 20

/** Create the routes `/demo/…` of the embedded catalog: sample pictures and the shop of the sample links. */
export function createDemoRouter(context: Context): Router {
  const router = Router()
  const { demo } = context
  if (demo === null) return router

  router.get('/demo/pictures/:name', createCrossOriginHeaders(), (request, response) => {
    const picture = demo.findPicture(getParameter(request.params, 'name'))
    if (picture === undefined) throw new UnknownAddressError('no such picture')
    sendResponse(request, response, {
      headers: {
        'Content-Type': 'image/webp',
        'Cache-Control': `public, max-age=${HOUR_SECONDS}`,
        'Content-Security-Policy': "default-src 'none'; sandbox",
      },
      body: picture,
    })
  })
  router.get('/demo/shop', createOwnPageHeaders(context.pageSources), (request, response) => {
    const query = parseQuery(request)
    const demoProduct = demo.findDemoProduct(query.get('url') ?? '')
    const html = context.renderer.renderDemoShop({
      styles: [`${context.publicUrl}${context.assets.get('studio.css').path}`],
      demoProduct:
        demoProduct === undefined
          ? null
          : { ...demoProduct, price: formatPrice(demoProduct.price, demoProduct.currency, 'en') },
      parameters: [...query].slice(0, MAX_PRINTED_PARAMETERS).map(([name, value]) => ({
        name: name.slice(0, MAX_PRINTED_CHARACTERS),
        value: value.slice(0, MAX_PRINTED_CHARACTERS),
      })),
    })
    const headers = { 'Cache-Control': 'no-store', 'X-Robots-Tag': 'noindex', 'Content-Type': HTML_TYPE }
    sendResponse(request, response, { headers, body: html })
  })
  return router
}
