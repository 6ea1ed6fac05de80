import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { importFeedFor, createCatalogCli, makeFeedRow, type CatalogCli } from '../../cli/catalog-cli.ts'

const A = '952a0000-0000-4000-8000-0000000000a1'
const B = '952a0000-0000-4000-8000-0000000000b2'
const NEEDS_PUBLISHER = 'https://a.example/?p={publisher}&u={url}'

type NetworkChannel = { id: number; reference: string; channelId: string | null }

/** Two channels of one organization, and a network whose links need a publisher reference. */
async function makePrepared(): Promise<CatalogCli> {
  const cli = createCatalogCli()
  await cli.runJson('channels', 'add', 'A', '--id', A)
  await cli.runJson('channels', 'add', 'B', '--id', B)
  await cli.runJson('networks', 'add', 'Net', '--template', NEEDS_PUBLISHER)
  return cli
}

const assign = (cli: CatalogCli, channel: string, ...args: string[]): Promise<Record<string, unknown>> =>
  cli.runJson('networks', 'assign', 'Net', '--channel', channel, ...args)

async function list(cli: CatalogCli): Promise<NetworkChannel[]> {
  const [network] = await cli.runJson<{ networkChannels: NetworkChannel[] }[]>('networks')
  return (network?.networkChannels ?? []).map(({ id, reference, channelId }) => ({
    id,
    reference,
    channelId,
  }))
}

