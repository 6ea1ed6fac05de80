import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { CATALOG_MIGRATIONS, USAGE_MIGRATIONS } from '../src/catalog-service/store/tables.ts'
import { SETTINGS } from '../src/config/settings.ts'
import * as errors from '../src/errors.ts'
import { PACKAGE_FOLDER } from '../src/lib/files.ts'
import { createMetrics } from '../src/observability/metrics.ts'
import { COPY_MIGRATIONS } from '../src/storage/tables.ts'
import { createOpenApiDocument } from '../src/routes/openapi.ts'
import { OPTION_LIST } from '../src/widgets/option-list.ts'
import { BOX, BOX_EMBED, fetchPath, startHarness, useWalkedCopy } from './app/app-client.ts'
import { runInProcess } from './cli/run-cli.ts'

/** What docs/operate/releases.md promises for all versions 1.x: names by kind. */
const FILE = join(PACKAGE_FOLDER, 'test/stability.json')

// oxlint-disable-next-line node/no-process-env -- how the tests run, not a setting
const IS_UPDATE = process.env['STABILITY'] === 'update'

type Names = readonly string[]

const getHarness = useWalkedCopy()

/** In the response of an address that does not exist. */
const UNKNOWN = 'no such address'

const read = (path: string): string => readFileSync(join(PACKAGE_FOLDER, path), 'utf8')

const findAll = (text: string, pattern: RegExp): Names =>
  [...text.matchAll(pattern)].map(([, name = '']) => name)

/** Options by widget, and the words that they accept: `where-to-buy layout=list`. */
function listOptions(): Names {
  return OPTION_LIST.flatMap(({ name, widget, control }) =>
    Array.isArray(control)
      ? control.map((word) => `${widget} ${name}=${String(word)}`)
      : [`${widget} ${name}`],
  )
}

function listMetrics(): Names {
  const metrics = createMetrics().registry.getMetricsAsArray() as unknown as readonly {
    name: string
    labelNames: Names
  }[]
  return metrics.flatMap(({ name, labelNames }) =>
    name.startsWith('vitrine_') ? [[name, ...labelNames].join(' ')] : [],
  )
}

/** Classes that the documentation names and the style sheet has. */
function listClasses(): Names {
  const styles = new Set(findAll(read('public/styles/vitrine.css'), /\.(vitrine[a-z-]*)/g))
  return findAll(read('docs/publish/styling.md'), /`\.(vitrine[a-z-]*)/g).filter((name) => styles.has(name))
}

/** Read commands, arguments and options from the help, from the top command down. */
async function listCommands(path: Names = []): Promise<Names> {
  const { out } = await runInProcess([...path, '--help'])
  const [own = '', commands = ''] = out.split(/\nExamples:/)[0]?.split(/\nCommands:\n/) ?? []
  const names = findAll(commands, /^ {2}([a-z][a-z-]*)/gm).filter((name) => name !== 'help')
  const flags = findAll(own.split('\nGlobal Options:')[0] ?? '', /^ {2}(?:-\w, )?(--[a-z-]+)/gm)
  const command = ['vitrine', ...path].join(' ')
  const nested = await Promise.all(names.map((name) => listCommands([...path, name])))
  return [
    command,
    ...flags.filter((flag) => flag !== '--help').map((flag) => `${command} ${flag}`),
    ...nested.flat(),
  ]
}

function listMigrations(): Names {
  const stores = {
    copy: COPY_MIGRATIONS,
    catalog: CATALOG_MIGRATIONS,
    'catalog usage': USAGE_MIGRATIONS,
  }
  return Object.entries(stores).flatMap(([store, migrations]) =>
    Object.keys(migrations).map((name) => `${store} ${name}`),
  )
}

type Schema = Readonly<{
  type?: string | Names
  $ref?: string
  oneOf?: readonly Schema[]
  properties?: Readonly<Record<string, Schema>>
}>

function describeType({ type = [], $ref = '', oneOf = [] }: Schema): string {
  return [type, $ref.split('/').at(-1) ?? '', oneOf.map(describeType)]
    .flat(2)
    .filter((name) => name !== '')
    .join('|')
}

/** Properties of the JSON with their types: `OfferJson.link string`. */
function listProperties(): Names {
  const { schemas } = createOpenApiDocument('https://widgets.example').components
  return Object.entries(schemas as Record<string, Schema>).flatMap(([schema, { properties = {} }]) =>
    Object.entries(properties).map(([name, property]) => `${schema}.${name} ${describeType(property)}`),
  )
}

/** Names of functions in generated clients. */
function listOperations(): Names {
  const { paths } = createOpenApiDocument('https://widgets.example')
  return Object.values(paths).map(({ get }) => get.operationId)
}

/** Headers of a widget that other programs read. */
async function listHeaders(): Promise<Names> {
  const responses = await Promise.all(
    [BOX, BOX_EMBED, BOX.replace(/\d+$/, '4006381333931')].map((path) => fetchPath(getHarness(), path)),
  )
  return responses.flatMap(({ headers }) =>
    Object.keys(headers).filter((name) => /^(?:vitrine-|cache-|etag|vary)/.test(name)),
  )
}

const LISTS: Readonly<Record<string, () => Names | Promise<Names>>> = {
  settings: () => Object.keys(SETTINGS),
  options: listOptions,
  customProperties: () => findAll(read('public/styles/vitrine.css'), /var\(\s*(--vitrine-[a-z-]+)/g),
  classes: listClasses,
  frameMessages: () => findAll(read('src/browser/messages.ts'), /PROTOCOL_VERSION; type: '(\w+)'/g),
  domEvents: () => findAll(read('src/browser/click-event.ts'), /new CustomEvent\('([\w:]+)'/g),
  headers: listHeaders,
  metrics: listMetrics,
  commands: () => listCommands(),
  errorCodes: () => Object.values(errors).flatMap((error) => ('code' in error ? [error.code] : [])),
  migrations: listMigrations,
  operations: listOperations,
  properties: listProperties,
}

const promised = JSON.parse(read('test/stability.json')) as Record<string, Names>

/** With `STABILITY=update`, add what is new to the file; nothing is removed. */
beforeAll(async () => {
  if (!IS_UPDATE) return
  for (const [kind, list] of Object.entries(LISTS))
    promised[kind] = [...new Set([...(promised[kind] ?? []), ...(await list())])].toSorted()
  writeFileSync(FILE, `${JSON.stringify(promised, null, 2)}\n`)
})

test.each(Object.keys(LISTS))('%s - none that was released is missing', async (kind) => {
  const names = new Set(await LISTS[kind]?.())
  expect(names.size).toBeGreaterThan(0)
  expect((promised[kind] ?? []).filter((name) => !names.has(name))).toEqual([])
})

test('addresses - each is served', async () => {
  const harness = await startHarness({ settings: { VITRINE_ADMIN_PASSWORD: 'studio-password' } })
  const [, , channel = '', , gtin = ''] = BOX.split('/')
  const authorization = `Basic ${Buffer.from('admin:studio-password').toString('base64')}`
  const unknown: string[] = []
  for (const address of promised['addresses'] ?? []) {
    const path = address.replace('{channel}', channel).replaceAll('{gtin}', gtin)
    const { text } = await fetchPath(harness, path, { authorization })
    if (text.includes(UNKNOWN)) unknown.push(address)
  }
  expect(unknown).toEqual([])
  const others = ['/nonsense', `/fragments/${channel}/nonsense`, `/embeds/${channel}/nonsense`]
  for (const path of others) expect((await fetchPath(harness, path)).text).toContain(UNKNOWN)
})
