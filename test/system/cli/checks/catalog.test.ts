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

/** How `check` ends, and what it says of channels and networks with something to type. */
async function check(owner: CatalogCli): Promise<{ code: number | null; hints: Finding[] }> {
  const { code, out } = await runInProcess(['check', '--json'], makeSettings(owner.folder))
  const findings = JSON.parse(out) as Finding[]
  return { code, hints: findings.filter(({ remedy }) => remedy?.includes('vitrine catalog networks')) }
}

describe('check of the embedded catalog', () => {
  it('channel without a network - is pointed out, and no failure', async () => {
    const owner = createCatalogCli()
    await owner.runJson('channels', 'add', 'A', '--id', ID)
    const { code, hints } = await check(owner)
    expect(code).toBe(0)
    expect(hints).toMatchObject([
      {
        subject: `channel A (${ID})`,
        isGood: true,
        remedy: expect.stringContaining(`assign NETWORK --channel ${ID}`),
      },
    ])
  })

  it('template that needs a publisher, network channel of an import - is pointed out until it has one', async () => {
    const owner = createCatalogCli()
    await owner.runJson('channels', 'add', 'A', '--id', ID)
    await importFeedFor(owner, ID, [makeFeedRow('17', ['Shop'], ['Net'])])
    expect((await check(owner)).hints).toEqual([])
    await owner.runJson('networks', 'set', 'Net', '--template', 'https://a.example/?p={publisher}&u={url}')
    expect((await check(owner)).hints).toMatchObject([{ subject: 'network Net', isGood: true }])
    await owner.runJson('networks', 'assign', 'Net', '--channel', ID, '--publisher', 'p1')
    expect((await check(owner)).hints).toEqual([])
  })

  it('sample data - nothing', async () => {
    expect(await check(await createSampleCatalogCli())).toEqual({ code: 0, hints: [] })
  })
})
