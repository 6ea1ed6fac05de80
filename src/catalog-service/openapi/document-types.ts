/** The parts of an OpenAPI 3.1 document that this service uses. */

/** A schema of JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** Stands for a component: `#/components/…`. */
export type Reference = Readonly<{ $ref: string }>

/** A header of an answer that is always there. */
export type HeaderObject = Readonly<{ description: string; required: true; schema: JsonSchema }>

/** A parameter of a request. */
export type ParameterObject = Readonly<{
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description: string
  schema: JsonSchema
  example?: string | number
}>

/** An answer: its headers, and its body where it has one. */
export type ResponseObject = Readonly<{
  description: string
  headers: Readonly<Record<string, Reference>>
  content?: Readonly<{ 'application/json': Readonly<{ schema: Reference; example: unknown }> }>
}>

/** One operation. Answers with the same status mean the same everywhere, but for 200 and 404. */
export type OperationObject = Readonly<{
  operationId: string
  summary: string
  description: string
  parameters: readonly Reference[]
  responses: Readonly<Record<string, ResponseObject | Reference>>
  /** Read by several programs that show documents. */
  'x-codeSamples': readonly Readonly<{ lang: string; label: string; source: string }>[]
}>

/** The whole document. */
export type OpenApiDocument = Readonly<{
  openapi: '3.1.0'
  info: Readonly<{ title: string; version: string; summary: string; description: string }>
  servers: readonly Readonly<{ url: string; description: string }>[]
  security: readonly Readonly<{ apiKey: readonly [] }>[]
  paths: Readonly<Record<string, Readonly<{ get: OperationObject }>>>
  components: Readonly<{
    securitySchemes: Readonly<Record<string, Readonly<Record<string, string>>>>
    parameters: Readonly<Record<string, ParameterObject>>
    headers: Readonly<Record<string, HeaderObject>>
    responses: Readonly<Record<string, ResponseObject>>
    schemas: Readonly<Record<string, JsonSchema>>
  }>
}>
