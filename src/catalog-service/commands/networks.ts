import type { Command } from 'commander'
import { type Runner, addExamples } from '../../command.ts'
import { UsageError } from '../../errors.ts'
import { pluralize, toShellWord } from '../../lib/format.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import { fetchApprovals } from '../store/merchants.ts'
import {
  type Network,
  type NetworkChannel,
  fetchNetworkChannels,
  fetchNetworks,
  insertNetwork,
  insertNetworkChannel,
  isReferenceMissing,
  assignChannel,
  setPublisherReference,
  updateNetwork,
} from '../store/networks.ts'
import { hasNetworkOffers, hasNetworkPages, removeNetwork } from '../store/removal.ts'
import type { Catalog } from '../store/schema.ts'
import { type Confirmation, EXAMPLE_CHANNEL, createLineParser, parseTemplate } from './arguments.ts'
import { type Listing, type CommandResult, quote } from './output.ts'
import {
  type ChangeTransaction,
  createChangeAction,
  getChannel,
  getNetwork,
  createListAction,
  requireOption,
  removeSampleBeforeFirstAdd,
} from './store.ts'

export function addNetworks(catalog: Command, run: Runner): void {
  const group = catalog
    .command('networks')
    .description('manage affiliate networks, link templates and network channels')
  group
    .command('list')
    .description('list the networks with their network channels')
    .action(run(createListAction('networks', listNetworks)))
  group
    .command('add')
    .description('create a network')
    .argument('<name>', 'name of the network', createLineParser('a network needs a name of'))
    .option(
      '--template <template>',
      'template of affiliate links, with {url}, {merchant}, {publisher} and {sub}',
      parseTemplate,
    )
    .action(run(createChangeAction(add)))
  group
    .command('set <network>')
    .description('change the link template or name of a network')
    .option('--template <template>', 'template of affiliate links, or none', parseTemplate)
    .option(
      '--name <name>',
      'new name; feeds with the old name create a new network',
      createLineParser('a network needs a name of'),
    )
    .hook('preAction', requireOption('--template TEMPLATE, --name NEW, or both'))
    .action(run(createChangeAction(set)))
  group
    .command('remove <network>')
    .description('remove a network with its network channels, approvals and offers')
    .option('--yes', 'remove it even if it has offers or network channels')
    .action(run(createChangeAction(remove)))
  group
    .command('assign <network>')
    .description('assign a network channel to a channel of the same organization; one per network')
    .requiredOption('--channel <id>', 'id of the channel')
    .option(
      '--publisher <reference>',
      'publisher reference (name or number) in the network; a new reference creates a network channel',
      createLineParser('--publisher accepts'),
    )
    .option('--network-channel <number>', 'an existing network channel; --publisher sets its reference')
    .action(run(createChangeAction(assign)))
  group
    .command('unassign <network>')
    .description('stop a channel from showing offers of the network; approvals are kept')
    .requiredOption('--channel <id>', 'id of the channel')
    .action(run(createChangeAction(unassign)))
  addExamples(group, 'vitrine catalog networks', [
    'vitrine catalog networks list',
    'vitrine catalog networks add awin --template "https://www.awin1.com/cread.php?awinmid={merchant}&awinaffid={publisher}&ued={url}"',
    'vitrine catalog networks set awin --template none',
    'vitrine catalog networks remove awin --yes',
    `vitrine catalog networks assign awin --channel ${EXAMPLE_CHANNEL} --publisher 67890`,
    `vitrine catalog networks unassign awin --channel ${EXAMPLE_CHANNEL}`,
  ])
}

async function listNetworks({ read }: CatalogStore): Promise<Listing> {
  const allNetworkChannels = await read(fetchNetworkChannels)
  const networks = (await read(fetchNetworks)).map(({ id, name, linkTemplate }) => {
    return {
      name,
      linkTemplate,
      networkChannels: allNetworkChannels.filter(({ networkId }) => networkId === id),
    }
  })
  return {
    rows: networks.map(({ name, linkTemplate, networkChannels }) => ({
      name,
      linkTemplate,
      networkChannels: networkChannels.map(({ networkId: _id, network: _network, ...rest }) => rest),
    })),
    entries: networks.map(({ name, linkTemplate, networkChannels }) => [
      name,
      linkTemplate ?? '(no link template: links to pages of shops earn no commission)',
      ...networkChannels.flatMap(describeNetworkChannel),
    ]),
    emptyMessage: 'There are no networks yet. Import a feed, or run: vitrine catalog networks add NAME',
  }
}

function describeNetworkChannel(networkChannel: NetworkChannel): string[] {
  const { id, organization, reference, channelId, channel } = networkChannel
  const publisher = isReferenceMissing(networkChannel) ? '(no publisher reference)' : `publisher ${reference}`
  return [
    `network channel ${id}: ${organization}, ${publisher}`,
    channelId === null ? '  not assigned to a channel' : `  channel ${channelId}  ${channel ?? ''}`,
  ]
}

