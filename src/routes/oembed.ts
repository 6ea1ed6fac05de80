import { type ErrorRequestHandler, type Request, type Response, Router } from 'express'
import { HOUR_SECONDS } from '../clock.ts'
import type { Context } from '../context.ts'
import { BadOptionError, OembedError, StoreError, UnavailableError, VitrineError } from '../errors.ts'
import { findGtin } from '../offers/gtin.ts'
import { sendAnswer } from '../http/answer.ts'
import { createEtag } from '../http/etag.ts'
import { takenInHeaders } from '../http/security-headers.ts'
import {
  type BoxSize,
  type GridSize,
  estimateBoxHeightPx,
  estimateGridHeightPx,
  toBoxSize,
  toGridSize,
} from '../widgets/heights.ts'
import {
  type EmbedAddress,
  type OembedFormat,
  type OembedFrame,
  findEmbedAddress,
  formatOembed,
  parseOembedQuestion,
  toOembedAnswer,
} from '../widgets/oembed.ts'
import { parseBoxOptions, parseGridOptions, toQuery, withQuery } from '../widgets/options.ts'
import { findSpeech } from '../widgets/presentation.ts'
import { findClientAddress } from './client-address.ts'
import { noteFailure } from './note-answer.ts'
import { parseQuery } from './widget-answer.ts'

const TYPES: Readonly<Record<OembedFormat, string>> = {
  json: 'application/json; charset=utf-8',
  xml: 'text/xml; charset=utf-8',
}

/** Nothing of the moment is in an answer but the title and the height. */
const CACHEABLE = `public, max-age=${HOUR_SECONDS}`

/** What a frame is made high for while nothing is known of it. */
const USUAL_BOX: BoxSize = { layout: 'list', shownCount: 3, saleCount: 1, isFolded: false }
const USUAL_GRID: GridSize = { layout: 'grid', cardCount: 12 }

/** `/oembed`: the frame for the address of an embed, as oEmbed's consumers ask for it (oembed.com). */
export function createOembedRouter(context: Context): Router {
  const router = Router()
  router.use('/oembed', takenInHeaders, (_request, response, next) => {
    response.setHeader('Access-Control-Allow-Origin', '*')
    next()
  })
  router.get('/oembed', async (request, response) => {
    await sendOembed(context, request, response)
  })
  router.use('/oembed', createOembedErrorHandler(context))
  return router
}

async function sendOembed(context: Context, request: Request, response: Response): Promise<void> {
  const question = parseOembedQuestion(parseQuery(request))
  const address = findEmbedAddress(question.url, context.publicUrl)
  if (address === undefined)
    throw new OembedError(
      404,
      `url is not the address of an embed: they begin with ${context.publicUrl}/embeds/`,
    )
  const frame = await findFrame(context, address, findClientAddress(context, request))
  const text = formatOembed(toOembedAnswer(frame, question), question.format)
  sendAnswer(request, response, {
    status: 200,
    headers: {
      'Content-Type': TYPES[question.format],
      'Cache-Control': frame.isKnown ? CACHEABLE : 'no-store',
    },
    etag: createEtag(text, ''),
    getBody: () => Buffer.from(text),
  })
}

/** The frame of an address that is right, whether or not there is something to show in it now. */
async function findFrame(context: Context, address: EmbedAddress, visitor: string): Promise<OembedFrame> {
  try {
    return address.gtin === null
      ? await findGrid(context, address, visitor)
      : await findBox(context, address, address.gtin)
  } catch (error) {
    if (error instanceof UnavailableError || error instanceof StoreError)
      return toUnknownFrame(context, address)
    if (error instanceof VitrineError) throw new OembedError(404, error.publicMessage)
    throw error
  }
}

async function findBox(context: Context, address: EmbedAddress, gtin: string): Promise<OembedFrame> {
  const widget = await context.widgets.getBox({ ...address, gtin, surface: 'embed' })
  const view = widget.getView()
  const size = view === undefined ? USUAL_BOX : toBoxSize(view)
  return {
    title: view?.label ?? findSpeech(widget.options.locale).words.boxHeading,
    src: `${context.publicUrl}/embeds/${widget.getEmbedPath()}`,
    toHeightPx: (widthPx) => estimateBoxHeightPx(size, widthPx),
    publicUrl: context.publicUrl,
    isKnown: true,
  }
}

async function findGrid(context: Context, address: EmbedAddress, visitor: string): Promise<OembedFrame> {
  const widget = await context.widgets.getGrid({ ...address, surface: 'embed', visitor })
  const view = widget.getView()
  const size = view === undefined ? USUAL_GRID : toGridSize(view)
  return {
    title: view?.label ?? findSpeech(widget.options.locale).words.gridHeading,
    src: `${context.publicUrl}/embeds/${widget.getEmbedPath()}`,
    toHeightPx: (widthPx) => estimateGridHeightPx(size, widthPx),
    publicUrl: context.publicUrl,
    isKnown: true,
  }
}

/**
 * While the catalog cannot say which channels there are: a consumer would keep a failure as long as a frame. Options and
 * GTIN were read before that was found out.
 */
function toUnknownFrame({ publicUrl, widgets }: Context, address: EmbedAddress): OembedFrame {
  const { channelId, query } = address
  const gtin = address.gtin === null ? null : (findGtin(address.gtin) ?? null)
  const parse = gtin === null ? parseGridOptions : parseBoxOptions
  const options = parse(query, widgets.defaults, 'embed')
  const { words } = findSpeech(options.locale)
  const path = gtin === null ? `${channelId}/deals` : `${channelId}/where-to-buy/${gtin}`
  return {
    title: gtin === null ? words.gridHeading : words.boxHeading,
    src: `${publicUrl}/embeds/${withQuery(path, toQuery(options, widgets.defaults))}`,
    toHeightPx: (widthPx) =>
      gtin === null ? estimateGridHeightPx(USUAL_GRID, widthPx) : estimateBoxHeightPx(USUAL_BOX, widthPx),
    publicUrl,
    isKnown: false,
  }
}

/** A line of plain text: WordPress reads bodies whatever their status, and takes JSON for an answer. */
function createOembedErrorHandler(context: Context): ErrorRequestHandler {
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  return (error: unknown, request, response, next) => {
    if (!(error instanceof OembedError || error instanceof BadOptionError)) return next(error)
    noteFailure(context, { error, surface: 'oembed', state: 'invalid', request, response })
    response.status(error.statusCode).set({
      'Cache-Control': 'no-store',
      'Vitrine-State': 'invalid',
      'Vitrine-Error': error.publicMessage,
    })
    response.type('text').send(`${error.publicMessage}\n`)
  }
}
