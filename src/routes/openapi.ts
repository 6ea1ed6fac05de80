import { readFileSync } from 'node:fs'
import { Router } from 'express'
import { MINUTE_SECONDS } from '../clock.ts'
import type { Context } from '../context.ts'
import {
  type Bodies,
  JSON_TYPE,
  compress,
  createEtag,
  pickBody,
  sendResponse,
  toUtf8ByteString,
} from '../http/response.ts'
import { dataHeaders } from '../http/security-headers.ts'
import { VERSION } from '../lib/files.ts'
import { type OptionDefinition, type WidgetKind, OPTION_LIST, listOptions } from '../widgets/option-list.ts'
import { isRepeatable, toSchema } from '../widgets/parameters.ts'

const CACHE_CONTROL = `public, max-age=${5 * MINUTE_SECONDS}`

/** Create the route `/openapi.json`, which describes all public addresses, also those that are closed. */
export function createOpenApiRouter({ publicUrl }: Pick<Context, 'publicUrl'>): Router {
  let prepared: ReturnType<typeof prepareDocument> | undefined
  const router = Router()
  router.get('/openapi.json', async (request, response) => {
    const { etag, bodies } = await (prepared ??= prepareDocument(publicUrl))
    const { encoding, body } = pickBody(bodies, request.get('accept-encoding'))
    sendResponse(request, response, {
      headers: {
        ...dataHeaders,
        'Content-Type': JSON_TYPE,
        'Content-Encoding': encoding ?? undefined,
        'Cache-Control': CACHE_CONTROL,
      },
      etag,
      body,
    })
  })
  return router
}

/** Few requests need the document, so the start of a server does not wait for it. */
async function prepareDocument(publicUrl: string) {
  const text = JSON.stringify(createOpenApiDocument(publicUrl))
  const bytes = toUtf8ByteString(text)
  const [gzip, br] = await Promise.all([compress(bytes, 'gzip'), compress(bytes, 'br')])
  const bodies: Bodies = { identity: Buffer.from(text), gzip, br }
  return { etag: `W/${createEtag(text)}`, bodies }
}

type Json = Readonly<Record<string, unknown>>
type Reference = Readonly<{ $ref: string }>

/** An OpenAPI 3.1 document. Every operation is a GET. */
export type OpenApiDocument = Readonly<{
  info: Json
  paths: Readonly<Record<string, Readonly<{ get: Operation }>>>
  components: Readonly<
    Record<'parameters' | 'headers' | 'responses' | 'schemas', Readonly<Record<string, Json>>>
  >
}>

type Operation = Readonly<{
  operationId: string
  tags: readonly string[]
  summary: string
  description?: string
  parameters?: readonly (Json | Reference)[]
  responses: Readonly<Record<string, Json | Reference>>
}>

/** Everything except the widgets and their options. */
const BASE_FILE = new URL('openapi.json', import.meta.url)

/** Create the document of a server. `publicUrl`: its address, without a slash at the end. */
export function createOpenApiDocument(publicUrl: string): OpenApiDocument {
  const base = JSON.parse(readFileSync(BASE_FILE, 'utf8')) as OpenApiDocument
  const { parameters, ...components } = base.components
  const document = {
    ...base,
    info: { ...base.info, version: VERSION },
    servers: [{ url: publicUrl }],
    paths: { ...createWidgetPaths(), ...base.paths },
    components: { ...components, parameters: { ...parameters, ...createOptionParameters() } },
  }
  return document
}

type WidgetDefinition = Readonly<{
  kind: WidgetKind
  /** In names of operations. */
  name: string
  noun: string
  path: string
  pathParameters: readonly string[]
}>

const WIDGETS: readonly WidgetDefinition[] = [
  {
    kind: 'where-to-buy',
    name: 'WhereToBuy',
    noun: 'Where-to-buy box',
    path: '/{channel}/where-to-buy/{gtin}',
    pathParameters: ['channel', 'gtin'],
  },
  {
    kind: 'picks',
    name: 'Picks',
    noun: 'Round-up',
    path: '/{channel}/picks/{gtins}',
    pathParameters: ['channel', 'gtins'],
  },
  { kind: 'deals', name: 'Deals', noun: 'Deals', path: '/{channel}/deals', pathParameters: ['channel'] },
]

