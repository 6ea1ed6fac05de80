import type { Command } from 'commander'
import type { CatalogStore } from '../store/catalog-store.ts'
import { fetchApiKeys } from '../store/keys.ts'
import {
  countOrganizationRecords,
  fetchOrganizations,
  insertOrganization,
  updateOrganization,
} from '../store/organizations.ts'
import { removeOrganization } from '../store/removal.ts'
import type { Catalog } from '../store/schema.ts'
import { fetchRequestsToday, removeKeyUses, removeOrganizationUsage } from '../store/usage.ts'
import { removeFeedAttempts } from '../store/feed-attempts.ts'
import { fetchFeeds } from '../store/feeds.ts'
import { UsageError } from '../../errors.ts'
import { formatNumber, pluralize } from '../../lib/format.ts'
import { type Runner, addExamples } from '../../command.ts'
import { type Confirmation, createLineParser, noneToNull, parseDailyLimit } from './arguments.ts'
import { type Listing, type CommandResult, quote, formatDay, toIso } from './output.ts'
import {
  type ChangeTransaction,
  createAction,
  createChangeAction,
  getOrganization,
  createListAction,
  requireOption,
} from './store.ts'

export function addOrganizations(catalog: Command, run: Runner): void {
  const group = catalog
    .command('organizations')
    .description('manage organizations, which own keys, channels and daily limits')
  group
    .command('list')
    .description('list the organizations with their requests of today')
    .action(run(createListAction('organizations', listOrganizations)))
  group
    .command('add')
    .description('create an organization and print its id')
    .argument('<name>', 'name of the organization', createLineParser('an organization needs a name of'))
    .option('--daily-limit <n>', 'maximum requests per UTC day, or none', parseDailyLimit)
    .action(run(createChangeAction(add)))
  group
    .command('set <organization>')
    .description('change the name or daily limit of an organization (id or name)')
    .option('--name <name>', 'new name', createLineParser('an organization needs a name of'))
    .option('--daily-limit <n>', 'maximum requests per UTC day, or none', parseDailyLimit)
    .hook('preAction', requireOption('--name NAME, --daily-limit N, or both'))
    .action(run(createChangeAction(set)))
  group
    .command('remove <organization>')
    .description('remove an organization with its keys, channels and network channels')
    .option('--yes', 'remove it even if it has channels')
    .action(run(createAction(remove)))
  addExamples(group, 'vitrine catalog organizations', [
    'vitrine catalog organizations list',
    'vitrine catalog organizations add "Second team" --daily-limit 5000',
    'vitrine catalog organizations set "Second team" --daily-limit none',
    'vitrine catalog organizations remove "Second team" --yes',
  ])
}

type DailyLimitOption = Readonly<{ dailyLimit?: number | 'none' }>
type OrganizationChange = DailyLimitOption & Readonly<{ name?: string }>

async function listOrganizations(store: CatalogStore): Promise<Listing> {
  const requests = await fetchRequestsToday(store)
  const rows = (await store.read(fetchOrganizations)).map(({ id, name, dailyLimit, createdAtMs }) => {
    return { id, name, requestsToday: requests.get(id) ?? 0, dailyLimit, createdAt: toIso(createdAtMs) }
  })
  return {
    rows,
    entries: rows.map(({ id, name, requestsToday, dailyLimit, createdAt }) => {
      const today = `${pluralize(requestsToday, 'request')} today`
      const limit = dailyLimit === null ? 'no limit' : `of ${formatNumber(dailyLimit)} per day`
      return [`${id}  ${name}`, `${today}, ${limit}; created ${formatDay(createdAt)}`]
    }),
    emptyMessage: 'There are no organizations yet. Create one: vitrine catalog organizations add NAME',
  }
}

async function add(
  { database, nowMs }: ChangeTransaction,
  name: string,
  options: DailyLimitOption,
): Promise<CommandResult> {
  const dailyLimit = noneToNull(options.dailyLimit ?? null)
  await assertNameIsFree(database, name)
  const id = await insertOrganization(database, { name, dailyLimit, createdAtMs: nowMs })
  return {
    json: { id, name, dailyLimit },
    line: id,
    notes: [`Create its first key: vitrine catalog keys add NAME --organization ${id}`],
  }
}

async function set(
  { database }: ChangeTransaction,
  organizationRef: string,
  options: OrganizationChange,
): Promise<CommandResult> {
  const before = await getOrganization(database, organizationRef)
  const name = options.name ?? before.name
  const dailyLimit = noneToNull(options.dailyLimit ?? before.dailyLimit)
  if (name !== before.name) await assertNameIsFree(database, name)
  await updateOrganization(database, before.id, { name, dailyLimit })
  const limit = dailyLimit === null ? 'no daily limit' : `${pluralize(dailyLimit, 'request')} per day`
  return { json: { id: before.id, name, dailyLimit }, line: `${quote(name)}: ${limit}` }
}

async function assertNameIsFree(database: Catalog, name: string): Promise<void> {
  const existing = (await fetchOrganizations(database)).find((other) => other.name === name)
  if (existing !== undefined)
    throw new UsageError(`an organization ${quote(name)} already exists: ${existing.id}`)
}

async function remove(
  store: CatalogStore,
  organizationRef: string,
  { yes = false }: Confirmation,
): Promise<CommandResult> {
  const { id, keyIds, feedIds, result } = await store.write((database) =>
    removeOrganizationWithBelongings(database, organizationRef, yes),
  )
  await removeOrganizationUsage(store, id)
  await removeKeyUses(store, keyIds)
  await removeFeedAttempts(store, feedIds)
  return result
}

async function removeOrganizationWithBelongings(
  database: Catalog,
  organizationRef: string,
  isConfirmed: boolean,
) {
  const { id, name } = await getOrganization(database, organizationRef)
  const [oldest, nextOldest] = await fetchOrganizations(database)
  if (nextOldest === undefined)
    throw new UsageError(`${quote(name)} is the only organization, and a catalog needs one`)
  const belongings = await countOrganizationRecords(database, id)
  const described = `${pluralize(belongings.keys, 'key')}, ${pluralize(belongings.channels, 'channel')}, ${pluralize(belongings.networkChannels, 'network channel')}`
  if (belongings.channels > 0 && !isConfirmed)
    throw new UsageError(`${quote(name)} has ${described}; add --yes to remove them all`)
  const keys = await fetchApiKeys(database)
  const feeds = (await fetchFeeds(database)).filter(({ organizationId }) => organizationId === id)
  const { offers, products } = await removeOrganization(database, id)
  const result = {
    json: { id, name, removed: true, ...belongings, offers, products },
    line: `removed ${quote(name)}, with ${described}, ${pluralize(offers, 'offer')} and ${pluralize(products, 'product')}`,
    notes:
      oldest?.id === id
        ? [
            `It was the oldest organization: a server with the embedded catalog now shows ${quote(nextOldest.name)}.`,
          ]
        : [],
  }
  return {
    id,
    keyIds: keys.filter((key) => key.organizationId === id).map((key) => key.id),
    feedIds: feeds.map((feed) => feed.id),
    result,
  }
}
