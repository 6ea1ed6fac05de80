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
import { type Confirmation, EXAMPLE_CHANNEL, lineOf, parseTemplate } from './arguments.ts'
import { type Listing, type Result, quote, toShellWord } from './output.ts'
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
    .hook('preAction', needsOption('--template TEMPLATE, --name NEW, or both'))
    .action(run(change(set)))
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
    entries: networks.map(({ name, linkTemplate, own }) => [
      name,
      linkTemplate ?? '(no link template: only offers with links of their own are shown)',
      ...own.flatMap(describeNetworkChannel),
    ]),
    ifNone: 'There is no network yet: vitrine catalog networks add NAME makes one, and so does an import.',
  }
}

function describeNetworkChannel(networkChannel: NetworkChannel): string[] {
  const { id, organization, reference, channelId, channel } = networkChannel
  const publisher = isPlaceholder(networkChannel) ? '(no publisher reference)' : `publisher ${reference}`
  return [
    `network channel ${id}: ${organization}, ${publisher}`,
    channelId === null ? '  assigned to no channel' : `  channel ${channelId}  ${channel ?? ''}`,
  ]
}

type NewNetwork = Readonly<{ template?: ReturnType<typeof parseTemplate> }>
type NetworkChange = NewNetwork & Readonly<{ name?: string }>

async function add({ database }: Change, name: string, { template: parsed }: NewNetwork): Promise<Result> {
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

async function set({ database }: Change, word: string, options: NetworkChange): Promise<Result> {
  const before = await getNetwork(database, word)
  const { id } = before
  const name = options.name ?? before.name
  const { template: linkTemplate, notes } = options.template ?? { template: before.linkTemplate, notes: [] }
  if (name !== before.name) await refuseTaken(database, name)
  await updateNetwork(database, id, { name, linkTemplate })
  const own = await fetchNetworkChannels(database, { networkId: id })
  return {
    json: { name, linkTemplate },
    line: `${name}  ${linkTemplate ?? '(no link template)'}`,
    notes: [...notes, ...warnOfNameless({ id, name, linkTemplate }, own)],
  }
}

async function remove({ database }: Change, word: string, { yes = false }: Confirmation): Promise<Result> {
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
      ...(network.linkTemplate === null
        ? [`${quote(network.name)} has no link template: only offers with links of their own are shown.`]
        : []),
      ...warnOfNameless(network, after),
      `What it shows: vitrine catalog approvals --channel ${channel.id} --network ${toShellWord(network.name)}`,
    ],
  }
}

async function unassign({ database }: Change, word: string, options: AssignOptions): Promise<Result> {
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
async function choose(database: Catalog, found: Assignment, options: AssignOptions): Promise<number> {
  const { publisher } = options
  const chosen = findChosen(found, options)
  if (chosen === undefined)
    return insertNetworkChannel(database, { ...found.key, reference: publisher ?? '' })
  if (publisher === undefined || publisher === chosen.reference) return chosen.id
  const taken = found.own.find(({ reference }) => reference === publisher)
  if (taken !== undefined)
    throw new UsageError(
      `network channel ${taken.id} has the publisher reference ${quote(publisher)} already`,
    )
  await setReference(database, chosen.id, publisher)
  return chosen.id
}

/** Find the network channel that is meant; `undefined`: a new one. @throws UsageError when it has to be said which. */
function findChosen(found: Assignment, options: AssignOptions): NetworkChannel | undefined {
  const { own, current } = found
  const { publisher, networkChannel } = options
  if (networkChannel !== undefined) return getByNumber(found, networkChannel)
  if (publisher === undefined) return current ?? findOnly(found)
  const known = own.find(({ reference }) => reference === publisher)
  if (known !== undefined || current === undefined) return known
  // What an import made for this channel knows no reference yet: it is this one, and keeps approvals and links.
  return isPlaceholder(current) ? current : undefined
}

function getByNumber({ channel, network, own }: Assignment, number: string): NetworkChannel {
  const named = own.find(({ id }) => String(id) === number.trim())
  if (named !== undefined) return named
  throw new UsageError(
    `${quote(channel.organization)} has no network channel ${quote(number)} in ${quote(network.name)}; ${describeOwn(own)}`,
  )
}

function findOnly({ network, own }: Assignment): NetworkChannel | undefined {
  const [only, ...others] = own
  if (only === undefined && !network.linkTemplate?.includes('{publisher}')) return undefined
  if (only?.channelId === null && others.length === 0) return only
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

/**
 * Warn of network channels of the network that an import made: they do not know their publisher's reference, and no link can
 * be made for them.
 */
export function warnOfNameless(network: Network, networkChannels: readonly NetworkChannel[]): string[] {
  if (!network.linkTemplate?.includes('{publisher}')) return []
  const nameless = networkChannels.filter((one) => one.networkId === network.id && isPlaceholder(one))
  return nameless.map(({ id, channelId }) => {
    const which = channelId === null ? `--channel ID --network-channel ${id}` : `--channel ${channelId}`
    return `Network channel ${id} has no publisher reference yet; its offers are not shown until it has one: vitrine catalog networks assign ${toShellWord(network.name)} ${which} --publisher REF`
  })
}