type NewNetwork = Readonly<{ template?: ReturnType<typeof parseTemplate> }>
type NetworkChange = NewNetwork & Readonly<{ name?: string }>

async function add(
  { database }: ChangeTransaction,
  name: string,
  { template: parsedTemplate }: NewNetwork,
): Promise<CommandResult> {
  const linkTemplate = parsedTemplate?.template ?? null
  const { removedSample, notes } = await removeSampleBeforeFirstAdd(database)
  await assertNameIsFree(database, name)
  await insertNetwork(database, { name, linkTemplate })
  return {
    json: { name, linkTemplate, removedSample },
    line: `created the network ${quote(name)}`,
    notes: [...notes, ...(parsedTemplate?.notes ?? [])],
  }
}

async function assertNameIsFree(database: Catalog, name: string): Promise<void> {
  const all = await fetchNetworks(database)
  if (all.some((other) => other.name === name))
    throw new UsageError(`a network ${quote(name)} already exists`)
}

async function set(
  { database }: ChangeTransaction,
  networkName: string,
  options: NetworkChange,
): Promise<CommandResult> {
  const before = await getNetwork(database, networkName)
  const { id } = before
  const name = options.name ?? before.name
  const { template: linkTemplate, notes } = options.template ?? { template: before.linkTemplate, notes: [] }
  if (name !== before.name) await assertNameIsFree(database, name)
  await updateNetwork(database, id, { name, linkTemplate })
  const networkChannels = await fetchNetworkChannels(database, { networkId: id })
  return {
    json: { name, linkTemplate },
    line: `${name}  ${linkTemplate ?? '(no link template)'}`,
    notes: [...notes, ...listMissingReferenceWarnings({ id, name, linkTemplate }, networkChannels)],
  }
}

async function remove(
  { database }: ChangeTransaction,
  networkName: string,
  { yes = false }: Confirmation,
): Promise<CommandResult> {
  const { id: networkId, name } = await getNetwork(database, networkName)
  const networkChannels = await fetchNetworkChannels(database, { networkId })
  const approvals = (await fetchApprovals(database, { networkId })).length
  const dependents = [pluralize(networkChannels.length, 'network channel'), pluralize(approvals, 'approval')]
  if (!yes && (await hasNetworkOffers(database, networkId)))
    throw new UsageError(
      `${quote(name)} has offers; add --yes to remove it with its offers, ${dependents.join(' and ')}`,
    )
  if (!yes && (networkChannels.length > 1 || !networkChannels.every(isReferenceMissing)))
    throw new UsageError(`${quote(name)} has ${dependents.join(' and ')}; add --yes to remove them all`)
  const { offers, products } = await removeNetwork(database, networkId)
  const removedParts = [...dependents, pluralize(offers, 'offer'), pluralize(products, 'product')]
  return {
    json: { name, removed: true, networkChannels: networkChannels.length, approvals, offers, products },
    line: `removed ${quote(name)}, with ${removedParts.join(', ')}`,
  }
}

/** `publisher`: reference of the publisher in the network. `networkChannel`: number of an existing network channel. */
type AssignOptions = Readonly<{ channel: string; publisher?: string; networkChannel?: string }>

async function assign(
  { database }: ChangeTransaction,
  networkName: string,
  options: AssignOptions,
): Promise<CommandResult> {
  const assignment = await findAssignment(database, networkName, options.channel)
  const { channel, network, networkChannels } = assignment
  const id = await getOrCreateNetworkChannelId(database, assignment, options)
  const replaced = networkChannels.find(
    (networkChannel) => networkChannel.channelId === channel.id && networkChannel.id !== id,
  )
  if (replaced !== undefined) await assignChannel(database, replaced.id, null)
  const movedFrom =
    networkChannels.find((other) => other.channelId !== channel.id && other.id === id)?.channelId ?? null
  await assignChannel(database, id, channel.id)
  const assigned = await fetchNetworkChannels(database, {
    networkId: network.id,
    channelId: channel.id,
  })
  return {
    json: {
      network: network.name,
      networkChannelId: id,
      channelId: channel.id,
      replacedNetworkChannelId: replaced?.id ?? null,
      movedFromChannelId: movedFrom,
    },
    line: `assigned network channel ${id} of ${quote(network.name)} to ${channel.id}`,
    notes: [
      ...(replaced ? [`Network channel ${replaced.id} is no longer assigned to a channel.`] : []),
      ...(movedFrom
        ? [`It was assigned to the channel ${movedFrom}, which now has no network channel of this network.`]
        : []),
      ...(network.linkTemplate === null && (await hasNetworkPages(database, network.id))
        ? [`${quote(network.name)} has no link template: links to pages of shops earn no commission.`]
        : []),
      ...listMissingReferenceWarnings(network, assigned),
      `To see its approvals: vitrine catalog approvals --channel ${channel.id} --network ${toShellWord(network.name)}`,
    ],
  }
}

