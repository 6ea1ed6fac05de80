import { describe, expect, test } from 'vitest'
import { createAuthenticator } from '../../src/catalog-service/authenticate.ts'
import { hashApiKey, revokeApiKey } from '../../src/catalog-service/store/keys.ts'
import { Secret } from '../../src/config/secrets.ts'
import { type StoreUnderTest, openTestStore, addApiKey } from './harness.ts'

const MISSING = { statusCode: 401, message: 'the header "Authorization: Bearer <API key>" is missing' }
const WRONG = { statusCode: 401, message: 'the API key is wrong or revoked' }
const EMPTY = { statusCode: 503, message: 'the catalog is empty: import a feed first' }

async function addOrganization(
  { store }: StoreUnderTest,
  organization: Readonly<{ id: string; dailyLimit: number | null; createdAtMs: number }>,
): Promise<void> {
  const { id, dailyLimit, createdAtMs } = organization
  await store.write((database) =>
    database
      .insertInto('organizations')
      .values({ id, name: id, daily_limit: dailyLimit, created_at_ms: createdAtMs })
      .execute(),
  )
}

async function insertKey({ store }: StoreUnderTest, organizationId: string, key: string): Promise<void> {
  const row = {
    id: key,
    organization_id: organizationId,
    name: 'n',
    prefix: key.slice(0, 8),
    hash: hashApiKey(key),
  }
  await store.write((database) =>
    database
      .insertInto('api_keys')
      .values({ ...row, created_at_ms: 0, revoked_at_ms: null })
      .execute(),
  )
}

describe('stored keys', () => {
  test('two organizations - each key belongs to its organization, with its limit', async () => {
    const fixture = await openTestStore()
    await addOrganization(fixture, { id: 'old', dailyLimit: null, createdAtMs: 1 })
    await addOrganization(fixture, { id: 'new', dailyLimit: 7, createdAtMs: 2 })
    await insertKey(fixture, 'old', 'key-of-old')
    await insertKey(fixture, 'new', 'key-of-new')
    const authenticate = createAuthenticator(fixture.store)
    expect((await authenticate('Bearer key-of-old')).organization).toEqual({ id: 'old', dailyLimit: null })
    expect((await authenticate('Bearer key-of-new')).organization).toEqual({ id: 'new', dailyLimit: 7 })
  })

  test('key with the hash of a stored database - is accepted', async () => {
    const fixture = await openTestStore()
    await addOrganization(fixture, { id: 'old', dailyLimit: null, createdAtMs: 1 })
    await insertKey(fixture, 'old', 'abc')
    // What version 1.0 stores for "abc": existing databases must stay valid.
    const hash = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
    await fixture.store.write((database) => database.updateTable('api_keys').set({ hash }).execute())
    expect((await createAuthenticator(fixture.store)('Bearer abc')).organization).toEqual({
      id: 'old',
      dailyLimit: null,
    })
  })

  test('one of two keys revoked - it is rejected at once, the other is not', async () => {
    const { store } = await openTestStore()
    const [first, second] = [await addApiKey(store, 'first'), await addApiKey(store, 'second')]
    const authenticate = createAuthenticator(store)
    expect((await authenticate(`Bearer ${first.key}`)).organization.id).toBe(
      (await authenticate(`Bearer ${second.key}`)).organization.id,
    )
    await revokeApiKey(store, first.id)
    await expect(authenticate(`Bearer ${first.key}`)).rejects.toThrow(expect.objectContaining(WRONG))
    expect(await authenticate(`Bearer ${second.key}`)).toMatchObject({ organization: { dailyLimit: null } })
  })

  test('key in another case, or part of it - is rejected', async () => {
    const { store } = await openTestStore()
    const { key } = await addApiKey(store, 'one')
    const authenticate = createAuthenticator(store)
    for (const other of [key.toUpperCase(), key.slice(0, -1), `${key}a`, hashApiKey(key)])
      await expect(authenticate(`Bearer ${other}`)).rejects.toThrow(expect.objectContaining(WRONG))
  })
})

describe('header', () => {
  const LONGEST = 'k'.repeat(256)
  const EVERY_LETTER = 'azAZ09_.~+/=-'

  test.each([
    `Bearer ${LONGEST}`,
    `Bearer ${EVERY_LETTER}`,
    `BEARER ${EVERY_LETTER}`,
    `bearer    ${EVERY_LETTER}`,
    `Bearer ${EVERY_LETTER}  `,
  ])('%s - its key is accepted', async (authorization) => {
    const fixture = await openTestStore()
    await addOrganization(fixture, { id: 'one', dailyLimit: null, createdAtMs: 1 })
    await insertKey(fixture, 'one', LONGEST)
    await insertKey(fixture, 'one', EVERY_LETTER)
    const authenticate = createAuthenticator(fixture.store)
    expect((await authenticate(authorization)).organization).toEqual({ id: 'one', dailyLimit: null })
  })

  test.each([
    undefined,
    '',
    EVERY_LETTER,
    `Bearer${EVERY_LETTER}`,
    ` Bearer ${EVERY_LETTER}`,
    `Bearer\t${EVERY_LETTER}`,
    `Bearer ${EVERY_LETTER}\n`,
    `Bearer ${EVERY_LETTER},`,
    `Bearer "${EVERY_LETTER}"`,
    `Bearer ${EVERY_LETTER} ${EVERY_LETTER}`,
    `Basic ${EVERY_LETTER}`,
    'Bearer k\u00e9y',
    `Bearer ${LONGEST}k`,
  ])('%j - contains no key', async (authorization) => {
    const { store } = await openTestStore()
    const authenticate = createAuthenticator(store, new Secret(EVERY_LETTER))
    await expect(authenticate(authorization)).rejects.toThrow(expect.objectContaining(MISSING))
  })
})

describe('internal key', () => {
  test('catalog without organization - 503 for the internal key only', async () => {
    const { store } = await openTestStore()
    const authenticate = createAuthenticator(store, new Secret('internal-key'))
    await expect(authenticate('Bearer internal-key')).rejects.toThrow(expect.objectContaining(EMPTY))
    await expect(authenticate('Bearer internal-key2')).rejects.toThrow(expect.objectContaining(WRONG))
  })

  test('several organizations - belongs to the oldest at the time of the call, with its limit', async () => {
    const fixture = await openTestStore()
    const authenticate = createAuthenticator(fixture.store, new Secret('internal-key'))
    await addOrganization(fixture, { id: 'a', dailyLimit: null, createdAtMs: 5 })
    expect((await authenticate('Bearer internal-key')).organization).toEqual({ id: 'a', dailyLimit: null })
    await addOrganization(fixture, { id: 'b', dailyLimit: 3, createdAtMs: 4 })
    expect((await authenticate('Bearer internal-key')).organization).toEqual({ id: 'b', dailyLimit: 3 })
  })

  test('stored keys in addition - stay valid, and the internal key is not stored', async () => {
    const { store } = await openTestStore()
    const { key } = await addApiKey(store, 'one')
    const authenticate = createAuthenticator(store, new Secret('internal-key'))
    expect((await authenticate(`Bearer ${key}`)).organization).toEqual(
      (await authenticate('Bearer internal-key')).organization,
    )
    await expect(createAuthenticator(store)('Bearer internal-key')).rejects.toThrow(
      expect.objectContaining(WRONG),
    )
  })
})
