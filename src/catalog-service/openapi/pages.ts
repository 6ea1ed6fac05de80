import { readFileSync } from 'node:fs'
import { STATUS_CODES } from 'node:http'
import { basename, join } from 'node:path'
import { Eta } from 'eta'
import { CATALOG_STYLE_FILE, VIEWS_FOLDER } from '../../lib/paths.ts'

/** Tests validate every response of the service against this document. */
const DOCUMENT_FILE = new URL('openapi.json', import.meta.url)

/** Separates the introduction from the list of decisions in `info.description`. */
const DECISIONS_HEADING = '\n\nWhat this service decides:\n\n- '

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
    page: eta.render('@catalog', toPageView(JSON.parse(text) as OpenApiDocument)),
    style: readFileSync(CATALOG_STYLE_FILE, 'utf8'),
  }
}

type TextSegments = readonly Readonly<{ text: string; isCode: boolean }>[]

/** A row of a table. `details` is the small text below the name, such as its type. */
type Row = Readonly<{ name: string; details: string; segments: TextSegments; notes: TextSegments }>

function toPageView(document: OpenApiDocument) {
  const { title, version, description } = document.info
  const [introduction = '', decisions = ''] = description.split(DECISIONS_HEADING)
  return {
    title,
    version,
    introduction: introduction.split('\n\n').map(toTextSegments),
    operations: Object.entries(document.paths).map(([path, { get }]) => toOperationView(document, path, get)),
    schemas: Object.entries(document.components.schemas).map(([title, schema]) => ({
      id: `schema-${title.toLowerCase()}`,
      title,
      segments: toTextSegments(String(schema['description'])),
      rows: toFieldRows(schema),
    })),
    statuses: toStatusRows(document),
    decisions: decisions.split('\n- ').map((decision) => {
      const [, about = '', text = ''] = /^\*\*(.+?)\.\*\* (.*)$/.exec(decision) ?? []
      return { about, segments: toTextSegments(text) }
    }),
  }
}

function toOperationView(document: OpenApiDocument, path: string, operation: OperationObject) {
  const success = operation.responses['200'] as ResponseObject
  return {
    id: operation.operationId,
    method: 'GET',
    path,
    title: operation.summary,
    segments: toTextSegments(operation.description),
    parameters: operation.parameters.map(({ $ref }) =>
      toParameterRow(document.components.parameters[toReferenceName($ref)] as ParameterObject),
    ),
    curl: operation['x-codeSamples'][0]?.source ?? '',
    example: JSON.stringify(success.content?.['application/json'].example, null, 2),
    statuses: Object.keys(operation.responses).join(', '),
  }
}

function toParameterRow({ name, in: location, required, description, schema }: ParameterObject): Row {
  const details = [describeType(schema), location, ...(required ? [] : ['optional'])]
  return {
    name,
    details: details.join(', '),
    segments: toTextSegments(description),
    notes: toTextSegments(describeConstraints(schema)),
  }
}

function toFieldRows({ required, properties }: JsonSchema): Row[] {
  return Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(([name, field]) => ({
    name,
    details: describeType(field) + ((required as readonly string[]).includes(name) ? '' : ', optional'),
    segments: toTextSegments((field['description'] as string | undefined) ?? ''),
    notes: toTextSegments(describeConstraints(field)),
  }))
}

function toStatusRows(document: OpenApiDocument): Row[] {
  const rows = new Map<string, Row>()
  for (const { get } of Object.values(document.paths)) {
    for (const [status, entry] of Object.entries(get.responses)) {
      const shared = '$ref' in entry ? document.components.responses[toReferenceName(entry.$ref)] : undefined
      const response = shared ?? (entry as ResponseObject)
      const key = '$ref' in entry ? `${status} ${entry.$ref}` : status
      const segments = toTextSegments(shared?.description ?? 'The requested data.')
      const notes = toTextSegments(formatHeaders(document, response))
      rows.set(key, { name: status, details: STATUS_CODES[status] ?? '', segments, notes })
    }
  }
  return [...rows].sort(([a], [b]) => a.localeCompare(b, 'en')).map(([, row]) => row)
}

function formatHeaders(document: OpenApiDocument, { headers }: ResponseObject): string {
  return Object.entries(headers)
    .map(([name, { $ref }]) => {
      const value = document.components.headers[toReferenceName($ref)]?.schema['const']
      return typeof value === 'string' ? `\`${name}: ${value}\`` : `\`${name}\``
    })
    .join(' ')
}

/** Return `Offer` for `#/components/schemas/Offer`. */
function toReferenceName(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** Return for example `string (uuid)`, `string or null` or `list of Offer`. */
function describeType(schema: JsonSchema): string {
  if (typeof schema['$ref'] === 'string') return toReferenceName(schema['$ref'])
  const { type, format, items, anyOf } = schema
  if (Array.isArray(anyOf)) return anyOf.map((part: JsonSchema) => describeType(part)).join(' or ')
  if (type === 'array') return `list of ${describeType(items as JsonSchema)}`
  const name = Array.isArray(type) ? type.join(' or ') : String(type)
  return typeof format === 'string' ? `${name} (${format})` : name
}

/** Describe the values of an enumeration, or the range and default of a number. */
function describeConstraints(schema: JsonSchema): string {
  if (Array.isArray(schema['enum']))
    return `One of ${schema['enum'].map((value) => `\`${value}\``).join(', ')}.`
  if (schema['type'] !== 'integer') return ''
  return `From ${String(schema['minimum'])} to ${String(schema['maximum'])}; default ${String(schema['default'])}.`
}

function toTextSegments(text: string): TextSegments {
  return text
    .split('`')
    .map((segment, index) => ({ text: segment, isCode: index % 2 === 1 }))
    .filter((segment) => segment.text !== '')
}
