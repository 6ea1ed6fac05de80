import { STATUS_CODES } from 'node:http'

/** Separates the introduction from the list of decisions in `info.description`. */
const DECISIONS_HEADING = '\n\nWhat this service decides:\n\n- '

/** Turn an OpenAPI 3.1 document, whose operations are all GET, into the texts and tables of a template. */
export function toApiView(document) {
  const { title, version, description = '' } = document.info
  const [introduction = '', decisions = ''] = description.split(DECISIONS_HEADING)
  return {
    title,
    version,
    introduction: introduction.split('\n\n').map(toTextSegments),
    operations: Object.entries(document.paths).map(([path, { get }]) => toOperationView(document, path, get)),
    schemas: Object.entries(document.components?.schemas ?? {}).map(([title, schema]) => ({
      id: `schema-${title.toLowerCase()}`,
      title,
      segments: toTextSegments(toText(schema.description)),
      rows: toFieldRows(schema),
    })),
    statuses: toStatusRows(document),
    decisions: decisions
      .split('\n- ')
      .filter((decision) => decision !== '')
      .map((decision) => {
        const [, about = '', text = ''] = /^\*\*(.+?)\.\*\* (.*)$/.exec(decision) ?? []
        return { about, segments: toTextSegments(text) }
      }),
  }
}

function toOperationView(document, path, operation) {
  const { parameters = [], responses } = operation
  const success = responses[200] === undefined ? undefined : resolve(document, responses[200])
  return {
    id: operation.operationId,
    method: 'GET',
    path,
    title: operation.summary ?? path,
    segments: toTextSegments(operation.description ?? ''),
    parameters: parameters.map((parameter) => toParameterRow(document, resolve(document, parameter))),
    curl: operation['x-codeSamples']?.[0]?.source ?? '',
    example: formatExample(Object.values(success?.content ?? {})[0]),
    statuses: Object.keys(responses).join(', '),
    responses: Object.entries(responses).map(([status, response]) => ({
      status,
      segments: toTextSegments(resolve(document, response).description),
    })),
  }
}

/** Return the target of a reference within the document, or the value itself. */
function resolve(document, value) {
  if (!('$ref' in value)) return value
  const steps = value.$ref.replace(/^#\//, '').split('/')
  return steps.reduce((found, step) => found[step], document)
}

function formatExample(media) {
  const example = media?.example
  if (example === undefined) return ''
  return typeof example === 'string' ? example : JSON.stringify(example, null, 2)
}

function toParameterRow(document, parameter) {
  const { name, in: location, required = false, description = '' } = parameter
  const schema = resolve(document, parameter.schema ?? {})
  const details = [describeType(schema), location, ...(required ? [] : ['optional'])]
  return {
    name,
    details: details.filter((text) => text !== '').join(', '),
    segments: toTextSegments(description),
    notes: toTextSegments(describeConstraints(schema)),
  }
}

function toFieldRows({ required = [], properties = {} }) {
  return Object.entries(properties).map(([name, field]) => ({
    name,
    details: [describeType(field), required.includes(name) ? '' : 'optional']
      .filter((text) => text !== '')
      .join(', '),
    segments: toTextSegments(toText(field.description)),
    notes: toTextSegments(describeConstraints(field)),
  }))
}

function toStatusRows(document) {
  const rows = new Map()
  for (const { get } of Object.values(document.paths)) {
    for (const [status, entry] of Object.entries(get.responses)) {
      const isShared = '$ref' in entry
      const response = resolve(document, entry)
      const key = isShared ? `${status} ${entry.$ref}` : status
      const segments = toTextSegments(isShared ? response.description : 'The requested data.')
      const notes = toTextSegments(formatHeaders(document, response))
      rows.set(key, { name: status, details: STATUS_CODES[status] ?? '', segments, notes })
    }
  }
  return [...rows].sort(([a], [b]) => a.localeCompare(b, 'en')).map(([, row]) => row)
}

function formatHeaders(document, { headers = {} }) {
  return Object.entries(headers)
    .map(([name, header]) => {
      const value = resolve(document, header).schema?.const
      return typeof value === 'string' ? `\`${name}: ${value}\`` : `\`${name}\``
    })
    .join(' ')
}

/** Return for example `string (uuid)`, `string or null` or `list of Offer`; empty if the schema allows every type. */
function describeType(schema) {
  const { $ref: reference, format, anyOf, oneOf } = schema
  if (typeof reference === 'string') return reference.slice(reference.lastIndexOf('/') + 1)
  const choices = anyOf ?? oneOf
  if (Array.isArray(choices)) return choices.map((part) => describeType(part)).join(' or ')
  const name = describeTypeName(schema)
  return typeof format === 'string' ? `${name} (${format})` : name
}

function describeTypeName({ type, items, const: constant }) {
  if (type === 'array') return `list of ${describeType(items ?? {})}`
  if (Array.isArray(type)) return type.join(' or ')
  return toText(type ?? (constant === undefined ? '' : typeof constant))
}

/** Describe the values of an enumeration, or the range and default of a number. */
function describeConstraints({ enum: values, type, minimum, maximum, default: standard }) {
  if (Array.isArray(values)) return `One of ${values.map((value) => `\`${String(value)}\``).join(', ')}.`
  if (type !== 'integer' || minimum === undefined || maximum === undefined) return ''
  const range = `From ${toText(minimum)} to ${toText(maximum)}`
  return standard === undefined ? `${range}.` : `${range}; default ${toText(standard)}.`
}

function toText(value) {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function toTextSegments(text) {
  return text
    .split('`')
    .map((segment, index) => ({ text: segment, isCode: index % 2 === 1 }))
    .filter((segment) => segment.text !== '')
}
