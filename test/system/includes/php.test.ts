import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import {
  type Reload,
  itMatchesColdTable,
  itMatchesCachedTable,
  itExpiresAfterStaleIfError,
  itDropsVisitorHeaders,
  openShown,
} from './outage-cases.ts'
import type { PageRoute } from './fault-proxy.ts'
import { type IncludeFixture, createIncludeFixture } from './include-fixture.ts'
import { describeWithProgram, findFreePort, findProgram, startProgram } from './program.ts'
import { readRecipe } from './recipe.ts'
import { classifyBox, classifyPage, toHostPage, fetchOutcome } from './page-outcome.ts'

const run = promisify(execFile)

const HELPER = join(PACKAGE_FOLDER, 'integrations/php/vitrine.php')

/** Print errors into the page, as many servers do. */
const SHOW_ERRORS = ['-d', 'display_errors=1', '-d', 'error_reporting=-1', '-d', 'log_errors=0']

/** The helper uses curl if PHP has it, otherwise PHP streams. */
const BUILDS = [
  { name: 'with curl', args: [] },
  { name: 'without curl', args: ['-n'] },
]

/** Only root can create a folder for another user. */
const IS_ROOT = process.getuid?.() === 0
const OTHER_USER = 33

describeWithProgram('php', 'PHP', () => {
  let fixture: IncludeFixture
  beforeAll(async () => {
    fixture = await createIncludeFixture()
    await mkdir(join(fixture.folder, 'pages'))
  })
  afterAll(() => fixture.dispose())

  async function startPhp(args: readonly string[]): Promise<string> {
    const port = await findFreePort()
    const server = ['-S', `127.0.0.1:${port}`, '-t', join(fixture.folder, 'pages')]
    const env = { PHP_CLI_SERVER_WORKERS: '6' }
    fixture.stopLater(
      await startProgram({ command: 'php', args: [...args, ...SHOW_ERRORS, ...server], port, env }),
    )
    return `http://127.0.0.1:${port}`
  }

  const newFolder = (): string => join(fixture.folder, fixture.nextName())

  async function writePage(code: string): Promise<string> {
    const name = `${fixture.nextName()}.php`
    await writeFile(join(fixture.folder, 'pages', name), toHostPage(code))
    return name
  }

  /** The recipe with a separate folder per page, so that pages do not share failures. */
  const toCode = (folder: string, url = fixture.faultProxy.origin + fixture.path): string =>
    readRecipe({ heading: 'PHP', language: 'php' }, [
      ["__DIR__ . '/vitrine.php'", `'${HELPER}'`],
      ['https://widgets.example/fragments/CHANNEL/where-to-buy/GTIN', url],
      ['/var/cache/vitrine', folder],
    ])

  describe('example of the PHP manual', () => {
    let origin: string
    beforeAll(async () => {
      origin = await startPhp([])
    })
    itMatchesColdTable('PHP, plain', {
      fixture: () => fixture,
      open: async (route) => {
        const url = `${fixture.faultProxy.origin}${fixture.path}?page=${route.name}`
        const page = await writePage(`<?= file_get_contents('${url}') ?>`)
        return fetchOutcome(`${origin}/${page}`, {}, route.hangTimeout())
      },
    })
  })

  describe.each(BUILDS)('vitrine.php $name', ({ args }) => {
    let origin: string
    beforeAll(async () => {
      origin = await startPhp(args)
    })
    async function addPage(folder = newFolder(), path = fixture.path, route?: PageRoute): Promise<Reload> {
      const name = await writePage(toCode(folder, fixture.faultProxy.origin + path))
      return (headers) => fetchOutcome(`${origin}/${name}`, headers, route?.hangTimeout())
    }
    const cachingConsumer = {
      fixture: () => fixture,
      open: (route: PageRoute) => addPage(newFolder(), `${fixture.path}?page=${route.name}`, route),
    }

    itMatchesColdTable('PHP, recommended', {
      fixture: () => fixture,
      open: async (route) => (await cachingConsumer.open(route))(),
    })
    if (args.length === 0) itMatchesCachedTable('PHP', cachingConsumer)
    itExpiresAfterStaleIfError('PHP', cachingConsumer, 'nothing')
    itDropsVisitorHeaders('PHP', cachingConsumer)

    it.each(['text', 'drip', 'large'] as const)(
      'vitrine.php - the server responds with %s - shows nothing',
      async (mode) => {
        await fixture.faultProxy.setMode(mode)
        expect(await (await addPage())()).toBe('nothing')
      },
    )

    it('vitrine.php - a round-up with labels - is shown, and its address is unchanged', async () => {
      await fixture.faultProxy.setMode('shown')
      const path = `${fixture.roundUpPath}?label=Best%20overall&label=&sub=p1`
      expect(await (await addPage(newFolder(), path))()).toBe('box')
      expect(fixture.faultProxy.requests.at(-1)?.url).toBe(path)
    })

    it('vitrine.php - many visitors of a stale box - one request, all see the box', async () => {
      fixture.faultProxy.setMaxAge(1)
      await fixture.faultProxy.setMode('shown')
      const reload = await openShown({ open: () => addPage() })
      const freshUntilMs = Date.now() + 2000
      await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(freshUntilMs))
      await fixture.faultProxy.setMode('hang')
      const before = fixture.faultProxy.requests.length
      const seen = await Promise.all(Array.from({ length: 5 }, () => reload()))
      expect(seen).toEqual(Array.from({ length: 5 }, () => 'box'))
      expect(fixture.faultProxy.requests.length - before).toBe(1)
    })

    it('vitrine.php - the server failed for one box - sends no request for another', async () => {
      await fixture.faultProxy.setMode('500')
      const folder = newFolder()
      expect(await (await addPage(folder))()).toBe('nothing')
      const before = fixture.faultProxy.requests.length
      await fixture.faultProxy.setMode('shown')
      expect(await (await addPage(folder, `${fixture.path}?limit=2`))()).toBe('nothing')
      expect(fixture.faultProxy.requests.length).toBe(before)
    })

    it('vitrine.php - an error in one address - other boxes still appear', async () => {
      await fixture.faultProxy.setMode('shown')
      const folder = newFolder()
      expect(await (await addPage(folder, `${fixture.path}?limit=0`))()).toBe('nothing')
      expect(await (await addPage(folder))()).toBe('box')
    })

    it('vitrine.php - a folder that cannot be created - the box is fetched each time, without warnings', async () => {
      await fixture.faultProxy.setMode('shown')
      expect(await (await addPage('/dev/null/boxes'))()).toBe('box')
      await fixture.faultProxy.setMode('500')
      expect(await (await addPage('/dev/null/boxes'))()).toBe('nothing')
    })

    it('vitrine.php - an error handler that throws - does not break the page', async () => {
      await fixture.faultProxy.setMode('down')
      const strict = '<?php set_error_handler(static function () { throw new Exception("STRICT"); }); ?>'
      const page = await writePage(strict + toCode(newFolder()))
      expect(await fetchOutcome(`${origin}/${page}`)).toBe('nothing')
    })

    it('vitrine.php - an invalid address - shows nothing, and creates no file', async () => {
      const folder = newFolder()
      for (const url of ['', 'file:///etc/passwd', '/fragments/x', 'php://filter/resource=/etc/passwd']) {
        const page = await writePage(toCode(folder, url))
        expect(await fetchOutcome(`${origin}/${page}`)).toBe('nothing')
      }
      await expect(readdir(folder)).rejects.toThrow('ENOENT')
    })
  })

  /** List the boxes that the helper stores in a folder of another user. */
  async function listStoredBoxes(folder: string, argument: string): Promise<readonly string[]> {
    await fixture.faultProxy.setMode('shown')
    await mkdir(folder, { recursive: true })
    await chown(folder, OTHER_USER, OTHER_USER)
    const code = `require '${HELPER}'; echo vitrine_box('${fixture.faultProxy.origin}${fixture.path}'${argument});`
    const { stdout } = await run('php', [...SHOW_ERRORS, '-d', `sys_temp_dir=${dirname(folder)}`, '-r', code])
    expect(classifyBox(stdout)).toBe('box')
    return (await readdir(folder)).filter((name) => name.endsWith('.box'))
  }

  it.skipIf(!IS_ROOT)(
    'vitrine.php - a folder of another user in the temporary folder - is not used',
    async () => {
      expect(await listStoredBoxes(join(newFolder(), 'vitrine-0'), '')).toEqual([])
    },
  )

  it.skipIf(!IS_ROOT)('vitrine.php - a given folder of another user - is used', async () => {
    const folder = newFolder()
    expect(await listStoredBoxes(folder, `, '${folder}'`)).toHaveLength(1)
  })

  /** List the boxes that PHP stores without the posix extension and without a given folder. */
  async function listBoxesWithoutPosix(folder: string): Promise<readonly string[]> {
    await fixture.faultProxy.setMode('shown')
    const bare = ['-d', 'disable_functions=posix_geteuid', '-d', `sys_temp_dir=${folder}`]
    const code = `require '${HELPER}'; echo vitrine_box('${fixture.faultProxy.origin}${fixture.path}');`
    const { stdout } = await run('php', [...SHOW_ERRORS, ...bare, '-r', code])
    expect(classifyBox(stdout)).toBe('box')
    return (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.box'))
  }

  it.skipIf(!IS_ROOT)(
    'vitrine.php, without posix - existing folders of another user - are not used',
    async () => {
      const folder = newFolder()
      for (const name of ['vitrine-0', 'vitrine-php']) {
        await mkdir(join(folder, name), { recursive: true })
        await chown(join(folder, name), OTHER_USER, OTHER_USER)
        await chmod(join(folder, name), 0o777)
      }
      expect(await listBoxesWithoutPosix(folder)).toEqual([])
    },
  )

  it('vitrine.php, without posix - its own folder - is used', async () => {
    const folder = newFolder()
    await mkdir(folder)
    const stored = await listBoxesWithoutPosix(folder)
    expect(stored).toHaveLength(1)
    expect(await listBoxesWithoutPosix(folder)).toEqual(stored)
    expect(dirname(stored[0] ?? '')).toBe(`vitrine-${String(process.getuid?.())}`)
    // The file that revealed the user of the process was removed.
    expect(await readdir(folder)).toHaveLength(1)
  })

  it('vitrine.php - old files in a given folder - its own are removed, others stay', async () => {
    const folder = newFolder()
    await mkdir(folder)
    const [old, name] = [new Date(Date.now() - 3 * 86_400_000), 'a'.repeat(64)]
    const ours = ['.box', '.retry', '.lock', '.pause', '.box.123-456'].map((end) => name + end)
    const theirs = ['config.php', `${name}.php`, `${name}.box.php`, `b${name}.box`, 'notes.box']
    for (const file of [...ours, ...theirs]) {
      await writeFile(join(folder, file), 'x')
      await utimes(join(folder, file), old, old)
    }
    const recent = `${'b'.repeat(64)}.box`
    await writeFile(join(folder, recent), 'x')
    await run('php', [...SHOW_ERRORS, '-r', `require '${HELPER}'; vitrine_sweep('${folder}');`])
    expect((await readdir(folder)).sort()).toEqual([recent, ...theirs].sort())
  })

  it('vitrine.php - has valid PHP syntax', async () => {
    expect((await run('php', ['-l', HELPER])).stdout).toContain('No syntax errors')
  })

  it.skipIf(findProgram('php-cgi') === undefined)(
    'vitrine.php - as a CGI program - shows the box',
    async () => {
      await fixture.faultProxy.setMode('shown')
      const name = await writePage(toCode(join(fixture.folder, 'cgi')))
      const page = join(fixture.folder, 'pages', name)
      const env = { PATH: '', REDIRECT_STATUS: '200', SCRIPT_FILENAME: page, REQUEST_METHOD: 'GET' }
      const { stdout } = await run(findProgram('php-cgi') ?? '', SHOW_ERRORS, { env })
      expect(classifyPage(Buffer.from(stdout))).toBe('box')
    },
  )
})
