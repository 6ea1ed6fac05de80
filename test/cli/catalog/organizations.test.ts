import { describe, expect, it } from 'vitest'
import { importFeedFor, createCatalogCli, makeFeedRow, createSampleCatalogCli } from '../catalog-cli.ts'

type Made = { id: string; name: string; dailyLimit: number | null }
type Listed = Made & { requestsToday: number; createdAt: string }

describe('catalog organizations, list and add', () => {
  it('none yet - says what makes one, and json is an empty list', async () => {
    const owner = createCatalogCli()
    expect(await owner.run('organizations')).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('organizations add NAME'),
    })
    expect(await owner.runJson('organizations', 'list')).toEqual([])
  })

  it('add - prints the id alone; the list shows name, limit and the requests of today', async () => {
    const owner = createCatalogCli()
    const {
      code,
      out: id,
      err,
    } = await owner.run('organizations', 'add', ' Team A ', '--daily-limit', '1500')
    expect([code, id]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}$/)])
    expect(err).toContain(`vitrine catalog keys add NAME --organization ${id}`)
    const store = await owner.openStore()
    await store.countRequest({ id, dailyLimit: 1500 })
    expect(await owner.runJson<Listed[]>('organizations')).toEqual([
      { id, name: 'Team A', requestsToday: 1, dailyLimit: 1500, createdAt: expect.stringMatching(/Z$/) },
    ])
    expect((await owner.run('organizations')).out).toMatch(
      new RegExp(`^${id}  Team A\\n {4}1 request today, of 1,500 per day; created \\d{4}-\\d{2}-\\d{2}$`),
    )
  })

  it.each([
    ['', 'characters'],
    ['x'.repeat(101), '1 to 100'],
    ['a\nb', 'one line'],
    ['a\u001b[2Jb', 'one line'],
  ])('name %j - refused', async (name, words) => {
    expect(await createCatalogCli().runRefused('organizations', 'add', name)).toContain(words)
  })

  it.each(['-1', '1.5', 'many', '', '1000000001'])('limit %j - refused', async (limit) => {
    expect(
      await createCatalogCli().runRefused('organizations', 'add', 'A', `--daily-limit=${limit}`),
    ).toContain('--daily-limit')
  })

  it('name that is taken - refused, with the id of the other', async () => {
    const owner = createCatalogCli()
    const { id } = await owner.runJson<Made>('organizations', 'add', 'A')
    expect(await owner.runRefused('organizations', 'add', 'A')).toContain(id)
  })
})

describe('catalog organizations, set', () => {
  it('name and limit - by id in any case or by name; none takes the limit away; 0 allows nothing', async () => {
    const owner = createCatalogCli()
    const { id } = await owner.runJson<Made>('organizations', 'add', 'A', '--daily-limit', '5')
    expect(await owner.runJson('organizations', 'set', id.toUpperCase(), '--name', 'B')).toEqual({
      id,
      name: 'B',
      dailyLimit: 5,
    })
    expect(await owner.runJson('organizations', 'set', 'B', '--daily-limit', 'none')).toMatchObject({
      name: 'B',
      dailyLimit: null,
    })
    expect((await owner.run('organizations', 'set', 'B', '--daily-limit', '0')).out).toBe(
      '"B": 0 requests per day',
    )
    expect((await owner.run('organizations', 'set', 'B', '--daily-limit', 'none')).out).toContain(
      'no daily limit',
    )
  })

  it('nothing to set, unknown, taken name - refused', async () => {
    const owner = createCatalogCli()
    expect(await owner.runRefused('organizations', 'set', 'A', '--name', 'B')).toContain('there are none yet')
    await owner.runJson('organizations', 'add', 'A')
    await owner.runJson('organizations', 'add', 'B')
    expect(await owner.runRefused('organizations', 'set', 'A')).toContain('--daily-limit N')
    expect(await owner.runRefused('organizations', 'set', 'C', '--name', 'D')).toContain('"A" (')
    expect(await owner.runRefused('organizations', 'set', 'A', '--name', 'B')).toContain('already')
    expect(await owner.runJson('organizations', 'set', 'A', '--name', 'A')).toMatchObject({ name: 'A' })
  })

  it('name that two have - refused, with both ids', async () => {
    const owner = createCatalogCli()
    const store = await owner.openStore()
    for (const id of ['one', 'two']) {
      const row = { id, name: 'Same', daily_limit: null, created_at_ms: 0 }
      await store.write((database) => database.insertInto('organizations').values(row).execute())
    }
    expect(await owner.runRefused('organizations', 'set', 'Same', '--name', 'X')).toContain('one, two')
  })
})

