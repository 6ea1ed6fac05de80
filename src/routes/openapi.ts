import { Router } from 'express'
import { MINUTE_SECONDS } from '../clock.ts'
import type { Context } from '../context.ts'
import {
  type Bodies,
  JSON_TYPE,
  compress,
  createEtag,
  pickBody,
  sendResponse,
  toUtf8ByteString,
} from '../http/response.ts'
import { dataHeaders } from '../http/security-headers.ts'
import { createOpenApiDocument } from './openapi-document.ts'

const CACHE_CONTROL = `public, max-age=${5 * MINUTE_SECONDS}`

/** Create the route `/openapi.json`, which describes all public addresses, also those that are closed. */
export function createOpenApiRouter({ publicUrl }: Pick<Context, 'publicUrl'>): Router {
  let prepared: ReturnType<typeof prepareDocument> | undefined
  const router = Router()
  router.get('/openapi.json', async (request, response) => {
    const { etag, bodies } = await (prepared ??= prepareDocument(publicUrl))
    const { encoding, body } = pickBody(bodies, request.get('accept-encoding'))
    sendResponse(request, response, {
      headers: {
        ...dataHeaders,
        'Content-Type': JSON_TYPE,
        'Content-Encoding': encoding ?? undefined,
        'Cache-Control': CACHE_CONTROL,
      },
      etag,
      body,
    })
  })
  return router
}

/** Few requests need the document, so the start of a server does not wait for it. */
async function prepareDocument(publicUrl: string) {
  const text = JSON.stringify(createOpenApiDocument(publicUrl))
  const bytes = toUtf8ByteString(text)
  const [gzip, br] = await Promise.all([compress(bytes, 'gzip'), compress(bytes, 'br')])
  const bodies: Bodies = {
    identity: Buffer.from(text),
    gzip: Buffer.from(gzip, 'latin1'),
    br: Buffer.from(br, 'latin1'),
  }
  return { etag: `W/${createEtag(text)}`, bodies }
}
