import { z } from 'zod'
import { ANSWERS } from '../answers.ts'
import { PARAMETERS } from '../requests.ts'
import { DECISIONS, INTRODUCTION } from './decisions.ts'
import type { JsonSchema, OpenApiDocument, ParameterObject } from './document-types.ts'
import { EXAMPLES } from './examples.ts'
import { PATHS } from './operations.ts'
import { HEADERS, RESPONSES } from './responses.ts'

/**
 * The interface as an OpenAPI 3.1 document: schemas of answers and parameters are made from those that the service itself
 * is written with. Pure, and the same at each call.
 */
export function createOpenApiDocument(): OpenApiDocument {
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
  const decisions = DECISIONS.map(({ about, text }) => `- **${about}.** ${text}`)
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
  return {
    ChannelId: {
      ...makeParameter('channelId', channelId, 'input'),
      in: 'path',
      required: true,
      example: EXAMPLES.Channel.id,
    },
    Gtin: {
      ...makeParameter('gtin', gtin, 'input'),
      in: 'path',
      required: true,
      example: EXAMPLES.Product.gtin.slice(1),
    },
    Limit: { ...makeParameter('limit', limit, 'output'), in: 'query', required: false },
    Cursor: { ...makeParameter('cursor', cursor, 'input'), in: 'query', required: false },
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

/** The format says it already. */
function dropUuidPattern(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.format === 'uuid') delete schema.pattern
}

/** Within a document a schema says neither where it is nor what it is written in. */
function toInner({ $schema: _dialect, $id: _id, ...schema }: z.core.JSONSchema.BaseSchema): JsonSchema {
  return schema
}