const LOOK_HAS_NO_EFFECT =
  'Options of the look are accepted, but have no effect: `theme`, `accent`, `head`, `layout`.'

/** `suffix`: of operations. `response`: part of the names of its responses in the document. */
const SURFACES = [
  {
    prefix: '/data',
    tag: 'Data',
    suffix: '',
    form: 'as JSON',
    description: `${LOOK_HAS_NO_EFFECT} Only \`layout=inline\` of a box sends a single offer.`,
    response: 'Data',
  },
  {
    prefix: '/fragments',
    tag: 'Fragments',
    suffix: 'Fragment',
    form: 'as HTML to include',
    description: 'The bytes never depend on request headers.',
    response: 'Html',
  },
  {
    prefix: '/embeds',
    tag: 'Embeds',
    suffix: 'Embed',
    form: 'as a page for an iframe',
    description: 'Only the site of the channel and those of `VITRINE_FRAME_ANCESTORS` may frame it.',
    response: 'Html',
  },
  {
    prefix: '/mail',
    tag: 'Mail',
    suffix: 'Mail',
    form: 'as a table for newsletters',
    description: 'Only offers of networks that allow links in e-mail.',
    response: 'Html',
  },
] as const

function createWidgetPaths(): OpenApiDocument['paths'] {
  const paths: Record<string, Readonly<{ get: Operation }>> = {}
  for (const { prefix, tag, suffix, form, description, response } of SURFACES)
    for (const widget of WIDGETS)
      paths[`${prefix}${widget.path}`] = {
        get: {
          operationId: `get${widget.name}${suffix}`,
          tags: [tag],
          summary: `${widget.noun} ${form}`,
          description,
          parameters: listParameters(widget, prefix === '/fragments'),
          responses: createResponses(response === 'Data' ? `${widget.name}Data` : response, response),
        },
      }
  paths['/feeds/{channel}/deals.atom'] = { get: createFeedOperation() }
  return paths
}

function createFeedOperation(): Operation {
  return {
    operationId: 'getDealsFeed',
    tags: ['Feeds'],
    summary: 'Deals as an Atom feed',
    description: `Ids of entries never change, and titles have no prices. ${LOOK_HAS_NO_EFFECT}`,
    parameters: listParameters({ kind: 'deals', pathParameters: ['channel'] }, false),
    responses: createResponses('Feed', 'Feed'),
  }
}

function createResponses(success: string, prefix: string): Operation['responses'] {
  return {
    '200': toReference('responses', success),
    '304': toReference('responses', 'WidgetNotModified'),
    '400': toReference('responses', `${prefix}Error`),
    '404': toReference('responses', `${prefix}Error`),
    '503': toReference('responses', `${prefix}Unavailable`),
  }
}

function toReference(kind: keyof OpenApiDocument['components'], name: string): Reference {
  return { $ref: `#/components/${kind}/${name}` }
}

function listParameters(
  { kind, pathParameters }: Pick<WidgetDefinition, 'kind' | 'pathParameters'>,
  isFragment: boolean,
): readonly Reference[] {
  const options = listOptions(kind).filter(({ isFragmentOnly }) => isFragment || isFragmentOnly !== true)
  return [...pathParameters, ...options.map(toComponentName), 'IfNoneMatch'].map((name) =>
    toReference('parameters', name),
  )
}

/** Options of one name differ between widgets. */
function toComponentName({ name, widget }: OptionDefinition): string {
  return widget === 'all' ? name : `${widget}.${name}`
}

function createOptionParameters(): Readonly<Record<string, Json>> {
  return Object.fromEntries(OPTION_LIST.map((option) => [toComponentName(option), toParameter(option)]))
}

function toParameter({ name, control, default: value, defaultText, description }: OptionDefinition): Json {
  const sentence = `${description[0]?.toUpperCase() ?? ''}${description.slice(1)}.`
  const schema = toSchema(control)
  const isSameInAll = typeof value === 'string' || typeof value === 'number'
  return {
    name,
    in: 'query',
    description: isSameInAll ? sentence : `${sentence} Default: ${defaultText}.`,
    schema: isSameInAll ? { ...schema, default: value } : schema,
    ...(isRepeatable(control) && { style: 'form', explode: true }),
  }
}
