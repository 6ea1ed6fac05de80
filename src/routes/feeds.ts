import type { Router } from 'express'
import type { Context } from '../context.ts'
import { crossOriginHeaders, emptyPolicy } from '../http/security-headers.ts'
import { toDealsFeedView } from '../widgets/deals-feed.ts'
import type { GridView } from '../widgets/view-models.ts'
import { toFailureComment } from './fragments.ts'
import { createWidgetRouter, encodeTemplate } from './widget-routes.ts'

/** Create the route `/feeds/{channel}/deals.atom`: an entry for each deal of a grid. Without deals, the feed is empty. */
export function createFeedsRouter(context: Context): Router {
  const { renderer, publicUrl, widgets, clock } = context
  const headers = {
    ...crossOriginHeaders,
    'Access-Control-Allow-Origin': '*',
    'Content-Security-Policy': emptyPolicy,
    'X-Robots-Tag': 'noindex',
    Vary: 'Accept-Encoding',
  }
  return createWidgetRouter(context, {
    surface: 'feed',
    prefix: '/feeds',
    paths: { deals: '/:channel/deals.atom' },
    contentType: 'application/atom+xml; charset=utf-8',
    toHeaders: () => headers,
    toEtag: (digest) => `W/"${digest}"`,
    render(view, { address, channel, asOfMs }) {
      const grid = view as GridView | undefined
      return encodeTemplate(
        renderer.renderDealsFeed(toDealsFeedView(grid, { address, channel, asOfMs, publicUrl })),
      )
    },
    // Readers of feeds keep the entries that they have, and show an error inside a page only for something that is no feed.
    renderFailure(failure, channelId) {
      if (failure.body === 'message') return toFailureComment(failure)
      const id = channelId ?? ''
      const address = { path: `${id}/deals`, options: { locale: widgets.defaults.locale } }
      const channel = { id, name: 'Vitrine', url: null }
      return renderer.renderDealsFeed(
        toDealsFeedView(undefined, { address, channel, asOfMs: clock.nowMs(), publicUrl }),
      )
    },
  })
}
