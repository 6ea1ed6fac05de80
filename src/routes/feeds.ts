import type { Router } from 'express'
import type { Context } from '../context.ts'
import { dataHeaders } from '../http/security-headers.ts'
import { toDealsFeedView } from '../widgets/deals-feed.ts'
import { createWidgetRouter, toWeakEtag } from './widget-routes.ts'

/** Create the route `/feeds/{channel}/deals.atom`: an entry for each deal of a grid. Without deals, the feed is empty. */
export function createFeedsRouter(context: Context): Router {
  const { renderer, publicUrl, widgets, clock } = context
  return createWidgetRouter(context, {
    surface: 'feed',
    prefix: '/feeds',
    paths: { deals: '/:channel/deals.atom' },
    contentType: 'application/atom+xml; charset=utf-8',
    messageType: 'text/plain; charset=utf-8',
    toHeaders: () => dataHeaders,
    toEtag: toWeakEtag,
    isCompressed: true,
    render(view, { address, channel, asOfMs }) {
      const grid = view !== undefined && 'deals' in view ? view : undefined
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
