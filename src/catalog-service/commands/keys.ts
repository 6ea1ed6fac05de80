import type { Command } from 'commander'
import type { CatalogStore } from '../store/catalog-store.ts'
import { fetchApiKeys, insertApiKey, removeApiKey, revokeApiKey } from '../store/keys.ts'
import { fetchOrganizations } from '../store/organizations.ts'
import { fetchKeyUses, removeKeyUses } from '../store/usage.ts'
import { UsageError } from '../../errors.ts'
import { type Runner, addExamples } from '../../command.ts'
import { createLineParser } from './arguments.ts'
import {
  type Listing,
  type CommandResult,
  quote,
  formatDay,
  toIso,
  toIsoOrNull,
  formatMinute,
} from './output.ts'
import {
  type ChangeTransaction,
  createAction,
  createChangeAction,
  getOrganization,
  getOrCreateOwnerId,
  createListAction,
} from './store.ts'

export function addKeys(catalog: Command, run: Runner): void {
  const group = catalog.command('keys').description('manage API keys of the catalog service')
  group
    .command('list')
    .description('list the keys without their secret part')
    .option('--organization <org>', 'only keys of this organization (id or name)')
    .action(run(createListAction('keys', listKeys)))
  group
    .command('add')
    .description('create a key and print it once')
    .argument(
      '<name>',
      'name of the person or program that uses the key',
      createLineParser('a key needs a name of'),
    )
    .option('--organization <org>', 'its organization (id or name); required when there are several')
    .action(run(createChangeAction(add)))
  group
    .command('revoke <id>')
    .description('revoke a key at once and permanently')
    .action(run(createAction(revoke)))
  group
    .command('remove <id>')
    .description('remove a revoked key from the list')
    .action(run(createAction(remove)))
  addExamples(group, 'vitrine catalog keys', [
    'vitrine catalog keys list',
    'vitrine catalog keys add "Web server"',
    'vitrine catalog keys add "Web server" --organization "Second team"',
    'vitrine catalog keys revoke 3f2b6c1e-8a4d-4c57-9b1f-2d0e7a6c5b43',
  ])
}

type OrganizationOption = Readonly<{ organization?: string }>

async function listKeys(
  store: CatalogStore,
  { organization: organizationRef }: OrganizationOption,
): Promise<Listing> {
  const owner =
    organizationRef === undefined
      ? undefined
      : await store.read((reader) => getOrganization(reader, organizationRef))
  const organizations = await store.read(fetchOrganizations)
  const names = new Map(organizations.map(({ id, name }) => [id, name]))
  const lastUses = await fetchKeyUses(store)
  const rows = (await store.read(fetchApiKeys))
    .filter(({ organizationId }) => owner === undefined || organizationId === owner.id)
    .map(({ id, name, prefix, organizationId, createdAtMs, revokedAtMs }) => ({
      id,
      name,
      prefix,
      organizationId,
      organization: names.get(organizationId) ?? null,
      createdAt: toIso(createdAtMs),
      lastUsedAt: toIsoOrNull(lastUses.get(id) ?? null),
      revokedAt: toIsoOrNull(revokedAtMs),
    }))
  return {
    rows,
    entries: rows.map(({ id, name, prefix, organization, createdAt, lastUsedAt, revokedAt }) => {
      const use = lastUsedAt === null ? 'never used' : `last used ${formatMinute(lastUsedAt)}`
      const state = revokedAt === null ? 'valid' : `revoked ${formatDay(revokedAt)}`
      return [
        `${id}  ${name}`,
        `${prefix}…  ${organization ?? ''}`,
        `created ${formatDay(createdAt)}, ${use}, ${state}`,
      ]
    }),
    emptyMessage: 'There are no API keys yet. Create one: vitrine catalog keys add NAME',
  }
}

async function add(
  { database, nowMs }: ChangeTransaction,
  name: string,
  { organization }: OrganizationOption,
): Promise<CommandResult> {
  const organizationId = await getOrCreateOwnerId({ database, nowMs }, organization)
  const existing = (await fetchApiKeys(database)).find(
    (other) => other.organizationId === organizationId && other.revokedAtMs === null && other.name === name,
  )
  if (existing !== undefined)
    throw new UsageError(`a valid key ${quote(name)} already exists: ${existing.id}`)
  const { id, key } = await insertApiKey(database, { organizationId, name, nowMs })
  const hint = `This key is shown only once. Its id, which you need to revoke it: ${id}`
  return { json: { id, name, organizationId, key }, line: key, hint }
}

async function revoke(store: CatalogStore, idText: string): Promise<CommandResult> {
  const id = idText.trim().toLowerCase()
  if (!(await revokeApiKey(store, id)))
    throw new UsageError('there is no valid key with this id; see: vitrine catalog keys list')
  return { json: { id, revoked: true }, line: `revoked ${id}` }
}

async function remove(store: CatalogStore, idText: string): Promise<CommandResult> {
  const id = idText.trim().toLowerCase()
  await store.write(async (database) => {
    const key = (await fetchApiKeys(database)).find((other) => other.id === id)
    if (key === undefined)
      throw new UsageError('there is no key with this id; see: vitrine catalog keys list')
    if (key.revokedAtMs === null)
      throw new UsageError(
        `the key ${quote(key.name)} is still valid; revoke it first: vitrine catalog keys revoke ${id}`,
      )
    await removeApiKey(database, id)
  })
  await removeKeyUses(store, [id])
  return { json: { id, removed: true }, line: `removed ${id}` }
}
