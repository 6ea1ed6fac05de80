import {
  type CachedResponse,
  type ResponseCache,
  type ResponseKey,
  toHeaderBlock,
} from '../../src/http/response-cache.ts'
import { WidgetBodies } from '../../src/http/widget-bodies.ts'

/** Create a response cached at time 0: fresh for five minutes, shown for a day. */
export function makeResponse(over: Partial<CachedResponse> = {}): CachedResponse {
  return {
    digest: '1',
    sequence: 1,
    etag: '"tag"',
    isShown: true,
    headers: toHeaderBlock({ 'Content-Type': 'text/html; charset=utf-8', 'Vitrine-State': 'shown' }),
    ownHeaders: [],
    isCompressed: false,
    lifetime: {
      asOfMs: 0,
      oldestPriceMs: 0,
      saleEndMs: null,
      freshSeconds: 300,
      priceMaxAgeSeconds: 86_400,
      isGrid: false,
    },
    expiresAtMs: 300_000,
    cacheStatus: 'vitrine; hit',
    isOutdated: () => false,
    countResponse: () => {},
    countProducts: () => {},
    ...over,
  }
}

/** Create bodies of a text without slots. */
export function makeBodies(text = 'body'): WidgetBodies {
  return new WidgetBodies({ text, slots: [] })
}

/** Add a response to a cache, with its bodies, also by its target. */
// oxlint-disable-next-line max-params -- as the methods
export function putResponse(
  cache: ResponseCache,
  key: ResponseKey,
  response: CachedResponse,
  target: string,
  bodies = makeBodies(),
): void {
  cache.set(key.key, response)
  cache.setBodies(response.digest, bodies)
  cache.addTarget(key, target)
}
