import { describe, expect, it } from 'vitest'
import {
  importFeedFor,
  createCatalogCli,
  makeFeedRow,
  createSampleCatalogCli,
} from '../../cli/catalog-cli.ts'
import { getReader } from '../store-handles.ts'

const ID = '952a0000-0000-4000-8000-0000000000a1'

type Channel = { id: string; name: string; kind: string; url: string | null; removedSample: boolean }

describe('catalog channels add', () => {
  it('only a name - a website without an address, in a new organization', async () => {
    const cli = createCatalogCli()
    const { code, out, err } = await cli.run('channels', 'add', 'Cameras')
    expect([code, out]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}$/)])
    expect(err).toContain(`networks assign NETWORK --channel ${out}`)
    expect(await cli.runJson<Channel[]>('channels')).toEqual([
      {
        id: out,
        name: 'Cameras',
        kind: 'website',
        url: null,
        organization: 'My organization',
        organizationId: expect.any(String),
        networks: [],
      },
    ])
  })

  it('all options - are stored; the id in lower case', async () => {
    const cli = createCatalogCli()
    await cli.runJson('organizations', 'add', 'A')
    await cli.runJson('organizations', 'add', 'B')
    const args = ['--kind', 'YouTube', '--url', 'https://video.example/@c?x=1', '--id', ID.toUpperCase()]
    expect(await cli.runJson('channels', 'add', 'Video', ...args, '--organization', 'B')).toMatchObject({
      id: ID,
      kind: 'youtube',
      url: 'https://video.example/@c?x=1',
    })
    expect(await cli.runJson<Channel[]>('channels', 'list', '--organization', 'A')).toEqual([])
    expect(await cli.runJson<Channel[]>('channels', '--organization', 'B')).toMatchObject([{ id: ID }])
  })

  it.each([
    [['--kind', 'blog'], 'website, instagram, tiktok, youtube, facebook, pinterest, newsletter, app, other'],
    [['--url', 'video.example'], 'https://'],
    [['--url', 'https://user:pass@video.example/'], 'without a user name or password'],
    [['--url', 'javascript:alert(1)'], 'https://'],
    [['--id', 'x'], 'uuid'],
    [['--organization', 'C'], 'no organization "C"'],
  ])('%j - is rejected', async (args, expected) => {
    expect(await createCatalogCli().runRejected('channels', 'add', 'A', ...args)).toContain(expected)
  })

  it('existing id or name - is rejected; a name in another organization is accepted', async () => {
    const cli = createCatalogCli()
    await cli.runJson('organizations', 'add', 'A')
    await cli.runJson('organizations', 'add', 'B')
    expect(await cli.runRejected('channels', 'add', 'C')).toContain('--organization')
    await cli.runJson('channels', 'add', 'C', '--id', ID, '--organization', 'A')
    expect(await cli.runRejected('channels', 'add', 'D', '--id', ID, '--organization', 'A')).toContain(
      'already',
    )
    expect(await cli.runRejected('channels', 'add', 'C', '--organization', 'A')).toContain(ID)
    await cli.runJson('channels', 'add', 'C', '--organization', 'B')
  })
})

