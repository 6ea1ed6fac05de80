import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import request, { type Response, type Test } from 'supertest'
import {
  OPENAPI_DOCUMENT,
  type OpenApiDocument,
  type OperationObject,
  type ResponseObject,
} from './openapi-document.ts'

type Reference = OperationObject['parameters'][number]

/** A response of the service, from any client. */
export type ObservedResponse = Readonly<{
  method: string
  /** Path and query. */
  path: string
  status: number
  /** By lower-case name. */
  headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** `''` without a body. */
  text: string
}>

const { components } = OPENAPI_DOCUMENT

/** Not described by the document. */
const DOCUMENT_PATH = '/openapi.json'

/** Responses of unknown addresses: authentication and limit come first. */
const UNKNOWN_ADDRESS_RESPONSES: Readonly<Record<string, Reference>> = {
  401: { $ref: '#/components/responses/Unauthorized' },
  404: { $ref: '#/components/responses/AddressNotFound' },
  429: { $ref: '#/components/responses/TooManyRequests' },
  500: { $ref: '#/components/responses/ServerError' },
  503: { $ref: '#/components/responses/Unavailable' },
}

const OPERATIONS = Object.entries(OPENAPI_DOCUMENT.paths).map(([path, { get }]) => ({
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  operation: get,
}))

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
ajvFormats.default(ajv)
ajv.addVocabulary(['components'])
const validators = new Map<string, ValidateFunction>()

/** Find the operation of an address; `undefined` when the document has none. */
export function findOperation(path: string): OperationObject | undefined {
  const [address = ''] = path.split('?')
  return OPERATIONS.find(({ pattern }) => pattern.test(address))?.operation
}

/** List the differences between a response and the document; empty when it is valid. */
export function findResponseProblems(observed: ObservedResponse): readonly string[] {
  const { method, path, status } = observed
  const isRead = method === 'GET' || method === 'HEAD'
  const responses = findOperation(path)?.responses ?? UNKNOWN_ADDRESS_RESPONSES
  const documented = responses[String(status)]
  if (documented === undefined || (!isRead && status < 400)) return [`status ${status} is not documented`]
  const response = resolveResponse(documented)
  return [...findHeaderProblems(observed, response), ...findBodyProblems(observed, response)]
}

/** @throws Error with every problem of the response. */
export function expectValidResponse(observed: ObservedResponse): void {
  if (observed.path === DOCUMENT_PATH) return
  const problems = findResponseProblems(observed)
  if (problems.length > 0)
    throw new Error(
      `${observed.method} ${observed.path}: ${problems.join('; ')}\n${observed.text.slice(0, 500)}`,
    )
}

const METHODS = ['get', 'head', 'post', 'put', 'delete', 'patch', 'options'] as const

export type ValidatedRequests = Readonly<Record<(typeof METHODS)[number], (path: string) => Test>>

/** supertest that validates every response against the document. */
export function requestValidated(url: string): ValidatedRequests {
  const client = request(url)
  const methods = METHODS.map((method) => [
    method,
    (path: string) => client[method](path).expect(checkResponse),
  ])
  return Object.fromEntries(methods) as ValidatedRequests
}

const plainFetch = fetch

/** `fetch` that validates every response against the document. It can replace the global one. */
export const fetchValidated: typeof fetch = async (input, init) => {
  const sent = new Request(input, init)
  const response = await plainFetch(sent)
  const { pathname, search } = new URL(sent.url)
  expectValidResponse({
    method: sent.method,
    path: pathname + search,
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text: await response.clone().text(),
  })
  return response
}

function checkResponse(response: Response): void {
  const { method, url } = (response as Response & { request: Test }).request
  const { pathname, search } = new URL(url)
  expectValidResponse({
    method,
    path: pathname + search,
    status: response.status,
    headers: response.headers,
    text: response.text ?? '',
  })
}

function findHeaderProblems({ headers }: ObservedResponse, response: ResponseObject): string[] {
  return Object.entries(response.headers).flatMap(([name, reference]) => {
    const { schema } = components.headers[
      getName(reference)
    ] as OpenApiDocument['components']['headers'][string]
    const value = headers[name.toLowerCase()]
    if (value === undefined) return [`header ${name} is missing`]
    const parsedValue = schema['type'] === 'integer' ? Number(value) : value
    return ajv.validate(schema, parsedValue) ? [] : [`header ${name}: ${ajv.errorsText()}`]
  })
}

function findBodyProblems({ method, headers, text }: ObservedResponse, response: ResponseObject): string[] {
  const content = response.content?.['application/json']
  if (method === 'HEAD' || content === undefined) return text === '' ? [] : ['a body is not documented']
  if (!String(headers['content-type']).startsWith('application/json')) return ['the body is not sent as JSON']
  const validate = getValidator(content.schema)
  return validate(JSON.parse(text)) ? [] : [`body: ${ajv.errorsText(validate.errors)}`]
}

function getValidator({ $ref }: Reference): ValidateFunction {
  const validate = validators.get($ref) ?? ajv.compile({ $ref, components: { schemas: components.schemas } })
  validators.set($ref, validate)
  return validate
}

function resolveResponse(response: ResponseObject | Reference): ResponseObject {
  return '$ref' in response ? (components.responses[getName(response)] as ResponseObject) : response
}

function getName({ $ref }: Reference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1)
}
