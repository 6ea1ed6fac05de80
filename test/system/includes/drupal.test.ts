import { execFile } from 'node:child_process'
import { copyFile, cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'
import { type Reload, itMatchesColdTable, itMatchesCachedTable } from './outage-cases.ts'
import type { PageRoute } from './fault-proxy.ts'
import { type IncludeFixture, createIncludeFixture } from './include-fixture.ts'
import { describeWithProgram } from './program.ts'
import { classifyBox } from './page-outcome.ts'

const run = promisify(execFile)

const STUBS = join(PACKAGE_FOLDER, 'test/system/includes/drupal-stubs.php')

/** Notices would stand before the JSON, and make it none. */
const LOUD = ['-d', 'display_errors=1', '-d', 'error_reporting=-1']

type Build = Readonly<{
  '#markup'?: string
  '#cache': Readonly<{ 'max-age': number; contexts: readonly string[]; tags: readonly string[] }>
}>

type Texts = Readonly<Record<string, string>>

/** What the stubs print. */
type Seen = Readonly<{
  built: Build
  form: Readonly<Record<string, Readonly<{ '#default_value': string; '#description': string }>>>
  configuration: Texts
  errors: Texts
}>

/** Drupal itself is not run: the block of the module is, with stand-ins for the few classes that it extends and is given. */
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

  async function use({ configuration, server, fields = {}, sent = null, folder }: Page): Promise<Seen> {
    const args = [
      ...LOUD,
      '-d',
      `sys_temp_dir=${folder ?? (await newFolder())}`,
      STUBS,
      module,
      server ?? fixture.faultProxy.origin,
      ...[configuration, fields, sent].map((value) => JSON.stringify(value)),
    ]
    const { stdout } = await run('php', args)
    return JSON.parse(stdout) as Seen
  }
  const build = async (page: Page): Promise<Build> => (await use(page)).built
  async function newFolder(): Promise<string> {
    const folder = join(fixture.folder, fixture.nextName())
    await mkdir(folder)
    return folder
  }
  /** The channel and the GTIN of the box that the gate knows. */
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
  /** What the block asks of the server, by its settings. */
  async function findAsked(page: Page): Promise<readonly string[]> {
    const before = fixture.faultProxy.requests.length
    await build(page)
    return fixture.faultProxy.requests.slice(before).map(({ url }) => url)
  }

  itMatchesColdTable('Drupal, recommended', {
    fixture: () => fixture,
    open: async (route) => (await addPage(route))(),
  })
  itMatchesCachedTable('Drupal', { isSynchronous: true, fixture: () => fixture, open: addPage })

  it('the block - the GTIN in a field of the page - asks for it, and varies by page', async () => {
    await fixture.faultProxy.setMode('shown')
    const { channel, gtin } = readPath()
    const configuration = { channel, gtin_field: 'field_gtin' }
    const built = await build({ configuration, fields: { field_gtin: ` ${gtin} ` } })
    expect(classifyBox(built['#markup'] ?? '')).toBe('box')
    expect(built['#cache']).toEqual({ 'max-age': 60, contexts: ['route'], tags: ['node:1'] })
  })

  it.each([{}, { field_gtin: '' }])(
    'the block - a page without a GTIN: %j - asks for nothing',
    async (fields) => {
      const { channel } = readPath()
      const page = { configuration: { channel, gtin_field: 'field_gtin' }, fields }
      expect(await findAsked(page)).toEqual([])
      expect(await build(page)).toEqual({ '#cache': expect.objectContaining({ 'max-age': 60 }) })
    },
  )

  it('the block - options, and no GTIN at all - asks for the deals', async () => {
    const { channel } = readPath()
    expect(await findAsked({ configuration: { channel, options: 'limit=4&theme=dark' } })).toEqual([
      `/fragments/${channel}/deals?limit=4&theme=dark`,
    ])
  })

  it.each([
    ['another address in the channel', { channel: '../../studio' }],
    ['an address of a server', { channel: 'https://evil.example/fragments/x' }],
    ['a path in the GTIN', { gtin: '../../studio' }],
    ['a line break in the options', { options: 'a=b\r\nX: y' }],
  ])('the block - %s - asks for nothing', async (_what, change) => {
    expect(await findAsked({ configuration: { ...readPath(), ...change } })).toEqual([])
  })

  it.each([
    '',
    'widgets.example',
    'ftp://widgets.example',
    'https://user@widgets.example',
    'javascript:alert(1)',
  ])(
    'the block - the site names no server (%j) - asks for nothing, and its form says what is missing',
    async (server) => {
      const before = fixture.faultProxy.requests.length
      const { built, form } = await use({ configuration: readPath(), server: server === '' ? ' ' : server })
      expect(built['#markup']).toBeUndefined()
      expect(form['channel']?.['#description']).toContain("$settings['vitrine_server'] in settings.php")
      expect(fixture.faultProxy.requests.length).toBe(before)
    },
  )

  it('the form - no field for a server, and what it stores is what was sent', async () => {
    const { channel } = readPath()
    const sent = {
      channel: ` ${channel} `,
      gtin: '17',
      gtin_field: '',
      options: '',
      address: 'https://evil.example/',
    }
    const { form, configuration, errors } = await use({
      configuration: { address: 'https://old.example/' },
      sent,
    })
    expect(Object.keys(form)).toEqual(['channel', 'gtin', 'gtin_field', 'options'])
    expect(configuration).toEqual({ channel, gtin: '17', gtin_field: '', options: '' })
    expect(errors).toEqual({})
  })

  it('the form - what is no channel, no GTIN and no option - is refused', async () => {
    const sent = { channel: 'my channel', gtin: 'lamp', gtin_field: '', options: '#x' }
    const { errors } = await use({ configuration: {}, sent })
    expect(Object.keys(errors)).toEqual(['channel', 'gtin', 'options'])
  })

  describe('a block of an earlier version, with an address of its own', () => {
    it('of the server of the site - is shown as before, and its form has the parts', async () => {
      await fixture.faultProxy.setMode('shown')
      const { channel, gtin } = readPath()
      const address = `${fixture.faultProxy.origin.toUpperCase()}/fragments/${channel}/where-to-buy/{gtin}?theme=dark`
      const page = { configuration: { address, gtin_field: 'field_gtin' }, fields: { field_gtin: gtin } }
      expect(await findAsked(page)).toEqual([`/fragments/${channel}/where-to-buy/${gtin}?theme=dark`])
      const { form } = await use(page)
      expect(Object.values(form).map((field) => field['#default_value'])).toEqual([
        channel,
        '',
        'field_gtin',
        'theme=dark',
      ])
      const plain = {
        address: `${fixture.faultProxy.origin}/fragments/${channel}/where-to-buy/${gtin}`,
        gtin_field: 'x',
      }
      expect(await findAsked({ configuration: plain })).toEqual([
        `/fragments/${channel}/where-to-buy/${gtin}`,
      ])
      const grid = { address: `${fixture.faultProxy.origin}/fragments/${channel}/deals`, gtin_field: '' }
      expect(await findAsked({ configuration: grid })).toEqual([`/fragments/${channel}/deals`])
    })

    it('of another server - is not shown, and that server is not asked', async () => {
      await fixture.faultProxy.setMode('shown')
      const address = fixture.faultProxy.origin + fixture.path
      for (const server of [
        'https://widgets.example',
        `${fixture.faultProxy.origin}0`,
        `${fixture.faultProxy.origin}/prefix`,
        ' ',
      ])
        expect(await findAsked({ configuration: { address }, server })).toEqual([])
    })
  })

  it('the block - PHP checks its syntax - finds none wrong', async () => {
    const { stdout } = await run('php', ['-l', join(module, 'src/Plugin/Block/VitrineBlock.php')])
    expect(stdout).toContain('No syntax errors')
  })
})
