import { VERSION_PATH } from '../../catalog/contract.ts'
import type { OperationObject, Reference } from './document-types.ts'
import { EXAMPLES } from './examples.ts'
import { makeSuccess, toReference } from './responses.ts'

const CHANNELS_PATH = `${VERSION_PATH}/channels`
const PRODUCTS_PATH = `${CHANNELS_PATH}/{channelId}/products`
const PRODUCT_PATH = `${PRODUCTS_PATH}/{gtin}`

/** What every operation may answer beside 200. */
const ALWAYS: Readonly<Record<string, Reference>> = {
  304: toReference('responses', 'NotModified'),
  401: toReference('responses', 'Unauthorized'),
  405: toReference('responses', 'MethodNotAllowed'),
  429: toReference('responses', 'TooManyRequests'),
  500: toReference('responses', 'ServerError'),
  503: toReference('responses', 'Unavailable'),
}

const listChannels: OperationObject = {
  operationId: 'listChannels',
  summary: 'List channels',
  description:
    'The channels of the organization of the key, oldest first. All of them at once: there are no pages.',
  parameters: [toReference('parameters', 'IfNoneMatch')],
  responses: {
    200: makeSuccess('ChannelList', 'The channels.'),
    ...ALWAYS,
  },
  'x-codeSamples': [makeCurl(CHANNELS_PATH)],
}

const listProducts: OperationObject = {
  operationId: 'listProducts',
  summary: "List a channel's products",
  description:
    'The products that the channel may show, ordered by GTIN, page by page. Each has its offers, only of shops that the channel is approved for; a product without any is left out. To walk the whole catalog, ask with `limit=200` and pass each `next_cursor` on as `cursor` until it is `null`; once an hour is ample.',
  parameters: ['ChannelId', 'Limit', 'Cursor', 'IfNoneMatch'].map((name) => toReference('parameters', name)),
  responses: {
    200: makeSuccess('ProductPage', 'One page; the last one when `next_cursor` is `null`.'),
    400: toReference('responses', 'BadRequest'),
    404: toReference('responses', 'ChannelNotFound'),
    ...ALWAYS,
  },
  'x-codeSamples': [makeCurl(`${PRODUCTS_PATH}?limit=200`)],
}

const getProduct: OperationObject = {
  operationId: 'getProduct',
  summary: 'Look up one product',
  description:
    'One product with its offers, only of shops that the channel is approved for. Codes shorter than 14 digits (EAN, UPC) are taken and padded with zeros. A 404 means that no such shop sells it: hide the box.',
  parameters: ['ChannelId', 'Gtin', 'IfNoneMatch'].map((name) => toReference('parameters', name)),
  responses: {
    200: makeSuccess('Product', 'The product.'),
    400: toReference('responses', 'BadRequest'),
    404: toReference('responses', 'ProductNotFound'),
    ...ALWAYS,
  },
  'x-codeSamples': [makeCurl(PRODUCT_PATH)],
}

/** The three operations by their paths. */
export const PATHS: Readonly<Record<string, Readonly<{ get: OperationObject }>>> = {
  [CHANNELS_PATH]: { get: listChannels },
  [PRODUCTS_PATH]: { get: listProducts },
  [PRODUCT_PATH]: { get: getProduct },
}

/** `$BASE` is the address of the service, `$KEY` an API key. */
function makeCurl(path: string): OperationObject['x-codeSamples'][number] {
  const address = path
    .replace('{channelId}', EXAMPLES.Channel.id)
    .replace('{gtin}', EXAMPLES.Product.gtin.slice(1))
  return {
    lang: 'Shell',
    label: 'curl',
    source: `curl -H "Authorization: Bearer $KEY" \\\n  "$BASE${address}"`,
  }
}
