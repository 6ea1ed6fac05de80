import { type ErrorRequestHandler, Router } from 'express'
import { HOUR_SECONDS } from '../clock.ts'
import type { Context } from '../context.ts'
import { RequestError } from '../errors.ts'
import { toVisitor } from '../http/client-address.ts'
import { toRefusalHeaders } from '../http/refusals.ts'
import { JSON_TYPE, TEXT_TYPE, createEtag, sendResponse } from '../http/response.ts'
import { createCrossOriginHeaders } from '../http/security-headers.ts'
import { type OembedFormat, createOembedResponse, parseOembedRequest } from '../widgets/oembed.ts'
import { logFailure } from './request-log.ts'
import { parseQuery } from './requests.ts'

const CONTENT_TYPES: Readonly<Record<OembedFormat, string>> = {
  json: JSON_TYPE,
  xml: 'text/xml; charset=utf-8',
}

/** Only the title and the height can change. */
const CACHEABLE = `public, max-age=${HOUR_SECONDS}`

/** Create the route `/oembed`: the frame of an embed address (oembed.com). */
export function createOembedRouter(context: Context): Router {
  const { config, publicUrl, renderQueue, widgets } = context
  const router = Router()
  router.use('/oembed', createCrossOriginHeaders({ 'Access-Control-Allow-Origin': '*' }))
  router.get('/oembed', async (request, response) => {
    const oembedRequest = parseOembedRequest(parseQuery(request))
    const visitor = toVisitor(request, config.trustProxy)
    const { text, isCacheable } = await createOembedResponse(widgets, oembedRequest, {
      publicUrl,
      visitor,
      runInTurn: (task) => renderQueue.run({ ...visitor, key: `oembed ${oembedRequest.url}` }, task),
    })
    if (visitor.isGone()) return
    sendResponse(request, response, {
      headers: {
        'Content-Type': CONTENT_TYPES[oembedRequest.format],
        'Cache-Control': isCacheable ? CACHEABLE : 'no-store',
      },
      etag: createEtag(text),
      body: text,
    })
  })
  router.use('/oembed', createOembedErrorHandler(context))
  return router
}

/** Respond with plain text: WordPress ignores the status and would parse JSON as a response. */
function createOembedErrorHandler(context: Context): ErrorRequestHandler {
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  return (error: unknown, request, response, next) => {
    if (!(error instanceof RequestError)) return next(error)
    logFailure(context, { error, surface: 'oembed', state: 'invalid', request, response })
    sendResponse(request, response, {
      status: error.statusCode,
      headers: { ...toRefusalHeaders(error.publicMessage), 'Content-Type': TEXT_TYPE },
      body: `${error.publicMessage}\n`,
    })
  }
}
