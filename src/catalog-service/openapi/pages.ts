import { readFileSync } from 'node:fs'
import { STATUS_CODES } from 'node:http'
import { join } from 'node:path'
import { Eta } from 'eta'
import { CATALOG_STYLE_FILE, VIEWS_FOLDER } from '../../lib/paths.ts'
import { DECISIONS, INTRODUCTION } from './decisions.ts'
import {
  type OpenApiDocument,
  type OperationObject,
  type ParameterObject,
  createOpenApiDocument,
} from './document.ts'
import type { JsonSchema, ResponseObject } from './responses.ts'

export type Pages = Readonly<{ document: string; page: string; style: string }>

const TEMPLATES = {
  '@catalog': 'catalog.eta',
  '@catalog-words': join('partials', 'catalog-words.eta'),
  '@catalog-rows': join('partials', 'catalog-rows.eta'),
} as const

/** Makes the document, and the page from it. Throws when a template or the style sheet is missing. */
export function createPages(): Pages {
  const document = createOpenApiDocument()
  const eta = new Eta({ autoEscape: true, rmWhitespace: true, useWith: false })
  for (const [name, file] of Object.entries(TEMPLATES))
    eta.loadTemplate(name, eta.compile(readFileSync(join(VIEWS_FOLDER, file), 'utf8')))
  return {
    document: `${JSON.stringify(document, null, 2)}\n`,
    page: eta.render('@catalog', toPageView(document)),
    style: readFileSync(CATALOG_STYLE_FILE, 'utf8'),
  }
}

type Words = readonly Readonly<{ text: string; isCode: boolean }>[]

/** A row of a table: a name with what stands small below it, and what it means. */
type Row = Readonly<{ name: string; note: string; words: Words; more: Words }>

function toPageView(document: OpenApiDocument) {
  return {
    title: document.info.title,
    version: document.info.version,
    introduction: INTRODUCTION.map(toWords),
    operations: Object.entries(document.paths).map(([path, { get }]) => toOperation(document, path, get)),
    schemas: Object.entries(document.components.schemas).map(([title, schema]) => ({
      id: `schema-${title.toLowerCase()}`,
      title,
      words: toWords(String(schema['description'])),
      rows: toFieldRows(schema),
    })),
    statuses: toStatusRows(document),
    decisions: DECISIONS.map((decision) => {
      const [, about = '', text = ''] = /^\*\*(.+?)\.\*\* (.*)$/.exec(decision) ?? []
      return { about, words: toWords(text) }
    }),
  }
}

function toOperation(document: OpenApiDocument, path: string, operation: OperationObject) {
  const success = operation.responses['200'] as ResponseObject
  return {
    id: operation.operationId,
    method: 'GET',
    path,
    title: operation.summary,
    words: toWords(operation.description),
    parameters: operation.parameters.map(({ $ref }) =>
      toParameterRow(document.components.parameters[getName($ref)] as ParameterObject),
    ),
    curl: operation['x-codeSamples'][0]?.source ?? '',
    example: JSON.stringify(success.content?.['application/json'].example, null, 2),
    statuses: Object.keys(operation.responses).join(', '),
  }
}

function toParameterRow({ name, in: place, required, description, schema }: ParameterObject): Row {
  const facts = [describeType(schema), place, ...(required ? [] : ['may be left out'])]
  return { name, note: facts.join(', '), words: toWords(description), more: toWords(describeBounds(schema)) }
}

function toFieldRows(schema: JsonSchema): Row[] {
  const required = schema['required'] as readonly string[]
  return Object.entries(schema['properties'] as Readonly<Record<string, JsonSchema>>).map(
    ([name, field]) => ({
      name,
      note: describeType(field) + (required.includes(name) ? '' : ', may be missing'),
      words: toWords(typeof field['description'] === 'string' ? field['description'] : ''),
      more: toWords(describeBounds(field)),
    }),
  )
}

/** A row for each answer of all operations; 404 means different things. */
function toStatusRows(document: OpenApiDocument): Row[] {
  const rows = new Map<string, Row>()
  for (const { get } of Object.values(document.paths)) {
    for (const [status, answer] of Object.entries(get.responses)) {
      const shared = '$ref' in answer ? document.components.responses[getName(answer.$ref)] : undefined
      const response = shared ?? (answer as ResponseObject)
      const key = '$ref' in answer ? `${status} ${answer.$ref}` : status
      const words = toWords(shared?.description ?? 'What was asked for.')
      const more = toWords(listHeaders(document, response))
      rows.set(key, { name: status, note: STATUS_CODES[status] ?? '', words, more })
    }
  }
  return [...rows].sort(([a], [b]) => a.localeCompare(b, 'en')).map(([, row]) => row)
}

function listHeaders(document: OpenApiDocument, { headers }: ResponseObject): string {
  return Object.entries(headers)
    .map(([name, { $ref }]) => {
      const value = document.components.headers[getName($ref)]?.schema['const']
      return typeof value === 'string' ? `\`${name}: ${value}\`` : `\`${name}\``
    })
    .join(' ')
}

/** `#/components/schemas/Offer` as `Offer`. */
function getName(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** `string (uuid)`, `string or null`, `list of Offer`. */
function describeType(schema: JsonSchema): string {
  if (typeof schema['$ref'] === 'string') return getName(schema['$ref'])
  const { type, format, items, anyOf } = schema
  if (Array.isArray(anyOf)) return anyOf.map((part: JsonSchema) => describeType(part)).join(' or ')
  if (type === 'array') return `list of ${describeType(items as JsonSchema)}`
  const name = Array.isArray(type) ? type.join(' or ') : String(type)
  return typeof format === 'string' ? `${name} (${format})` : name
}

/** What is not said by the description: values of an enumeration, bounds and default of a number. */
function describeBounds(schema: JsonSchema): string {
  if (Array.isArray(schema['enum']))
    return `One of ${schema['enum'].map((value) => `\`${value}\``).join(', ')}.`
  if (schema['type'] !== 'integer') return ''
  return `From ${String(schema['minimum'])} to ${String(schema['maximum'])}; ${String(schema['default'])} when left out.`
}

function toWords(text: string): Words {
  return text
    .split('`')
    .map((piece, index) => ({ text: piece, isCode: index % 2 === 1 }))
    .filter((piece) => piece.text !== '')
}
