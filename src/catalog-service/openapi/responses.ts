import {
  CACHE_SECONDS,
  type WireChannel,
  type WireOffer,
  type WireProduct,
  type WireProductPage,
} from '../../catalog/contract.ts'
import type { AnswerName } from '../answers.ts'
import { makeCursor } from '../requests.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

export type Reference = Readonly<{ $ref: string }>

export type HeaderObject = Readonly<{ description: string; required: true; schema: JsonSchema }>

/** An answer: its headers, and its body where it has one. */
export type ResponseObject = Readonly<{
  description: string
  headers: Readonly<Record<string, Reference>>
  content?: Readonly<{ 'application/json': Readonly<{ schema: Reference; example: unknown }> }>
}>

/** Everything here is invented; the GTINs are of GS1's range for examples. */

const channel: WireChannel = {
  id: '952a0000-0000-4000-8000-000000000001',
  name: 'Bench & Bean',
  kind: 'website',
  url: 'https://bench-and-bean.example',
}

const offer: WireOffer = {
  merchant: { name: 'Kopje' },
  network: 'brightlink',
  price: '49.90',
  old_price: '64.90',
  currency: 'EUR',
  availability: 'in_stock',
  affiliate_url: 'https://links.example/c?publisher=bench-and-bean&to=https%3A%2F%2Fkopje.example%2Fgrinder',
}

const product: WireProduct = {
  gtin: '09520001001024',
  title: 'Hand grinder with steel burrs',
  brand: 'Molenaar',
  images: [{ url: 'https://pictures.example/grinder.jpg' }],
  offers: [
    offer,
    {
      merchant: { name: 'Maison Brun' },
      network: 'linkgarden',
      price: '52.00',
      currency: 'EUR',
      availability: 'out_of_stock',
      affiliate_url: 'https://go.example/m/117?p=bench-and-bean',
    },
  ],
}

const productPage: WireProductPage = { items: [product], next_cursor: makeCursor(product.gtin) }

export const EXAMPLES = {
  Channel: channel,
  ChannelList: { items: [channel] },
  Product: product,
  ProductPage: productPage,
  Offer: offer,
  Merchant: offer.merchant,
  Image: { url: 'https://pictures.example/grinder.jpg' },
  Error: { error: 'no shop that the channel is approved for sells it' },
} as const

/** Headers of answers, by the names of their components. Several stand for one header with different values. */
export const HEADERS: Readonly<Record<string, HeaderObject>> = {
  'Cache-Control': makeHeader('Whoever asked may keep the answer for five minutes; shared caches may not.', {
    type: 'string',
    const: `private, max-age=${CACHE_SECONDS}`,
  }),
  'Cache-Control-None': makeHeader('Not to be kept: ask again.', { type: 'string', const: 'no-store' }),
  ETag: makeHeader('Strong validator of the body in its encoding, for `If-None-Match`.', {
    type: 'string',
    pattern: '^"[^"]+"$',
  }),
  Vary: makeHeader('Answers differ by key, and `vitrine catalog serve` compresses what is long (br, gzip).', {
    type: 'string',
    const: 'Authorization, Accept-Encoding',
  }),
  'Retry-After': makeHeader('Seconds until 00:00 UTC, when the limit starts again.', {
    type: 'integer',
    minimum: 1,
    maximum: 86_400,
  }),
  'WWW-Authenticate': makeHeader('How to send a key.', { type: 'string', const: 'Bearer' }),
  Allow: makeHeader('The methods that are possible.', { type: 'string', const: 'GET, HEAD' }),
}

function makeHeader(description: string, schema: JsonSchema): HeaderObject {
  return { description, required: true, schema }
}

const VARY = { Vary: toReference('headers', 'Vary') }
const KEPT = { 'Cache-Control': toReference('headers', 'Cache-Control'), ...VARY }
const NOT_KEPT = { 'Cache-Control': toReference('headers', 'Cache-Control-None'), ...VARY }

/** Answers that mean the same in every operation, by the names of their components. */
export const RESPONSES: Readonly<Record<string, ResponseObject>> = {
  NotModified: {
    description:
      'Nothing has changed since the answer whose `ETag` was sent. It has no body, and counts as a request.',
    headers: { ...KEPT, ETag: toReference('headers', 'ETag') },
  },
  BadRequest: makeError(
    'A parameter is malformed, or stands twice; or the address is badly encoded.',
    'limit must be a whole number from 1 to 200',
  ),
  Unauthorized: makeError(
    'The key is missing, wrong or revoked. It does not count as a request.',
    'the API key is wrong or revoked',
    { ...NOT_KEPT, 'WWW-Authenticate': toReference('headers', 'WWW-Authenticate') },
  ),
  ChannelNotFound: makeError(
    'The organization of the key has no such channel; others may.',
    'there is no such channel',
    KEPT,
  ),
  ProductNotFound: makeError(
    'No shop that the channel is approved for sells the product: hide the box. Or the organization of the key has no such channel.',
    EXAMPLES.Error.error,
    KEPT,
  ),
  AddressNotFound: makeError('There is no such address.', 'there is no such address', KEPT),
  MethodNotAllowed: makeError(
    'A method other than GET and HEAD at this address.',
    'only GET is possible here',
    { ...NOT_KEPT, Allow: toReference('headers', 'Allow') },
  ),
  TooManyRequests: makeError(
    'The daily request limit of the organization is reached: wait for `Retry-After` seconds. It does not count as a request.',
    'the daily request limit is reached; it resets at 00:00 UTC',
    { ...NOT_KEPT, 'Retry-After': toReference('headers', 'Retry-After') },
  ),
  ServerError: makeError(
    'The service failed. Ask again later.',
    'something went wrong in the catalog service',
  ),
  Unavailable: makeError(
    'The service cannot answer now: nothing was imported yet, or something else holds its files for a moment. Ask again later.',
    'the catalog is empty: import a feed first',
  ),
}

export function makeSuccess(name: AnswerName, description: string): ResponseObject {
  return {
    description,
    headers: { ...KEPT, ETag: toReference('headers', 'ETag') },
    content: { 'application/json': { schema: toReference('schemas', name), example: EXAMPLES[name] } },
  }
}

export function toReference(
  kind: 'headers' | 'parameters' | 'responses' | 'schemas',
  name: string,
): Reference {
  return { $ref: `#/components/${kind}/${name}` }
}

function makeError(
  description: string,
  error: string,
  headers: ResponseObject['headers'] = NOT_KEPT,
): ResponseObject {
  return {
    description,
    headers,
    content: { 'application/json': { schema: toReference('schemas', 'Error'), example: { error } } },
  }
}
