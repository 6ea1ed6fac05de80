import { describe, expect, it } from 'vitest'
import { makeSettings, runInProcess } from '../../../cli/run-cli.ts'
import {
  importFeedFor,
  createCatalogCli,
  makeFeedRow,
  createSampleCatalogCli,
  type CatalogCli,
} from '../../../cli/catalog-cli.ts'

const ID = '952a0000-0000-4000-8000-0000000000a1'

type Finding = { subject: string; isGood: boolean; message: string; remedy: string | null }

/** Exit code of `check`, and its findings with a command to run. */
async function check(cli: CatalogCli): Promise<{ code: number | null; hints: Finding[] }> {
  const { code, out } = await runInProcess(['check', '--json'], makeSettings(cli.folder))
  const findings = JSON.parse(out) as Finding[]
  return { code, hints: findings.filter(({ remedy }) => remedy?.includes('vitrine catalog networks')) }
}

describe('check of the embedded catalog', () => {
  it('channel without a network - is reported, not as a failure', async () => {
    const cli = createCatalogCli()
    await cli.runJson('channels', 'add', 'A', '--id', ID)
    const { code, hints } = await check(cli)
    expect(code).toBe(0)
    expect(hints).toMatchObject([
      {
        subject: `channel A (${ID})`,
        isGood: true,
        remedy: expect.stringContaining(`assign NETWORK --channel ${ID}`),
      },
    ])
  })

  it('template with {publisher}, network channel without a reference - is reported until it has one', async () => {
    const cli = createCatalogCli()
    await cli.runJson('channels', 'add', 'A', '--id', ID)
    await importFeedFor(cli, ID, [makeFeedRow('17', ['Shop'], ['Net'])])
    expect((await check(cli)).hints).toEqual([])
    await cli.runJson('networks', 'set', 'Net', '--template', 'https://a.example/?p={publisher}&u={url}')
    expect((await check(cli)).hints).toMatchObject([{ subject: 'network Net', isGood: true }])
    await cli.runJson('networks', 'assign', 'Net', '--channel', ID, '--publisher', 'p1')
    expect((await check(cli)).hints).toEqual([])
  })

  it('sample data - no finding', async () => {
    expect(await check(await createSampleCatalogCli())).toEqual({ code: 0, hints: [] })
  })
})
