import { describe, expect, it } from 'vitest'
import { importFeedFor, createCatalogCli, makeFeedRow, createSampleCatalogCli } from '../catalog-cli.ts'

const ID = '952a0000-0000-4000-8000-0000000000a1'

type Channel = { id: string; name: string; kind: string; url: string | null; removedSample: boolean }

describe('catalog channels, add', () => {
  it('name alone - a website without an address, in an organization that is made', async () => {
    const owner = createCatalogCli()
    const { code, out, err } = await owner.run('channels', 'add', 'Cameras')
    expect([code, out]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}$/)])
    expect(err).toContain(`networks assign NETWORK --channel ${out}`)
    expect(await owner.runJson<Channel[]>('channels')).toEqual([
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

  it('everything - is kept; the id in lower case', async () => {
    const owner = createCatalogCli()
    await owner.runJson('organizations', 'add', 'A')
    await owner.runJson('organizations', 'add', 'B')
    const words = ['--kind', 'YouTube', '--url', 'https://video.example/@c?x=1', '--id', ID.toUpperCase()]
    expect(await owner.runJson('channels', 'add', 'Video', ...words, '--organization', 'B')).toMatchObject({
      id: ID,
      kind: 'youtube',
      url: 'https://video.example/@c?x=1',
    })
    expect(await owner.runJson<Channel[]>('channels', 'list', '--organization', 'A')).toEqual([])
    expect(await owner.runJson<Channel[]>('channels', '--organization', 'B')).toMatchObject([{ id: ID }])
  })

  it.each([
    [['--kind', 'blog'], 'website, instagram, tiktok, youtube, facebook, pinterest, newsletter, app, other'],
    [['--url', 'video.example'], 'https://'],
    [['--url', 'https://user:pass@video.example/'], 'without a user name or password'],
    [['--url', 'javascript:alert(1)'], 'https://'],
    [['--id', 'x'], 'uuid'],
    [['--organization', 'C'], 'no organization "C"'],
  ])('%j - refused', async (words, said) => {
    expect(await createCatalogCli().runRefused('channels', 'add', 'A', ...words)).toContain(said)
  })

  it('id or name that is taken - refused; the name of another organization is free', async () => {
    const owner = createCatalogCli()
    await owner.runJson('organizations', 'add', 'A')
    await owner.runJson('organizations', 'add', 'B')
    expect(await owner.runRefused('channels', 'add', 'C')).toContain('--organization')
    await owner.runJson('channels', 'add', 'C', '--id', ID, '--organization', 'A')
    expect(await owner.runRefused('channels', 'add', 'D', '--id', ID, '--organization', 'A')).toContain(
      'already',
    )
    expect(await owner.runRefused('channels', 'add', 'C', '--organization', 'A')).toContain(ID)
    await owner.runJson('channels', 'add', 'C', '--organization', 'B')
  })
})

describe('catalog channels, set and remove', () => {
  it('set - only what is named', async () => {
    const owner = createCatalogCli()
    await owner.runJson('channels', 'add', 'A', '--id', ID, '--url', 'https://a.example/')
    expect(
      await owner.runJson('channels', 'set', ID.toUpperCase(), '--name', 'B', '--kind', 'app'),
    ).toMatchObject({
      id: ID,
      name: 'B',
      kind: 'app',
      url: 'https://a.example/',
    })
    expect((await owner.run('channels', 'set', ID, '--url', 'none')).out).toBe(`${ID}  app  B  (no address)`)
  })

  it('nothing to set, unknown, taken name, bad values - refused', async () => {
    const owner = createCatalogCli()
    await owner.runJson('channels', 'add', 'A', '--id', ID)
    await owner.runJson('channels', 'add', 'B')
    expect(await owner.runRefused('channels', 'set', ID)).toContain('nothing to set')
    expect(await owner.runRefused('channels', 'set', 'x', '--name', 'C')).toContain(
      'vitrine catalog channels',
    )
    expect(await owner.runRefused('channels', 'set', ID, '--name', 'B')).toContain('already')
    expect(await owner.runRefused('channels', 'set', ID, '--name', '')).toContain('a channel needs a name')
    expect(await owner.runRefused('channels', 'set', ID, '--kind', 'x')).toContain('--kind accepts')
  })

  it('remove - its network channels and their approvals stay and serve none', async () => {
    const owner = createCatalogCli()
    await owner.runJson('channels', 'add', 'A', '--id', ID)
    await importFeedFor(owner, ID, [makeFeedRow('17', ['Shop'], ['Net'])])
    const { out, err } = await owner.run('channels', 'remove', ID.toUpperCase())
    expect(out).toBe(`removed ${ID}`)
    expect(err).toContain('1 network channel of it kept, with the approvals and the offers')
    expect(await owner.runJson('networks')).toMatchObject([{ networkChannels: [{ channelId: null }] }])
    expect(await owner.runJson('approvals')).toMatchObject([
      { merchant: 'Shop', channelId: null, approved: true },
    ])
    expect((await owner.run('approvals')).out).toContain('no channel)  Net\n    Shop')
    expect(await owner.runRefused('channels', 'remove', ID)).toContain('no channel with the id')
  })

  it('remove - of a channel without networks - says nothing more', async () => {
    const owner = createCatalogCli()
    await owner.runJson('channels', 'add', 'A', '--id', ID)
    expect(await owner.run('channels', 'remove', ID)).toEqual({ code: 0, out: `removed ${ID}`, err: '' })
  })
})

describe('catalog that holds only sample data', () => {
  it.each([['channels'], ['networks'], ['merchants']])(
    '%s add - removes it first, and says so',
    async (noun) => {
      const owner = await createSampleCatalogCli()
      const { code, err } = await owner.run(noun, 'add', 'Mine')
      expect(code).toBe(0)
      expect(err).toContain('The sample data was removed.\n')
      const { reader } = await owner.openStore()
      expect(await reader.selectFrom('products').select('gtin').execute()).toEqual([])
      expect(await owner.runJson<unknown[]>(noun)).toHaveLength(1)
      expect((await owner.run(noun, 'add', 'More')).err).not.toContain('sample')
    },
  )

  it('add that is refused - leaves it as it was', async () => {
    const owner = await createSampleCatalogCli()
    await owner.runRefused('merchants', 'add', 'Mine', '--network', 'Nowhere', '--reference', '1')
    expect(await owner.runJson<unknown[]>('channels')).toHaveLength(3)
  })

  it('set, assign, approve, revoke, remove - work on it, and the next import still replaces it', async () => {
    const owner = await createSampleCatalogCli()
    const [channel] = await owner.runJson<Channel[]>('channels')
    const id = channel?.id ?? ''
    await owner.runJson('channels', 'set', id, '--name', 'Other')
    await owner.runJson('networks', 'set', 'Tradeloom', '--name', 'Loom')
    await owner.runJson('networks', 'assign', 'Loom', '--channel', id, '--publisher', 'p1')
    await owner.runJson('approvals', 'add', '--all', '--channel', id, '--network', 'Loom')
    await owner.runJson('merchants', 'revoke', 'Kestrel Row', '--channel', id)
    await owner.runJson('networks', 'remove', 'Affiliora', '--yes')
    await importFeedFor(owner, ID, [makeFeedRow('17', ['Shop'], ['Net'])])
    expect(await owner.runJson<Channel[]>('channels')).toMatchObject([{ id: ID }])
    expect(await owner.runJson('networks')).toMatchObject([{ name: 'Net' }])
  })
})
