import { type ApiKey, addApiKey, fetchApiKeys, revokeApiKey } from '../catalog-service/store/keys.ts'
import { type CatalogStore, openCatalogStore } from '../catalog-service/store/open-store.ts'
import { UsageError } from '../errors.ts'
import type { CommandContext, ExitCode } from './command.ts'

/** What `catalog keys` is to do. */
export type CatalogKeysOptions =
  | Readonly<{ action: 'list' }>
  /** `name` is for people: who or what uses the key. */
  | Readonly<{ action: 'add'; name: string }>
  | Readonly<{ action: 'revoke'; id: string }>

/**
 * `vitrine catalog keys [list]`, `add NAME` and `revoke ID`. A new key is printed once and nowhere stored.
 * @throws UsageError for an empty name, or an id of no valid key.
 */
export async function runCatalogKeys(
  context: CommandContext,
  options: CatalogKeysOptions,
): Promise<ExitCode> {
  const store = await openCatalogStore({ path: context.config.catalogDatabase.path, clock: context.clock })
  try {
    if (options.action === 'add') await add(context, store, options.name)
    else if (options.action === 'revoke') await revoke(context, store, options.id)
    else await list(context, store)
    return 0
  } finally {
    await store.close()
  }
}

async function list({ io, json }: CommandContext, store: CatalogStore): Promise<void> {
  const keys = await fetchApiKeys(store)
  if (json) return io.out(JSON.stringify(keys.map(toJson)))
  if (keys.length === 0) io.err('There is no API key yet. Make one with: vitrine catalog keys add NAME\n')
  for (const key of keys) {
    const state = key.revokedAtMs === null ? 'valid' : `revoked ${toIso(key.revokedAtMs)}`
    io.out(`${key.id}  ${key.prefix}…  ${key.name}  made ${toIso(key.createdAtMs)}, ${state}`)
  }
}

async function add({ io, json }: CommandContext, store: CatalogStore, typedName: string): Promise<void> {
  const name = typedName.trim()
  if (name === '') throw new UsageError('a key needs a name: vitrine catalog keys add NAME')
  const { id, key } = await addApiKey(store, name)
  if (json) return io.out(JSON.stringify({ id, name, key }))
  io.out(key)
  io.err(`This key is shown once. Its id, to revoke it: ${id}\n`)
}

async function revoke({ io, json }: CommandContext, store: CatalogStore, id: string): Promise<void> {
  if (!(await revokeApiKey(store, id))) {
    throw new UsageError('there is no valid key of this id; see: vitrine catalog keys list')
  }
  io.out(json ? JSON.stringify({ id, revoked: true }) : `revoked ${id}`)
}

function toJson(key: ApiKey): unknown {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    createdAt: toIso(key.createdAtMs),
    revokedAt: key.revokedAtMs === null ? null : toIso(key.revokedAtMs),
  }
}

function toIso(timeMs: number): string {
  return new Date(timeMs).toISOString()
}
