import type { Command } from 'commander'
import type { CatalogStore } from '../../catalog-service/store/catalog-store.ts'
import { fetchApprovals } from '../../catalog-service/store/merchants.ts'
import {
  type Network,
  type NetworkChannel,
  fetchNetworkChannels,
  fetchNetworks,
  insertNetwork,
  insertNetworkChannel,
  isPlaceholder,
  setChannel,
  setReference,
  updateNetwork,
} from '../../catalog-service/store/networks.ts'
import { hasNetworkOffers, removeNetwork } from '../../catalog-service/store/removal.ts'
import type { Catalog } from '../../catalog-service/store/schema.ts'
import { UsageError } from '../../errors.ts'
import { pluralize } from '../../lib/plural.ts'
import { type Runner, addExamples } from '../command.ts'
import { type Listing, type Result, indent, quote, toShellWord } from '../output.ts'
import { EXAMPLE_CHANNEL, type ParsedTemplate, lineOf, parseTemplate } from './arguments.ts'
import { type Change, change, getChannel, getNetwork, list, needsOption, removeSample } from './store.ts'

export function addNetworks(catalog: Command, run: Runner): void {
  const group = catalog
    .command('networks')
    .description('affiliate networks, their link templates, and which channel has which')
  group
    .command('list')
    .description('lists the networks, with their network channels')
    .action(run(list('networks', listNetworks)))
  group
    .command('add')
    .description('makes a network')
    .argument('<name>', 'its name', lineOf('a network needs a name of'))
    .option(
      '--template <template>',
      'how links are made, with {url}, {merchant} and {publisher}',
      parseTemplate,
    )
    .action(run(change(add)))
  group
    .command('set <network>')
    .description('changes template or name of a network')
    .option('--template <template>', 'how links are made, or none', parseTemplate)
    .option(
      '--name <name>',
      'its new name; feeds that name the old one make it anew',
      lineOf('a network needs a name of'),
    )
    .action(run(change(set, needsOption('--template TEMPLATE, --name NEW, or both'))))
  group
    .command('remove <network>')
    .description('removes a network, with its network channels, approvals and offers')
    .option('--yes', 'also when it has offers or network channels')
    .action(run(change(remove)))
  group
    .command('assign <network>')
    .description('gives a channel a network channel of its organization; one a network')
    .requiredOption('--channel <id>', 'the channel')
    .option(
      '--publisher <reference>',
      'what the network calls the publisher; made when it is new',
      lineOf('--publisher accepts'),
    )
    .option('--network-channel <number>', 'one that there is; with --publisher it gets that reference')
    .action(run(change(assign)))
  group
    .command('unassign <network>')
    .description('the channel shows nothing of the network any more; approvals stay')
    .requiredOption('--channel <id>', 'the channel')
    .action(run(change(unassign)))
  addExamples(group, 'vitrine catalog networks', [
    'vitrine catalog networks list',
    'vitrine catalog networks add awin --template "https://www.awin1.com/cread.php?awinmid={merchant}&awinaffid={publisher}&ued={url}"',
    'vitrine catalog networks set awin --template none',
    'vitrine catalog networks remove awin --yes',
    `vitrine catalog networks assign awin --channel ${EXAMPLE_CHANNEL} --publisher 67890`,
    `vitrine catalog networks unassign awin --channel ${EXAMPLE_CHANNEL}`,
  ])
}

async function listNetworks({ reader }: CatalogStore): Promise<Listing> {
  const networkChannels = await fetchNetworkChannels(reader)
  const networks = (await fetchNetworks(reader)).map(({ id, name, linkTemplate }) => {
    return { name, linkTemplate, own: networkChannels.filter(({ networkId }) => networkId === id) }
  })
  return {
    rows: networks.map(({ name, linkTemplate, own }) => ({
      name,
      linkTemplate,
      networkChannels: own.map(({ networkId: _id, network: _network, ...rest }) => rest),
    })),
    lines: networks.flatMap(({ name, linkTemplate, own }) => [
      name,
      indent(linkTemplate ?? '(no link template: only offers with links of their own are shown)'),
      ...own.flatMap(describeNetworkChannel),
    ]),
    ifNone: 'There is no network yet: vitrine catalog networks add NAME makes one, and so does an import.',
  }
}

