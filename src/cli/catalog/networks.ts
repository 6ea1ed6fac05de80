import type { Command } from 'commander'
import { fetchApprovals } from '../../catalog-service/store/approvals.ts'
import {
  type NetworkChannel,
  fetchNetworkChannels,
  isPlaceholder,
} from '../../catalog-service/store/network-channels.ts'
import {
  fetchNetworks,
  insertNetwork,
  removeNetwork,
  updateNetwork,
} from '../../catalog-service/store/networks.ts'
import { hasNetworkOffers, removeNetworkOffers } from '../../catalog-service/store/remove-offers.ts'
import { UsageError } from '../../errors.ts'
import { pluralize } from '../../lib/plural.ts'
import { type CommandContext, type Runner, addExamples } from '../command.ts'
import { indent, quote } from '../output.ts'
import { type ParsedTemplate, nameOf, parseTemplate, referenceFor } from './arguments.ts'
import { assign, unassign, warnOfNameless } from './assign.ts'
import { type Catalog, changeCatalog, getNetwork, listCatalog, removeSample } from './store.ts'

const CHANNEL_ID = '952a0000-0000-4000-8000-0000000000a1'

/** Declare `vitrine catalog networks`. */
export function addNetworks(catalog: Command, run: Runner): void {
  const group = catalog
    .command('networks')
    .description('affiliate networks, their link templates, and which channel has which')
  group.command('list').description('lists the networks, with their network channels').action(run(list))
  group
    .command('add')
    .description('makes a network')
    .argument('<name>', 'its name', nameOf('a network'))
    .option(
      '--template <template>',
      'how links are made, with {url}, {merchant} and {publisher}',
      parseTemplate,
    )
    .action(run(add))
  group
    .command('set <network>')
    .description('changes template or name of a network')
    .option('--template <template>', 'how links are made, or none', parseTemplate)
    .option('--name <name>', 'its new name; feeds that name the old one make it anew', nameOf('a network'))
    .action(run(set))
  group
    .command('remove <network>')
    .description('removes a network, with its network channels, approvals and offers')
    .option('--yes', 'also when it has offers or network channels')
    .action(run(remove))
  group
    .command('assign <network>')
    .description('gives a channel a network channel of its organization; one a network')
    .requiredOption('--channel <id>', 'the channel')
    .option(
      '--publisher <reference>',
      'what the network calls the publisher; made when it is new',
      referenceFor('--publisher'),
    )
    .option('--network-channel <number>', 'one that there is; with --publisher it gets that reference')
    .action(run(assign))
  group
    .command('unassign <network>')
    .description('the channel shows nothing of the network any more; approvals stay')
    .requiredOption('--channel <id>', 'the channel')
    .action(run(unassign))
  addExamples(group, 'vitrine catalog networks', [
    'vitrine catalog networks list',
    'vitrine catalog networks add awin --template "https://www.awin1.com/cread.php?awinmid={merchant}&awinaffid={publisher}&ued={url}"',
    'vitrine catalog networks set awin --template none',
    'vitrine catalog networks remove awin --yes',
    `vitrine catalog networks assign awin --channel ${CHANNEL_ID} --publisher 67890`,
    `vitrine catalog networks unassign awin --channel ${CHANNEL_ID}`,
  ])
}

async function list(context: CommandContext): Promise<void> {
  await listCatalog(context, { group: 'networks' }, async ({ reader }) => {
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
  })
}

function describeNetworkChannel(networkChannel: NetworkChannel): string[] {
  const { id, organization, reference, channelId, channel } = networkChannel
  const publisher = isPlaceholder(networkChannel) ? '(no publisher reference)' : `publisher ${reference}`
  return [
    indent(`network channel ${id}: ${organization}, ${publisher}`),
    indent(channelId === null ? '  assigned to no channel' : `  channel ${channelId}  ${channel ?? ''}`),
  ]
}

async function add(
  context: CommandContext,
  name: string,
  { template: parsed }: Readonly<{ template?: ParsedTemplate }>,
): Promise<void> {
  const linkTemplate = parsed?.template ?? null
  await changeCatalog(context, async (database) => {
    const { removedSample, notes } = await removeSample(database)
    await refuseTaken(database, name)
    await insertNetwork(database, { name, linkTemplate })
    return {
      json: { name, linkTemplate, removedSample },
      line: `made the network ${quote(name)}`,
      notes: [...notes, ...(parsed?.notes ?? [])],
    }
  })
}

async function refuseTaken(database: Catalog, name: string): Promise<void> {
  const all = await fetchNetworks(database)
  if (all.some((known) => known.name === name))
    throw new UsageError(`there is a network ${quote(name)} already`)
}

async function set(
  context: CommandContext,
  word: string,
  { name, template: parsed }: Readonly<{ name?: string; template?: ParsedTemplate }>,
): Promise<void> {
  if (name === undefined && parsed === undefined)
    throw new UsageError('nothing to set: name --template TEMPLATE, --name NEW, or both')
  await changeCatalog(context, async (database) => {
    const before = await getNetwork(database, word)
    if (name !== undefined && name !== before.name) await refuseTaken(database, name)
    await updateNetwork(database, before.id, {
      ...(name !== undefined && { name }),
      ...(parsed !== undefined && { linkTemplate: parsed.template }),
    })
    const after = await getNetwork(database, name ?? before.name)
    const networkChannels = await fetchNetworkChannels(database, { networkId: before.id })
    return {
      json: { name: after.name, linkTemplate: after.linkTemplate },
      line: `${after.name}  ${after.linkTemplate ?? '(no link template)'}`,
      notes: [...(parsed?.notes ?? []), ...warnOfNameless(after, networkChannels)],
    }
  })
}

async function remove(
  context: CommandContext,
  word: string,
  { yes = false }: Readonly<{ yes?: boolean }>,
): Promise<void> {
  await changeCatalog(context, async (database) => {
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
    const { offers, products } = await removeNetworkOffers(database, networkId)
    await removeNetwork(database, networkId)
    const gone = [...belongings, pluralize(offers, 'offer'), pluralize(products, 'product')]
    return {
      json: { name, removed: true, networkChannels: own.length, approvals, offers, products },
      line: `removed ${quote(name)}, with ${gone.join(', ')}`,
    }
  })
}
