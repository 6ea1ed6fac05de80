import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { makeFolder, makeSettings, runInProcess } from './run-cli.ts'

describe('command line', () => {
  it.each([
    [['nonsense']],
    [['catalog', 'nonsense']],
    [['catalog', 'keys', 'nonsense']],
    [['serve', '--nonsense']],
    [['serve', 'extra']],
    [['sync', '--channel']],
    [['backup']],
    [['backup', 'one', 'two']],
    [['catalog', 'import']],
    [['catalog', 'keys', 'add']],
    [[]],
    [['catalog']],
  ])('%j - wrong usage - 64, message on standard error', async (args) => {
    const { code, out, err } = await runInProcess(args)
    expect([code, out]).toEqual([64, ''])
    expect(err).not.toBe('')
  })

  it.each([
    [['--help'], ['serve', 'sync', 'check', 'catalog']],
    [['help'], ['serve', 'sync', 'check', 'catalog']],
    [
      ['sync', '--help'],
      ['--channel', '--json'],
    ],
    [
      ['catalog', '--help'],
      ['serve', 'import', 'keys', 'channels'],
    ],
    [
      ['catalog', 'import', '--help'],
      ['--network', '--merchant', '--format', '--channel', '--json'],
    ],
  ])('%j - help - 0, on standard output, with %j', async (args, names) => {
    const { code, out, err } = await runInProcess(args, { VITRINE_PORT: 'not read for help' })
    expect([code, err]).toEqual([0, ''])
    for (const name of names) expect(out).toContain(name)
  })

  it.each(['serve', 'sync', 'check'])(
    '%s - bad settings - 78, with each name and no value, no standard output',
    async (word) => {
      const { code, out, err } = await runInProcess([word, '--json'], {
        VITRINE_PORT: 'hunter2port',
        VITRINE_TYPO: 'hunter2typo',
        VITRINE_CATALOG_KEY: 'hunter2key',
      })
      expect([code, out]).toEqual([78, ''])
      for (const name of ['VITRINE_PORT', 'VITRINE_TYPO', 'VITRINE_CATALOG_KEY', 'VITRINE_CONFIG_INVALID']) {
        expect(err).toContain(name)
      }
      expect(err).not.toContain('hunter2')
    },
  )
})

describe('command line, conventions', () => {
  it('--version - the version of package.json', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    expect(await runInProcess(['--version'])).toEqual({ code: 0, out: version, err: '' })
  })

  it('wrong usage - has the form of every error: problem, remedy and code', async () => {
    const { err } = await runInProcess(['frobnicate'])
    expect(err).toBe('vitrine: unknown command \'frobnicate\'; see "vitrine --help" (VITRINE_USAGE)\n')
  })

  it.each([
    [['catalog', 'chanels'], 'vitrine catalog', "unknown command 'chanels'; did you mean channels?"],
    [['catalog', 'keys', 'ad', 'x'], 'vitrine catalog keys', "unknown command 'ad'; did you mean add?"],
    [['catalog', 'keys', 'xyzzy'], 'vitrine catalog keys', "unknown command 'xyzzy';"],
    [['catalog', 'keys', 'list', 'x'], 'vitrine catalog keys list', 'too many arguments'],
    [['catalog', 'keys', 'add'], 'vitrine catalog keys add', "missing required argument 'name'"],
    [['catalog', 'import', 'f', '--chanel'], 'vitrine catalog import', 'did you mean --channel?'],
    [['serve', '--js\u001bon'], 'vitrine serve', '--js\ufffdon'],
  ])('%j - refers to %s --help, on one line', async (args, path, expected) => {
    const { code, out, err } = await runInProcess(args)
    expect([code, out]).toEqual([64, ''])
    expect(err).toContain(expected)
    expect(err).toMatch(/^[^\n]*\n$/)
    expect(err).toContain(` see "${path} --help" (VITRINE_USAGE)\n`)
  })

  it.each(['organizations', 'keys', 'channels', 'networks', 'merchants', 'approvals'])(
    '%s of a missing catalog - reports that, and creates none',
    async (command) => {
      const folder = makeFolder()
      const settings = makeSettings(folder, {
        VITRINE_CATALOG_DATABASE_URL: `sqlite:${folder}/mistyped/x.db`,
      })
      expect(await runInProcess(['catalog', command], settings)).toEqual({
        code: 0,
        out: '',
        err: expect.stringContaining(`there is no catalog at ${folder}/mistyped/x.db yet; `),
      })
      expect(await runInProcess(['catalog', command, '--json'], settings)).toMatchObject({
        code: 0,
        out: '[]',
      })
      expect(existsSync(`${folder}/mistyped`)).toBe(false)
    },
  )

  it('backup --help - has an example', async () => {
    expect((await runInProcess(['backup', '--help'])).out).toContain(
      'Examples:\n  vitrine backup backups/monday.db',
    )
  })

  it.each(['import', 'serve'])('catalog %s --help - has examples', async (word) => {
    const { out } = await runInProcess(['catalog', word, '--help'])
    expect(out).toContain('Examples:')
    expect(out).toContain(`vitrine catalog ${word}`)
  })
})
