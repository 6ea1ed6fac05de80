import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { CHANNEL_KINDS, type ChannelKind } from '../../catalog/contract.ts'
import type { CatalogStore } from '../../catalog-service/store/catalog-store.ts'
import {
  fetchOwnedChannels,
  insertChannel,
  removeChannel,
  updateChannel,
} from '../../catalog-service/store/channels.ts'
import { fetchNetworkChannels } from '../../catalog-service/store/networks.ts'
import type { Catalog } from '../../catalog-service/store/schema.ts'
import { UsageError } from '../../errors.ts'
import { pluralize } from '../../lib/plural.ts'
import { type Runner, addExamples } from '../command.ts'
import {
  EXAMPLE_CHANNEL,
  createLineParser,
  noneToNull,
  parseChannelKind,
  parseNewChannelId,
  parseChannelUrl,
} from './arguments.ts'
import { type Listing, type CommandResult, quote } from './output.ts'
import {
  type ChangeTransaction,
  createChangeAction,
  getChannel,
  getOrganization,
  getOwnerId,
  createListAction,
  requireOption,
  removeSampleBeforeFirstAdd,
} from './store.ts'

/** Characters of the longest kind, "newsletter". */
const KIND_CHARACTERS = 10

export function addChannels(catalog: Command, run: Runner): void {
  const group = catalog
    .command('channels')
    .description('where an organization publishes: sites, accounts, apps')
  group
    .command('list')
    .description('lists the channels, with their networks')
    .option('--organization <org>', 'only those of this one: an id or a name')
    .action(run(createListAction('channels', listChannels)))
  group
    .command('add')
    .description('makes a channel and prints its id')
    .argument('<name>', 'its name', createLineParser('a channel needs a name of'))
    .option('--kind <kind>', CHANNEL_KINDS.join(', '), parseChannelKind)
    .option('--url <url>', 'its address, or none', parseChannelUrl)
    .option('--organization <org>', 'whose: an id or a name; needed when there are several')
    .option('--id <uuid>', 'the id that it gets', parseNewChannelId)
    .action(run(createChangeAction(add)))
  group
    .command('set <channel>')
    .description('changes a channel, by its id')
    .option('--name <name>', 'its new name', createLineParser('a channel needs a name of'))
    .option('--kind <kind>', CHANNEL_KINDS.join(', '), parseChannelKind)
    .option('--url <url>', 'its address, or none', parseChannelUrl)
    .hook('preAction', requireOption('--name NAME, --kind KIND, --url URL, or several'))
    .action(run(createChangeAction(set)))
  group
    .command('remove <channel>')
    .description('removes a channel; its network channels keep their approvals and serve none')
    .action(run(createChangeAction(remove)))
  addExamples(group, 'vitrine catalog channels', [
    'vitrine catalog channels list',
    'vitrine catalog channels add "Cameras weekly" --url https://cameras.example/',
    'vitrine catalog channels add "Cameras on video" --kind youtube --organization "Second team"',
    `vitrine catalog channels set ${EXAMPLE_CHANNEL} --url none`,
    `vitrine catalog channels remove ${EXAMPLE_CHANNEL}`,
  ])
}

type OrganizationOption = Readonly<{ organization?: string }>
type NewChannel = OrganizationOption & Readonly<{ kind?: ChannelKind; url?: string; id?: string }>
type ChannelChange = Readonly<{ name?: string; kind?: ChannelKind; url?: string }>

async function listChannels(
  { reader }: CatalogStore,
  { organization: organizationRef }: OrganizationOption,
): Promise<Listing> {
  const owner = organizationRef === undefined ? undefined : await getOrganization(reader, organizationRef)
  const all = await fetchOwnedChannels(reader)
  const networkChannels = await fetchNetworkChannels(reader)
  const rows = all
    .filter(({ organizationId }) => owner === undefined || organizationId === owner.id)
    .map((channel) => {
      const ownNetworkChannels = networkChannels.filter(({ channelId }) => channelId === channel.id)
      return { ...channel, networks: ownNetworkChannels.map(({ network }) => network) }
    })
  return {
    rows,
    entries: rows.map(({ id, kind, name, url, organization, networks }) => [
      `${id}  ${kind.padEnd(KIND_CHARACTERS)}  ${name}`,
      url ?? '(no address)',
      `${organization}; ${networks.length === 0 ? 'no network' : networks.join(', ')}`,
    ]),
    emptyMessage:
      'There is no channel yet: vitrine catalog channels add NAME makes one, and so does vitrine catalog import FILE.',
  }
}

async function add(
  { database, nowMs }: ChangeTransaction,
  name: string,
  options: NewChannel,
): Promise<CommandResult> {
  const { id = randomUUID(), kind = 'website', url = null } = options
  const { removedSample, notes } = await removeSampleBeforeFirstAdd(database)
  const organizationId = await getOwnerId({ database, nowMs }, options.organization)
  const all = await fetchOwnedChannels(database)
  if (all.some((other) => other.id === id)) throw new UsageError(`there is a channel of the id ${id} already`)
  await assertNameIsFree(database, organizationId, name)
  const channel = { id, name, kind, url: noneToNull(url) }
  await insertChannel(database, { ...channel, organizationId, createdAtMs: nowMs })
  return {
    json: { ...channel, organizationId, removedSample },
    line: id,
    notes: [...notes, `It shows nothing yet: vitrine catalog networks assign NETWORK --channel ${id}`],
  }
}

async function assertNameIsFree(database: Catalog, organizationId: string, name: string): Promise<void> {
  const channels = await fetchOwnedChannels(database)
  const existing = channels.find((other) => other.organizationId === organizationId && other.name === name)
  if (existing !== undefined)
    throw new UsageError(
      `${quote(existing.organization)} has a channel ${quote(name)} already: ${existing.id}`,
    )
}

async function set(
  { database }: ChangeTransaction,
  idText: string,
  options: ChannelChange,
): Promise<CommandResult> {
  const before = await getChannel(database, idText)
  const { id, organizationId } = before
  const name = options.name ?? before.name
  const kind = options.kind ?? before.kind
  const url = noneToNull(options.url ?? before.url)
  if (name !== before.name) await assertNameIsFree(database, organizationId, name)
  await updateChannel(database, id, { name, kind, url })
  return {
    json: { ...before, name, kind, url },
    line: `${id}  ${kind}  ${name}  ${url ?? '(no address)'}`,
  }
}

async function remove({ database }: ChangeTransaction, idText: string): Promise<CommandResult> {
  const { id, name } = await getChannel(database, idText)
  const unassignedCount = (await fetchNetworkChannels(database, { channelId: id })).length
  await removeChannel(database, id)
  const notes = [
    `${pluralize(unassignedCount, 'network channel')} of it kept, with approvals and with the offers that a feed brought links for.`,
    'Nobody sees those until they are assigned to a channel again: vitrine catalog networks assign',
  ]
  return {
    json: { id, name, removed: true, unassignedNetworkChannels: unassignedCount },
    line: `removed ${id}`,
    notes: unassignedCount === 0 ? [] : notes,
  }
}
