import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'
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

/** Everything that goes wrong is written into the page, as on many a publisher's server. */
const LOUD = ['-d', 'display_errors=1', '-d', 'error_reporting=-1', '-d', 'log_errors=0']

/** The helper fetches with curl where PHP has it, and with PHP's own streams where it has not. */
const BUILDS = [
  { name: 'with curl', args: [] },
  { name: 'without curl', args: ['-n'] },
]

/** Only root can make a folder that is another user's. */
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
    fixture.stopLater(await startProgram({ command: 'php', args: [...args, ...LOUD, ...server], port, env }))
    return `http://127.0.0.1:${port}`
  }

  const newFolder = (): string => join(fixture.folder, fixture.nextName())

  async function writePage(code: string): Promise<string> {
    const name = `${fixture.nextName()}.php`
    await writeFile(join(fixture.folder, 'pages', name), toHostPage(code))
    return name
  }

  /** The recipe with a folder of its own for each page, so that no page knows of another one's failures. */
  const toCode = (folder: string, url = fixture.faultProxy.origin + fixture.path): string =>
    readRecipe({ heading: 'PHP', language: 'php' }, [
      ["__DIR__ . '/vitrine.php'", `'${HELPER}'`],
      ['https://widgets.example/fragments/CHANNEL/where-to-buy/GTIN', url],
      ['/var/cache/vitrine', folder],
    ])

  describe('as in the manual', () => {
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

    it.each(['text', 'drip'] as const)(
      'vitrine.php - the server answers %s - nothing is seen',
      async (mode) => {
        await fixture.faultProxy.setMode(mode)
        expect(await (await addPage())()).toBe('nothing')
      },
    )

    it('vitrine.php - many visitors of a box that is no longer fresh - one asks, all see the box', async () => {
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

    it('vitrine.php - a server that failed for one box - is not asked for another', async () => {
      await fixture.faultProxy.setMode('500')
      const folder = newFolder()
      expect(await (await addPage(folder))()).toBe('nothing')
      const before = fixture.faultProxy.requests.length
      await fixture.faultProxy.setMode('shown')
      expect(await (await addPage(folder, `${fixture.path}?limit=2`))()).toBe('nothing')
      expect(fixture.faultProxy.requests.length).toBe(before)
    })

    it('vitrine.php - a mistake in one address - does not keep the other boxes away', async () => {
      await fixture.faultProxy.setMode('shown')
      const folder = newFolder()
      expect(await (await addPage(folder, `${fixture.path}?limit=0`))()).toBe('nothing')
      expect(await (await addPage(folder))()).toBe('box')
    })

    it('vitrine.php - a folder that cannot be made - the box is fetched each time, and nothing is said', async () => {
      await fixture.faultProxy.setMode('shown')
      expect(await (await addPage('/dev/null/boxes'))()).toBe('box')
      await fixture.faultProxy.setMode('500')
      expect(await (await addPage('/dev/null/boxes'))()).toBe('nothing')
    })

    it('vitrine.php - a handler that throws at every notice - does not break the page', async () => {
      await fixture.faultProxy.setMode('down')
      const strict = '<?php set_error_handler(static function () { throw new Exception("STRICT"); }); ?>'
      const page = await writePage(strict + toCode(newFolder()))
      expect(await fetchOutcome(`${origin}/${page}`)).toBe('nothing')
    })

    it('vitrine.php - what is no address - is nothing, and leaves no file', async () => {
      const folder = newFolder()
      for (const url of ['', 'file:///etc/passwd', '/fragments/x', 'php://filter/resource=/etc/passwd']) {
        const page = await writePage(toCode(folder, url))
        expect(await fetchOutcome(`${origin}/${page}`)).toBe('nothing')
      }
      await expect(readdir(folder)).rejects.toThrow('ENOENT')
    })
  })

  /** What the helper leaves in a folder that belongs to somebody else. */
  async function listKept(folder: string, argument: string): Promise<readonly string[]> {
    await fixture.faultProxy.setMode('shown')
    await mkdir(folder, { recursive: true })
    await chown(folder, OTHER_USER, OTHER_USER)
    const code = `require '${HELPER}'; echo vitrine_box('${fixture.faultProxy.origin}${fixture.path}'${argument});`
    const { stdout } = await run('php', [...LOUD, '-d', `sys_temp_dir=${dirname(folder)}`, '-r', code])
    expect(classifyBox(stdout)).toBe('box')
    return (await readdir(folder)).filter((name) => name.endsWith('.box'))
  }

  it.skipIf(!IS_ROOT)(
    'vitrine.php - a folder that somebody else made in the temporary one - is not used',
    async () => {
      expect(await listKept(join(newFolder(), 'vitrine-0'), '')).toEqual([])
    },
  )

  it.skipIf(!IS_ROOT)(
    'vitrine.php - a folder that is named and belongs to somebody else - is used',
    async () => {
      const folder = newFolder()
      expect(await listKept(folder, `, '${folder}'`)).toHaveLength(1)
    },
  )

  /** What a PHP without its posix extension keeps, when it is told of no folder. */
  async function listKeptWithoutPosix(folder: string): Promise<readonly string[]> {
    await fixture.faultProxy.setMode('shown')
    const bare = ['-d', 'disable_functions=posix_geteuid', '-d', `sys_temp_dir=${folder}`]
    const code = `require '${HELPER}'; echo vitrine_box('${fixture.faultProxy.origin}${fixture.path}');`
    const { stdout } = await run('php', [...LOUD, ...bare, '-r', code])
    expect(classifyBox(stdout)).toBe('box')
    return (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.box'))
  }

  it.skipIf(!IS_ROOT)(
    'vitrine.php, without posix - folders that another user made beforehand - are not used',
    async () => {
      const folder = newFolder()
      for (const name of ['vitrine-0', 'vitrine-php']) {
        await mkdir(join(folder, name), { recursive: true })
        await chown(join(folder, name), OTHER_USER, OTHER_USER)
        await chmod(join(folder, name), 0o777)
      }
      expect(await listKeptWithoutPosix(folder)).toEqual([])
    },
  )

  it('vitrine.php, without posix - a folder of its own - is used', async () => {
    const folder = newFolder()
    await mkdir(folder)
    const kept = await listKeptWithoutPosix(folder)
    expect(kept).toHaveLength(1)
    expect(await listKeptWithoutPosix(folder)).toEqual(kept)
    expect(dirname(kept[0] ?? '')).toBe(`vitrine-${String(process.getuid?.())}`)
    // The file that tells whose process it is does not stay.
    expect(await readdir(folder)).toHaveLength(1)
  })

  it('vitrine.php - old files in a folder that was named - its own go, those of others stay', async () => {
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
    await run('php', [...LOUD, '-r', `require '${HELPER}'; vitrine_sweep('${folder}');`])
    expect((await readdir(folder)).sort()).toEqual([recent, ...theirs].sort())
  })

  it('vitrine.php - PHP checks its syntax - finds none wrong', async () => {
    expect((await run('php', ['-l', HELPER])).stdout).toContain('No syntax errors')
  })

  it.skipIf(findProgram('php-cgi') === undefined)(
    'vitrine.php - as a CGI program - shows the box',
    async () => {
      await fixture.faultProxy.setMode('shown')
      const name = await writePage(toCode(join(fixture.folder, 'cgi')))
      const page = join(fixture.folder, 'pages', name)
      const env = { PATH: '', REDIRECT_STATUS: '200', SCRIPT_FILENAME: page, REQUEST_METHOD: 'GET' }
      const { stdout } = await run(findProgram('php-cgi') ?? '', LOUD, { env })
      expect(classifyPage(Buffer.from(stdout))).toBe('box')
    },
  )
})
