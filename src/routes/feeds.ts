import { Router } from 'express'
import type { Context } from '../context.ts'
import { MAX_ATOM_ENTRIES, toAtomView } from '../events/atom.ts'
import type { AdminAuth } from '../http/admin-auth.ts'
import { createEtag, sendResponse } from '../http/response.ts'
import { dataHeaders, createOwnPageHeaders } from '../http/security-headers.ts'
import { toDealsFeedView } from '../widgets/grid.ts'
import { type WidgetSurface, createWidgetSurface, toWeakEtag } from './widget-routes.ts'

/** Create the address `/feeds/{channel}/deals.atom`: an entry for each deal of a grid. Without deals, the feed is empty. */
export function createFeedsSurface(context: Context): WidgetSurface {
  const { renderer, publicUrl, widgets, clock } = context
  return createWidgetSurface(context, {
    surface: 'feed',
    prefix: '/feeds',
    paths: { deals: '/:channel/deals.atom' },
    contentType: 'application/atom+xml; charset=utf-8',
    messageType: 'text/plain; charset=utf-8',
    toHeaders: () => dataHeaders,
    toEtag: toWeakEtag,
    isCompressed: true,
    render(view, { address, channel, asOfMs }) {
      const grid = view?.kind === 'deals' ? view : undefined
      return renderer.renderDealsFeed(toDealsFeedView(grid, { address, channel, asOfMs, publicUrl }))
    },
    // Without data, an empty feed: readers keep the entries that they have. A CMS would print an error into the article.
    renderFailure({ body, message }, { channelId, query, channel }) {
      if (body === 'message') return `Vitrine: ${message ?? ''}`
      const address = widgets.parseGridAddress({ surface: 'feed', channelId, query })
      const details = {
        address,
        channel: channel ?? { id: channelId, name: 'Vitrine', url: null },
        asOfMs: clock.nowMs(),
        publicUrl,
      }
      return renderer.renderDealsFeed(toDealsFeedView(undefined, details))
    },
  })
}

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
