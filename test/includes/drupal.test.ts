import { execFile } from 'node:child_process'
import { copyFile, cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../src/paths.ts'
import { type See, itIsAsTheTableSays, itKeepsAsTheTableSays } from './cases.ts'
import { type Place, openPlace } from './place.ts'
import { describeWithProgram } from './program.ts'
import { judgeBox } from './sight.ts'

const run = promisify(execFile)

const STUBS = join(PACKAGE_FOLDER, 'test/includes/drupal-stubs.php')

/** Notices would stand before the JSON, and make it none. */
const LOUD = ['-d', 'display_errors=1', '-d', 'error_reporting=-1']

type Build = Readonly<{
  '#markup'?: string
  '#cache': Readonly<{ 'max-age': number; contexts: readonly string[]; tags: readonly string[] }>
}>

/** Drupal itself is not run: the block of the module is, with stand-ins for the few classes that it extends and is given. */
describeWithProgram('php', 'Drupal', () => {
  let place: Place
  let module: string
  beforeAll(async () => {
    place = await openPlace()
    module = join(place.folder, 'vitrine')
    await cp(join(PACKAGE_FOLDER, 'integrations/drupal/vitrine'), module, { recursive: true })
    await copyFile(join(PACKAGE_FOLDER, 'integrations/php/vitrine.php'), join(module, 'vitrine.php'))
  })
  afterAll(() => place.dispose())

  type Page = Readonly<{ address: string; fields?: Readonly<Record<string, string>>; folder: string }>

  async function build({ address, fields = {}, folder }: Page): Promise<Build> {
    const configuration = JSON.stringify({ address, gtin_field: 'field_gtin' })
    const args = [
      ...LOUD,
      '-d',
      `sys_temp_dir=${folder}`,
      STUBS,
      module,
      configuration,
      JSON.stringify(fields),
    ]
    const { stdout } = await run('php', args)
    return JSON.parse(stdout) as Build
  }
  async function newFolder(): Promise<string> {
    const folder = join(place.folder, place.nextName())
    await mkdir(folder)
    return folder
  }
  async function addPage(): Promise<See> {
    const page = { address: place.gate.origin + place.path, folder: await newFolder() }
    return async () => judgeBox((await build(page))['#markup'] ?? '')
  }

  itIsAsTheTableSays('Drupal, recommended', { gate: () => place.gate, open: async () => (await addPage())() })
  itKeepsAsTheTableSays('Drupal', { isSettledAtOnce: true, gate: () => place.gate, open: addPage })

  it('the block - the GTIN in a field of the page - asks for it, and varies by page', async () => {
    await place.gate.setMode('shown')
    const [channel, gtin = ''] = place.path.split('/where-to-buy/')
    const address = `${place.gate.origin}${channel}/where-to-buy/{gtin}`
    const built = await build({ address, fields: { field_gtin: ` ${gtin} ` }, folder: await newFolder() })
    expect(judgeBox(built['#markup'] ?? '')).toBe('box')
    expect(built['#cache']).toEqual({ 'max-age': 60, contexts: ['route'], tags: ['node:1'] })
  })

  it.each([{}, { field_gtin: '' }])(
    'the block - a page without a GTIN: %j - asks for nothing',
    async (fields) => {
      const before = place.gate.requests.length
      const address = `${place.gate.origin}/fragments/x/where-to-buy/{gtin}`
      const built = await build({ address, fields, folder: await newFolder() })
      expect(built).toEqual({ '#cache': expect.objectContaining({ 'max-age': 60 }) })
      expect(place.gate.requests.length).toBe(before)
    },
  )

  it('the block - PHP checks its syntax - finds none wrong', async () => {
    const { stdout } = await run('php', ['-l', join(module, 'src/Plugin/Block/VitrineBlock.php')])
    expect(stdout).toContain('No syntax errors')
  })
})
