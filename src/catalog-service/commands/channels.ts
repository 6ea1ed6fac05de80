import { randomUUID } from 'node:crypto'
import type { Command } from 'commander'
import { CHANNEL_KINDS, type ChannelKind } from '../../catalog/contract.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import { fetchOwnedChannels, insertChannel, removeChannel, updateChannel } from '../store/channels.ts'
import { fetchNetworkChannels } from '../store/networks.ts'
import type { Catalog } from '../store/schema.ts'
import { UsageError } from '../../errors.ts'
import { pluralize } from '../../lib/format.ts'
import { type Runner, addExamples } from '../../command.ts'
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
  getOrCreateOwnerId,
  createListAction,
  requireOption,
  removeSampleBeforeFirstAdd,
} from './store.ts'

/** Length of "newsletter", the longest kind. */
const KIND_CHARACTERS = 10

export function addChannels(catalog: Command, run: Runner): void {
  const group = catalog
    .command('channels')
    .description('manage channels: the sites, accounts and apps where an organization publishes')
  group
    .command('list')
    .description('list the channels with their networks')
    .option('--organization <org>', 'only channels of this organization (id or name)')
    .action(run(createListAction('channels', listChannels)))
  group
    .command('add')
    .description('create a channel and print its id')
    .argument('<name>', 'name of the channel', createLineParser('a channel needs a name of'))
    .option('--kind <kind>', CHANNEL_KINDS.join(', '), parseChannelKind)
    .option('--url <url>', 'address of the channel, or none', parseChannelUrl)
    .option('--organization <org>', 'its organization (id or name); required when there are several')
    .option('--id <uuid>', 'id of the new channel; default: a random one', parseNewChannelId)
    .action(run(createChangeAction(add)))
  group
    .command('set <channel>')
    .description('change the channel with this id')
    .option('--name <name>', 'new name', createLineParser('a channel needs a name of'))
    .option('--kind <kind>', CHANNEL_KINDS.join(', '), parseChannelKind)
    .option('--url <url>', 'address of the channel, or none', parseChannelUrl)
    .hook('preAction', requireOption('--name NAME, --kind KIND, --url URL, or several'))
    .action(run(createChangeAction(set)))
  group
    .command('remove <channel>')
    .description('remove a channel; its network channels and their approvals are kept, unassigned')
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
  { read }: CatalogStore,
  { organization: organizationRef }: OrganizationOption,
): Promise<Listing> {
  const owner =
    organizationRef === undefined
      ? undefined
      : await read((reader) => getOrganization(reader, organizationRef))
  const all = await read(fetchOwnedChannels)
  const networkChannels = await read(fetchNetworkChannels)
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
      'There are no channels yet. Create one with "vitrine catalog channels add NAME", or run "vitrine catalog import FILE".',
  }
}

async function add(
  { database, nowMs }: ChangeTransaction,
  name: string,
  options: NewChannel,
): Promise<CommandResult> {
  const { id = randomUUID(), kind = 'website', url = null } = options
  const { removedSample, notes } = await removeSampleBeforeFirstAdd(database)
  const organizationId = await getOrCreateOwnerId({ database, nowMs }, options.organization)
  const all = await fetchOwnedChannels(database)
  if (all.some((other) => other.id === id)) throw new UsageError(`a channel with the id ${id} already exists`)
  await assertNameIsFree(database, organizationId, name)
  const channel = { id, name, kind, url: noneToNull(url) }
  await insertChannel(database, { ...channel, organizationId, createdAtMs: nowMs })
  return {
    json: { ...channel, organizationId, removedSample },
    line: id,
    notes: [
      ...notes,
      `The channel shows nothing until it has a network: vitrine catalog networks assign NETWORK --channel ${id}`,
    ],
  }
}

async function assertNameIsFree(database: Catalog, organizationId: string, name: string): Promise<void> {
  const channels = await fetchOwnedChannels(database)
  const existing = channels.find((other) => other.organizationId === organizationId && other.name === name)
  if (existing !== undefined)
    throw new UsageError(
      `${quote(existing.organization)} already has a channel ${quote(name)}: ${existing.id}`,
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
    `${pluralize(unassignedCount, 'network channel')} of it kept, with the approvals and the offers that have tracking links for it.`,
    'These offers are not shown until you assign the network channel again: vitrine catalog networks assign',
  ]
  return {
    json: { id, name, removed: true, unassignedNetworkChannels: unassignedCount },
    line: `removed ${id}`,
    notes: unassignedCount === 0 ? [] : notes,
  }
}
