import { Router } from 'express'
import type { Context } from '../context.ts'
import { MAX_ATOM_ENTRIES, toAtomView } from '../events/atom.ts'
import type { AdminAuth } from '../http/admin-auth.ts'
import { createEtag, sendResponse } from '../http/response.ts'
import { createOwnPageHeaders } from '../http/security-headers.ts'

/** Create `/events.atom`: the newest events, for the admin. */
export function createEventsRouter(context: Context, adminAuth: AdminAuth): Router {
  const router = Router()
  const pageHeaders = createOwnPageHeaders(context.pageSources)
  router.get('/events.atom', adminAuth.requireAdmin, pageHeaders, async (request, response) => {
    const events = await context.store.listEvents(MAX_ATOM_ENTRIES)
    const xml = context.renderer.renderAtom(toAtomView(context.publicUrl, events))
    sendResponse(request, response, {
      headers: {
        'Content-Type': 'application/atom+xml; charset=utf-8',
        'Cache-Control': 'private, no-cache',
      },
      etag: createEtag(xml),
      body: xml,
    })
  })
  return router
}
