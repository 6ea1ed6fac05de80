import { describe, expect, it } from 'vitest'
import {
  importFeedFor,
  createCatalogCli,
  makeFeedRow,
  createSampleCatalogCli,
} from '../../cli/catalog-cli.ts'
import { getReader, getUsage } from '../store-handles.ts'

type Made = { id: string; name: string; dailyLimit: number | null }
type Listed = Made & { requestsToday: number; createdAt: string }

describe('catalog organizations list and add', () => {
  it('no organizations - prints how to create one; --json prints an empty list', async () => {
    const cli = createCatalogCli()
    expect(await cli.run('organizations')).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('organizations add NAME'),
    })
    expect(await cli.runJson('organizations', 'list')).toEqual([])
  })

  it('add - prints only the id; the list has name, limit and the requests of today', async () => {
    const cli = createCatalogCli()
    const { code, out: id, err } = await cli.run('organizations', 'add', ' Team A ', '--daily-limit', '1500')
    expect([code, id]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}$/)])
    expect(err).toContain(`vitrine catalog keys add NAME --organization ${id}`)
    const store = await cli.openStore()
    await store.countRequest({ id, dailyLimit: 1500 })
    expect(await cli.runJson<Listed[]>('organizations')).toEqual([
      { id, name: 'Team A', requestsToday: 1, dailyLimit: 1500, createdAt: expect.stringMatching(/Z$/) },
    ])
    expect((await cli.run('organizations')).out).toMatch(
      new RegExp(`^${id}  Team A\\n {4}1 request today, of 1,500 per day; created \\d{4}-\\d{2}-\\d{2}$`),
    )
  })

  it.each([
    ['', 'characters'],
    ['x'.repeat(101), '1 to 100'],
    ['a\nb', 'one line'],
    ['a\u001b[2Jb', 'one line'],
  ])('name %j - is rejected', async (name, args) => {
    expect(await createCatalogCli().runRejected('organizations', 'add', name)).toContain(args)
  })

  it.each(['-1', '1.5', 'many', '', '1000000001'])('limit %j - is rejected', async (limit) => {
    expect(
      await createCatalogCli().runRejected('organizations', 'add', 'A', `--daily-limit=${limit}`),
    ).toContain('--daily-limit')
  })

  it('existing name - is rejected, with the id of the other', async () => {
    const cli = createCatalogCli()
    const { id } = await cli.runJson<Made>('organizations', 'add', 'A')
    expect(await cli.runRejected('organizations', 'add', 'A')).toContain(id)
  })
})

describe('catalog organizations set', () => {
  it('name and limit - by id in any case or by name; none clears the limit; 0 allows nothing', async () => {
    const cli = createCatalogCli()
    const { id } = await cli.runJson<Made>('organizations', 'add', 'A', '--daily-limit', '5')
    expect(await cli.runJson('organizations', 'set', id.toUpperCase(), '--name', 'B')).toEqual({
      id,
      name: 'B',
      dailyLimit: 5,
    })
    expect(await cli.runJson('organizations', 'set', 'B', '--daily-limit', 'none')).toMatchObject({
      name: 'B',
      dailyLimit: null,
    })
    expect((await cli.run('organizations', 'set', 'B', '--daily-limit', '0')).out).toBe(
      '"B": 0 requests per day',
    )
    expect((await cli.run('organizations', 'set', 'B', '--daily-limit', 'none')).out).toContain(
      'no daily limit',
    )
  })

  it('no option, unknown organization, existing name - are rejected', async () => {
    const cli = createCatalogCli()
    expect(await cli.runRejected('organizations', 'set', 'A', '--name', 'B')).toContain('there are none yet')
    await cli.runJson('organizations', 'add', 'A')
    await cli.runJson('organizations', 'add', 'B')
    expect(await cli.runRejected('organizations', 'set', 'A')).toContain('--daily-limit N')
    expect(await cli.runRejected('organizations', 'set', 'C', '--name', 'D')).toContain('"A" (')
    expect(await cli.runRejected('organizations', 'set', 'A', '--name', 'B')).toContain('already')
    expect(await cli.runJson('organizations', 'set', 'A', '--name', 'A')).toMatchObject({ name: 'A' })
  })

  it('ambiguous name - is rejected, with both ids', async () => {
    const cli = createCatalogCli()
    const store = await cli.openStore()
    for (const id of ['one', 'two']) {
      const row = { id, name: 'Same', daily_limit: null, created_at_ms: 0 }
      await store.write((database) => database.insertInto('organizations').values(row).execute())
    }
    expect(await cli.runRejected('organizations', 'set', 'Same', '--name', 'X')).toContain('one, two')
  })
})

