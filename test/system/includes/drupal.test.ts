import { execFile } from 'node:child_process'
import { copyFile, cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { type Reload, itMatchesColdTable, itMatchesCachedTable } from './outage-cases.ts'
import type { PageRoute } from './fault-proxy.ts'
import { type IncludeFixture, createIncludeFixture } from './include-fixture.ts'
import { describeWithProgram } from './program.ts'
import { classifyBox } from './page-outcome.ts'

const run = promisify(execFile)

const STUBS = join(PACKAGE_FOLDER, 'test/system/includes/drupal-stubs.php')

/** Print notices, which make the JSON invalid, so that a test fails. */
const SHOW_ERRORS = ['-d', 'display_errors=1', '-d', 'error_reporting=-1']

type Build = Readonly<{
  '#markup'?: string
  '#cache': Readonly<{ 'max-age': number; contexts: readonly string[]; tags: readonly string[] }>
}>

type Texts = Readonly<Record<string, string>>

/** The output of the stubs. */
type StubOutput = Readonly<{
  built: Build
  form: Readonly<Record<string, Readonly<{ '#default_value': string; '#description': string }>>>
  configuration: Texts
  errors: Texts
}>

/** The block runs without Drupal, on stubs of the few classes that it uses. */
describeWithProgram('php', 'Drupal', () => {
  let fixture: IncludeFixture
  let module: string
  beforeAll(async () => {
    fixture = await createIncludeFixture()
    module = join(fixture.folder, 'vitrine')
    await cp(join(PACKAGE_FOLDER, 'integrations/drupal/vitrine'), module, { recursive: true })
    await copyFile(join(PACKAGE_FOLDER, 'integrations/php/vitrine.php'), join(module, 'vitrine.php'))
  })
  afterAll(() => fixture.dispose())

  type Page = Readonly<{
    configuration: Texts
    server?: string
    fields?: Texts
    sent?: Texts | null
    folder?: string
  }>

  async function runBlock({
    configuration,
    server,
    fields = {},
    sent = null,
    folder,
  }: Page): Promise<StubOutput> {
    const args = [
      ...SHOW_ERRORS,
      '-d',
      `sys_temp_dir=${folder ?? (await newFolder())}`,
      STUBS,
      module,
      server ?? fixture.faultProxy.origin,
      ...[configuration, fields, sent].map((value) => JSON.stringify(value)),
    ]
    const { stdout } = await run('php', args)
    return JSON.parse(stdout) as StubOutput
  }
  const build = async (page: Page): Promise<Build> => (await runBlock(page)).built
  async function newFolder(): Promise<string> {
    const folder = join(fixture.folder, fixture.nextName())
    await mkdir(folder)
    return folder
  }
  /** Return channel and GTIN of a box that is shown. */
  function readPath(): { channel: string; gtin: string } {
    const [, channel = '', gtin = ''] = /^\/fragments\/([^/]+)\/where-to-buy\/(\d+)$/.exec(fixture.path) ?? []
    return { channel, gtin }
  }
  async function addPage(route: PageRoute): Promise<Reload> {
    const page = {
      configuration: { ...readPath(), options: `page=${route.name}` },
      folder: await newFolder(),
    }
    return async () => classifyBox((await build(page))['#markup'] ?? '')
  }
  /** List the requests that the block sends to the server. */
  async function listRequests(page: Page): Promise<readonly string[]> {
    const before = fixture.faultProxy.requests.length
    await build(page)
    return fixture.faultProxy.requests.slice(before).map(({ url }) => url)
  }

  itMatchesColdTable('Drupal, recommended', {
    fixture: () => fixture,
    open: async (route) => (await addPage(route))(),
  })
  itMatchesCachedTable('Drupal', { isSynchronous: true, fixture: () => fixture, open: addPage })

  it('the block - the GTIN in a field of the page - requests its box, and varies by page', async () => {
    await fixture.faultProxy.setMode('shown')
    const { channel, gtin } = readPath()
    const configuration = { channel, gtin_field: 'field_gtin' }
    const built = await build({ configuration, fields: { field_gtin: ` ${gtin} ` } })
    expect(classifyBox(built['#markup'] ?? '')).toBe('box')
    expect(built['#cache']).toEqual({ 'max-age': 60, contexts: ['route'], tags: ['node:1'] })
  })

  it.each([{}, { field_gtin: '' }])(
    'the block - a page without a GTIN: %j - sends no request',
    async (fields) => {
      const { channel } = readPath()
      const page = { configuration: { channel, gtin_field: 'field_gtin' }, fields }
      expect(await listRequests(page)).toEqual([])
      expect(await build(page)).toEqual({ '#cache': expect.objectContaining({ 'max-age': 60 }) })
    },
  )

  it('the block - options without a GTIN - requests the deals', async () => {
    const { channel } = readPath()
    expect(await listRequests({ configuration: { channel, options: 'limit=4&theme=dark' } })).toEqual([
      `/fragments/${channel}/deals?limit=4&theme=dark`,
    ])
  })

  it('the block - variants, and a round-up in the block or in a field - requests them', async () => {
    const { channel } = readPath()
    const list = (configuration: Texts, fields?: Texts): Promise<readonly string[]> =>
      listRequests({ configuration: { channel, ...configuration }, fields: fields ?? {} })
    expect(await list({ gtin: '17~18' })).toEqual([`/fragments/${channel}/where-to-buy/17~18`])
    expect(await list({ gtin: '17,18', options: 'label=Best&label=&sub=home' })).toEqual([
      `/fragments/${channel}/picks/17,18?label=Best&label=&sub=home`,
    ])
    expect(await list({ gtin_field: 'field_gtin' }, { field_gtin: ' 17, 18 ,19' })).toEqual([
      `/fragments/${channel}/picks/17,18,19`,
    ])
  })

  it('the form - a round-up with spaces - is stored without them', async () => {
    const { channel } = readPath()
    const sent = { channel, gtin: ' 17, 18 ', gtin_field: '', options: '' }
    const { configuration, errors } = await runBlock({ configuration: {}, sent })
    expect([configuration['gtin'], errors]).toEqual(['17,18', {}])
  })

  it.each([
    ['another address in the channel', { channel: '../../studio' }],
    ['an address of a server', { channel: 'https://evil.example/fragments/x' }],
    ['a path in the GTIN', { gtin: '../../studio' }],
    ['a line break in the options', { options: 'a=b\r\nX: y' }],
  ])('the block - %s - sends no request', async (_case, change) => {
    expect(await listRequests({ configuration: { ...readPath(), ...change } })).toEqual([])
  })

  it.each([
    '',
    'widgets.example',
    'ftp://widgets.example',
    'https://user@widgets.example',
    'javascript:alert(1)',
  ])(
    'the block - an invalid server (%j) - sends no request, and its form shows the problem',
    async (server) => {
      const before = fixture.faultProxy.requests.length
      const { built, form } = await runBlock({
        configuration: readPath(),
        server: server === '' ? ' ' : server,
      })
      expect(built['#markup']).toBeUndefined()
      expect(form['channel']?.['#description']).toContain("$settings['vitrine_server'] in settings.php")
      expect(fixture.faultProxy.requests.length).toBe(before)
    },
  )

  it('the form - has no field for a server, and stores the submitted values', async () => {
    const { channel } = readPath()
    const sent = {
      channel: ` ${channel} `,
      gtin: '17',
      gtin_field: '',
      options: '',
      address: 'https://evil.example/',
    }
    const { form, configuration, errors } = await runBlock({ configuration: {}, sent })
    expect(Object.keys(form)).toEqual(['channel', 'gtin', 'gtin_field', 'options'])
    expect(configuration).toEqual({ channel, gtin: '17', gtin_field: '', options: '' })
    expect(errors).toEqual({})
  })

  it('the form - invalid channel, GTIN and options - are rejected', async () => {
    const sent = { channel: 'my channel', gtin: 'lamp', gtin_field: '', options: '#x' }
    const { errors } = await runBlock({ configuration: {}, sent })
    expect(Object.keys(errors)).toEqual(['channel', 'gtin', 'options'])
  })

  it('the block - has valid PHP syntax', async () => {
    const { stdout } = await run('php', ['-l', join(module, 'src/Plugin/Block/VitrineBlock.php')])
    expect(stdout).toContain('No syntax errors')
  })
})
