import { describe, expect, it } from 'vitest'
import { importFeedFor, createCatalogCli, makeFeedRow, type CatalogCli } from '../catalog-cli.ts'

const A = '952a0000-0000-4000-8000-0000000000a1'
const B = '952a0000-0000-4000-8000-0000000000b2'
const NEEDS_PUBLISHER = 'https://a.example/?p={publisher}&u={url}'

type NetworkChannel = { id: number; reference: string; channelId: string | null }

/** Two channels of one organization, and a network whose links need a publisher. */
async function makePrepared(): Promise<CatalogCli> {
  const owner = createCatalogCli()
  await owner.runJson('channels', 'add', 'A', '--id', A)
  await owner.runJson('channels', 'add', 'B', '--id', B)
  await owner.runJson('networks', 'add', 'Net', '--template', NEEDS_PUBLISHER)
  return owner
}

const assign = (owner: CatalogCli, channel: string, ...words: string[]): Promise<Record<string, unknown>> =>
  owner.runJson('networks', 'assign', 'Net', '--channel', channel, ...words)

async function list(owner: CatalogCli): Promise<NetworkChannel[]> {
  const [network] = await owner.runJson<{ networkChannels: NetworkChannel[] }[]>('networks')
  return (network?.networkChannels ?? []).map(({ id, reference, channelId }) => ({
    id,
    reference,
    channelId,
  }))
}