describe('catalog networks assign', () => {
  it('new reference - creates a network channel; the same again - changes nothing', async () => {
    const cli = await makePrepared()
    const done = { network: 'Net', networkChannelId: 1, channelId: A }
    const nothingElse = { replacedNetworkChannelId: null, movedFromChannelId: null }
    expect(await assign(cli, A.toUpperCase(), '--publisher', ' p1 ')).toEqual({ ...done, ...nothingElse })
    expect(await assign(cli, A, '--publisher', 'p1')).toEqual({ ...done, ...nothingElse })
    expect(await assign(cli, A)).toEqual({ ...done, ...nothingElse })
    expect(await list(cli)).toEqual([{ id: 1, reference: 'p1', channelId: A }])
    const { out } = await cli.run('networks')
    expect(out).toContain(`network channel 1: My organization, publisher p1\n      channel ${A}  A`)
    expect(out.split('\n').every((line) => line.length <= 80)).toBe(true)
    expect((await cli.run('networks', 'assign', 'Net', '--channel', A)).err).toContain(
      `approvals --channel ${A} --network "Net"`,
    )
  })

  it('another reference - its network channel replaces the assigned one, which stays and can be assigned again', async () => {
    const cli = await makePrepared()
    await assign(cli, A, '--publisher', 'p1')
    const { err } = await cli.run('networks', 'assign', 'Net', '--channel', A, '--publisher', 'p2')
    expect(err).toContain('Network channel 1 is no longer assigned to a channel.')
    expect(await list(cli)).toEqual([
      { id: 1, reference: 'p1', channelId: null },
      { id: 2, reference: 'p2', channelId: A },
    ])
    expect(await assign(cli, A, '--network-channel', '1')).toMatchObject({ replacedNetworkChannelId: 2 })
    expect(await list(cli)).toMatchObject([{ channelId: A }, { channelId: null }])
  })

  it('reference of another channel - its network channel moves', async () => {
    const cli = await makePrepared()
    await assign(cli, A, '--publisher', 'p1')
    const { err } = await cli.run('networks', 'assign', 'Net', '--channel', B, '--publisher', 'p1')
    expect(err).toContain(`It was assigned to the channel ${A}`)
    expect(await list(cli)).toEqual([{ id: 1, reference: 'p1', channelId: B }])
  })

  it('no reference - the only unassigned one is used; otherwise it is required', async () => {
    const cli = await makePrepared()
    expect(await cli.runRejected('networks', 'assign', 'Net', '--channel', A)).toContain('--publisher REF')
    await assign(cli, A, '--publisher', 'p1')
    expect(await cli.runRejected('networks', 'assign', 'Net', '--channel', B)).toContain('1 (publisher "p1")')
    await cli.runJson('networks', 'unassign', 'Net', '--channel', A)
    expect(await assign(cli, B)).toMatchObject({ networkChannelId: 1 })
  })

  it('template without {publisher}, or no template - needs no reference', async () => {
    const cli = await makePrepared()
    await cli.runJson('networks', 'set', 'Net', '--template', 'none')
    expect((await cli.run('networks', 'assign', 'Net', '--channel', A)).err).not.toContain('link template')
    expect(await list(cli)).toEqual([{ id: 1, reference: '', channelId: A }])
    expect((await cli.run('networks')).out).toContain('(no publisher reference)')
    expect(await cli.runRejected('networks', 'assign', 'Net', '--channel', B)).toContain(
      '1 (no publisher reference)',
    )
  })

  it('network without a template - only pages of shops need one, and not tracking links', async () => {
    for (const [name, link] of [
      ['tracked', 'aw_deep_link'],
      ['pages', 'merchant_deep_link'],
    ] as const) {
      const cli = await makePrepared()
      const file = join(cli.folder, `${name}.csv`)
      const header = `product_gtin,product_name,search_price,currency,merchant_name,${link}`
      writeFileSync(file, `${header}\n9520001001024,Cup,5.00,EUR,Kopje,https://kopje.example/1\n`)
      await cli.run('import', file, '--channel', A)
      const { err } = await cli.run('networks', 'assign', 'awin', '--channel', A)
      expect(err.includes('"awin" has no link template')).toBe(name === 'pages')
    }
  })

  it('reference for a network channel that an import created - it keeps its approvals and links', async () => {
    const cli = await makePrepared()
    await importFeedFor(cli, A, [makeFeedRow('17', ['Shop'], ['Net'])])
    expect(await list(cli)).toEqual([{ id: 1, reference: '', channelId: A }])
    const { err } = await cli.run('networks', 'assign', 'Net', '--channel', A)
    expect(err).toContain(
      `Network channel 1 has no publisher reference yet, so its offers are not shown. Set one: vitrine catalog networks assign "Net" --channel ${A} --publisher REF`,
    )
    expect(await assign(cli, A, '--publisher', 'p1')).toMatchObject({ networkChannelId: 1 })
    expect(await list(cli)).toEqual([{ id: 1, reference: 'p1', channelId: A }])
    expect(await assign(cli, A, '--publisher', 'p2', '--network-channel', '1')).toMatchObject({
      networkChannelId: 1,
    })
    expect(await list(cli)).toEqual([{ id: 1, reference: 'p2', channelId: A }])
  })

  it('unknown channel, network or number, existing or bad reference - are rejected', async () => {
    const cli = await makePrepared()
    await assign(cli, A, '--publisher', 'p1')
    await assign(cli, B, '--publisher', 'p2')
    const refuse = (...args: string[]): Promise<string> => cli.runRejected('networks', 'assign', ...args)
    expect(await refuse('Net')).toContain('--channel')
    expect(await refuse('Net', '--channel', 'x')).toContain('no channel with the id "x"')
    expect(await refuse('Nat', '--channel', A)).toContain('there are "Net"')
    expect(await refuse('Net', '--channel', A, '--network-channel', '9')).toContain('2 (publisher "p2")')
    expect(await refuse('Net', '--channel', A, '--network-channel', '1', '--publisher', 'p2')).toContain(
      'network channel 2 already has the publisher reference "p2"',
    )
    expect(await refuse('Net', '--channel', A, '--publisher', ' ')).toContain('--publisher accepts')
  })

  it('network channel of another organization - is not found', async () => {
    const cli = await makePrepared()
    await cli.runJson('organizations', 'add', 'Second')
    const { id } = await cli.runJson<{ id: string }>('channels', 'add', 'C', '--organization', 'Second')
    await assign(cli, A, '--publisher', 'p1')
    expect(
      await cli.runRejected('networks', 'assign', 'Net', '--channel', id, '--network-channel', '1'),
    ).toContain('it has none in this network yet')
    expect(await assign(cli, id, '--publisher', 'p1')).toMatchObject({ networkChannelId: 2 })
  })
})

describe('catalog networks unassign', () => {
  it('assigned network channel - is unassigned; again - is rejected', async () => {
    const cli = await makePrepared()
    await assign(cli, A, '--publisher', 'p1')
    expect((await cli.run('networks', 'unassign', 'Net', '--channel', A)).out).toBe(
      `unassigned network channel 1 of "Net" from ${A}; its approvals are kept`,
    )
    expect((await cli.run('networks')).out).toContain('not assigned to a channel')
    expect(await cli.runRejected('networks', 'unassign', 'Net', '--channel', A)).toContain(
      'no network channel',
    )
    expect(await cli.runRejected('networks', 'unassign', 'Nat', '--channel', A)).toContain('no network "Nat"')
    expect(await cli.runRejected('networks', 'unassign', 'Net', '--channel', 'x')).toContain('no channel')
  })
})
