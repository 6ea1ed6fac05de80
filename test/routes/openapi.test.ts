import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { PACKAGE_FOLDER, VERSION } from '../../src/lib/files.ts'
import { removeSubSlots } from '../../src/lib/sub-template.ts'
import { PICTURE_WIDTHS } from '../../src/offers/pictures.ts'
import { createOpenApiDocument } from '../../src/routes/openapi.ts'
import { FIRST_SEGMENTS } from '../../src/routes/requests.ts'
import { WIDGET_PATHS } from '../../src/routes/widget-routes.ts'
import { GALLERY_CASES } from '../../src/studio/gallery/cases.ts'
import { LAYOUTS, createExample, hasExample, toLayoutId } from '../../src/studio/gallery/examples.ts'
import { toWidgetJson } from '../../src/widgets/json.ts'
import { OPTION_LIST } from '../../src/widgets/option-list.ts'
import { DOCUMENT, findValueProblems } from '../app/public-api.ts'
import type { AnyView } from '../../src/widgets/view-models.ts'

/** On several lines: the validator treats a single line as a file name. */
const toText = (document: object): string => JSON.stringify(document, null, 2)

type Parameter = Readonly<{ name: string; in: string; schema: Record<string, unknown>; explode?: boolean }>

/** Return the parameters of an operation in the query, without the options of other widgets. */
function listOptions(path: string): Parameter[] {
  return (DOCUMENT.paths[path]?.get.parameters ?? [])
    .map((parameter) => DOCUMENT.components.parameters[String(parameter.$ref).split('/').at(-1) ?? ''])
    .map((parameter) => parameter as unknown as Parameter)
    .filter((parameter) => parameter.in === 'query')
}

describe('document', () => {
  test('OpenAPI 3.1 schema - is valid', async () => {
    const validator = new Validator()
    expect(await validator.validate(toText(DOCUMENT))).toMatchObject({ valid: true })
    expect(validator.version).toBe('3.1')
  })

  test('docs/publish/openapi.json - is the document, with the version of the package', () => {
    const copy = JSON.parse(
      readFileSync(join(PACKAGE_FOLDER, 'docs/publish/openapi.json'), 'utf8'),
    ) as unknown
    expect(copy).toEqual(JSON.parse(toText(DOCUMENT)))
    expect(DOCUMENT.info).toMatchObject({ version: VERSION, license: { identifier: 'MIT' } })
    expect(createOpenApiDocument('https://site.example/shops')).toMatchObject({
      servers: [{ url: 'https://site.example/shops' }],
    })
  })

  test('every reference - resolves, and every component is used', () => {
    const used = new Set(
      [...toText(DOCUMENT).matchAll(/"#\/components\/([\w/.-]+)"/g)].map(([, name]) => name),
    )
    const { parameters, headers, responses, schemas } = DOCUMENT.components
    const defined = Object.entries({ parameters, headers, responses, schemas }).flatMap(([kind, all]) =>
      Object.keys(all).map((name) => `${kind}/${name}`),
    )
    expect(used).toEqual(new Set(defined))
  })

  test('operations - have unique ids, and only those for the admin need a password', () => {
    const operations = Object.values(DOCUMENT.paths).map(({ get }) => get)
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
    const secured = operations.filter((operation) => 'security' in operation)
    expect(secured.map(({ operationId }) => operationId)).toEqual(['getReadiness', 'getMetrics', 'getEvents'])
  })

  test.each(['WhereToBuyData', 'PicksData', 'DealsData'])('example of %s - is valid', (name) => {
    const { content } = DOCUMENT.components.responses[name] as unknown as {
      content: { 'application/json': { example: unknown } }
    }
    const { example } = content['application/json']
    expect(example).toMatchObject({ state: 'shown' })
    expect(findValueProblems({ $ref: `#/components/schemas/${name}` }, example)).toEqual([])
  })

  test('widths of pictures - are those of the server', () => {
    expect(DOCUMENT.components.parameters['pictureWidth']).toMatchObject({
      schema: { enum: PICTURE_WIDTHS },
    })
  })
})

