import { type Request, type Response, Router } from 'express'
import type { Context } from '../context.ts'
import { UnknownAddressError } from '../errors.ts'
import { HOUR_SECONDS, SECOND_MS } from '../clock.ts'
import { toVisitor } from '../http/client-address.ts'
import { HTML_TYPE, chooseEncoding, compress, sendResponse, toUtf8ByteString } from '../http/response.ts'
import { createOwnPageHeaders } from '../http/security-headers.ts'
import { parseGallerySelection, toGalleryView } from '../studio/gallery/gallery.ts'
import { findGalleryPicture, getGalleryShops } from '../studio/gallery/cases.ts'
import { renderExample } from '../studio/gallery/examples.ts'
import { applyChange } from '../studio/changes.ts'
import { readStudioData } from '../studio/data.ts'
import { readSentence } from '../studio/sentence.ts'
import { toStudioView } from '../studio/studio.ts'
import { withQuery } from '../widgets/options.ts'
import type { AdminAuth } from '../http/admin-auth.ts'
import { createFairQueue } from '../lib/fair-queue.ts'
import { getParameter, parseQuery } from './requests.ts'
import type { AnyView } from '../widgets/view-models.ts'

/** Pages are not cached, and a page of the gallery holds the thread for a tenth of a second. */
const PAGE_LIMITS = { parallelTasks: 2, maxWaiting: 128, maxWaitingPerVisitor: 96 }
const PAGE_TIMEOUT_MS: number = 30 * SECOND_MS

/** Create the routes `/studio`, `/studio/gallery`, and `/`, which redirects to the studio. */
export function createStudioRouter(context: Context, adminAuth: AdminAuth): Router {
  const router = Router()
  const pageHeaders = createOwnPageHeaders(context.pageSources)
  const runInTurn = createTurns(context)
  const sendPage = createPageSender(runInTurn)

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
    const studioUrl = adminAuth.findOpenStudioUrl(request) ?? `${context.publicUrl}/studio`
    await sendPage(request, response, async () =>
      context.renderer.renderStudio(
        toStudioView(await readStudioData(context, parseQuery(request), studioUrl)),
      ),
    )
  })
  // The studio frames it.
  router.get(
    '/studio/sentence',
    adminAuth.requireAdmin,
    createOwnPageHeaders(context.pageSources, "'self'"),
    async (request: Request, response: Response) => {
      await sendPage(request, response, async () =>
        context.renderer.renderSentence(await readSentence(context, parseQuery(request))),
      )
    },
  )
  addGallery(router, context, { adminAuth, sendPage })
  return router
}

/** Add `/studio/gallery`: every layout, theme and edge case, from fixtures. */
function addGallery(
  router: Router,
  context: Context,
  { adminAuth, sendPage }: Readonly<{ adminAuth: AdminAuth; sendPage: SendPage }>,
): void {
  const { assets, publicUrl, renderer } = context
  const render = (example: AnyView): string => renderExample(renderer, example)

  router.get(
    '/studio/gallery',
    adminAuth.requireAdmin,
    createOwnPageHeaders(context.pageSources),
    async (request, response) => {
      await sendPage(request, response, async () => {
        const view = await toGalleryView({
          publicUrl,
          stylePath: assets.get('vitrine.css').path,
          pageStylePath: assets.get('studio.css').path,
          scriptPath: assets.get('studio.js').path,
          hasFeeds: context.demo !== null,
          selection: parseGallerySelection(parseQuery(request)),
          render,
        })
        return renderer.renderGallery(view)
      })
    },
  )
  router.get('/studio/gallery/logos/:name', adminAuth.requireAdmin, (request, response) => {
    const logo = getGalleryShops().findLogo(getParameter(request.params, 'name'))
    if (logo === undefined) throw new UnknownAddressError('no such logo')
    sendGalleryPicture(request, response, { contentType: logo.contentType, content: logo.body })
  })
  router.get('/studio/gallery/pictures/:name', adminAuth.requireAdmin, (request, response) => {
    const picture = findGalleryPicture(getParameter(request.params, 'name'))
    if (picture === undefined) throw new UnknownAddressError('no such picture')
    sendGalleryPicture(request, response, { contentType: picture.type, content: picture.content })
  })
}

function sendGalleryPicture(
  request: Request,
  response: Response,
  { contentType, content }: Readonly<{ contentType: string; content: Buffer }>,
): void {
  sendResponse(request, response, {
    headers: {
      'Content-Type': contentType,
      'Cache-Control': `private, max-age=${HOUR_SECONDS}`,
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'X-Content-Type-Options': 'nosniff',
    },
    body: content,
  })
}

type RunInTurn = <T>(request: Request, task: () => Promise<T>) => Promise<T>
type SendPage = (request: Request, response: Response, render: () => Promise<string>) => Promise<void>

/** Create the function that runs what makes a page in the client's turn. */
function createTurns({ clock, config }: Context): RunInTurn {
  const pages = createFairQueue(clock, PAGE_LIMITS)
  return (request, task) =>
    pages.run({ ...toVisitor(request, config.trustProxy), timeoutMs: PAGE_TIMEOUT_MS }, task)
}

/** Create the function that sends a compressed page that is not cached. */
function createPageSender(runInTurn: RunInTurn): SendPage {
  return async (request, response, render) => {
    const encoding = chooseEncoding(request.get('accept-encoding'))
    const body = await runInTurn(request, async () => {
      const text = await render()
      return encoding === null ? Buffer.from(text) : compress(toUtf8ByteString(text), encoding)
    })
    sendResponse(request, response, {
      headers: {
        'Content-Type': HTML_TYPE,
        'Content-Encoding': encoding ?? undefined,
        'Cache-Control': 'no-store',
        Vary: 'Accept-Encoding',
      },
      body,
    })
  }
}
