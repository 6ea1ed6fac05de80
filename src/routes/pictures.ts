import { pipeline } from 'node:stream/promises'
import { type Request, type Response, Router } from 'express'
import { DAY_SECONDS } from '../clock.ts'
import type { Context } from '../context.ts'
import { UnavailableError, UnknownAddressError } from '../errors.ts'
import { findClientAddress } from '../http/client-address.ts'
import { isEtagMatch, sendResponse } from '../http/response.ts'
import { createCrossOriginHeaders } from '../http/security-headers.ts'
import { PICTURE_WIDTHS } from '../offers/pictures.ts'
import type { PictureFileBody, PictureResponse } from '../pictures/picture-response.ts'
import { logResponse } from './request-log.ts'
import { getParameter } from './requests.ts'

const CACHE_CONTROL = `public, max-age=${DAY_SECONDS}, immutable`

/** A picture needs nothing, and the bytes come from other servers. */
const POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"

const HASH = /^[0-9a-f]{32}$/

/** The end of the addresses of JPEG pictures. Others are WebP. */
const JPEG_END = /\.jpg$/

/** Create the routes `/pictures/{hash}/{width}` and, for newsletters, `/pictures/{hash}/{width}.jpg`, which exists only with `VITRINE_PICTURES=proxy`. */
export function createPicturesRouter(context: Context): Router {
  const router = Router()
  const { pictures } = context
  if (pictures === null) return router
  const headers = createCrossOriginHeaders({ 'Content-Security-Policy': POLICY })
  router.get('/pictures/:hash/:width', headers, async (request, response) => {
    const hash = getParameter(request.params, 'hash')
    const name = getParameter(request.params, 'width')
    const format = JPEG_END.test(name) ? 'jpeg' : 'webp'
    const width = PICTURE_WIDTHS.find((candidate) => String(candidate) === name.replace(JPEG_END, ''))
    if (width === undefined || !HASH.test(hash)) throw new UnknownAddressError('no such picture')
    const visitor = findClientAddress(request, context.config.trustProxy)
    const picture = await pictures.find({ hash, width, format, visitor })
    if (picture === undefined) throw new UnknownAddressError('no product of the copy has this picture')
    const state = picture.standInSeconds === null ? 'shown' : 'unavailable'
    logResponse(context, { surface: 'picture', state, cache: picture.cache, request, response })
    await sendPicture(request, response, picture)
  })
  return router
}

async function sendPicture(request: Request, response: Response, picture: PictureResponse): Promise<void> {
  const { body, etag } = picture
  const headers = { 'Content-Type': picture.mediaType, 'Cache-Control': toCacheControl(picture) }
  if (Buffer.isBuffer(body) || (etag !== null && isEtagMatch(request.get('if-none-match'), etag)))
    return sendResponse(request, response, { headers, etag, body: body as Buffer })
  if (request.method === 'HEAD') {
    response.set({
      ...headers,
      'Content-Length': String(body.bodyBytes),
      ...(etag !== null && { ETag: etag }),
    })
    return void response.end()
  }
  await streamPicture(response, headers['Cache-Control'], body)
}

function toCacheControl({ standInSeconds }: PictureResponse): string {
  if (standInSeconds === null) return CACHE_CONTROL
  return standInSeconds === 0 ? 'no-store' : `public, max-age=${standInSeconds}`
}

/** Original pictures can be large, so they are not held in memory. */
async function streamPicture(
  response: Response,
  cacheControl: string,
  { open }: PictureFileBody,
): Promise<void> {
  const opened = await open()
  if (opened === undefined) throw new UnavailableError('the picture was deleted a moment ago')
  const { mediaType, etag, bodyBytes, stream } = opened
  response.set({
    'Content-Type': mediaType,
    'Cache-Control': cacheControl,
    'Content-Length': String(bodyBytes),
    ETag: etag,
  })
  await pipeline(stream, response)
}