describe('options', () => {
  const kinds = { 'where-to-buy': '/where-to-buy/{gtin}', picks: '/picks/{gtins}', deals: '/deals' } as const

  test.each(
    ['/fragments', '/embeds', '/data', '/mail'].flatMap((prefix) =>
      (['where-to-buy', 'picks', 'deals'] as const).map((kind) => [prefix, kind] as const),
    ),
  )('%s, %s - are those of the list of options', (prefix, kind) => {
    const expected = OPTION_LIST.filter(
      ({ widget, isFragmentOnly }) =>
        (widget === 'all' || widget === kind) && (prefix === '/fragments' || isFragmentOnly !== true),
    )
    expect(listOptions(`${prefix}/{channel}${kinds[kind]}`).map(({ name }) => name)).toEqual(
      expected.map(({ name }) => name),
    )
  })

  test('feed - has the options of a grid', () => {
    expect(listOptions('/feeds/{channel}/deals.atom')).toEqual(listOptions('/data/{channel}/deals'))
  })

  test.each(OPTION_LIST.map((option) => [option.widget, option.name, option.example] as const))(
    '%s, %s - example %s - is valid, and repeated values are an array',
    (widget, name, example) => {
      const kind = widget === 'all' ? 'where-to-buy' : widget
      const parameter = listOptions(`/fragments/{channel}${kinds[kind]}`).find((one) => one.name === name)
      const values = new URLSearchParams(example).getAll(name)
      const { type } = parameter?.schema ?? {}
      const value = { array: values, integer: Number(values[0]) }[String(type)] ?? values[0]
      expect(findValueProblems(parameter?.schema ?? {}, value)).toEqual([])
      expect(parameter?.explode === true).toBe(type === 'array')
      expect(values.length > 1).toBe(['merchant', 'label'].includes(name))
    },
  )

  test('defaults - are values, or part of the description', () => {
    const parameters = listOptions('/data/{channel}/deals')
    const defaults = parameters.map(({ name, schema }) => [name, schema['default']] as const)
    expect(Object.fromEntries(defaults)).toMatchObject({ theme: 'auto', limit: 12, min_discount: 1, page: 1 })
    expect(toText(parameters)).toContain('Default: `VITRINE_LOCALE`.')
  })
})

/** Pages for people, and the icon of them. */
const PAGES = new Set(['', 'studio', 'demo', 'favicon.ico'])

const toFirstSegment = (path: string): string => path.split('/')[1] ?? ''
/** `/go/:channel` and `/go/{channel}` have the same shape. */
const toShape = (path: string): string => path.replaceAll(/[^/]*[:{][^/]*/g, '*')

describe('addresses', () => {
  const sources = readdirSync(join(PACKAGE_FOLDER, 'src/routes')).map((file) =>
    readFileSync(join(PACKAGE_FOLDER, 'src/routes', file), 'utf8'),
  )
  const routes = sources.flatMap((source) =>
    [...source.matchAll(/\brouter\.get\(\s*'(\/[^']*)'/g)].map(([, path = '']) => path),
  )
  const widgetRoutes = ['/fragments', '/embeds', '/data', '/mail'].flatMap((prefix) =>
    Object.values(WIDGET_PATHS).map((path) => `${prefix}${path.replace('{/*gtin}', '/:gtin')}`),
  )

  test('routes of the app - are the paths of the document', () => {
    expect(routes.length).toBeGreaterThan(12)
    const documented = [...routes, ...widgetRoutes, '/feeds/:channel/deals.atom'].filter(
      (path) => !PAGES.has(toFirstSegment(path)),
    )
    expect(new Set(Object.keys(DOCUMENT.paths).map(toShape))).toEqual(new Set(documented.map(toShape)))
  })

  test('first segments below a prefix - are those of the document', () => {
    expect(new Set(Object.keys(DOCUMENT.paths).map(toFirstSegment))).toEqual(
      new Set(FIRST_SEGMENTS.filter((name) => !PAGES.has(name))),
    )
  })
})

function toJson(example: AnyView): Readonly<{ schema: string; json: object }> {
  if (example.kind === 'deals') return { schema: 'DealsData', json: toWidgetJson(example, null) }
  if (example.kind === 'picks') return { schema: 'PicksData', json: toWidgetJson(example, null) }
  return { schema: 'WhereToBuyData', json: toWidgetJson(example, 'a reason') }
}

describe('JSON of the gallery', () => {
  test.each(LAYOUTS.map((layout) => [toLayoutId(layout), layout] as const))(
    '%s - every case and two languages - has exactly the documented properties',
    (_id, layout) => {
      for (const entry of GALLERY_CASES.filter((one) => hasExample(layout, one)))
        for (const locale of ['en', 'ar']) {
          const details = {
            publicUrl: 'https://widgets.example',
            stylePath: '/a.css',
            theme: 'auto',
            locale,
          } as const
          const { schema, json } = toJson(createExample(layout, entry, details))
          const value = JSON.parse(removeSubSlots(JSON.stringify(json))) as unknown
          const problems = findValueProblems({ $ref: `#/components/schemas/${schema}` }, value)
          expect(problems, `${entry.id} ${JSON.stringify(value)}`).toEqual([])
        }
    },
  )
})
