import { Router } from 'express'
import { MINUTE_SECONDS } from '../clock.ts'
import type { Context } from '../context.ts'
import { createEtag, encodeBody, pickBody, sendResponse } from '../http/response.ts'
import { dataHeaders } from '../http/security-headers.ts'
import { createOpenApiDocument } from './openapi-document.ts'

const CACHE_CONTROL = `public, max-age=${5 * MINUTE_SECONDS}`

/** Create the route `/openapi.json`, which describes all public addresses, also those that are closed. */
export function createOpenApiRouter({ publicUrl }: Pick<Context, 'publicUrl'>): Router {
  const text = JSON.stringify(createOpenApiDocument(publicUrl))
  const etag = `W/${createEtag(text)}`
  let bodies: ReturnType<typeof encodeBody> | undefined
  const router = Router()
  router.get('/openapi.json', async (request, response) => {
    const { encoding, body } = pickBody(await (bodies ??= encodeBody(text)), request.get('accept-encoding'))
    sendResponse(request, response, {
      status: 200,
      headers: {
        ...dataHeaders,
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Encoding': encoding ?? undefined,
        'Cache-Control': CACHE_CONTROL,
      },
      etag,
      getBody: () => Buffer.from(body, 'latin1'),
    })
  })
  return router
}
