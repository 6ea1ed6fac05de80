import { type RequestHandler, Router } from 'express'
import { CACHE_SECONDS } from '../../catalog/contract.ts'
import { rejectMethod } from '../responses.ts'
import type { OpenApiPages } from './pages.ts'

const RESPONSE_HEADERS = {
  'Cache-Control': `public, max-age=${CACHE_SECONDS}`,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

/**
 * What needs no key and counts as no request: `/openapi.json`, the same as a page at `/docs` with `/docs.css`, and `/`, which
 * leads there. It tells nothing of what is in the catalog. All other addresses pass through. Nothing is made before
 * somebody asks: most services are never asked.
 */
export function createOpenApiRouter(): Router {
  const router = Router({ strict: true, caseSensitive: true })
  let pages: OpenApiPages | undefined
  const serve =
    (name: keyof OpenApiPages, contentType: string): RequestHandler =>
    async (_request, response) => {
      pages ??= (await import('./pages.ts')).createOpenApiPages()
      response.set(RESPONSE_HEADERS).type(contentType).send(pages[name])
    }
  router.get('/openapi.json', serve('document', 'application/json'))
  router.get('/docs', serve('page', 'text/html'))
  router.get('/docs.css', serve('style', 'text/css'))
  router.get('/', (_request, response) => {
    // Relative: the service may stand below a path of a proxy.
    response.set(RESPONSE_HEADERS).redirect('docs')
  })
  router.all(['/openapi.json', '/docs', '/docs.css', '/'], rejectMethod)
  return router
}