describe('catalog organizations remove', () => {
  it('the only organization - is rejected, also with --yes', async () => {
    const cli = createCatalogCli()
    await cli.runJson('organizations', 'add', 'A')
    expect(await cli.runRejected('organizations', 'remove', 'A')).toContain('only organization')
    expect(await cli.runRejected('organizations', 'remove', 'A', '--yes')).toContain('only organization')
  })

  it('one of two, without channels - is removed with its keys and its count', async () => {
    const cli = createCatalogCli()
    await cli.runJson('organizations', 'add', 'A')
    const { id } = await cli.runJson<Made>('organizations', 'add', 'B')
    const store = await cli.openStore()
    await store.countRequest({ id, dailyLimit: null })
    const key = await cli.runJson<{ id: string }>('keys', 'add', 'k', '--organization', 'B')
    await (await getUsage(store)).insertInto('key_uses').values({ key_id: key.id, used_at_ms: 1 }).execute()
    expect(await cli.runJson('organizations', 'remove', id)).toEqual({
      id,
      name: 'B',
      removed: true,
      keys: 1,
      channels: 0,
      networkChannels: 0,
      offers: 0,
      products: 0,
    })
    expect(await cli.runJson<Listed[]>('organizations')).toHaveLength(1)
    expect(await cli.runJson('keys')).toEqual([])
    expect(await (await getUsage(store)).selectFrom('usage').selectAll().execute()).toEqual([])
    expect(await (await getUsage(store)).selectFrom('key_uses').selectAll().execute()).toEqual([])
  })

  it('the oldest organization - prints which one a server with the embedded catalog shows now', async () => {
    const cli = createCatalogCli()
    for (const name of ['A', 'B', 'C']) await cli.runJson('organizations', 'add', name)
    expect((await cli.run('organizations', 'remove', 'C')).err).toBe('')
    expect((await cli.run('organizations', 'remove', 'A')).err).toContain('now shows "B"')
  })

  it('organization with channels - only with --yes; offers with its links are removed, those of others stay', async () => {
    const cli = createCatalogCli()
    await cli.runJson('organizations', 'add', 'A')
    await cli.runJson('organizations', 'add', 'B')
    const first = await cli.runJson<Made>('channels', 'add', 'A', '--organization', 'A')
    const second = await cli.runJson<Made>('channels', 'add', 'B', '--organization', 'B')
    await importFeedFor(cli, first.id, [makeFeedRow('17', ['Shop'], ['Net'])])
    await importFeedFor(cli, second.id, [
      makeFeedRow('17', ['Shop'], ['Net']),
      makeFeedRow('24', ['Shop'], ['Net']),
    ])
    expect(await cli.runRejected('organizations', 'remove', 'B')).toContain(
      '0 keys, 1 channel, 1 network channel; add --yes',
    )
    expect((await cli.run('organizations', 'remove', 'B', '--yes')).out).toBe(
      'removed "B", with 0 keys, 1 channel, 1 network channel, 2 offers and 1 product',
    )
    const reader = await getReader(await cli.openStore())
    expect(await reader.selectFrom('offers').select('gtin').execute()).toEqual([{ gtin: '00000000000017' }])
    expect(await reader.selectFrom('products').select('gtin').execute()).toHaveLength(1)
    expect(await reader.selectFrom('network_channels').select('id').execute()).toHaveLength(1)
    expect(await reader.selectFrom('approvals').selectAll().execute()).toHaveLength(1)
  })

  it('add to sample data - keeps the sample data', async () => {
    const cli = await createSampleCatalogCli()
    await cli.runJson('organizations', 'add', 'B')
    await cli.runJson('keys', 'add', 'k', '--organization', 'B')
    expect(await cli.runJson<unknown[]>('channels')).toHaveLength(3)
    const reader = await getReader(await cli.openStore())
    expect(
      await reader.selectFrom('meta').select('key').where('key', '=', 'sample_base').execute(),
    ).toHaveLength(1)
  })
})