function describeNetworkChannel(networkChannel: NetworkChannel): string[] {
  const { id, organization, reference, channelId, channel } = networkChannel
  const publisher = isPlaceholder(networkChannel) ? '(no publisher reference)' : `publisher ${reference}`
  return [
    indent(`network channel ${id}: ${organization}, ${publisher}`),
    indent(channelId === null ? '  assigned to no channel' : `  channel ${channelId}  ${channel ?? ''}`),
  ]
}

type Template = Readonly<{ template?: ParsedTemplate }>

async function add({ database }: Change, name: string, { template: parsed }: Template): Promise<Result> {
  const linkTemplate = parsed?.template ?? null
  const { removedSample, notes } = await removeSample(database)
  await refuseTaken(database, name)
  await insertNetwork(database, { name, linkTemplate })
  return {
    json: { name, linkTemplate, removedSample },
    line: `made the network ${quote(name)}`,
    notes: [...notes, ...(parsed?.notes ?? [])],
  }
}

async function refuseTaken(database: Catalog, name: string): Promise<void> {
  const all = await fetchNetworks(database)
  if (all.some((known) => known.name === name))
    throw new UsageError(`there is a network ${quote(name)} already`)
}

async function set(
  { database }: Change,
  word: string,
  { name, template: parsed }: Template & Readonly<{ name?: string }>,
): Promise<Result> {
  const { id, name: oldName } = await getNetwork(database, word)
  if (name !== undefined && name !== oldName) await refuseTaken(database, name)
  await updateNetwork(database, id, {
    ...(name !== undefined && { name }),
    ...(parsed !== undefined && { linkTemplate: parsed.template }),
  })
  const after = await getNetwork(database, name ?? oldName)
  const networkChannels = await fetchNetworkChannels(database, { networkId: id })
  return {
    json: { name: after.name, linkTemplate: after.linkTemplate },
    line: `${after.name}  ${after.linkTemplate ?? '(no link template)'}`,
    notes: [...(parsed?.notes ?? []), ...warnOfNameless(after, networkChannels)],
  }
}

async function remove(
  { database }: Change,
  word: string,
  { yes = false }: Readonly<{ yes?: boolean }>,
): Promise<Result> {
  const { id: networkId, name } = await getNetwork(database, word)
  const own = await fetchNetworkChannels(database, { networkId })
  const approvals = (await fetchApprovals(database, { networkId })).length
  const belongings = [pluralize(own.length, 'network channel'), pluralize(approvals, 'approval')]
  if (!yes && (await hasNetworkOffers(database, networkId)))
    throw new UsageError(
      `${quote(name)} has offers; they would go with it, and with them ${belongings.join(' and ')}: add --yes`,
    )
  if (!yes && (own.length > 1 || own.some((one) => !isPlaceholder(one))))
    throw new UsageError(`${quote(name)} would take ${belongings.join(' and ')} with it: add --yes`)
  const { offers, products } = await removeNetwork(database, networkId)
  const gone = [...belongings, pluralize(offers, 'offer'), pluralize(products, 'product')]
  return {
    json: { name, removed: true, networkChannels: own.length, approvals, offers, products },
    line: `removed ${quote(name)}, with ${gone.join(', ')}`,
  }
}

/** `publisher`: what the network calls the publisher; `networkChannel`: the number of one that there is. */
type AssignOptions = Readonly<{ channel: string; publisher?: string; networkChannel?: string }>

async function assign({ database }: Change, word: string, options: AssignOptions): Promise<Result> {
  const found = await findAssignment(database, word, options.channel)
  const { channel, network, own } = found
  const id = await choose(database, found, options)
  const replaced = own.find((one) => one.channelId === channel.id && one.id !== id)
  if (replaced !== undefined) await setChannel(database, replaced.id, null)
  const movedFrom = own.find((one) => one.channelId !== channel.id && one.id === id)?.channelId ?? null
  await setChannel(database, id, channel.id)
  const after = await fetchNetworkChannels(database, { networkId: network.id, channelId: channel.id })
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
      ...(replaced ? [`Network channel ${replaced.id} served it before, and now serves none.`] : []),
      ...(movedFrom ? [`Before, it served the channel ${movedFrom}, which has none of it now.`] : []),
      ...warnOfNoTemplate(network),
      ...warnOfNameless(network, after),
      `What it shows: vitrine catalog approvals --channel ${channel.id} --network ${toShellWord(network.name)}`,
    ],
  }
}

function warnOfNoTemplate({ name, linkTemplate }: Network): readonly string[] {
  if (linkTemplate !== null) return []
  return [`${quote(name)} has no link template: only offers with links of their own are shown.`]
}

