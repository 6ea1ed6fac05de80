import { describe, expect, it } from 'vitest'
import { importFor, makeOwner, makeRow, makeSampleOwner } from '../owner-harness.ts'

const ID = '952a0000-0000-4000-8000-0000000000a1'

type Channel = { id: string; name: string; kind: string; url: string | null; removedSample: boolean }

describe('catalog channels, add', () => {
  it('name alone - a website without an address, in an organization that is made', async () => {
    const owner = makeOwner()
    const { code, out, err } = await owner.type('channels', 'add', 'Cameras')
    expect([code, out]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}$/)])
    expect(err).toContain(`networks assign NETWORK --channel ${out}`)
    expect(await owner.ask<Channel[]>('channels')).toEqual([
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
    const owner = makeOwner()
    await owner.ask('organizations', 'add', 'A')
    await owner.ask('organizations', 'add', 'B')
    const words = ['--kind', 'YouTube', '--url', 'https://video.example/@c?x=1', '--id', ID.toUpperCase()]
    expect(await owner.ask('channels', 'add', 'Video', ...words, '--organization', 'B')).toMatchObject({
      id: ID,
      kind: 'youtube',
      url: 'https://video.example/@c?x=1',
    })
    expect(await owner.ask<Channel[]>('channels', 'list', '--organization', 'A')).toEqual([])
    expect(await owner.ask<Channel[]>('channels', '--organization', 'B')).toMatchObject([{ id: ID }])
  })

  it.each([
    [['--kind', 'blog'], 'website, instagram, tiktok, youtube, facebook, pinterest, newsletter, app, other'],
    [['--url', 'video.example'], 'https://'],
    [['--url', 'https://user:pass@video.example/'], 'without a user name or password'],
    [['--url', 'javascript:alert(1)'], 'https://'],
    [['--id', 'x'], 'uuid'],
    [['--organization', 'C'], 'no organization "C"'],
  ])('%j - refused', async (words, said) => {
    expect(await makeOwner().refused('channels', 'add', 'A', ...words)).toContain(said)
  })

  it('id or name that is taken - refused; the name of another organization is free', async () => {
    const owner = makeOwner()
    await owner.ask('organizations', 'add', 'A')
    await owner.ask('organizations', 'add', 'B')
    expect(await owner.refused('channels', 'add', 'C')).toContain('--organization')
    await owner.ask('channels', 'add', 'C', '--id', ID, '--organization', 'A')
    expect(await owner.refused('channels', 'add', 'D', '--id', ID, '--organization', 'A')).toContain(
      'already',
    )
    expect(await owner.refused('channels', 'add', 'C', '--organization', 'A')).toContain(ID)
    await owner.ask('channels', 'add', 'C', '--organization', 'B')
  })
})

describe('catalog channels, set and remove', () => {
  it('set - only what is named', async () => {
    const owner = makeOwner()
    await owner.ask('channels', 'add', 'A', '--id', ID, '--url', 'https://a.example/')
    expect(
      await owner.ask('channels', 'set', ID.toUpperCase(), '--name', 'B', '--kind', 'app'),
    ).toMatchObject({
      id: ID,
      name: 'B',
      kind: 'app',
      url: 'https://a.example/',
    })
    expect((await owner.type('channels', 'set', ID, '--url', 'none')).out).toBe(`${ID}  app  B  (no address)`)
  })

  it('nothing to set, unknown, taken name, bad values - refused', async () => {
    const owner = makeOwner()
    await owner.ask('channels', 'add', 'A', '--id', ID)
    await owner.ask('channels', 'add', 'B')
    expect(await owner.refused('channels', 'set', ID)).toContain('nothing to set')
    expect(await owner.refused('channels', 'set', 'x', '--name', 'C')).toContain('vitrine catalog channels')
    expect(await owner.refused('channels', 'set', ID, '--name', 'B')).toContain('already')
    expect(await owner.refused('channels', 'set', ID, '--name', '')).toContain('a channel needs a name')
    expect(await owner.refused('channels', 'set', ID, '--kind', 'x')).toContain('--kind accepts')
  })

  it('remove - its network channels and their approvals stay and serve none', async () => {
    const owner = makeOwner()
    await owner.ask('channels', 'add', 'A', '--id', ID)
    await importFor(owner, ID, [makeRow('17', ['Shop'], ['Net'])])
    const { out, err } = await owner.type('channels', 'remove', ID.toUpperCase())
    expect(out).toBe(`removed ${ID}`)
    expect(err).toContain('1 network channel of it kept, with approvals and with the offers')
    expect(await owner.ask('networks')).toMatchObject([{ networkChannels: [{ channelId: null }] }])
    expect(await owner.ask('approvals')).toMatchObject([
      { merchant: 'Shop', channelId: null, approved: true },
    ])
    expect((await owner.type('approvals')).out).toContain('no channel)  Net\n    Shop')
    expect(await owner.refused('channels', 'remove', ID)).toContain('no channel of the id')
  })

  it('remove - of a channel without networks - says nothing more', async () => {
    const owner = makeOwner()
    await owner.ask('channels', 'add', 'A', '--id', ID)
    expect(await owner.type('channels', 'remove', ID)).toEqual({ code: 0, out: `removed ${ID}`, err: '' })
  })
})

describe('catalog that holds only sample data', () => {
  it.each([['channels'], ['networks'], ['merchants']])(
    '%s add - removes it first, and says so',
    async (noun) => {
      const owner = await makeSampleOwner()
      const { code, err } = await owner.type(noun, 'add', 'Mine')
      expect(code).toBe(0)
      expect(err).toContain('The sample data was removed.\n')
      const { reader } = await owner.open()
      expect(await reader.selectFrom('products').select('gtin').execute()).toEqual([])
      expect(await owner.ask<unknown[]>(noun)).toHaveLength(1)
      expect((await owner.type(noun, 'add', 'More')).err).not.toContain('sample')
    },
  )

  it('add that is refused - leaves it as it was', async () => {
    const owner = await makeSampleOwner()
    await owner.refused('merchants', 'add', 'Mine', '--network', 'Nowhere', '--reference', '1')
    expect(await owner.ask<unknown[]>('channels')).toHaveLength(3)
  })

  it('set, assign, approve, revoke, remove - work on it, and the next import still replaces it', async () => {
    const owner = await makeSampleOwner()
    const [channel] = await owner.ask<Channel[]>('channels')
    const id = channel?.id ?? ''
    await owner.ask('channels', 'set', id, '--name', 'Other')
    await owner.ask('networks', 'set', 'Tradeloom', '--name', 'Loom')
    await owner.ask('networks', 'assign', 'Loom', '--channel', id, '--publisher', 'p1')
    await owner.ask('approvals', 'add', '--all', '--channel', id, '--network', 'Loom')
    await owner.ask('merchants', 'revoke', 'Kestrel Row', '--channel', id)
    await owner.ask('networks', 'remove', 'Affiliora', '--yes')
    await importFor(owner, ID, [makeRow('17', ['Shop'], ['Net'])])
    expect(await owner.ask<Channel[]>('channels')).toMatchObject([{ id: ID }])
    expect(await owner.ask('networks')).toMatchObject([{ name: 'Net' }])
  })
})
