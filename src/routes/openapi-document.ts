import { readFileSync } from 'node:fs'
import { VERSION } from '../lib/paths.ts'
import type { WidgetKind } from '../widgets/address.ts'
import { OPTION_LIST, type OptionDefinition } from '../widgets/option-list.ts'
import {
  MAX_HEADING_CHARACTERS,
  MAX_LABELS,
  MAX_LABEL_CHARACTERS,
  MAX_NAMES,
  MAX_STAND_INS,
  MAX_TEXT_CHARACTERS,
  type OptionControl,
} from '../widgets/parameters.ts'

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

type WidgetDetails = Readonly<{
  kind: WidgetKind
  /** In names of operations. */
  name: string
  noun: string
  path: string
  pathParameters: readonly string[]
}>

const WIDGETS: readonly WidgetDetails[] = [
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
  { kind, pathParameters }: Pick<WidgetDetails, 'kind' | 'pathParameters'>,
  isFragment: boolean,
): readonly Reference[] {
  const options = OPTION_LIST.filter(
    ({ widget, isFragmentOnly = false }) =>
      (widget === 'all' || widget === kind) && (isFragment || !isFragmentOnly),
  )
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

function toParameter({ name, control, defaultText, description }: OptionDefinition): Json {
  const [, literal] = /^`?([\w-]+)`?$/.exec(defaultText) ?? []
  const defaultValue = findDefault(control, literal)
  const sentence = `${description[0]?.toUpperCase() ?? ''}${description.slice(1)}.`
  const schema = toSchema(control)
  return {
    name,
    in: 'query',
    description: defaultValue === undefined ? `${sentence} Default: ${defaultText}.` : sentence,
    schema: defaultValue === undefined ? schema : { ...schema, default: defaultValue },
    ...('items' in schema && { style: 'form', explode: true }),
  }
}

/** Return the default as a value of the control; `undefined` if it is a description. */
function findDefault(control: OptionControl, literal: string = ''): string | number | undefined {
  if (typeof control === 'string') return undefined
  if ('min' in control) return Number(literal)
  return control.includes(literal) ? literal : undefined
}

function toSchema(control: OptionControl): Json {
  if (typeof control === 'string') return TEXT_SCHEMAS[control]
  if ('min' in control) return { type: 'integer', minimum: control.min, maximum: control.max }
  return { type: 'string', enum: control }
}

/** Accept at least what the server accepts. */
const TEXT_SCHEMAS: Readonly<Record<Extract<OptionControl, string>, Json>> = {
  text: { type: 'string', maxLength: MAX_TEXT_CHARACTERS },
  heading: { type: 'string', maxLength: MAX_HEADING_CHARACTERS },
  color: { type: 'string', pattern: '^[0-9A-Fa-f]{6}$' },
  language: { type: 'string', maxLength: 35 },
  currency: { type: 'string', pattern: '^[A-Za-z]{3}$' },
  price: { type: 'string', pattern: String.raw`^\d{1,12}(\.\d{1,4})?$` },
  sub: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,32}$' },
  labels: {
    type: 'array',
    items: { type: 'string', maxLength: MAX_LABEL_CHARACTERS },
    maxItems: MAX_LABELS,
  },
  gtins: { type: 'string', pattern: String.raw`^\d{1,14}(,\d{1,14}){0,${MAX_STAND_INS - 1}}$` },
  shops: { type: 'array', items: { type: 'string', maxLength: MAX_TEXT_CHARACTERS }, maxItems: MAX_NAMES },
}
