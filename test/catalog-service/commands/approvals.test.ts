import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { importFeedFor, createCatalogCli, makeFeedRow, type CatalogCli } from '../../cli/catalog-cli.ts'

const ID = '952a0000-0000-4000-8000-0000000000a1'
const OTHER = '952a0000-0000-4000-8000-0000000000b2'
const ROWS = [makeFeedRow('17', ['Anna', 'Bo'], ['Net']), makeFeedRow('24', ['Anna'], ['Net', 'Other'])]

type Approval = { merchant: string; network: string; approved: boolean; revokedAt: string | null }

/** A channel with two networks, whose import approved Anna in both and Bo in one. */
async function makeFilled(): Promise<CatalogCli> {
  const cli = createCatalogCli()
  await cli.runJson('channels', 'add', 'A', '--id', ID)
  await importFeedFor(cli, ID, ROWS)
  return cli
}

const list = async (cli: CatalogCli, ...args: string[]): Promise<string[]> =>
  (await cli.runJson<Approval[]>('approvals', ...args)).map(
    ({ merchant, network, approved }) => `${network} ${merchant} ${approved ? 'approved' : 'revoked'}`,
  )

describe('catalog approvals list', () => {
  it('no approvals - prints how to create one', async () => {
    const cli = createCatalogCli()
    await cli.runJson('networks', 'add', 'Net')
    expect((await cli.run('approvals')).err).toContain('approvals add MERCHANT --channel ID')
    expect(await cli.runJson('approvals')).toEqual([])
  })

  it('filtered by channel and network - prints only those', async () => {
    const cli = await makeFilled()
    await cli.runJson('channels', 'add', 'B', '--id', OTHER)
    await importFeedFor(cli, OTHER, [makeFeedRow('17', ['Bo'], ['Net'])])
    await cli.runJson('merchants', 'revoke', 'Bo', '--channel', OTHER)
    const { out } = await cli.run('approvals', 'list')
    expect(out.replace(/\d{4}-\d\d-\d\d/, 'DAY').split('\n')).toEqual([
      `${ID}  A  Net`,
      '    Anna',
      '    Bo',
      `${ID}  A  Other`,
      '    Anna',
      `${OTHER}  B  Net`,
      '    Bo  (revoked DAY)',
    ])
    expect(await list(cli, '--channel', OTHER.toUpperCase())).toEqual(['Net Bo revoked'])
    expect(await list(cli, '--network', 'Other')).toEqual(['Other Anna approved'])
    expect(await cli.runJson<Approval[]>('approvals', '--channel', OTHER)).toEqual([
      {
        merchant: 'Bo',
        network: 'Net',
        networkChannelId: expect.any(Number),
        channelId: OTHER,
        channel: 'B',
        approved: false,
        revokedAt: expect.stringMatching(/Z$/),
      },
    ])
  })

  it('channel without a network channel - prints that, and the network channel that has approvals for it', async () => {
    const cli = await makeFilled()
    await cli.runJson('networks', 'unassign', 'Net', '--channel', ID)
    const one = await cli.run('approvals', '--channel', ID, '--network', 'Net')
    expect([one.code, one.out]).toEqual([0, ''])
    expect(one.err).toContain(
      'The channel has no network channel there; the approvals of network channel 1 ("Net") are kept but have no effect',
    )
    expect(await list(cli, '--channel', ID)).toEqual(['Other Anna approved'])
    await cli.runJson('channels', 'add', 'B', '--id', OTHER, '--organization', 'My organization')
    await cli.runJson('networks', 'unassign', 'Other', '--channel', ID)
    const { err } = await cli.run('approvals', '--channel', OTHER)
    expect(err).toContain(
      'network channel 1 ("Net"), network channel 2 ("Other") are kept but have no effect',
    )
    expect(err).toContain(`networks assign NETWORK --channel ${OTHER}`)
  })

  it('unknown channel or network - is rejected', async () => {
    const cli = await makeFilled()
    expect(await cli.runRejected('approvals', '--channel', 'x')).toContain('no channel with the id "x"')
    expect(await cli.runRejected('approvals', '--network', 'x')).toContain('there are "Net", "Other"')
  })
})

