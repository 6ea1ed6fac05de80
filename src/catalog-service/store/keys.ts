import { hash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { sql } from 'kysely'
import type { Caller, CatalogStore } from './catalog-store.ts'
import type { Catalog } from './schema.ts'

const KEY_BYTES = 32

/** Characters of a key stored in plain text; they contain 30 of its 256 random bits. */
const KEY_PREFIX_CHARACTERS = 8

/** A stored key, without its secret. Times are Unix milliseconds; `revokedAtMs` is `null` while the key is valid. */
export type ApiKey = Readonly<{
  id: string
  organizationId: string
  name: string
  prefix: string
  createdAtMs: number
  revokedAtMs: number | null
}>

/** `key` is the secret. It is not stored, so it can be shown only once. */
export type NewApiKey = Readonly<{ id: string; key: string }>

/** Return the SHA-256 of a key in hex. With 256 random bits, a slow or salted hash would add no protection. */
export function hashApiKey(key: string): string {
  return hash('sha256', key)
}

/** Find the caller of a valid key. The query uses only the prefix; hashes are compared in constant time. */
export async function findCaller(database: Catalog, key: string): Promise<Caller | undefined> {
  const { rows } = await sql<{ keyId: string; hash: string; id: string; dailyLimit: number | null }>`
    select k.id as "keyId", k.hash, o.id, o.daily_limit as "dailyLimit"
    from api_keys k join organizations o on o.id = k.organization_id
    where k.prefix = ${key.slice(0, KEY_PREFIX_CHARACTERS)} and k.revoked_at_ms is null`.execute(database)
  const keyHash = Buffer.from(hashApiKey(key))
  const found = rows.find(({ hash }) => timingSafeEqual(Buffer.from(hash), keyHash))
  return found && { keyId: found.keyId, organization: { id: found.id, dailyLimit: found.dailyLimit } }
}

export async function insertApiKey(
  database: Catalog,
  { organizationId, name, nowMs }: Readonly<{ organizationId: string; name: string; nowMs: number }>,
): Promise<NewApiKey> {
  const id = randomUUID()
  const key = `vk_${randomBytes(KEY_BYTES).toString('base64url')}`
  const prefix = key.slice(0, KEY_PREFIX_CHARACTERS)
  await sql`
    insert into api_keys (id, organization_id, name, prefix, hash, created_at_ms)
    values (${id}, ${organizationId}, ${name}, ${prefix}, ${hashApiKey(key)}, ${nowMs})`.execute(database)
  return { id, key }
}

export async function fetchApiKeys(database: Catalog): Promise<readonly ApiKey[]> {
  const { rows } = await sql<ApiKey>`
    select id, organization_id as "organizationId", name, prefix, created_at_ms as "createdAtMs",
      revoked_at_ms as "revokedAtMs"
    from api_keys order by created_at_ms, id`.execute(database)
  return rows
}

export async function revokeApiKey(store: CatalogStore, id: string): Promise<boolean> {
  const revoke = sql`
    update api_keys set revoked_at_ms = ${store.clock.nowMs()} where id = ${id} and revoked_at_ms is null`
  const { numAffectedRows = 0n } = await store.write((database) => revoke.execute(database))
  return numAffectedRows > 0n
}

/** Delete a key. Only for revoked keys: the list should show every key that is valid. */
export async function removeApiKey(database: Catalog, id: string): Promise<void> {
  await sql`delete from api_keys where id = ${id}`.execute(database)
}
