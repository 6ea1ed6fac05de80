import type { Command } from 'commander'
import type { CatalogStore } from '../../catalog-service/store/catalog-store.ts'
import { fetchApiKeys } from '../../catalog-service/store/keys.ts'
import {
  countBelongings,
  fetchOrganizations,
  insertOrganization,
  updateOrganization,
} from '../../catalog-service/store/organizations.ts'
import { removeOrganization } from '../../catalog-service/store/removal.ts'
import type { Catalog } from '../../catalog-service/store/schema.ts'
import { fetchRequestsToday, forgetKeys, forgetOrganization } from '../../catalog-service/store/usage.ts'
import { UsageError } from '../../errors.ts'
import { pluralize } from '../../lib/plural.ts'
import { type Runner, addExamples } from '../command.ts'
import { type Confirmation, lineOf, orNull, parseDailyLimit } from './arguments.ts'
import { type Listing, type Result, quote, toDay, toIso } from './output.ts'
import { type Change, act, change, getOrganization, list, needsOption } from './store.ts'

export function addOrganizations(catalog: Command, run: Runner): void {
  const group = catalog
    .command('organizations')
    .description('those whose keys, channels and daily limits these are')
  group
    .command('list')
    .description('lists them, with the requests of today')
    .action(run(list('organizations', listOrganizations)))
  group
    .command('add')
    .description('makes one and prints its id')
    .argument('<name>', 'its name', lineOf('an organization needs a name of'))
    .option('--daily-limit <n>', 'requests a UTC day, or none', parseDailyLimit)
    .action(run(change(add)))
  group
    .command('set <organization>')
    .description('changes name or daily limit of one, by its id or name')
    .option('--name <name>', 'its new name', lineOf('an organization needs a name of'))
    .option('--daily-limit <n>', 'requests a UTC day, or none', parseDailyLimit)
    .hook('preAction', needsOption('--name NAME, --daily-limit N, or both'))
    .action(run(change(set)))
  group
    .command('remove <organization>')
    .description('removes one, with its keys, channels and network channels')
    .option('--yes', 'also when it has channels')
    .action(run(act(remove)))
  addExamples(group, 'vitrine catalog organizations', [
    'vitrine catalog organizations list',
    'vitrine catalog organizations add "Second team" --daily-limit 5000',
    'vitrine catalog organizations set "Second team" --daily-limit none',
    'vitrine catalog organizations remove "Second team" --yes',
  ])
}

/** Requests a UTC day, or no limit. */
type Limit = Readonly<{ dailyLimit?: number | 'none' }>
type OrganizationChange = Limit & Readonly<{ name?: string }>

async function listOrganizations(store: CatalogStore): Promise<Listing> {
  const requests = await fetchRequestsToday(store)
  const rows = (await fetchOrganizations(store.reader)).map(({ id, name, dailyLimit, createdAtMs }) => {
    return { id, name, requestsToday: requests.get(id) ?? 0, dailyLimit, createdAt: toIso(createdAtMs) }
  })
  return {
    rows,
    entries: rows.map(({ id, name, requestsToday, dailyLimit, createdAt }) => {
      const today = `${pluralize(requestsToday, 'request')} today`
      const limit = dailyLimit === null ? 'no limit' : `of ${dailyLimit.toLocaleString('en-US')} a day`
      return [`${id}  ${name}`, `${today}, ${limit}; made ${toDay(createdAt)}`]
    }),
    ifNone: 'There is no organization yet: vitrine catalog organizations add NAME makes one.',
  }
}

async function add({ database, nowMs }: Change, name: string, options: Limit): Promise<Result> {
  const dailyLimit = orNull(options.dailyLimit ?? null)
  await refuseTaken(database, name)
  const id = await insertOrganization(database, { name, dailyLimit, createdAtMs: nowMs })
  return {
    json: { id, name, dailyLimit },
    line: id,
    notes: [`Its first key: vitrine catalog keys add NAME --organization ${id}`],
  }
}

async function set({ database }: Change, word: string, options: OrganizationChange): Promise<Result> {
  const before = await getOrganization(database, word)
  const name = options.name ?? before.name
  const dailyLimit = orNull(options.dailyLimit ?? before.dailyLimit)
  if (name !== before.name) await refuseTaken(database, name)
  await updateOrganization(database, before.id, { name, dailyLimit })
  const limit = dailyLimit === null ? 'no daily limit' : `${pluralize(dailyLimit, 'request')} a day`
  return { json: { id: before.id, name, dailyLimit }, line: `${quote(name)}: ${limit}` }
}

async function refuseTaken(database: Catalog, name: string): Promise<void> {
  const taken = (await fetchOrganizations(database)).find((known) => known.name === name)
  if (taken !== undefined)
    throw new UsageError(`there is an organization ${quote(name)} already: ${taken.id}`)
}

async function remove(store: CatalogStore, word: string, { yes = false }: Confirmation): Promise<Result> {
  const { id, keyIds, result } = await store.write((database) => removeWithBelongings(database, word, yes))
  await forgetOrganization(store, id)
  await forgetKeys(store, keyIds)
  return result
}

async function removeWithBelongings(database: Catalog, word: string, isSure: boolean) {
  const { id, name } = await getOrganization(database, word)
  const [first, second] = await fetchOrganizations(database)
  if (second === undefined)
    throw new UsageError(`${quote(name)} is the only organization, and a catalog needs one`)
  const belongings = await countBelongings(database, id)
  const described = `${pluralize(belongings.keys, 'key')}, ${pluralize(belongings.channels, 'channel')}, ${pluralize(belongings.networkChannels, 'network channel')}`
  if (belongings.channels > 0 && !isSure)
    throw new UsageError(`${quote(name)} would take ${described} with it; add --yes to remove them all`)
  const keys = await fetchApiKeys({ reader: database })
  const { offers, products } = await removeOrganization(database, id)
  const result = {
    json: { id, name, removed: true, ...belongings, offers, products },
    line: `removed ${quote(name)}, with ${described}, ${pluralize(offers, 'offer')} and ${pluralize(products, 'product')}`,
    notes:
      first?.id === id
        ? [`It was the oldest: a server that runs the catalog inside itself now shows ${quote(second.name)}.`]
        : [],
  }
  return { id, keyIds: keys.filter((key) => key.organizationId === id).map((key) => key.id), result }
}