async function unassign(
  { database }: ChangeTransaction,
  networkName: string,
  options: AssignOptions,
): Promise<CommandResult> {
  const { channel, network, current } = await findAssignment(database, networkName, options.channel)
  const name = quote(network.name)
  if (current === undefined)
    throw new UsageError(
      `the channel ${channel.id} has no network channel of ${name}; "vitrine catalog networks" lists them`,
    )
  await assignChannel(database, current.id, null)
  return {
    json: { network: network.name, networkChannelId: current.id, channelId: channel.id, assigned: false },
    line: `unassigned network channel ${current.id} of ${name} from ${channel.id}; its approvals are kept`,
  }
}

type Assignment = Awaited<ReturnType<typeof findAssignment>>

/** `networkChannels`: those of the channel's organization in the network. `current`: the one assigned to the channel. */
async function findAssignment(database: Catalog, networkName: string, channelId: string) {
  const channel = await getChannel(database, channelId)
  const network = await getNetwork(database, networkName)
  const key = { networkId: network.id, organizationId: channel.organizationId }
  const networkChannels = await fetchNetworkChannels(database, key)
  return {
    channel,
    network,
    key,
    networkChannels,
    current: networkChannels.find((networkChannel) => networkChannel.channelId === channel.id),
  }
}

async function getOrCreateNetworkChannelId(
  database: Catalog,
  assignment: Assignment,
  options: AssignOptions,
): Promise<number> {
  const { publisher } = options
  const networkChannel = findNetworkChannel(assignment, options)
  if (networkChannel === undefined)
    return insertNetworkChannel(database, { ...assignment.key, reference: publisher ?? '' })
  if (publisher === undefined || publisher === networkChannel.reference) return networkChannel.id
  const existing = assignment.networkChannels.find(({ reference }) => reference === publisher)
  if (existing !== undefined)
    throw new UsageError(
      `network channel ${existing.id} already has the publisher reference ${quote(publisher)}`,
    )
  await setPublisherReference(database, networkChannel.id, publisher)
  return networkChannel.id
}

/** Find the network channel that the options select; `undefined`: create one. @throws UsageError when they are ambiguous. */
function findNetworkChannel(assignment: Assignment, options: AssignOptions): NetworkChannel | undefined {
  const { networkChannels, current } = assignment
  const { publisher, networkChannel } = options
  if (networkChannel !== undefined) return getByNumber(assignment, networkChannel)
  if (publisher === undefined) return current ?? findOnlyNetworkChannel(assignment)
  const match = networkChannels.find(({ reference }) => reference === publisher)
  if (match !== undefined || current === undefined) return match
  // A network channel that an import created has no reference yet: use it, so that its approvals and links are kept.
  return isReferenceMissing(current) ? current : undefined
}

function getByNumber({ channel, network, networkChannels }: Assignment, number: string): NetworkChannel {
  const match = networkChannels.find(({ id }) => String(id) === number.trim())
  if (match !== undefined) return match
  throw new UsageError(
    `${quote(channel.organization)} has no network channel ${quote(number)} in ${quote(network.name)}; ${describeChoices(networkChannels)}`,
  )
}

function findOnlyNetworkChannel({ network, networkChannels }: Assignment): NetworkChannel | undefined {
  const [only, ...others] = networkChannels
  if (only === undefined && !network.linkTemplate?.includes('{publisher}')) return undefined
  if (only?.channelId === null && others.length === 0) return only
  throw new UsageError(
    `give the publisher reference in ${quote(network.name)} with --publisher REF, or a network channel with --network-channel; ${describeChoices(networkChannels)}`,
  )
}

function describeChoices(networkChannels: readonly NetworkChannel[]): string {
  if (networkChannels.length === 0) return 'it has none in this network yet'
  const descriptions = networkChannels.map((networkChannel) => {
    const publisher = isReferenceMissing(networkChannel)
      ? 'no publisher reference'
      : `publisher ${quote(networkChannel.reference)}`
    return `${networkChannel.id} (${publisher})`
  })
  return `there are ${descriptions.join(', ')}`
}

/** Warn about network channels that an import created without a publisher reference: no link can be built for them. */
export function listMissingReferenceWarnings(
  network: Network,
  networkChannels: readonly NetworkChannel[],
): string[] {
  if (!network.linkTemplate?.includes('{publisher}')) return []
  const incomplete = networkChannels.filter(
    (networkChannel) => networkChannel.networkId === network.id && isReferenceMissing(networkChannel),
  )
  return incomplete.map(({ id, channelId }) => {
    const options = channelId === null ? `--channel ID --network-channel ${id}` : `--channel ${channelId}`
    return `Network channel ${id} has no publisher reference yet, so its offers are not shown. Set one: vitrine catalog networks assign ${toShellWord(network.name)} ${options} --publisher REF`
  })
}
