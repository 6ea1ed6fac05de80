import { Router } from 'express'
import { HOUR_SECONDS } from '../clock.ts'
import type { Context } from '../context.ts'
import { UnknownAddressError } from '../errors.ts'
import { parseGalleryChoice, toGalleryView } from '../studio/gallery/gallery.ts'
import { findGalleryPicture } from '../studio/gallery/pictures.ts'
import type { Specimen } from '../studio/gallery/specimens.ts'
import { createOwnPageHeaders } from '../http/security-headers.ts'
import type { AdminGate } from '../http/admin-gate.ts'
import { sendPage } from './own-page.ts'
import { getParameter, parseQuery } from './requests.ts'

/** `/studio/gallery`: every layout, theme and hard case on one page, from fixtures; and their pictures. */
export function createGalleryRouter(context: Context, gate: AdminGate): Router {
  const router = Router()
  const { assets, publicUrl, renderer } = context
  const render = (specimen: Specimen): string =>
    specimen.widget === 'deals' ? renderer.renderGrid(specimen.view) : renderer.renderBox(specimen.view)

  router.get(
    '/studio/gallery',
    gate.protect,
    createOwnPageHeaders(context.ownOrigin),
    async (request, response) => {
      const view = await toGalleryView({
        publicUrl,
        stylePath: assets.get('vitrine.css').path,
        pageStylePath: assets.get('studio.css').path,
        scriptPath: assets.get('studio.js').path,
        choice: parseGalleryChoice(parseQuery(request)),
        render,
      })
      await sendPage(request, response, renderer.renderGallery(view))
    },
  )
  router.get('/studio/gallery/pictures/:name', gate.protect, (request, response) => {
    const picture = findGalleryPicture(getParameter(request.params, 'name'))
    if (picture === undefined) throw new UnknownAddressError('no such picture')
    response
      .set({
        'Content-Type': 'image/svg+xml',
        'Cache-Control': `private, max-age=${HOUR_SECONDS}`,
        'Content-Security-Policy': "default-src 'none'; sandbox",
        'X-Content-Type-Options': 'nosniff',
      })
      .send(picture)
  })
  return router
}