async function unassign(
  { database }: Change,
  word: string,
  options: Readonly<{ channel: string }>,
): Promise<Result> {
  const { channel, network, current } = await findAssignment(database, word, options.channel)
  const name = quote(network.name)
  if (current === undefined)
    throw new UsageError(
      `the channel ${channel.id} has no network channel of ${name}; "vitrine catalog networks" lists them`,
    )
  await setChannel(database, current.id, null)
  return {
    json: { network: network.name, networkChannelId: current.id, channelId: channel.id, assigned: false },
    line: `took network channel ${current.id} of ${name} from ${channel.id}; its approvals stay`,
  }
}

type Assignment = Awaited<ReturnType<typeof findAssignment>>

/** `own`: what the channel's organization has there; `current`: the only one of them that serves the channel. */
async function findAssignment(database: Catalog, networkName: string, channelId: string) {
  const channel = await getChannel(database, channelId)
  const network = await getNetwork(database, networkName)
  const key = { networkId: network.id, organizationId: channel.organizationId }
  const own = await fetchNetworkChannels(database, key)
  return { channel, network, key, own, current: own.find((one) => one.channelId === channel.id) }
}

/** Return the number of the network channel that is meant; it is made, or its reference set, where that was asked. */
async function choose(
  database: Catalog,
  found: Assignment,
  { publisher, networkChannel }: AssignOptions,
): Promise<number> {
  if (networkChannel !== undefined) return chooseByNumber(database, found, networkChannel, publisher)
  return publisher === undefined ? chooseOnly(database, found) : chooseByReference(database, found, publisher)
}

async function chooseByNumber(
  database: Catalog,
  { channel, network, own }: Assignment,
  number: string,
  publisher: string | undefined,
): Promise<number> {
  const named = own.find(({ id }) => String(id) === number.trim())
  if (named === undefined)
    throw new UsageError(
      `${quote(channel.organization)} has no network channel ${quote(number)} in ${quote(network.name)}; ${describeOwn(own)}`,
    )
  if (publisher === undefined) return named.id
  const taken = own.find(({ id, reference }) => reference === publisher && id !== named.id)
  if (taken !== undefined)
    throw new UsageError(
      `network channel ${taken.id} has the publisher reference ${quote(publisher)} already`,
    )
  await setReference(database, named.id, publisher)
  return named.id
}

async function chooseByReference(database: Catalog, found: Assignment, publisher: string): Promise<number> {
  const known = found.own.find(({ reference }) => reference === publisher)
  if (known !== undefined) return known.id
  // What an import made for this channel knows no reference yet: it is this one, and keeps approvals and links.
  if (found.current === undefined || !isPlaceholder(found.current))
    return insertNetworkChannel(database, { ...found.key, reference: publisher })
  await setReference(database, found.current.id, publisher)
  return found.current.id
}

async function chooseOnly(database: Catalog, found: Assignment): Promise<number> {
  const { network, own, current } = found
  if (current !== undefined) return current.id
  const [only, ...others] = own
  if (only === undefined && !network.linkTemplate?.includes('{publisher}'))
    return insertNetworkChannel(database, { ...found.key, reference: '' })
  if (only !== undefined && only.channelId === null && others.length === 0) return only.id
  throw new UsageError(
    `say what ${quote(network.name)} calls the publisher with --publisher REF, or which network channel with --network-channel; ${describeOwn(own)}`,
  )
}

function describeOwn(own: readonly NetworkChannel[]): string {
  if (own.length === 0) return 'it has none there yet'
  const described = own.map((one) => {
    const publisher = isPlaceholder(one) ? 'no publisher reference' : `publisher ${quote(one.reference)}`
    return `${one.id} (${publisher})`
  })
  return `there are ${described.join(', ')}`
}

/** A network channel that an import made does not know its publisher's reference: no link can be made for it. */
export function warnOfNameless(network: Network, networkChannels: readonly NetworkChannel[]): string[] {
  if (!network.linkTemplate?.includes('{publisher}')) return []
  return networkChannels.filter(isPlaceholder).map(({ id, channelId }) => {
    const which = channelId === null ? `--channel ID --network-channel ${id}` : `--channel ${channelId}`
    return `Network channel ${id} has no publisher reference yet; its offers are not shown until it has one: vitrine catalog networks assign ${toShellWord(network.name)} ${which} --publisher REF`
  })
}