describe('catalog networks assign', () => {
  it('new reference - makes a network channel; the same again - changes nothing', async () => {
    const owner = await makePrepared()
    const done = { network: 'Net', networkChannelId: 1, channelId: A }
    const nothingElse = { replacedNetworkChannelId: null, movedFromChannelId: null }
    expect(await assign(owner, A.toUpperCase(), '--publisher', ' p1 ')).toEqual({ ...done, ...nothingElse })
    expect(await assign(owner, A, '--publisher', 'p1')).toEqual({ ...done, ...nothingElse })
    expect(await assign(owner, A)).toEqual({ ...done, ...nothingElse })
    expect(await list(owner)).toEqual([{ id: 1, reference: 'p1', channelId: A }])
    const { out } = await owner.run('networks')
    expect(out).toContain(`network channel 1: My organization, publisher p1\n      channel ${A}  A`)
    expect(out.split('\n').every((line) => line.length <= 80)).toBe(true)
    expect((await owner.run('networks', 'assign', 'Net', '--channel', A)).err).toContain(
      `approvals --channel ${A} --network "Net"`,
    )
  })

  it('another reference - replaces the one that served, which stays and can come back', async () => {
    const owner = await makePrepared()
    await assign(owner, A, '--publisher', 'p1')
    const { err } = await owner.run('networks', 'assign', 'Net', '--channel', A, '--publisher', 'p2')
    expect(err).toContain('Network channel 1 is no longer assigned to a channel.')
    expect(await list(owner)).toEqual([
      { id: 1, reference: 'p1', channelId: null },
      { id: 2, reference: 'p2', channelId: A },
    ])
    expect(await assign(owner, A, '--network-channel', '1')).toMatchObject({ replacedNetworkChannelId: 2 })
    expect(await list(owner)).toMatchObject([{ channelId: A }, { channelId: null }])
  })

  it('reference that serves another channel - moves', async () => {
    const owner = await makePrepared()
    await assign(owner, A, '--publisher', 'p1')
    const { err } = await owner.run('networks', 'assign', 'Net', '--channel', B, '--publisher', 'p1')
    expect(err).toContain(`It was assigned to the channel ${A}`)
    expect(await list(owner)).toEqual([{ id: 1, reference: 'p1', channelId: B }])
  })

  it('no reference - the only free one is taken; else it has to be said', async () => {
    const owner = await makePrepared()
    expect(await owner.runRefused('networks', 'assign', 'Net', '--channel', A)).toContain('--publisher REF')
    await assign(owner, A, '--publisher', 'p1')
    expect(await owner.runRefused('networks', 'assign', 'Net', '--channel', B)).toContain(
      '1 (publisher "p1")',
    )
    await owner.runJson('networks', 'unassign', 'Net', '--channel', A)
    expect(await assign(owner, B)).toMatchObject({ networkChannelId: 1 })
  })

  it('template without {publisher}, or none - needs no reference', async () => {
    const owner = await makePrepared()
    await owner.runJson('networks', 'set', 'Net', '--template', 'none')
    const { err } = await owner.run('networks', 'assign', 'Net', '--channel', A)
    expect(err).toContain('no link template')
    expect(await list(owner)).toEqual([{ id: 1, reference: '', channelId: A }])
    expect((await owner.run('networks')).out).toContain('(no publisher reference)')
    expect(await owner.runRefused('networks', 'assign', 'Net', '--channel', B)).toContain(
      '1 (no publisher reference)',
    )
  })

  it('reference for what an import made - the same network channel gets it, with approvals and links', async () => {
    const owner = await makePrepared()
    await importFeedFor(owner, A, [makeFeedRow('17', ['Shop'], ['Net'])])
    expect(await list(owner)).toEqual([{ id: 1, reference: '', channelId: A }])
    const { err } = await owner.run('networks', 'assign', 'Net', '--channel', A)
    expect(err).toContain(
      `Network channel 1 has no publisher reference yet, so its offers are not shown. Set one: vitrine catalog networks assign "Net" --channel ${A} --publisher REF`,
    )
    expect(await assign(owner, A, '--publisher', 'p1')).toMatchObject({ networkChannelId: 1 })
    expect(await list(owner)).toEqual([{ id: 1, reference: 'p1', channelId: A }])
    expect(await assign(owner, A, '--publisher', 'p2', '--network-channel', '1')).toMatchObject({
      networkChannelId: 1,
    })
    expect(await list(owner)).toEqual([{ id: 1, reference: 'p2', channelId: A }])
  })

  it('unknown channel, network, number, taken or bad reference - refused', async () => {
    const owner = await makePrepared()
    await assign(owner, A, '--publisher', 'p1')
    await assign(owner, B, '--publisher', 'p2')
    const refuse = (...words: string[]): Promise<string> => owner.runRefused('networks', 'assign', ...words)
    expect(await refuse('Net')).toContain('--channel')
    expect(await refuse('Net', '--channel', 'x')).toContain('no channel with the id "x"')
    expect(await refuse('Nat', '--channel', A)).toContain('there are "Net"')
    expect(await refuse('Net', '--channel', A, '--network-channel', '9')).toContain('2 (publisher "p2")')
    expect(await refuse('Net', '--channel', A, '--network-channel', '1', '--publisher', 'p2')).toContain(
      'network channel 2 already has the publisher reference "p2"',
    )
    expect(await refuse('Net', '--channel', A, '--publisher', ' ')).toContain('--publisher accepts')
  })

  it('network channel of another organization - is none of this one', async () => {
    const owner = await makePrepared()
    await owner.runJson('organizations', 'add', 'Second')
    const { id } = await owner.runJson<{ id: string }>('channels', 'add', 'C', '--organization', 'Second')
    await assign(owner, A, '--publisher', 'p1')
    expect(
      await owner.runRefused('networks', 'assign', 'Net', '--channel', id, '--network-channel', '1'),
    ).toContain('it has none in this network yet')
    expect(await assign(owner, id, '--publisher', 'p1')).toMatchObject({ networkChannelId: 2 })
  })
})

describe('catalog networks unassign', () => {
  it('assigned - serves none; again - refused', async () => {
    const owner = await makePrepared()
    await assign(owner, A, '--publisher', 'p1')
    expect((await owner.run('networks', 'unassign', 'Net', '--channel', A)).out).toBe(
      `unassigned network channel 1 of "Net" from ${A}; its approvals are kept`,
    )
    expect((await owner.run('networks')).out).toContain('not assigned to a channel')
    expect(await owner.runRefused('networks', 'unassign', 'Net', '--channel', A)).toContain(
      'no network channel',
    )
    expect(await owner.runRefused('networks', 'unassign', 'Nat', '--channel', A)).toContain(
      'no network "Nat"',
    )
    expect(await owner.runRefused('networks', 'unassign', 'Net', '--channel', 'x')).toContain('no channel')
  })
})