describe('catalog organizations, remove', () => {
  it('only one - refused, with --yes too', async () => {
    const owner = createCatalogCli()
    await owner.runJson('organizations', 'add', 'A')
    expect(await owner.runRefused('organizations', 'remove', 'A')).toContain('only organization')
    expect(await owner.runRefused('organizations', 'remove', 'A', '--yes')).toContain('only organization')
  })

  it('one of two, without channels - goes, with its keys and its count', async () => {
    const owner = createCatalogCli()
    await owner.runJson('organizations', 'add', 'A')
    const { id } = await owner.runJson<Made>('organizations', 'add', 'B')
    const store = await owner.openStore()
    await store.countRequest({ id, dailyLimit: null })
    const key = await owner.runJson<{ id: string }>('keys', 'add', 'k', '--organization', 'B')
    await store.usage.insertInto('key_uses').values({ key_id: key.id, used_at_ms: 1 }).execute()
    expect(await owner.runJson('organizations', 'remove', id)).toEqual({
      id,
      name: 'B',
      removed: true,
      keys: 1,
      channels: 0,
      networkChannels: 0,
      offers: 0,
      products: 0,
    })
    expect(await owner.runJson<Listed[]>('organizations')).toHaveLength(1)
    expect(await owner.runJson('keys')).toEqual([])
    expect(await store.usage.selectFrom('usage').selectAll().execute()).toEqual([])
    expect(await store.usage.selectFrom('key_uses').selectAll().execute()).toEqual([])
  })

  it('oldest - says whom a server with the catalog inside shows now', async () => {
    const owner = createCatalogCli()
    for (const name of ['A', 'B', 'C']) await owner.runJson('organizations', 'add', name)
    expect((await owner.run('organizations', 'remove', 'C')).err).toBe('')
    expect((await owner.run('organizations', 'remove', 'A')).err).toContain('now shows "B"')
  })

  it('with channels - only with --yes; offers with its own links go, those of others stay', async () => {
    const owner = createCatalogCli()
    await owner.runJson('organizations', 'add', 'A')
    await owner.runJson('organizations', 'add', 'B')
    const first = await owner.runJson<Made>('channels', 'add', 'A', '--organization', 'A')
    const second = await owner.runJson<Made>('channels', 'add', 'B', '--organization', 'B')
    await importFeedFor(owner, first.id, [makeFeedRow('17', ['Shop'], ['Net'])])
    await importFeedFor(owner, second.id, [
      makeFeedRow('17', ['Shop'], ['Net']),
      makeFeedRow('24', ['Shop'], ['Net']),
    ])
    expect(await owner.runRefused('organizations', 'remove', 'B')).toContain(
      '0 keys, 1 channel, 1 network channel; add --yes',
    )
    expect((await owner.run('organizations', 'remove', 'B', '--yes')).out).toBe(
      'removed "B", with 0 keys, 1 channel, 1 network channel, 2 offers and 1 product',
    )
    const { reader } = await owner.openStore()
    expect(await reader.selectFrom('offers').select('gtin').execute()).toEqual([{ gtin: '00000000000017' }])
    expect(await reader.selectFrom('products').select('gtin').execute()).toHaveLength(1)
    expect(await reader.selectFrom('network_channels').select('id').execute()).toHaveLength(1)
    expect(await reader.selectFrom('approvals').selectAll().execute()).toHaveLength(1)
  })

  it('sample data - an organization more keeps them and their mark', async () => {
    const owner = await createSampleCatalogCli()
    await owner.runJson('organizations', 'add', 'B')
    await owner.runJson('keys', 'add', 'k', '--organization', 'B')
    expect(await owner.runJson<unknown[]>('channels')).toHaveLength(3)
    const { reader } = await owner.openStore()
    expect(
      await reader.selectFrom('meta').select('key').where('key', '=', 'sample_base').execute(),
    ).toHaveLength(1)
  })
})
