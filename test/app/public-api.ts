import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { createOpenApiDocument } from '../../src/routes/openapi.ts'
import type { TestResponse } from './app-client.ts'

/** The document of the test server. */
export const DOCUMENT = createOpenApiDocument('https://widgets.example')

type Json = Readonly<Record<string, unknown>>
type Header = Readonly<{ required?: boolean; schema: Json }>
type DocumentedResponse = Readonly<{
  headers?: Readonly<Record<string, Json>>
  content?: Readonly<Record<string, Readonly<{ schema?: Json }>>>
}>

/** Clients ignore unknown properties. Tests do not, so that every property is documented. */
function toStrict(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toStrict)
  if (typeof value !== 'object' || value === null) return value
  const strict = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, toStrict(part)]))
  return 'properties' in value && 'type' in value ? { ...strict, additionalProperties: false } : strict
}

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
ajvFormats.default(ajv)
ajv.addVocabulary(['components', 'discriminator'])
const components = { schemas: toStrict(DOCUMENT.components.schemas) }
const validators = new Map<string, ValidateFunction>()

/** List the differences between a value and a schema of the document, which must have all properties of the value. */
export function findValueProblems(schema: Json, value: unknown): readonly string[] {
  const key = JSON.stringify(schema)
  const validate = validators.get(key) ?? ajv.compile({ allOf: [toStrict(schema)], components })
  validators.set(key, validate)
  return validate(value) ? [] : [ajv.errorsText(validate.errors)]
}

/** Return a part of the document, or the one that it refers to. */
function resolve(part: Json): unknown {
  const { $ref } = part
  if (typeof $ref !== 'string') return part
  return $ref
    .slice(2)
    .split('/')
    .reduce<unknown>((found, name) => (found as Json)[name], DOCUMENT)
}

/** Find the path in the document that an address belongs to; `undefined` when there is none. */
export function findDocumentedPath(address: string): string | undefined {
  const [path = ''] = address.split('?')
  // The most specific one: `/{width}.jpg` before `/{width}`.
  const paths = Object.keys(DOCUMENT.paths).toSorted((a, b) => b.length - a.length)
  return paths.find((documented) =>
    new RegExp(`^${documented.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
}

/** Headers that must be documented where they are sent. */
const OWN_HEADERS =
  /^(?:vitrine-(?:state|reason|error)|cache-control|cache-status|etag|location|retry-after|www-authenticate)$/

/** List the differences between a response and the document; empty when it is valid. */
export function findResponseProblems(address: string, response: TestResponse): readonly string[] {
  const path = findDocumentedPath(address)
  if (path === undefined) return ['the path is not documented']
  const entry = DOCUMENT.paths[path]?.get.responses[String(response.status)]
  if (entry === undefined) return [`status ${response.status} is not documented`]
  const documented = resolve(entry) as DocumentedResponse
  return [...findHeaderProblems(documented, response), ...findBodyProblems(documented, response)]
}

function findHeaderProblems({ headers = {} }: DocumentedResponse, response: TestResponse): string[] {
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const unknown = Object.keys(response.headers).filter((name) => OWN_HEADERS.test(name) && !names.has(name))
  return [
    ...unknown.map((name) => `header ${name} is not documented`),
    ...Object.entries(headers).flatMap(([name, part]) => {
      const { required = false, schema } = resolve(part) as Header
      const text = response.headers[name.toLowerCase()]
      if (text === undefined) return required ? [`header ${name} is missing`] : []
      const value = schema['type'] === 'integer' ? Number(text) : text
      return findValueProblems(schema, value).map((problem) => `header ${name}: ${problem}`)
    }),
  ]
}

function findBodyProblems({ content }: DocumentedResponse, response: TestResponse): readonly string[] {
  if (content === undefined) return response.text === '' ? [] : ['a body is not documented']
  const [mediaType = ''] = (response.headers['content-type'] ?? '').split(';')
  const found = content[mediaType] ?? content[`${mediaType.split('/')[0] ?? ''}/*`]
  if (found === undefined) return [`the type ${mediaType} is not documented`]
  if (mediaType !== 'application/json' || found.schema === undefined) return []
  return findValueProblems(found.schema, JSON.parse(response.text))
}
