import { type Request, type Response, Router } from 'express'
import type { Context } from '../context.ts'
import { UnknownAddressError } from '../errors.ts'
import { createOwnPageHeaders } from '../http/security-headers.ts'
import { toStudioLive } from '../studio/live.ts'
import { toStudioView } from '../studio/studio.ts'
import { toSuffix } from '../studio/widget.ts'
import type { StudioView } from '../studio/views.ts'
import type { AdminGate } from '../http/admin-gate.ts'
import { sendPage } from './own-page.ts'
import { readStudioData } from './studio-data.ts'
import { parseQuery } from './requests.ts'

/** `/studio`, and `/`, which leads there. */
export function createStudioRouter(context: Context, gate: AdminGate): Router {
  const router = Router()
  const headers = createOwnPageHeaders(context.ownOrigin)
  const getView = async (request: Request): Promise<StudioView> =>
    toStudioView(await readStudioData(context, parseQuery(request), findStudioUrl(context, request)))

  // Uptime probes and browsers ask for it without a password, so it asks for none: `/studio` does.
  router.get('/', (request, response) => {
    if (!gate.hasStudio(request)) throw new UnknownAddressError('closed without an admin password')
    response.set('Cache-Control', 'no-store').redirect(302, `${context.publicUrl}/studio`)
  })
  router.get('/studio', gate.protect, headers, async (request: Request, response: Response) => {
    // The page's addresses are relative to its own.
    if (request.path.endsWith('/')) return response.redirect(302, `../studio${toSuffix(parseQuery(request))}`)
    await sendPage(request, response, context.renderer.renderStudio(await getView(request)))
  })
  // What the page's script puts in place after a change: texts and attributes, never markup.
  router.get('/studio/live', gate.protect, headers, async (request: Request, response: Response) => {
    response.set('Cache-Control', 'no-store').json(toStudioLive(await getView(request)))
  })
  return router
}

/** Without a password it opens to this machine alone, by names of this machine; with one, to the outside. */
function findStudioUrl({ publicUrl, secrets }: Context, { headers }: Request): string {
  return secrets.adminPassword === null ? `http://${headers.host ?? ''}/studio` : `${publicUrl}/studio`
}
