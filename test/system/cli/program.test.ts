import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { makeFolder, makeSettings, runBuilt } from '../../cli/run-cli.ts'

describe('built command line', () => {
  it('reader that closes the output early - the command ends without an error message', async () => {
    const child = spawn(process.execPath, ['dist/main.js', 'help'], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    let err = ''
    child.stderr.on('data', (chunk) => (err += String(chunk)))
    const [code] = (await once(child, 'exit')) as [number | null]
    expect([code, err]).toEqual([0, ''])
  })

  it('help - 0', async () => {
    expect(await runBuilt(['--help'], {})).toMatchObject({ code: 0, err: '' })
  })

  it('unknown command - 64', async () => {
    expect(await runBuilt(['nonsense'], {})).toMatchObject({ code: 64, out: '' })
  })

  it('move in a folder without databases - 64, nothing to move', async () => {
    const environment = { VITRINE_DATABASE_URL: 'postgres://vitrine@127.0.0.1:1/vitrine' }
    expect(await runBuilt(['move'], environment, makeFolder())).toMatchObject({
      code: 64,
      err: expect.stringContaining('nothing to move. There is no stored copy at data/vitrine.db') as string,
    })
  })

  it('serve with bad settings - 78, with each name on standard error', async () => {
    const settings = makeSettings(makeFolder(), {
      VITRINE_FRESH_SECONDS: 'hunter2',
      VITRINE_STALE: '1',
      VITRINE_CATALOG_URL: 'hunter2',
    })
    const { code, out, err } = await runBuilt(['serve'], settings)
    expect([code, out]).toEqual([78, ''])
    for (const name of ['VITRINE_FRESH_SECONDS', 'VITRINE_STALE', 'VITRINE_CATALOG_URL'])
      expect(err).toContain(name)
    expect(err).not.toContain('hunter2')
  })

  it('serve with a missing key file, which may be mounted later - 1', async () => {
    const folder = makeFolder()
    const settings = makeSettings(folder, {
      VITRINE_CATALOG_URL: 'http://127.0.0.1:9',
      VITRINE_CATALOG_KEY_FILE: `${folder}/missing`,
    })
    expect(await runBuilt(['serve'], settings)).toMatchObject({ code: 1, out: '' })
  })
})