describe('catalog channels set and remove', () => {
  it('set - changes only the given options', async () => {
    const cli = createCatalogCli()
    await cli.runJson('channels', 'add', 'A', '--id', ID, '--url', 'https://a.example/')
    expect(
      await cli.runJson('channels', 'set', ID.toUpperCase(), '--name', 'B', '--kind', 'app'),
    ).toMatchObject({
      id: ID,
      name: 'B',
      kind: 'app',
      url: 'https://a.example/',
    })
    expect((await cli.run('channels', 'set', ID, '--url', 'none')).out).toBe(`${ID}  app  B  (no address)`)
  })

  it('set without options, unknown channel, existing name, bad values - are rejected', async () => {
    const cli = createCatalogCli()
    await cli.runJson('channels', 'add', 'A', '--id', ID)
    await cli.runJson('channels', 'add', 'B')
    expect(await cli.runRejected('channels', 'set', ID)).toContain('nothing to set')
    expect(await cli.runRejected('channels', 'set', 'x', '--name', 'C')).toContain('vitrine catalog channels')
    expect(await cli.runRejected('channels', 'set', ID, '--name', 'B')).toContain('already')
    expect(await cli.runRejected('channels', 'set', ID, '--name', '')).toContain('a channel needs a name')
    expect(await cli.runRejected('channels', 'set', ID, '--kind', 'x')).toContain('--kind accepts')
  })

  it('remove - its network channels and their approvals stay, unassigned', async () => {
    const cli = createCatalogCli()
    await cli.runJson('channels', 'add', 'A', '--id', ID)
    await importFeedFor(cli, ID, [makeFeedRow('17', ['Shop'], ['Net'])])
    const { out, err } = await cli.run('channels', 'remove', ID.toUpperCase())
    expect(out).toBe(`removed ${ID}`)
    expect(err).toContain('1 network channel of it kept, with the approvals and the offers')
    expect(await cli.runJson('networks')).toMatchObject([{ networkChannels: [{ channelId: null }] }])
    expect(await cli.runJson('approvals')).toMatchObject([
      { merchant: 'Shop', channelId: null, approved: true },
    ])
    expect((await cli.run('approvals')).out).toContain('no channel)  Net\n    Shop')
    expect(await cli.runRejected('channels', 'remove', ID)).toContain('no channel with the id')
  })

  it('remove a channel without networks - prints no further hint', async () => {
    const cli = createCatalogCli()
    await cli.runJson('channels', 'add', 'A', '--id', ID)
    expect(await cli.run('channels', 'remove', ID)).toEqual({ code: 0, out: `removed ${ID}`, err: '' })
  })
})

describe('catalog with only sample data', () => {
  it.each([['channels'], ['networks'], ['merchants']])(
    '%s add - removes it first, and prints that',
    async (command) => {
      const cli = await createSampleCatalogCli()
      const { code, err } = await cli.run(command, 'add', 'Mine')
      expect(code).toBe(0)
      expect(err).toContain('The sample data was removed.\n')
      const reader = await getReader(await cli.openStore())
      expect(await reader.selectFrom('products').select('gtin').execute()).toEqual([])
      expect(await cli.runJson<unknown[]>(command)).toHaveLength(1)
      expect((await cli.run(command, 'add', 'More')).err).not.toContain('sample')
    },
  )

  it('rejected add - changes nothing', async () => {
    const cli = await createSampleCatalogCli()
    await cli.runRejected('merchants', 'add', 'Mine', '--network', 'Nowhere', '--reference', '1')
    expect(await cli.runJson<unknown[]>('channels')).toHaveLength(3)
  })

  it('set, assign, approve, revoke, remove - change it, and the next import still replaces it', async () => {
    const cli = await createSampleCatalogCli()
    const [channel] = await cli.runJson<Channel[]>('channels')
    const id = channel?.id ?? ''
    await cli.runJson('channels', 'set', id, '--name', 'Other')
    await cli.runJson('networks', 'set', 'Tradeloom', '--name', 'Loom')
    await cli.runJson('networks', 'assign', 'Loom', '--channel', id, '--publisher', 'p1')
    await cli.runJson('approvals', 'add', '--all', '--channel', id, '--network', 'Loom')
    await cli.runJson('merchants', 'revoke', 'Kestrel Row', '--channel', id)
    await cli.runJson('networks', 'remove', 'Affiliora', '--yes')
    await importFeedFor(cli, ID, [makeFeedRow('17', ['Shop'], ['Net'])])
    expect(await cli.runJson<Channel[]>('channels')).toMatchObject([{ id: ID }])
    expect(await cli.runJson('networks')).toMatchObject([{ name: 'Net' }])
  })
})
