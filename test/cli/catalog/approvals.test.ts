import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { importFeedFor, createCatalogCli, makeFeedRow, type CatalogCli } from '../catalog-cli.ts'

const ID = '952a0000-0000-4000-8000-0000000000a1'
const OTHER = '952a0000-0000-4000-8000-0000000000b2'
const ROWS = [makeFeedRow('17', ['Anna', 'Bo'], ['Net']), makeFeedRow('24', ['Anna'], ['Net', 'Other'])]

type Approval = { merchant: string; network: string; approved: boolean; revokedAt: string | null }

/** A channel with two networks, whose import approved Anna in both and Bo in one. */
async function makeFilled(): Promise<CatalogCli> {
  const owner = createCatalogCli()
  await owner.runJson('channels', 'add', 'A', '--id', ID)
  await importFeedFor(owner, ID, ROWS)
  return owner
}

const list = async (owner: CatalogCli, ...words: string[]): Promise<string[]> =>
  (await owner.runJson<Approval[]>('approvals', ...words)).map(
    ({ merchant, network, approved }) => `${network} ${merchant} ${approved ? 'approved' : 'revoked'}`,
  )

describe('catalog approvals, list', () => {
  it('none - says what gives one', async () => {
    const owner = createCatalogCli()
    await owner.runJson('networks', 'add', 'Net')
    expect((await owner.run('approvals')).err).toContain('approvals add MERCHANT --channel ID')
    expect(await owner.runJson('approvals')).toEqual([])
  })

  it('by channel and network - and only those that are asked for', async () => {
    const owner = await makeFilled()
    await owner.runJson('channels', 'add', 'B', '--id', OTHER)
    await importFeedFor(owner, OTHER, [makeFeedRow('17', ['Bo'], ['Net'])])
    await owner.runJson('merchants', 'revoke', 'Bo', '--channel', OTHER)
    const { out } = await owner.run('approvals', 'list')
    expect(out.replace(/\d{4}-\d\d-\d\d/, 'DAY').split('\n')).toEqual([
      `${ID}  A  Net`,
      '    Anna',
      '    Bo',
      `${ID}  A  Other`,
      '    Anna',
      `${OTHER}  B  Net`,
      '    Bo  (revoked DAY)',
    ])
    expect(await list(owner, '--channel', OTHER.toUpperCase())).toEqual(['Net Bo revoked'])
    expect(await list(owner, '--network', 'Other')).toEqual(['Other Anna approved'])
    expect(await owner.runJson<Approval[]>('approvals', '--channel', OTHER)).toEqual([
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

  it('channel without a network channel - says so, and which keeps approvals for it', async () => {
    const owner = await makeFilled()
    await owner.runJson('networks', 'unassign', 'Net', '--channel', ID)
    const one = await owner.run('approvals', '--channel', ID, '--network', 'Net')
    expect([one.code, one.out]).toEqual([0, ''])
    expect(one.err).toContain(
      'The channel has no network channel there; the approvals of network channel 1 ("Net") are kept but have no effect',
    )
    expect(await list(owner, '--channel', ID)).toEqual(['Other Anna approved'])
    await owner.runJson('channels', 'add', 'B', '--id', OTHER, '--organization', 'My organization')
    await owner.runJson('networks', 'unassign', 'Other', '--channel', ID)
    const { err } = await owner.run('approvals', '--channel', OTHER)
    expect(err).toContain(
      'network channel 1 ("Net"), network channel 2 ("Other") are kept but have no effect',
    )
    expect(err).toContain(`networks assign NETWORK --channel ${OTHER}`)
  })

  it('unknown channel or network - refused', async () => {
    const owner = await makeFilled()
    expect(await owner.runRefused('approvals', '--channel', 'x')).toContain('no channel with the id "x"')
    expect(await owner.runRefused('approvals', '--network', 'x')).toContain('there are "Net", "Other"')
  })
})

describe('catalog approvals, remove and add', () => {
  it('revoke - in every network of the channel, or in one; an import leaves it; approve brings it back', async () => {
    const owner = await makeFilled()
    expect((await owner.run('approvals', 'remove', 'Anna', '--channel', ID, '--network', 'Net')).out).toBe(
      'revoked "Anna" for "A" in "Net"',
    )
    expect(await list(owner)).toEqual(['Net Anna revoked', 'Net Bo approved', 'Other Anna approved'])
    expect(await owner.runJson('approvals', 'revoke', 'Anna', '--channel', ID)).toEqual({
      channelId: ID,
      merchant: 'Anna',
      approved: false,
      networks: [
        { network: 'Net', networkChannelId: 1, changes: 0 },
        { network: 'Other', networkChannelId: 2, changes: 1 },
      ],
    })
    await importFeedFor(owner, ID, ROWS)
    expect(await list(owner)).toEqual(['Net Anna revoked', 'Net Bo approved', 'Other Anna revoked'])
    expect((await owner.run('approvals', 'approve', 'Anna', '--channel', ID)).out).toBe(
      'approved "Anna" for "A" in "Net", "Other"',
    )
    expect(await list(owner)).toEqual(['Net Anna approved', 'Net Bo approved', 'Other Anna approved'])
  })

  it('again - says that it was so before, and keeps the first time', async () => {
    const owner = await makeFilled()
    expect((await owner.run('merchants', 'approve', 'Bo', '--channel', ID, '--network', 'Net')).err).toBe(
      '"Net": the merchant is already approved.\n',
    )
    await owner.runJson('merchants', 'revoke', 'Bo', '--channel', ID, '--network', 'Net')
    const before = await owner.runJson('approvals')
    const { err } = await owner.run('merchants', 'revoke', 'Bo', '--channel', ID, '--network', 'Net')
    expect(err).toBe('"Net": the merchant is already revoked.\n')
    expect(await owner.runJson('approvals')).toEqual(before)
  })

  it('revoke of one that was never approved - blocks what a later import would approve, and says so', async () => {
    const owner = await makeFilled()
    const { err } = await owner.run('approvals', 'remove', 'Bo', '--channel', ID, '--network', 'Other')
    expect(err).toBe('"Other": the merchant was never approved there; from now on no import approves it.\n')
    await importFeedFor(owner, ID, [makeFeedRow('24', ['Bo'], ['Other'])])
    expect(await list(owner, '--network', 'Other')).toEqual(['Other Anna approved', 'Other Bo revoked'])
  })

  it('approve of a merchant without offers - waits for them', async () => {
    const owner = await makeFilled()
    await owner.runJson('merchants', 'add', 'Cleo')
    const { err } = await owner.run('merchants', 'approve', 'Cleo', '--channel', ID, '--network', 'Other')
    expect(err).toBe('"Other": nothing of "Cleo" is shown yet: it has no offers there; import its feed.\n')
    expect(await list(owner, '--network', 'Other')).toEqual(['Other Anna approved', 'Other Cleo approved'])
  })

  it('approve of a merchant with links of another network channel - says that they are not for this one', async () => {
    const owner = await makeFilled()
    await owner.runJson('channels', 'add', 'B', '--id', OTHER)
    await owner.runJson('networks', 'assign', 'Net', '--channel', OTHER, '--publisher', 'p2')
    const { out, err } = await owner.run('approvals', 'add', 'Anna', '--channel', OTHER)
    expect(out).toBe('approved "Anna" for "B" in "Net"')
    expect(err).toContain('"Net": nothing of "Anna" is shown yet: its offers have tracking links of other')
    await importFeedFor(owner, OTHER, [makeFeedRow('17', ['Anna'], ['Net'])])
    expect((await owner.run('approvals', 'add', 'Anna', '--channel', OTHER)).err).toBe(
      '"Net": the merchant is already approved.\n',
    )
  })

  it('approve of a merchant whose pages need a template, or a publisher - says which', async () => {
    const owner = createCatalogCli()
    await owner.runJson('channels', 'add', 'A', '--id', ID)
    await owner.runJson('networks', 'add', 'Net', '--template', 'https://a.example/?u={url}')
    const file = join(owner.folder, 'shop.csv')
    writeFileSync(file, 'gtin,title,link,price\n00000000000017,T,https://shop.example/t,1.00 EUR\n')
    await owner.runJson('import', file, '--network', 'Net', '--merchant', 'Shop')
    const approve = async (): Promise<string> =>
      (await owner.run('approvals', 'add', 'Shop', '--channel', ID)).err
    expect(await approve()).toBe('"Net": the merchant is already approved.\n')
    await owner.runJson('networks', 'set', 'Net', '--template', 'https://a.example/?p={publisher}&u={url}')
    expect(await approve()).toContain('so its offers are not shown. Set one: vitrine catalog networks')
    await owner.runJson('networks', 'set', 'Net', '--template', 'none')
    expect(await approve()).toContain(
      'no link template. Set one: vitrine catalog networks set "Net" --template',
    )
  })
})

describe('catalog approvals, --all', () => {
  it('all - whoever has offers in the network, and whoever is approved when revoking', async () => {
    const owner = await makeFilled()
    await owner.runJson('merchants', 'add', 'Cleo')
    await owner.runJson('merchants', 'approve', 'Cleo', '--channel', ID, '--network', 'Net')
    expect((await owner.run('approvals', 'remove', '--all', '--channel', ID)).out).toBe(
      'revoked 4 merchants for "A" in "Net", "Other"',
    )
    expect(await list(owner)).toEqual([
      'Net Anna revoked',
      'Net Bo revoked',
      'Net Cleo revoked',
      'Other Anna revoked',
    ])
    expect(await owner.runJson('approvals', 'add', '--all', '--channel', ID)).toMatchObject({
      merchant: null,
      approved: true,
      networks: [{ changes: 2 }, { changes: 1 }],
    })
    const again = await owner.run('approvals', 'add', '--all', '--channel', ID, '--network', 'Other')
    expect(again.out).toBe('approved 0 merchants for "A" in "Other"')
    expect(again.err).toContain('nothing to change')
  })

  it('new network channel in a network with offers - all of it is approved at once', async () => {
    const owner = await makeFilled()
    await owner.runJson('channels', 'add', 'B', '--id', OTHER)
    await owner.runJson('networks', 'assign', 'Net', '--channel', OTHER, '--publisher', 'p')
    await owner.runJson('approvals', 'add', '--all', '--channel', OTHER)
    expect(await list(owner, '--channel', OTHER)).toEqual(['Net Anna approved', 'Net Bo approved'])
  })
})

describe('catalog approvals, refused', () => {
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
  ])('%j - and nothing is changed', async (words, said) => {
    const owner = await makeFilled()
    await owner.runJson('networks', 'add', 'Third')
    await owner.runJson('channels', 'add', 'B', '--id', OTHER)
    const before = await owner.runJson('approvals')
    for (const verb of ['add', 'remove'])
      expect(await owner.runRefused('approvals', verb, ...words)).toContain(said)
    expect(await owner.runJson('approvals')).toEqual(before)
  })
})
