import { type CachedResponse, toHeaderBlock } from '../../src/http/response-cache.ts'

/** Create a response cached at time 0: fresh for five minutes, shown for a day. */
export function makeResponse(over: Partial<CachedResponse> = {}): CachedResponse {
  return {
    digest: '1',
    etag: '"tag"',
    isShown: true,
    headers: toHeaderBlock({ 'Content-Type': 'text/html; charset=utf-8', 'Vitrine-State': 'shown' }),
    ownHeaders: [],
    bodies: { template: { text: 'body', slots: [] }, compressed: null },
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
    countResponse: () => {},
    countProducts: () => {},
    ...over,
  }
}