describe('catalog approvals, remove and add', () => {
  it('remove - in every network of the channel, or in one; an import does not change it; add restores it', async () => {
    const cli = await makeFilled()
    expect((await cli.run('approvals', 'remove', 'Anna', '--channel', ID, '--network', 'Net')).out).toBe(
      'revoked "Anna" for "A" in "Net"',
    )
    expect(await list(cli)).toEqual(['Net Anna revoked', 'Net Bo approved', 'Other Anna approved'])
    expect(await cli.runJson('approvals', 'revoke', 'Anna', '--channel', ID)).toEqual({
      channelId: ID,
      merchant: 'Anna',
      approved: false,
      networks: [
        { network: 'Net', networkChannelId: 1, changes: 0 },
        { network: 'Other', networkChannelId: 2, changes: 1 },
      ],
    })
    await importFeedFor(cli, ID, ROWS)
    expect(await list(cli)).toEqual(['Net Anna revoked', 'Net Bo approved', 'Other Anna revoked'])
    expect((await cli.run('approvals', 'approve', 'Anna', '--channel', ID)).out).toBe(
      'approved "Anna" for "A" in "Net", "Other"',
    )
    expect(await list(cli)).toEqual(['Net Anna approved', 'Net Bo approved', 'Other Anna approved'])
  })

  it('repeated - prints that nothing changed, and keeps the first time', async () => {
    const cli = await makeFilled()
    expect((await cli.run('merchants', 'approve', 'Bo', '--channel', ID, '--network', 'Net')).err).toBe(
      '"Net": the merchant is already approved.\n',
    )
    await cli.runJson('merchants', 'revoke', 'Bo', '--channel', ID, '--network', 'Net')
    const before = await cli.runJson('approvals')
    const { err } = await cli.run('merchants', 'revoke', 'Bo', '--channel', ID, '--network', 'Net')
    expect(err).toBe('"Net": the merchant is already revoked.\n')
    expect(await cli.runJson('approvals')).toEqual(before)
  })

  it('remove without an approval - prevents a later import from approving it, and prints that', async () => {
    const cli = await makeFilled()
    const { err } = await cli.run('approvals', 'remove', 'Bo', '--channel', ID, '--network', 'Other')
    expect(err).toBe('"Other": the merchant was never approved there; from now on no import approves it.\n')
    await importFeedFor(cli, ID, [makeFeedRow('24', ['Bo'], ['Other'])])
    expect(await list(cli, '--network', 'Other')).toEqual(['Other Anna approved', 'Other Bo revoked'])
  })

  it('add for a merchant without offers - prints that it has none yet', async () => {
    const cli = await makeFilled()
    await cli.runJson('merchants', 'add', 'Cleo')
    const { err } = await cli.run('merchants', 'approve', 'Cleo', '--channel', ID, '--network', 'Other')
    expect(err).toBe('"Other": nothing of "Cleo" is shown yet: it has no offers there; import its feed.\n')
    expect(await list(cli, '--network', 'Other')).toEqual(['Other Anna approved', 'Other Cleo approved'])
  })

  it('add for a merchant with links of another network channel - prints that they are not for this one', async () => {
    const cli = await makeFilled()
    await cli.runJson('channels', 'add', 'B', '--id', OTHER)
    await cli.runJson('networks', 'assign', 'Net', '--channel', OTHER, '--publisher', 'p2')
    const { out, err } = await cli.run('approvals', 'add', 'Anna', '--channel', OTHER)
    expect(out).toBe('approved "Anna" for "B" in "Net"')
    expect(err).toContain('"Net": nothing of "Anna" is shown yet: its offers have tracking links of other')
    await importFeedFor(cli, OTHER, [makeFeedRow('17', ['Anna'], ['Net'])])
    expect((await cli.run('approvals', 'add', 'Anna', '--channel', OTHER)).err).toBe(
      '"Net": the merchant is already approved.\n',
    )
  })

  it('add for a merchant whose links need a template or a publisher reference - prints which', async () => {
    const cli = createCatalogCli()
    await cli.runJson('channels', 'add', 'A', '--id', ID)
    await cli.runJson('networks', 'add', 'Net', '--template', 'https://a.example/?u={url}')
    const file = join(cli.folder, 'shop.csv')
    writeFileSync(file, 'gtin,title,link,price\n00000000000017,T,https://shop.example/t,1.00 EUR\n')
    await cli.runJson('import', file, '--network', 'Net', '--merchant', 'Shop')
    const approve = async (): Promise<string> =>
      (await cli.run('approvals', 'add', 'Shop', '--channel', ID)).err
    expect(await approve()).toBe('"Net": the merchant is already approved.\n')
    await cli.runJson('networks', 'set', 'Net', '--template', 'https://a.example/?p={publisher}&u={url}')
    expect(await approve()).toContain('so its offers are not shown. Set one: vitrine catalog networks')
    await cli.runJson('networks', 'set', 'Net', '--template', 'none')
    expect(await approve()).toContain(
      'no link template. Set one: vitrine catalog networks set "Net" --template',
    )
  })
})

