import {
  type Belongings,
  type NamedOrganization,
  countBelongings,
  fetchOrganizations,
  insertOrganization,
  removeOrganization,
  updateOrganization,
} from '../../catalog-service/store/organizations.ts'
import { fetchApiKeys } from '../../catalog-service/store/keys.ts'
import { removeOrganizationOffers } from '../../catalog-service/store/remove-offers.ts'
import { fetchRequestsToday, forgetKeys, forgetOrganization } from '../../catalog-service/store/usage.ts'
import { UsageError } from '../../errors.ts'
import { getOrganization } from './find.ts'
import { indent, printDone, printList, toDay, toIso } from './print.ts'
import { parseDailyLimit, parseName, parseNewName } from './words.ts'
import type { CommandContext, ExitCode } from '../command.ts'
import { quote } from '../plain-text.ts'
import { type Catalog, changeCatalog, withCatalog } from '../with-catalog.ts'
import { pluralize } from '../../lib/plural.ts'

/** What `catalog organizations` is to do, as typed. `organization` is an id or a name. */
export type CatalogOrganizationsOptions =
  | Readonly<{ action: 'list' }>
  | (Readonly<{ action: 'add'; name: string }> & Limit)
  | (Readonly<{ action: 'set'; organization: string; name?: string | undefined }> & Limit)
  | Readonly<{ action: 'remove'; organization: string; yes?: boolean | undefined }>

/** Requests a UTC day, or `none`. */
type Limit = Readonly<{ dailyLimit?: string | undefined }>

type Action<Name> = Extract<CatalogOrganizationsOptions, { action: Name }>

/**
 * `vitrine catalog organizations [list]`, `add`, `set` and `remove`.
 * @throws UsageError for a bad name or limit, an unknown organization, or one that may not go.
 */
export async function runCatalogOrganizations(
  context: CommandContext,
  options: CatalogOrganizationsOptions,
): Promise<ExitCode> {
  if (options.action === 'add') await add(context, options)
  else if (options.action === 'set') await set(context, options)
  else if (options.action === 'remove') await remove(context, options)
  else await list(context)
  return 0
}

async function list(context: CommandContext): Promise<void> {
  const { organizations, requests } = await withCatalog(context, async (store) => ({
    organizations: await fetchOrganizations(store.reader),
    requests: await fetchRequestsToday(store),
  }))
  const rows = organizations.map((organization) => ({
    id: organization.id,
    name: organization.name,
    requestsToday: requests.get(organization.id) ?? 0,
    dailyLimit: organization.dailyLimit,
    createdAt: toIso(organization.createdAtMs),
  }))
  printList(context, {
    rows,
    lines: organizations.flatMap((organization) => [
      `${organization.id}  ${organization.name}`,
      indent(describe(organization, requests.get(organization.id) ?? 0)),
    ]),
    ifNone: 'There is no organization yet: vitrine catalog organizations add NAME makes one.',
  })
}

function describe({ dailyLimit, createdAtMs }: NamedOrganization, requests: number): string {
  const limit = dailyLimit === null ? 'no limit' : `of ${dailyLimit.toLocaleString('en-US')} a day`
  return `${pluralize(requests, 'request')} today, ${limit}; made ${toDay(createdAtMs)}`
}

async function add(context: CommandContext, options: Action<'add'>): Promise<void> {
  const name = parseName(options.name, 'an organization')
  const dailyLimit = options.dailyLimit === undefined ? null : parseDailyLimit(options.dailyLimit)
  const id = await changeCatalog(context, async (database, nowMs) => {
    await refuseTaken(database, name)
    return insertOrganization(database, { name, dailyLimit, createdAtMs: nowMs })
  })
  printDone(context, {
    json: { id, name, dailyLimit },
    line: id,
    notes: [`Its first key: vitrine catalog keys add NAME --organization ${id}`],
  })
}

async function set(context: CommandContext, options: Action<'set'>): Promise<void> {
  const { name: typedName, dailyLimit: typedLimit } = options
  if (typedName === undefined && typedLimit === undefined) {
    throw new UsageError('nothing to set: name --name NAME, --daily-limit N, or both')
  }
  const name = parseNewName(typedName, 'an organization')
  const dailyLimit = typedLimit === undefined ? undefined : parseDailyLimit(typedLimit)
  const after = await changeCatalog(context, async (database) => {
    const before = await getOrganization(database, options.organization)
    if (name !== undefined && name !== before.name) await refuseTaken(database, name)
    await updateOrganization(database, before.id, {
      ...(name !== undefined && { name }),
      ...(dailyLimit !== undefined && { dailyLimit }),
    })
    return getOrganization(database, before.id)
  })
  printDone(context, {
    json: { id: after.id, name: after.name, dailyLimit: after.dailyLimit },
    line: `${quote(after.name)}: ${after.dailyLimit === null ? 'no daily limit' : `${pluralize(after.dailyLimit, 'request')} a day`}`,
  })
}

async function refuseTaken(database: Catalog, name: string): Promise<void> {
  const taken = (await fetchOrganizations(database)).find((known) => known.name === name)
  if (taken !== undefined)
    throw new UsageError(`there is an organization ${quote(name)} already: ${taken.id}`)
}

async function remove(context: CommandContext, options: Action<'remove'>): Promise<void> {
  const removed = await withCatalog(context, async (store) => {
    const gone = await store.write((database) => removeWithBelongings(database, options))
    await forgetOrganization(store, gone.organization.id)
    await forgetKeys(store, gone.keyIds)
    return gone
  })
  const { organization, belongings, offers, products, nowFirst } = removed
  printDone(context, {
    json: { id: organization.id, name: organization.name, removed: true, ...belongings, offers, products },
    line: `removed ${quote(organization.name)}, with ${listBelongings(belongings)}, ${pluralize(offers, 'offer')} and ${pluralize(products, 'product')}`,
    notes:
      nowFirst === null
        ? []
        : [`It was the oldest: a server that runs the catalog inside itself now shows ${quote(nowFirst)}.`],
  })
}

type Gone = Readonly<{
  organization: NamedOrganization
  belongings: Belongings
  keyIds: readonly string[]
  /** Who is the oldest now, where that has changed. */
  nowFirst: string | null
  offers: number
  products: number
}>

async function removeWithBelongings(database: Catalog, options: Action<'remove'>): Promise<Gone> {
  const organization = await getOrganization(database, options.organization)
  const [first, second] = await fetchOrganizations(database)
  if (second === undefined) {
    throw new UsageError(`${quote(organization.name)} is the only organization, and a catalog needs one`)
  }
  const belongings = await countBelongings(database, organization.id)
  if (belongings.channels > 0 && options.yes !== true) {
    throw new UsageError(
      `${quote(organization.name)} would take ${listBelongings(belongings)} with it; add --yes to remove them all`,
    )
  }
  const keys = await fetchApiKeys({ reader: database })
  const keyIds = keys.filter(({ organizationId }) => organizationId === organization.id).map(({ id }) => id)
  const { offers, products } = await removeOrganizationOffers(database, organization.id)
  await removeOrganization(database, organization.id)
  const nowFirst = first?.id === organization.id ? second.name : null
  return { organization, belongings, keyIds, nowFirst, offers, products }
}

function listBelongings({ keys, channels, networkChannels }: Belongings): string {
  return [
    pluralize(keys, 'key'),
    pluralize(channels, 'channel'),
    pluralize(networkChannels, 'network channel'),
  ].join(', ')
}
