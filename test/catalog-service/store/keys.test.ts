import { describe, expect, test } from 'vitest'
import { fetchApiKeys, hashApiKey, revokeApiKey } from '../../../src/catalog-service/store/keys.ts'
import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { findDefaultOrganization } from '../../../src/catalog-service/store/organizations.ts'
import { MINUTE_MS } from '../../../src/clock.ts'
import { openTestStore, addApiKey } from '../harness.ts'
import { getReader } from '../store-handles.ts'

describe('API keys, create', () => {
  test('new key - format - a prefix and 32 random bytes, always different', async () => {
    const { store } = await openTestStore()
    const keys = []
    for (let index = 0; index < 20; index += 1) keys.push(await addApiKey(store, 'same name'))
    for (const { key } of keys) expect(key).toMatch(/^vk_[\w-]{43}$/)
    expect(new Set(keys.map(({ key }) => key)).size).toBe(20)
    expect(new Set(keys.map(({ id }) => id)).size).toBe(20)
  })

  test('first key of an empty catalog - creates the organization; the second one does not', async () => {
    const { store, clock } = await openTestStore()
    expect(await findDefaultOrganization(await getReader(store))).toBeUndefined()
    const createdAtMs = clock.nowMs()
    await addApiKey(store, 'first')
    clock.advance(MINUTE_MS)
    await addApiKey(store, 'second')
    const organizations = await (await getReader(store)).selectFrom('organizations').selectAll().execute()
    expect(organizations).toEqual([
      { id: expect.any(String), name: 'My organization', daily_limit: null, created_at_ms: createdAtMs },
    ])
  })

  test('key - cannot be stored - leaves no organization behind', async () => {
    const { store } = await openTestStore()
    await store.write((database) => database.schema.dropTable('api_keys').execute())
    await expect(addApiKey(store, 'one')).rejects.toThrow(/api_keys/)
    expect(await findDefaultOrganization(await getReader(store))).toBeUndefined()
  })
})

describe('API keys, list', () => {
  test('no key - empty', async () => {
    const { store } = await openTestStore()
    expect(await store.read(fetchApiKeys)).toEqual([])
  })

  test('valid and revoked - oldest first, with times and prefixes, without the keys', async () => {
    const { store, clock } = await openTestStore()
    const startMs = clock.nowMs()
    const first = await addApiKey(store, 'first')
    clock.advance(MINUTE_MS)
    const second = await addApiKey(store, 'Zweiter "Schlüssel"')
    clock.advance(MINUTE_MS)
    await revokeApiKey(store, first.id)
    const organization = await findDefaultOrganization(await getReader(store))
    const common = { organizationId: organization?.id, prefix: expect.stringMatching(/^vk_[\w-]{5}$/) }
    expect(await store.read(fetchApiKeys)).toEqual([
      { ...common, id: first.id, name: 'first', createdAtMs: startMs, revokedAtMs: startMs + 2 * MINUTE_MS },
      {
        ...common,
        id: second.id,
        name: 'Zweiter "Schlüssel"',
        createdAtMs: startMs + MINUTE_MS,
        revokedAtMs: null,
      },
    ])
  })

  test('keys of the same millisecond - ordered by id', async () => {
    const { store } = await openTestStore()
    const ids: string[] = []
    for (let index = 0; index < 12; index += 1) ids.push((await addApiKey(store, `${index}`)).id)
    expect((await store.read(fetchApiKeys)).map(({ id }) => id)).toEqual(ids.toSorted())
  })
})

describe('API keys, revoke', () => {
  test('revoked again - false, and the first time stays', async () => {
    const { store, clock } = await openTestStore()
    const { id } = await addApiKey(store, 'one')
    const revokedAtMs = clock.nowMs()
    expect(await revokeApiKey(store, id)).toBe(true)
    clock.advance(MINUTE_MS)
    expect(await revokeApiKey(store, id)).toBe(false)
    expect(await store.read(fetchApiKeys)).toMatchObject([{ id, revokedAtMs }])
  })

  test.each(['', 'unknown', '%', "' or 1=1 --"])('id "%s" - false, and revokes nothing', async (id) => {
    const { store } = await openTestStore()
    await addApiKey(store, 'one')
    expect(await revokeApiKey(store, id)).toBe(false)
    expect(await store.read(fetchApiKeys)).toMatchObject([{ revokedAtMs: null }])
  })
})

describe('API keys, find', () => {
  test('valid key - its id and the organization with its limit', async () => {
    const { store } = await openTestStore()
    const { id, key } = await addApiKey(store, 'one')
    const organization = await findDefaultOrganization(await getReader(store))
    const expected = { keyId: id, organization: { id: organization?.id, dailyLimit: null } }
    expect(await store.findCaller(key)).toMatchObject(expected)
    await store.write((database) => database.updateTable('organizations').set({ daily_limit: 9 }).execute())
    const changed = await store.findCaller(key)
    expect(changed?.organization.dailyLimit).toBe(9)
  })

  test('hash of a key, unknown key, same prefix, revoked key - undefined', async () => {
    const { store } = await openTestStore()
    const { id, key } = await addApiKey(store, 'one')
    for (const other of [hashApiKey(key), 'other', '', `${key.slice(0, -1)}-`])
      expect(await store.findCaller(other)).toBeUndefined()
    await revokeApiKey(store, id)
    expect(await store.findCaller(key)).toBeUndefined()
  })

  test('catalog opened again - the key is still valid; revoked elsewhere - it is not', async () => {
    const { store, database, clock } = await openTestStore()
    const { id, key } = await addApiKey(store, 'one')
    const second = await openCatalogStore({ database, clock })
    expect(await second.findCaller(key)).toMatchObject({ keyId: id })
    await revokeApiKey(store, id)
    expect(await second.findCaller(key)).toBeUndefined()
    await second.close()
  })
})
