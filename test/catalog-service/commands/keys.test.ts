import { describe, expect, it } from 'vitest'
import { createCatalogCli } from '../../cli/catalog-cli.ts'
import { getUsage } from '../store-handles.ts'

type Key = { id: string; name: string; key: string; organizationId: string }

describe('missing catalog file', () => {
  it('list filtered by a record - is rejected, and no file is created', async () => {
    const cli = createCatalogCli()
    for (let times = 0; times < 2; times += 1)
      expect(await cli.runRejected('merchants', '--network', 'x')).toContain('no catalog at')
  })
})

describe('catalog keys with several organizations', () => {
  it('no organization given - is rejected, and all are listed; given by id or name - the key is created for it', async () => {
    const cli = createCatalogCli()
    const a = await cli.runJson<{ id: string }>('organizations', 'add', 'A')
    const b = await cli.runJson<{ id: string }>('organizations', 'add', 'B')
    const message = await cli.runRejected('keys', 'add', 'web')
    expect(message).toContain(`"A" (${a.id}), "B" (${b.id})`)
    const first = await cli.runJson<Key>('keys', 'add', 'web', '--organization', 'A')
    const second = await cli.runJson<Key>('keys', 'add', 'web', '--organization', b.id)
    expect([first.organizationId, second.organizationId]).toEqual([a.id, b.id])
    expect(await cli.runJson<Key[]>('keys', '--organization', 'B')).toMatchObject([
      { id: second.id, organization: 'B' },
    ])
    expect(await cli.runJson<Key[]>('keys', 'list')).toHaveLength(2)
    expect(await cli.runRejected('keys', '--organization', 'C')).toContain('no organization "C"')
    expect(await cli.runRejected('keys', 'add', 'x', '--organization', 'C')).toContain('no organization "C"')
  })

  it('name of a valid key - is rejected; accepted when that key is revoked', async () => {
    const cli = createCatalogCli()
    const { id } = await cli.runJson<Key>('keys', 'add', 'web')
    expect(await cli.runRejected('keys', 'add', ' web ')).toContain(id)
    await cli.runJson('keys', 'revoke', id)
    expect((await cli.run('keys', 'add', 'web')).code).toBe(0)
  })

  it.each(['', ' ', 'x'.repeat(101), 'a\tb'])('name %j - is rejected', async (name) => {
    expect(await createCatalogCli().runRejected('keys', 'add', name)).toContain('a key needs a name')
  })
})

describe('catalog keys list and remove', () => {
  it('last use - as recorded by the service', async () => {
    const cli = createCatalogCli()
    const { id } = await cli.runJson<Key>('keys', 'add', 'web')
    const usage = await getUsage(await cli.openStore())
    const used_at_ms = Date.UTC(2026, 4, 2, 10, 14, 59)
    await usage.insertInto('key_uses').values({ key_id: id, used_at_ms }).execute()
    expect(await cli.runJson('keys')).toMatchObject([{ id, lastUsedAt: '2026-05-02T10:14:59.000Z' }])
    expect((await cli.run('keys')).out).toContain(', last used 2026-05-02 10:14 UTC, valid')
  })

  it('remove - rejected for a valid key; a revoked one is removed with its use; ids in any case', async () => {
    const cli = createCatalogCli()
    const { id } = await cli.runJson<Key>('keys', 'add', 'web')
    const usage = await getUsage(await cli.openStore())
    await usage.insertInto('key_uses').values({ key_id: id, used_at_ms: 1 }).execute()
    expect(await cli.runRejected('keys', 'remove', id)).toContain(`keys revoke ${id}`)
    expect(await cli.runJson('keys', 'revoke', id.toUpperCase())).toEqual({ id, revoked: true })
    expect(await cli.runRejected('keys', 'revoke', id)).toContain('no valid key')
    expect((await cli.run('keys', 'remove', id.toUpperCase())).out).toBe(`removed ${id}`)
    expect(await cli.runJson('keys')).toEqual([])
    expect(await usage.selectFrom('key_uses').selectAll().execute()).toEqual([])
    expect(await cli.runRejected('keys', 'remove', id)).toContain('no key with this id')
  })
})
