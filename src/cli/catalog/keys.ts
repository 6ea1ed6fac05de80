import {
  type ApiKey,
  fetchApiKeys,
  insertApiKey,
  removeApiKey,
  revokeApiKey,
} from '../../catalog-service/store/keys.ts'
import { fetchOrganizations } from '../../catalog-service/store/organizations.ts'
import { fetchKeyUses, forgetKeys } from '../../catalog-service/store/usage.ts'
import { UsageError } from '../../errors.ts'
import { getOrganization, getOwnerId } from './find.ts'
import { indent, printDone, printList, toDay, toIso, toMinute } from './print.ts'
import { parseName } from './words.ts'
import type { CommandContext, ExitCode } from '../command.ts'
import { quote } from '../plain-text.ts'
import { changeCatalog, withCatalog } from '../with-catalog.ts'

/** What `catalog keys` is to do. `organization` is an id or a name. */
export type CatalogKeysOptions =
  | Readonly<{ action: 'list'; organization?: string | undefined }>
  /** `name` is for people: who or what uses the key. */
  | Readonly<{ action: 'add'; name: string; organization?: string | undefined }>
  | Readonly<{ action: 'revoke'; id: string }>
  | Readonly<{ action: 'remove'; id: string }>

/**
 * `vitrine catalog keys [list]`, `add NAME`, `revoke ID` and `remove ID`. A new key is printed once and nowhere stored.
 * @throws UsageError for a bad name, an unknown organization, an id of no valid key, or a key that is valid and may not
 * be removed.
 */
export async function runCatalogKeys(
  context: CommandContext,
  options: CatalogKeysOptions,
): Promise<ExitCode> {
  if (options.action === 'add') await add(context, options.name, options.organization)
  else if (options.action === 'revoke') await revoke(context, options.id)
  else if (options.action === 'remove') await remove(context, options.id)
  else await list(context, options.organization)
  return 0
}

type Names = ReadonlyMap<string, string>

async function list(context: CommandContext, word: string | undefined): Promise<void> {
  const { keys, names, uses } = await withCatalog(context, async (store) => {
    const owner = word === undefined ? undefined : await getOrganization(store.reader, word)
    const all = await fetchApiKeys(store)
    const organizations = await fetchOrganizations(store.reader)
    return {
      keys: owner === undefined ? all : all.filter((key) => key.organizationId === owner.id),
      names: new Map(organizations.map(({ id, name }) => [id, name])),
      uses: await fetchKeyUses(store),
    }
  })
  printList(context, {
    rows: keys.map((key) => toJson(key, names, uses.get(key.id))),
    lines: keys.flatMap((key) => [
      `${key.id}  ${key.name}`,
      indent(`${key.prefix}…  ${names.get(key.organizationId) ?? ''}`),
      indent(`made ${toDay(key.createdAtMs)}, ${describeUse(uses.get(key.id))}, ${describeState(key)}`),
    ]),
    ifNone: 'There is no API key yet. Make one with: vitrine catalog keys add NAME',
  })
}

function describeUse(usedAtMs: number | undefined): string {
  return usedAtMs === undefined ? 'never used' : `last used ${toMinute(usedAtMs)}`
}

function describeState({ revokedAtMs }: ApiKey): string {
  return revokedAtMs === null ? 'valid' : `revoked ${toDay(revokedAtMs)}`
}

function toJson(key: ApiKey, names: Names, usedAtMs: number | undefined): unknown {
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    organizationId: key.organizationId,
    organization: names.get(key.organizationId) ?? null,
    createdAt: toIso(key.createdAtMs),
    lastUsedAt: usedAtMs === undefined ? null : toIso(usedAtMs),
    revokedAt: key.revokedAtMs === null ? null : toIso(key.revokedAtMs),
  }
}

async function add(
  context: CommandContext,
  typedName: string,
  organization: string | undefined,
): Promise<void> {
  const name = parseName(typedName, 'a key')
  const { id, key, organizationId } = await changeCatalog(context, async (database, nowMs) => {
    const ownerId = await getOwnerId(database, organization, nowMs)
    const taken = (await fetchApiKeys({ reader: database })).find(
      (known) => known.organizationId === ownerId && known.revokedAtMs === null && known.name === name,
    )
    if (taken !== undefined) throw new UsageError(`there is a valid key ${quote(name)} already: ${taken.id}`)
    const made = await insertApiKey(database, { organizationId: ownerId, name, nowMs })
    return { ...made, organizationId: ownerId }
  })
  printDone(context, {
    json: { id, name, organizationId, key },
    line: key,
    notes: context.json ? [] : [`This key is shown once. Its id, to revoke it: ${id}`],
  })
}

async function revoke(context: CommandContext, word: string): Promise<void> {
  const id = word.trim().toLowerCase()
  await withCatalog(context, async (store) => {
    if (await revokeApiKey(store, id)) return
    throw new UsageError('there is no valid key of this id; see: vitrine catalog keys list')
  })
  printDone(context, { json: { id, revoked: true }, line: `revoked ${id}` })
}

async function remove(context: CommandContext, word: string): Promise<void> {
  const id = word.trim().toLowerCase()
  await withCatalog(context, async (store) => {
    await store.write(async (database) => {
      const key = (await fetchApiKeys({ reader: database })).find((known) => known.id === id)
      if (key === undefined)
        throw new UsageError('there is no key of this id; see: vitrine catalog keys list')
      if (key.revokedAtMs === null) {
        throw new UsageError(`the key ${quote(key.name)} is valid: first vitrine catalog keys revoke ${id}`)
      }
      await removeApiKey(database, id)
    })
    await forgetKeys(store, [id])
  })
  printDone(context, { json: { id, removed: true }, line: `removed ${id}` })
}
