import { readFileSync } from 'node:fs'

const DOCUMENT_FILE = new URL('../../src/catalog-service/openapi.json', import.meta.url)

type JsonSchema = Readonly<Record<string, unknown>>
type Reference = Readonly<{ $ref: string }>

export type OpenApiDocument = Readonly<{
  info: Readonly<{ title: string; version: string; description: string }>
  paths: Readonly<Record<string, Readonly<{ get: OperationObject }>>>
  components: Readonly<{
    parameters: Readonly<Record<string, ParameterObject>>
    headers: Readonly<Record<string, Readonly<{ schema: JsonSchema }>>>
    responses: Readonly<Record<string, ResponseObject>>
    schemas: Readonly<Record<string, JsonSchema>>
  }>
}>

export type OperationObject = Readonly<{
  operationId: string
  summary: string
  description: string
  parameters: readonly Reference[]
  responses: Readonly<Record<string, ResponseObject | Reference>>
  'x-codeSamples': readonly Readonly<{ source: string }>[]
}>

export type ResponseObject = Readonly<{
  description: string
  headers: Readonly<Record<string, Reference>>
  content?: Readonly<{ 'application/json': Readonly<{ schema: Reference; example: unknown }> }>
}>

type ParameterObject = Readonly<{
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description: string
  schema: JsonSchema
}>

export const OPENAPI_DOCUMENT = JSON.parse(readFileSync(DOCUMENT_FILE, 'utf8')) as OpenApiDocument
