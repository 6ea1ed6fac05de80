import { hash as oneShotHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Caller, CatalogStore } from './catalog-store.ts'
import type { Organization } from './organizations.ts'
import type { CatalogTables } from './schema.ts'

/** Random bytes of a key; 256 bits cannot be guessed. */
const KEY_BYTES = 32

/** Characters of a key that are kept to tell keys apart; 30 bits of it, far from enough to guess the rest. */
export const KEY_PREFIX_CHARACTERS = 8

/** A key as it may be listed: without the key. */
export type ApiKey = Readonly<{
  id: string
  organizationId: string
  name: string
  /** The first characters of the key. */
  prefix: string
  createdAtMs: number
  /** Unix milliseconds; `null` while it is valid. */
  revokedAtMs: number | null
}>

/** A new key. `key` is nowhere stored: it is shown once. */
export type NewApiKey = Readonly<{ id: string; key: string }>

/** A random API key. */
function makeApiKey(): string {
  return `vk_${randomBytes(KEY_BYTES).toString('base64url')}`
}

/** SHA-256 of a key, hex. A key has 256 random bits: a slow, salted hash would protect nothing more. */
export function hashApiKey(key: string): string {
  return oneShotHash('sha256', key)
}

/** A valid key whose prefix is asked for, and whose it is. */
export type KeyRow = Organization & Readonly<{ keyId: string; hash: string }>

/** The key of this hash among those of its prefix: compared here, in a time that tells nothing. */
export function chooseKey(rows: readonly KeyRow[], hash: string, state: string): Caller | undefined {
  const own = Buffer.from(hash)
  const found = rows.find((row) => timingSafeEqual(Buffer.from(row.hash), own))
  return found && { keyId: found.keyId, organization: { id: found.id, dailyLimit: found.dailyLimit }, state }
}

/** Whose key is made, and what people call it. */
export type NewApiKeyOwner = Readonly<{ organizationId: string; name: string; nowMs: number }>

/** Makes a key for an organization. */
export async function insertApiKey(
  database: Kysely<CatalogTables>,
  { organizationId, name, nowMs }: NewApiKeyOwner,
): Promise<NewApiKey> {
  const id = randomUUID()
  const key = makeApiKey()
  await database
    .insertInto('api_keys')
    .values({
      id,
      organization_id: organizationId,
      name,
      prefix: key.slice(0, KEY_PREFIX_CHARACTERS),
      hash: hashApiKey(key),
      created_at_ms: nowMs,
      revoked_at_ms: null,
    })
    .execute()
  return { id, key }
}

/** All keys, oldest first, revoked ones too. */
export async function fetchApiKeys(store: Pick<CatalogStore, 'reader'>): Promise<readonly ApiKey[]> {
  const rows = await store.reader
    .selectFrom('api_keys')
    .select(['id', 'organization_id', 'name', 'prefix', 'created_at_ms', 'revoked_at_ms'])
    .orderBy('created_at_ms')
    .orderBy('id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    organizationId: row.organization_id,
    name: row.name,
    prefix: row.prefix,
    createdAtMs: row.created_at_ms,
    revokedAtMs: row.revoked_at_ms,
  }))
}

/** Revokes a key for good. Answers whether there was a valid one of this id. */
export async function revokeApiKey(store: CatalogStore, id: string): Promise<boolean> {
  const result = await store.write((database) =>
    database
      .updateTable('api_keys')
      .set({ revoked_at_ms: store.clock.nowMs() })
      .where('id', '=', id)
      .where('revoked_at_ms', 'is', null)
      .executeTakeFirst(),
  )
  return result.numUpdatedRows > 0n
}

/** Takes a key off the list. Call it only for a revoked one: a list should tell which keys were ever valid. */
export async function removeApiKey(database: Kysely<CatalogTables>, id: string): Promise<void> {
  await database.deleteFrom('api_keys').where('id', '=', id).execute()
}
