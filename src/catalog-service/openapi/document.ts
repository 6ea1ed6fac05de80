import { z } from 'zod'
import { VERSION_PATH } from '../../catalog/contract.ts'
import { ANSWERS } from '../answers.ts'
import { PARAMETERS } from '../requests.ts'
import { DECISIONS, INTRODUCTION } from './decisions.ts'
import {
  EXAMPLES,
  HEADERS,
  type JsonSchema,
  RESPONSES,
  type Reference,
  type ResponseObject,
  makeSuccess,
  toReference,
} from './responses.ts'

export type ParameterObject = Readonly<{
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description: string
  schema: JsonSchema
  example?: string | number
}>

/** Answers with the same status mean the same everywhere, but for 200 and 404. */
export type OperationObject = ReturnType<typeof makeOperation>

export type OpenApiDocument = ReturnType<typeof createOpenApiDocument>

/**
 * The interface as an OpenAPI 3.1 document: schemas of answers and parameters are made from those that the service itself
 * is written with. Pure, and the same at each call.
 */
export function createOpenApiDocument() {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Product Catalog Service Interface',
      version: '0',
      summary: 'Channels, their products, and offers with tracking links.',
      description: makeDescription(),
    },
    servers: [{ url: '/', description: 'Where this document is served.' }],
    security: [{ apiKey: [] }],
    paths: PATHS,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key of an organization, made with `vitrine catalog keys add NAME`.',
        },
      },
      parameters: makeParameters(),
      headers: HEADERS,
      responses: RESPONSES,
      schemas: makeSchemas(),
    },
  }
}

function makeDescription(): string {
  const decisions = DECISIONS.map((decision) => `- ${decision}`)
  return [...INTRODUCTION, `What this service decides:\n\n${decisions.join('\n')}`].join('\n\n')
}

function makeSchemas(): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(ANSWERS)) registry.add(schema, { id })
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => dropUuidPattern(jsonSchema),
  })
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, toInner(schema)]))
}

function makeParameters(): Record<string, ParameterObject> {
  const { channelId, limit, cursor, gtin } = PARAMETERS
  const inPath = { in: 'path', required: true } as const
  const inQuery = { in: 'query', required: false } as const
  return {
    ChannelId: { ...makeParameter('channelId', channelId, 'input'), ...inPath, example: EXAMPLES.Channel.id },
    Gtin: { ...makeParameter('gtin', gtin, 'input'), ...inPath, example: EXAMPLES.Product.gtin.slice(1) },
    Limit: { ...makeParameter('limit', limit, 'output'), ...inQuery },
    Cursor: { ...makeParameter('cursor', cursor, 'input'), ...inQuery },
    IfNoneMatch: {
      name: 'If-None-Match',
      in: 'header',
      required: false,
      description:
        'The `ETag` of an earlier answer: what has not changed is answered by 304, without a body.',
      schema: { type: 'string' },
    },
  }
}

/** `output`: as the service reads it; `input`: as it is sent. */
function makeParameter(
  name: string,
  schema: z.ZodType,
  io: 'input' | 'output',
): Pick<ParameterObject, 'name' | 'description' | 'schema'> {
  const made = z.toJSONSchema(schema, { io, override: ({ jsonSchema }) => dropUuidPattern(jsonSchema) })
  const { description = '', ...rest } = toInner(made)
  return { name, description: String(description), schema: rest }
}

function dropUuidPattern(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.format === 'uuid') delete schema.pattern
}

/** Within a document a schema says neither where it is nor what it is written in. */
function toInner({ $schema: _dialect, $id: _id, ...schema }: z.core.JSONSchema.BaseSchema): JsonSchema {
  return schema
}

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

const NOT_FOUND_AND_BAD = (name: string): Record<string, Reference> => ({
  400: toReference('responses', 'BadRequest'),
  404: toReference('responses', name),
})

const listChannels = makeOperation(CHANNELS_PATH, {
  operationId: 'listChannels',
  summary: 'List channels',
  description:
    'The channels of the organization of the key, oldest first. All of them at once: there are no pages.',
  parameters: ['IfNoneMatch'],
  responses: { 200: makeSuccess('ChannelList', 'The channels.') },
})

const listProducts = makeOperation(`${PRODUCTS_PATH}?limit=200`, {
  operationId: 'listProducts',
  summary: "List a channel's products",
  description:
    'The products that the channel may show, ordered by GTIN, page by page. Each has its offers, only of shops that the channel is approved for; a product without any is left out. To walk the whole catalog, ask with `limit=200` and pass each `next_cursor` on as `cursor` until it is `null`; once an hour is ample.',
  parameters: ['ChannelId', 'Limit', 'Cursor', 'IfNoneMatch'],
  responses: {
    200: makeSuccess('ProductPage', 'One page; the last one when `next_cursor` is `null`.'),
    ...NOT_FOUND_AND_BAD('ChannelNotFound'),
  },
})

const getProduct = makeOperation(PRODUCT_PATH, {
  operationId: 'getProduct',
  summary: 'Look up one product',
  description:
    'One product with its offers, only of shops that the channel is approved for. Codes shorter than 14 digits (EAN, UPC) are taken and padded with zeros. A 404 means that no such shop sells it: hide the box.',
  parameters: ['ChannelId', 'Gtin', 'IfNoneMatch'],
  responses: {
    200: makeSuccess('Product', 'The product.'),
    ...NOT_FOUND_AND_BAD('ProductNotFound'),
  },
})

const PATHS: Readonly<Record<string, Readonly<{ get: OperationObject }>>> = {
  [CHANNELS_PATH]: { get: listChannels },
  [PRODUCTS_PATH]: { get: listProducts },
  [PRODUCT_PATH]: { get: getProduct },
}

type Operation = Readonly<{
  operationId: string
  summary: string
  description: string
  parameters: readonly string[]
  responses: Readonly<Record<string, ResponseObject | Reference>>
}>

/** In the example `$BASE` is the address of the service, `$KEY` an API key. */
function makeOperation(path: string, { parameters, responses, ...operation }: Operation) {
  const address = path
    .replace('{channelId}', EXAMPLES.Channel.id)
    .replace('{gtin}', EXAMPLES.Product.gtin.slice(1))
  const source = `curl -H "Authorization: Bearer $KEY" \\\n  "$BASE${address}"`
  return {
    ...operation,
    parameters: parameters.map((name) => toReference('parameters', name)),
    responses: { ...responses, ...ALWAYS },
    // Read by several programs that show documents.
    'x-codeSamples': [{ lang: 'Shell', label: 'curl', source }],
  }
}
