import { CACHE_SECONDS } from '../../catalog/contract.ts'
import type { AnswerName } from '../answers.ts'
import type { HeaderObject, Reference, ResponseObject } from './document-types.ts'
import { EXAMPLES } from './examples.ts'

/** Headers of answers, by the names of their components. Several stand for one header with different values. */
export const HEADERS: Readonly<Record<string, HeaderObject>> = {
  'Cache-Control': {
    description: 'Whoever asked may keep the answer for five minutes; shared caches may not.',
    required: true,
    schema: { type: 'string', const: `private, max-age=${CACHE_SECONDS}` },
  },
  'Cache-Control-None': {
    description: 'Not to be kept: ask again.',
    required: true,
    schema: { type: 'string', const: 'no-store' },
  },
  ETag: {
    description: 'Strong validator of the body in its encoding, for `If-None-Match`.',
    required: true,
    schema: { type: 'string', pattern: '^"[^"]+"$' },
  },
  Vary: {
    description: 'Answers differ by key, and `vitrine catalog serve` compresses what is long (br, gzip).',
    required: true,
    schema: { type: 'string', const: 'Authorization, Accept-Encoding' },
  },
  'Retry-After': {
    description: 'Seconds until 00:00 UTC, when the limit starts again.',
    required: true,
    schema: { type: 'integer', minimum: 1, maximum: 86_400 },
  },
  'WWW-Authenticate': {
    description: 'How to send a key.',
    required: true,
    schema: { type: 'string', const: 'Bearer' },
  },
  Allow: {
    description: 'The methods that are possible.',
    required: true,
    schema: { type: 'string', const: 'GET, HEAD' },
  },
}

const KEPT = {
  'Cache-Control': toReference('headers', 'Cache-Control'),
  Vary: toReference('headers', 'Vary'),
}
const NOT_KEPT = {
  'Cache-Control': toReference('headers', 'Cache-Control-None'),
  Vary: toReference('headers', 'Vary'),
}

/** Answers that mean the same in every operation, by the names of their components. */
export const RESPONSES: Readonly<Record<string, ResponseObject>> = {
  NotModified: {
    description:
      'Nothing has changed since the answer whose `ETag` was sent. It has no body, and counts as a request.',
    headers: { ...KEPT, ETag: toReference('headers', 'ETag') },
  },
  BadRequest: makeError({
    description: 'A parameter is malformed, or stands twice; or the address is badly encoded.',
    error: 'limit must be a whole number from 1 to 200',
  }),
  Unauthorized: makeError({
    description: 'The key is missing, wrong or revoked. It does not count as a request.',
    headers: { 'WWW-Authenticate': toReference('headers', 'WWW-Authenticate') },
    error: 'the API key is wrong or revoked',
  }),
  ChannelNotFound: {
    ...makeError({
      description: 'The organization of the key has no such channel; others may.',
      error: 'there is no such channel',
    }),
    headers: KEPT,
  },
  ProductNotFound: {
    ...makeError({
      description:
        'No shop that the channel is approved for sells the product: hide the box. Or the organization of the key has no such channel.',
      error: EXAMPLES.Error.error,
    }),
    headers: KEPT,
  },
  AddressNotFound: {
    ...makeError({ description: 'There is no such address.', error: 'there is no such address' }),
    headers: KEPT,
  },
  MethodNotAllowed: makeError({
    description: 'A method other than GET and HEAD at this address.',
    headers: { Allow: toReference('headers', 'Allow') },
    error: 'only GET is possible here',
  }),
  TooManyRequests: makeError({
    description:
      'The daily request limit of the organization is reached: wait for `Retry-After` seconds. It does not count as a request.',
    headers: { 'Retry-After': toReference('headers', 'Retry-After') },
    error: 'the daily request limit is reached; it resets at 00:00 UTC',
  }),
  ServerError: makeError({
    description: 'The service failed. Ask again later.',
    error: 'something went wrong in the catalog service',
  }),
  Unavailable: makeError({
    description:
      'The service cannot answer now: nothing was imported yet, or something else holds its files for a moment. Ask again later.',
    error: 'the catalog is empty: import a feed first',
  }),
}

/** An answer of 200 with a body of that schema. */
export function makeSuccess(name: AnswerName, description: string): ResponseObject {
  return {
    description,
    headers: { ...KEPT, ETag: toReference('headers', 'ETag') },
    content: { 'application/json': { schema: toReference('schemas', name), example: EXAMPLES[name] } },
  }
}

/** Names a component of the document. */
export function toReference(
  kind: 'headers' | 'parameters' | 'responses' | 'schemas',
  name: string,
): Reference {
  return { $ref: `#/components/${kind}/${name}` }
}

type ErrorParts = Readonly<{
  description: string
  error: string
  headers?: Readonly<Record<string, Reference>>
}>

function makeError({ description, error, headers }: ErrorParts): ResponseObject {
  return {
    description,
    headers: { ...NOT_KEPT, ...headers },
    content: { 'application/json': { schema: toReference('schemas', 'Error'), example: { error } } },
  }
}
