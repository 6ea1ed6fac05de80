import { readFileSync } from 'node:fs'
import { type Request, type Response, Router } from 'express'
import { DAY_SECONDS, MINUTE_SECONDS } from '../clock.ts'
import type { Context } from '../context.ts'
import { UnknownAddressError } from '../errors.ts'
import type { Asset } from '../http/assets.ts'
import { LOGO_FILE } from '../lib/files.ts'
import { pickBody, sendResponse } from '../http/response.ts'
import { createCrossOriginHeaders } from '../http/security-headers.ts'
import { renderAccentCss } from '../widgets/accent.ts'
import { getParameter } from './requests.ts'

const IMMUTABLE_CACHE_CONTROL = `public, max-age=${365 * DAY_SECONDS}, immutable`
/** A name with a hash that was never released returns the current file, so that cached fragments keep a style. */
const SHORT_CACHE_CONTROL = `public, max-age=${5 * MINUTE_SECONDS}`
/** `/embed.js` has no hash, because publishers paste it once. */
const LOADER_CACHE_CONTROL = `public, max-age=${5 * MINUTE_SECONDS}, stale-while-revalidate=${DAY_SECONDS}, stale-if-error=${DAY_SECONDS}`
/** An accent depends only on its address and the version of the server. */
const ACCENT_CACHE_CONTROL = `public, max-age=${DAY_SECONDS}`

/** Browsers request it automatically and log an error if it is missing. */
const FAVICON = Buffer.from(readFileSync(LOGO_FILE, 'utf8').trim())

/** Create the routes `/embed.js`, `/assets/…`, `/accents/….css` and `/logos/…`, which other sites load. */
export function createAssetsRouter(context: Context): Router {
  const router = Router()
  const crossOriginHeaders = createCrossOriginHeaders({ 'Access-Control-Allow-Origin': '*' })
  router.use(['/assets', '/accents', '/logos', '/embed.js'], crossOriginHeaders)
  router.get('/embed.js', (request, response) => {
    sendAsset(request, response, {
      asset: context.assets.get('embed.js'),
      cacheControl: LOADER_CACHE_CONTROL,
    })
  })
  router.get('/favicon.ico', createCrossOriginHeaders(), (request, response) => {
    const headers = { 'Content-Type': 'image/svg+xml', 'Cache-Control': ACCENT_CACHE_CONTROL }
    sendResponse(request, response, { headers, body: FAVICON })
  })
  router.get('/assets/:file', (request, response) => {
    const found = context.assets.findByFileName(getParameter(request.params, 'file'))
    if (found === undefined) throw new UnknownAddressError('no such asset')
    sendAsset(request, response, {
      asset: found.asset,
      cacheControl: found.isImmutable ? IMMUTABLE_CACHE_CONTROL : SHORT_CACHE_CONTROL,
    })
  })
  router.get('/logos/:file', (request, response) => {
    const logo = context.shopFile.findLogo(getParameter(request.params, 'file'))
    if (logo === undefined) throw new UnknownAddressError('no such logo')
    const headers = {
      'Content-Type': logo.contentType,
      'Cache-Control': logo.isImmutable ? IMMUTABLE_CACHE_CONTROL : SHORT_CACHE_CONTROL,
      // An SVG opened as a page must not run scripts or load anything.
      'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    }
    sendResponse(request, response, { headers, body: logo.body })
  })
  router.get('/accents/:file', (request, response) => {
    const hex = /^([0-9a-f]{6})\.css$/i.exec(getParameter(request.params, 'file'))?.[1]
    if (hex === undefined) throw new UnknownAddressError('no such accent')
    const headers = { 'Content-Type': 'text/css; charset=utf-8', 'Cache-Control': ACCENT_CACHE_CONTROL }
    sendResponse(request, response, { headers, body: renderAccentCss(hex.toLowerCase()) })
  })
  return router
}

function sendAsset(
  request: Request,
  response: Response,
  { asset, cacheControl }: Readonly<{ asset: Asset; cacheControl: string }>,
): void {
  const { encoding, body } = pickBody(asset.bodies, request.get('accept-encoding'))
  sendResponse(request, response, {
    headers: {
      'Content-Type': asset.contentType,
      'Cache-Control': cacheControl,
      'Content-Encoding': encoding ?? undefined,
      Vary: 'Accept-Encoding',
    },
    etag: asset.etag,
    body,
  })
}
