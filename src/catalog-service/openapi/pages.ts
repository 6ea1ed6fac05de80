import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Eta } from 'eta'
import { CATALOG_STYLE_FILE, VIEWS_FOLDER } from '../../lib/paths.ts'
import { type ApiDocument, toApiView } from './view.ts'

/** Tests validate every response of the service against this document. */
const DOCUMENT_FILE = new URL('openapi.json', import.meta.url)

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

export type OpenApiPages = Readonly<{ document: string; page: string; style: string }>

const TEMPLATES = ['catalog', 'partials/catalog-text', 'partials/catalog-rows']

/** Read the document and render the page. Throw when a template or the style sheet is missing. */
export function createOpenApiPages(): OpenApiPages {
  const text = readFileSync(DOCUMENT_FILE, 'utf8')
  const eta = new Eta({ autoEscape: true, rmWhitespace: true, useWith: false })
  for (const path of TEMPLATES)
    eta.loadTemplate(
      `@${basename(path)}`,
      eta.compile(readFileSync(join(VIEWS_FOLDER, `${path}.eta`), 'utf8')),
    )
  return {
    document: text,
    page: eta.render('@catalog', toApiView(JSON.parse(text) as ApiDocument)),
    style: readFileSync(CATALOG_STYLE_FILE, 'utf8'),
  }
}