describe('catalog approvals --all', () => {
  it('add - all merchants with offers in the network; remove - also all approved ones', async () => {
    const cli = await makeFilled()
    await cli.runJson('merchants', 'add', 'Cleo')
    await cli.runJson('merchants', 'approve', 'Cleo', '--channel', ID, '--network', 'Net')
    expect((await cli.run('approvals', 'remove', '--all', '--channel', ID)).out).toBe(
      'revoked 4 merchants for "A" in "Net", "Other"',
    )
    expect(await list(cli)).toEqual([
      'Net Anna revoked',
      'Net Bo revoked',
      'Net Cleo revoked',
      'Other Anna revoked',
    ])
    expect(await cli.runJson('approvals', 'add', '--all', '--channel', ID)).toMatchObject({
      merchant: null,
      approved: true,
      networks: [{ changes: 2 }, { changes: 1 }],
    })
    const again = await cli.run('approvals', 'add', '--all', '--channel', ID, '--network', 'Other')
    expect(again.out).toBe('approved 0 merchants for "A" in "Other"')
    expect(again.err).toContain('nothing to change')
  })

  it('new network channel in a network with offers - all its merchants are approved', async () => {
    const cli = await makeFilled()
    await cli.runJson('channels', 'add', 'B', '--id', OTHER)
    await cli.runJson('networks', 'assign', 'Net', '--channel', OTHER, '--publisher', 'p')
    await cli.runJson('approvals', 'add', '--all', '--channel', OTHER)
    expect(await list(cli, '--channel', OTHER)).toEqual(['Net Anna approved', 'Net Bo approved'])
  })
})

describe('catalog approvals, wrong usage', () => {
  it.each([
    [['--channel', ID], '--all'],
    [['Anna', '--all', '--channel', ID], '--all'],
    [['Anna'], '--channel'],
    [['Anna', '--channel', 'x'], 'no channel with the id "x"'],
    [['Eve', '--channel', ID], 'no merchant "Eve"'],
    [['Anna', '--channel', ID, '--network', 'x'], 'no network "x"'],
    [['Anna', '--channel', ID, '--network', 'Third'], 'not the network "Third"'],
    [
      ['Anna', '--channel', OTHER],
      'has no network; assign one with "vitrine catalog networks assign NETWORK --channel',
    ],
  ])('%j - is rejected, and nothing is changed', async (args, expected) => {
    const cli = await makeFilled()
    await cli.runJson('networks', 'add', 'Third')
    await cli.runJson('channels', 'add', 'B', '--id', OTHER)
    const before = await cli.runJson('approvals')
    for (const subcommand of ['add', 'remove'])
      expect(await cli.runRejected('approvals', subcommand, ...args)).toContain(expected)
    expect(await cli.runJson('approvals')).toEqual(before)
  })
})
