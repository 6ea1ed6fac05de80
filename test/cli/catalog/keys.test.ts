import { describe, expect, it } from 'vitest'
import { createCatalogCli } from '../catalog-cli.ts'

type Key = { id: string; name: string; key: string; organizationId: string }

describe('catalog in a file', () => {
  it('list by something that would be in it, without a file - refused, and none is made', async () => {
    const owner = createCatalogCli()
    for (let times = 0; times < 2; times += 1)
      expect(await owner.runRefused('merchants', '--network', 'x')).toContain('no catalog at')
  })
})

describe('catalog keys of several organizations', () => {
  it('none named - refused, with all of them; named by id or name - made for it', async () => {
    const owner = createCatalogCli()
    const a = await owner.runJson<{ id: string }>('organizations', 'add', 'A')
    const b = await owner.runJson<{ id: string }>('organizations', 'add', 'B')
    const said = await owner.runRefused('keys', 'add', 'web')
    expect(said).toContain(`"A" (${a.id}), "B" (${b.id})`)
    const first = await owner.runJson<Key>('keys', 'add', 'web', '--organization', 'A')
    const second = await owner.runJson<Key>('keys', 'add', 'web', '--organization', b.id)
    expect([first.organizationId, second.organizationId]).toEqual([a.id, b.id])
    expect(await owner.runJson<Key[]>('keys', '--organization', 'B')).toMatchObject([
      { id: second.id, organization: 'B' },
    ])
    expect(await owner.runJson<Key[]>('keys', 'list')).toHaveLength(2)
    expect(await owner.runRefused('keys', '--organization', 'C')).toContain('no organization "C"')
    expect(await owner.runRefused('keys', 'add', 'x', '--organization', 'C')).toContain('no organization "C"')
  })

  it('name of a valid key - refused; free again when that is revoked', async () => {
    const owner = createCatalogCli()
    const { id } = await owner.runJson<Key>('keys', 'add', 'web')
    expect(await owner.runRefused('keys', 'add', ' web ')).toContain(id)
    await owner.runJson('keys', 'revoke', id)
    expect((await owner.run('keys', 'add', 'web')).code).toBe(0)
  })

  it.each(['', ' ', 'x'.repeat(101), 'a\tb'])('name %j - refused', async (name) => {
    expect(await createCatalogCli().runRefused('keys', 'add', name)).toContain('a key needs a name')
  })
})

describe('catalog keys, list and remove', () => {
  it('last use - what the service noted', async () => {
    const owner = createCatalogCli()
    const { id } = await owner.runJson<Key>('keys', 'add', 'web')
    const { usage } = await owner.openStore()
    const used_at_ms = Date.UTC(2026, 4, 2, 10, 14, 59)
    await usage.insertInto('key_uses').values({ key_id: id, used_at_ms }).execute()
    expect(await owner.runJson('keys')).toMatchObject([{ id, lastUsedAt: '2026-05-02T10:14:59.000Z' }])
    expect((await owner.run('keys')).out).toContain(', last used 2026-05-02 10:14 UTC, valid')
  })

  it('valid key - may not be removed; a revoked one goes, with its use; ids in any case', async () => {
    const owner = createCatalogCli()
    const { id } = await owner.runJson<Key>('keys', 'add', 'web')
    const { usage } = await owner.openStore()
    await usage.insertInto('key_uses').values({ key_id: id, used_at_ms: 1 }).execute()
    expect(await owner.runRefused('keys', 'remove', id)).toContain(`keys revoke ${id}`)
    expect(await owner.runJson('keys', 'revoke', id.toUpperCase())).toEqual({ id, revoked: true })
    expect(await owner.runRefused('keys', 'revoke', id)).toContain('no valid key')
    expect((await owner.run('keys', 'remove', id.toUpperCase())).out).toBe(`removed ${id}`)
    expect(await owner.runJson('keys')).toEqual([])
    expect(await usage.selectFrom('key_uses').selectAll().execute()).toEqual([])
    expect(await owner.runRefused('keys', 'remove', id)).toContain('no key with this id')
  })
})
