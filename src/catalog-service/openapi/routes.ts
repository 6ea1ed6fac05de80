import { type RequestHandler, Router } from 'express'
import { CACHE_SECONDS } from '../../catalog/contract.ts'
import { HTML_TYPE, JSON_TYPE, createEtag, sendResponse } from '../../http/response.ts'
import { rejectMethod } from '../responses.ts'
import type { OpenApiPages } from './pages.ts'

const RESPONSE_HEADERS = {
  'Cache-Control': `public, max-age=${CACHE_SECONDS}`,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

/** Serve the API document and its page without a key, uncounted. The pages are rendered at the first request. */
export function createOpenApiRouter(): Router {
  const router = Router({ strict: true, caseSensitive: true })
  let pages: OpenApiPages | undefined
  const serve =
    (name: keyof OpenApiPages, contentType: string): RequestHandler =>
    async (request, response) => {
      pages ??= (await import('./pages.ts')).createOpenApiPages()
      const body = pages[name]
      const headers = { ...RESPONSE_HEADERS, 'Content-Type': contentType }
      sendResponse(request, response, { headers, etag: createEtag(body), body })
    }
  router.get('/openapi.json', serve('document', JSON_TYPE))
  router.get('/docs', serve('page', HTML_TYPE))
  router.get('/docs.css', serve('style', 'text/css; charset=utf-8'))
  router.get('/', (_request, response) => {
    // Relative, because a proxy may serve the catalog below a path.
    response.set(RESPONSE_HEADERS).redirect('docs')
  })
  router.all(['/openapi.json', '/docs', '/docs.css', '/'], rejectMethod)
  return router
}
