import { type ErrorRequestHandler, type Request, type Response, Router } from 'express'
import { HOUR_SECONDS } from '../clock.ts'
import type { Context } from '../context.ts'
import { BadOptionError, OembedError, StoreError, UnavailableError, VitrineError } from '../errors.ts'
import { findClientAddress } from '../http/client-address.ts'
import { createEtag, sendResponse } from '../http/response.ts'
import { takenInHeaders } from '../http/security-headers.ts'
import type { WidgetAddress } from '../widgets/address.ts'
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
import { findSpeech } from '../widgets/locales/index.ts'
import type { Widget } from '../widgets/widgets.ts'
import { logFailure } from './request-log.ts'
import { parseQuery } from './requests.ts'

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
  const frame = await findFrame(context, address, findClientAddress(request, context.config.trustProxy))
  const text = formatOembed(toOembedAnswer(frame, question), question.format)
  sendResponse(request, response, {
    status: 200,
    headers: {
      'Content-Type': TYPES[question.format],
      'Cache-Control': frame.isKnown ? CACHEABLE : 'no-store',
    },
    etag: createEtag(text),
    getBody: () => Buffer.from(text),
  })
}

/** The frame of an address that is right, whether or not there is something to show in it now. */
async function findFrame(context: Context, asked: EmbedAddress, visitor: string): Promise<OembedFrame> {
  const { widgets } = context
  const { gtin, ...parts } = { ...asked, surface: 'embed' as const }
  try {
    if (gtin === null) {
      const address = widgets.parseGridAddress(parts)
      const found = await findView(widgets.getGrid(address, visitor))
      const size = found.view === undefined ? USUAL_GRID : toGridSize(found.view)
      return toFrame(context, address, {
        ...found,
        toHeightPx: (widthPx) => estimateGridHeightPx(size, widthPx),
      })
    }
    const address = widgets.parseBoxAddress({ ...parts, gtin })
    const found = await findView(widgets.getBox(address))
    const size = found.view === undefined ? USUAL_BOX : toBoxSize(found.view)
    return toFrame(context, address, {
      ...found,
      toHeightPx: (widthPx) => estimateBoxHeightPx(size, widthPx),
    })
  } catch (error) {
    if (error instanceof VitrineError) throw new OembedError(404, error.publicMessage)
    throw error
  }
}

/** `view` is `undefined` where nothing is shown, or where the catalog cannot say so: a consumer would keep a failure as long as a frame. */
async function findView<View>(
  widget: Promise<Widget<View>>,
): Promise<Readonly<{ view: View | undefined; isKnown: boolean }>> {
  try {
    return { view: (await widget).getView(), isKnown: true }
  } catch (error) {
    if (error instanceof UnavailableError || error instanceof StoreError)
      return { view: undefined, isKnown: false }
    throw error
  }
}

function toFrame(
  { publicUrl }: Context,
  { gtin, options, path }: WidgetAddress,
  {
    view,
    ...frame
  }: Pick<OembedFrame, 'isKnown' | 'toHeightPx'> &
    Readonly<{ view: Readonly<{ label: string }> | undefined }>,
): OembedFrame {
  const { words } = findSpeech(options.locale)
  const heading = gtin === null ? words.gridHeading : words.boxHeading
  return { ...frame, title: view?.label ?? heading, src: `${publicUrl}/embeds/${path}`, publicUrl }
}

/** A line of plain text: WordPress reads bodies whatever their status, and takes JSON for an answer. */
function createOembedErrorHandler(context: Context): ErrorRequestHandler {
  // oxlint-disable-next-line max-params -- Express knows an error handler by its four parameters
  return (error: unknown, request, response, next) => {
    if (!(error instanceof OembedError || error instanceof BadOptionError)) return next(error)
    logFailure(context, { error, surface: 'oembed', state: 'invalid', request, response })
    response.status(error.statusCode).set({
      'Cache-Control': 'no-store',
      'Vitrine-State': 'invalid',
      'Vitrine-Error': error.publicMessage,
    })
    response.type('text').send(`${error.publicMessage}\n`)
  }
}
