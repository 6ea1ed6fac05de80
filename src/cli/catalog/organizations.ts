import type { Command } from 'commander'
import { fetchApiKeys } from '../../catalog-service/store/keys.ts'
import {
  type Belongings,
  type NamedOrganization,
  countBelongings,
  fetchOrganizations,
  insertOrganization,
  removeOrganization,
  updateOrganization,
} from '../../catalog-service/store/organizations.ts'
import { removeOrganizationOffers } from '../../catalog-service/store/remove-offers.ts'
import { fetchRequestsToday, forgetKeys, forgetOrganization } from '../../catalog-service/store/usage.ts'
import { UsageError } from '../../errors.ts'
import { pluralize } from '../../lib/plural.ts'
import { type CommandContext, type Runner, addExamples } from '../command.ts'
import { type Result, indent, printResult, quote, toDay, toIso } from '../output.ts'
import { nameOf, orNull, parseDailyLimit } from './arguments.ts'
import { type Catalog, changeCatalog, getOrganization, listCatalog, withCatalog } from './store.ts'

/** Declare `vitrine catalog organizations`. */
export function addOrganizations(catalog: Command, run: Runner): void {
  const group = catalog
    .command('organizations')
    .description('those whose keys, channels and daily limits these are')
  group.command('list').description('lists them, with the requests of today').action(run(list))
  group
    .command('add')
    .description('makes one and prints its id')
    .argument('<name>', 'its name', nameOf('an organization'))
    .option('--daily-limit <n>', 'requests a UTC day, or none', parseDailyLimit)
    .action(run(add))
  group
    .command('set <organization>')
    .description('changes name or daily limit of one, by its id or name')
    .option('--name <name>', 'its new name', nameOf('an organization'))
    .option('--daily-limit <n>', 'requests a UTC day, or none', parseDailyLimit)
    .action(run(set))
  group
    .command('remove <organization>')
    .description('removes one, with its keys, channels and network channels')
    .option('--yes', 'also when it has channels')
    .action(run(remove))
  addExamples(group, 'vitrine catalog organizations', [
    'vitrine catalog organizations list',
    'vitrine catalog organizations add "Second team" --daily-limit 5000',
    'vitrine catalog organizations set "Second team" --daily-limit none',
    'vitrine catalog organizations remove "Second team" --yes',
  ])
}

/** Requests a UTC day, or no limit. */
type Limit = Readonly<{ dailyLimit?: number | 'none' }>

async function list(context: CommandContext): Promise<void> {
  await listCatalog(context, { group: 'organizations' }, async (store) => {
    const organizations = await fetchOrganizations(store.reader)
    const requests = await fetchRequestsToday(store)
    const rows = organizations.map(({ id, name, dailyLimit, createdAtMs }) => {
      const requestsToday = requests.get(id) ?? 0
      return { id, name, requestsToday, dailyLimit, createdAt: toIso(createdAtMs) }
    })
    return {
      rows,
      lines: organizations.flatMap(({ id, name, dailyLimit, createdAtMs }) => {
        const limit = dailyLimit === null ? 'no limit' : `of ${dailyLimit.toLocaleString('en-US')} a day`
        const today = `${pluralize(requests.get(id) ?? 0, 'request')} today`
        return [`${id}  ${name}`, indent(`${today}, ${limit}; made ${toDay(createdAtMs)}`)]
      }),
      ifNone: 'There is no organization yet: vitrine catalog organizations add NAME makes one.',
    }
  })
}

async function add(context: CommandContext, name: string, options: Limit): Promise<void> {
  const dailyLimit = orNull(options.dailyLimit ?? 'none')
  await changeCatalog(context, async (database, nowMs) => {
    await refuseTaken(database, name)
    const id = await insertOrganization(database, { name, dailyLimit, createdAtMs: nowMs })
    return {
      json: { id, name, dailyLimit },
      line: id,
      notes: [`Its first key: vitrine catalog keys add NAME --organization ${id}`],
    }
  })
}

async function set(
  context: CommandContext,
  word: string,
  { name, dailyLimit }: Limit & Readonly<{ name?: string }>,
): Promise<void> {
  if (name === undefined && dailyLimit === undefined)
    throw new UsageError('nothing to set: name --name NAME, --daily-limit N, or both')
  await changeCatalog(context, async (database) => {
    const before = await getOrganization(database, word)
    if (name !== undefined && name !== before.name) await refuseTaken(database, name)
    const change = {
      ...(name !== undefined && { name }),
      ...(dailyLimit !== undefined && { dailyLimit: orNull(dailyLimit) }),
    }
    await updateOrganization(database, before.id, change)
    const after = await getOrganization(database, before.id)
    const limit =
      after.dailyLimit === null ? 'no daily limit' : `${pluralize(after.dailyLimit, 'request')} a day`
    return {
      json: { id: after.id, name: after.name, dailyLimit: after.dailyLimit },
      line: `${quote(after.name)}: ${limit}`,
    }
  })
}

async function refuseTaken(database: Catalog, name: string): Promise<void> {
  const taken = (await fetchOrganizations(database)).find((known) => known.name === name)
  if (taken !== undefined)
    throw new UsageError(`there is an organization ${quote(name)} already: ${taken.id}`)
}

async function remove(
  context: CommandContext,
  word: string,
  { yes = false }: Readonly<{ yes?: boolean }>,
): Promise<void> {
  const result = await withCatalog(context, async (store) => {
    const removed = await store.write((database) => removeWithBelongings(database, word, yes))
    await forgetOrganization(store, removed.organization.id)
    await forgetKeys(store, removed.keyIds)
    return removed
  })
  printResult(context, result)
}

type Removed = Result & Readonly<{ organization: NamedOrganization; keyIds: readonly string[] }>

async function removeWithBelongings(database: Catalog, word: string, isSure: boolean): Promise<Removed> {
  const organization = await getOrganization(database, word)
  const { id, name } = organization
  const [first, second] = await fetchOrganizations(database)
  if (second === undefined)
    throw new UsageError(`${quote(name)} is the only organization, and a catalog needs one`)
  const belongings = await countBelongings(database, id)
  if (belongings.channels > 0 && !isSure)
    throw new UsageError(
      `${quote(name)} would take ${describe(belongings)} with it; add --yes to remove them all`,
    )
  const keys = await fetchApiKeys({ reader: database })
  const { offers, products } = await removeOrganizationOffers(database, id)
  await removeOrganization(database, id)
  return {
    organization,
    keyIds: keys.filter(({ organizationId }) => organizationId === id).map((key) => key.id),
    json: { id, name, removed: true, ...belongings, offers, products },
    line: `removed ${quote(name)}, with ${describe(belongings)}, ${pluralize(offers, 'offer')} and ${pluralize(products, 'product')}`,
    notes:
      first?.id === id
        ? [`It was the oldest: a server that runs the catalog inside itself now shows ${quote(second.name)}.`]
        : [],
  }
}

function describe({ keys, channels, networkChannels }: Belongings): string {
  return [
    pluralize(keys, 'key'),
    pluralize(channels, 'channel'),
    pluralize(networkChannels, 'network channel'),
  ].join(', ')
}
