import { type Request, type Response, Router } from 'express'
import type { Context } from '../context.ts'
import { UnknownAddressError } from '../errors.ts'
import { HOUR_SECONDS } from '../clock.ts'
import { encodeBody, pickBody } from '../http/response.ts'
import { createOwnPageHeaders } from '../http/security-headers.ts'
import { parseGallerySelection, toGalleryView } from '../studio/gallery/gallery.ts'
import { findGalleryPicture, getGalleryShops } from '../studio/gallery/cases.ts'
import type { GalleryExample } from '../studio/gallery/examples.ts'
import { applyChange } from '../studio/changes.ts'
import { readStudioData } from '../studio/data.ts'
import { readSentence } from '../studio/sentence.ts'
import { toStudioUpdate } from '../studio/update.ts'
import { type StudioView, toStudioView } from '../studio/studio.ts'
import { withQuery } from '../widgets/options.ts'
import type { AdminAuth } from '../http/admin-auth.ts'
import { getParameter, parseQuery } from './requests.ts'

/** Create the routes `/studio`, `/studio/gallery`, and `/`, which redirects to the studio. */
export function createStudioRouter(context: Context, adminAuth: AdminAuth): Router {
  const router = Router()
  const pageHeaders = createOwnPageHeaders(context.pageSources)
  const getView = async (request: Request, isUpdate: boolean): Promise<StudioView> => {
    const studioUrl = adminAuth.findOpenStudioUrl(request) ?? `${context.publicUrl}/studio`
    return toStudioView(await readStudioData(context, parseQuery(request), { studioUrl, isUpdate }))
  }

  // Uptime probes and browsers request it without a password.
  router.get('/', adminAuth.requireStudio, (_request, response) => {
    response.set('Cache-Control', 'no-store').redirect(302, `${context.publicUrl}/studio`)
  })
  router.get('/studio', adminAuth.requireAdmin, pageHeaders, async (request: Request, response: Response) => {
    // The page contains relative addresses.
    if (request.path.endsWith('/')) return response.redirect(302, withQuery('../studio', parseQuery(request)))
    // The address of the page holds the list that a button has changed, not the change.
    const changed = applyChange(parseQuery(request))
    if (changed !== null)
      return response.set('Cache-Control', 'no-store').redirect(302, withQuery('studio', changed))
    await sendPage(request, response, context.renderer.renderStudio(await getView(request, false)))
  })
  // The script of the page inserts these texts and attributes, never markup.
  router.get(
    '/studio/live',
    adminAuth.requireAdmin,
    pageHeaders,
    async (request: Request, response: Response) => {
      response.set('Cache-Control', 'no-store').json(toStudioUpdate(await getView(request, true)))
    },
  )
  // The studio frames it.
  router.get(
    '/studio/sentence',
    adminAuth.requireAdmin,
    createOwnPageHeaders(context.pageSources, "'self'"),
    async (request: Request, response: Response) => {
      const view = await readSentence(context, parseQuery(request))
      await sendPage(request, response, context.renderer.renderSentence(view))
    },
  )
  addGallery(router, context, adminAuth)
  return router
}

/** Add `/studio/gallery`: every layout, theme and edge case, from fixtures. */
function addGallery(router: Router, context: Context, adminAuth: AdminAuth): void {
  const { assets, publicUrl, renderer } = context
  const render = (example: GalleryExample): string =>
    example.widget === 'deals' ? renderer.renderGrid(example.view) : renderer.renderBox(example.view)

  router.get(
    '/studio/gallery',
    adminAuth.requireAdmin,
    createOwnPageHeaders(context.pageSources),
    async (request, response) => {
      const view = await toGalleryView({
        publicUrl,
        stylePath: assets.get('vitrine.css').path,
        pageStylePath: assets.get('studio.css').path,
        scriptPath: assets.get('studio.js').path,
        hasFeeds: context.demo !== null,
        selection: parseGallerySelection(parseQuery(request)),
        render,
      })
      await sendPage(request, response, renderer.renderGallery(view))
    },
  )
  router.get('/studio/gallery/logos/:name', adminAuth.requireAdmin, (request, response) => {
    const logo = getGalleryShops().findLogo(getParameter(request.params, 'name'))
    if (logo === undefined) throw new UnknownAddressError('no such logo')
    sendGalleryPicture(response, logo.contentType, logo.body)
  })
  router.get('/studio/gallery/pictures/:name', adminAuth.requireAdmin, (request, response) => {
    const picture = findGalleryPicture(getParameter(request.params, 'name'))
    if (picture === undefined) throw new UnknownAddressError('no such picture')
    sendGalleryPicture(response, picture.type, picture.content)
  })
}

function sendGalleryPicture(response: Response, contentType: string, content: Buffer): void {
  response
    .set({
      'Content-Type': contentType,
      'Cache-Control': `private, max-age=${HOUR_SECONDS}`,
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'X-Content-Type-Options': 'nosniff',
    })
    .send(content)
}

/** Send a compressed page that is not cached. */
async function sendPage(request: Request, response: Response, html: string): Promise<void> {
  const { encoding, body } = pickBody(await encodeBody(html), request.get('accept-encoding'))
  if (encoding !== null) response.set('Content-Encoding', encoding)
  response
    .set({ 'Cache-Control': 'no-store', Vary: 'Accept-Encoding' })
    .type('html')
    .send(Buffer.from(body, 'latin1'))
}
