import type { Command } from 'commander'
import {
  type Approval,
  type ApprovalState,
  type Merchant,
  fetchApprovals,
  findShopLinks,
  getApprovalState,
  setApprovals,
} from '../../catalog-service/store/merchants.ts'
import type { OwnedChannel } from '../../catalog-service/store/channels.ts'
import {
  type Network,
  type NetworkChannel,
  fetchNetworkChannels,
  fetchNetworks,
  isPlaceholder,
} from '../../catalog-service/store/networks.ts'
import { UsageError } from '../../errors.ts'
import { pluralize } from '../../lib/plural.ts'
import { type CommandContext, type Runner, addExamples } from '../command.ts'
import { indent, quote, toDay, toIso, toShellWord } from '../output.ts'
import { EXAMPLE_CHANNEL } from './arguments.ts'
import { warnOfNameless } from './networks.ts'
import { type Catalog, changeCatalog, getChannel, getMerchant, getNetwork, listCatalog } from './store.ts'

/** Declare `vitrine catalog approvals`. */
export function addApprovals(catalog: Command, run: Runner): void {
  const group = catalog
    .command('approvals')
    .description('which merchants a channel may show, network by network')
  group
    .command('list')
    .description('lists what was approved or revoked')
    .option('--channel <id>', 'only for this channel')
    .option('--network <name>', 'only in this network')
    .action(run(list))
  withPlace(group.command('add [merchant]'))
    .alias('approve')
    .description('the channel may show the offers of a merchant')
    .option('--all', 'every merchant that has offers in the network')
    .action(run(approve))
  withPlace(group.command('remove [merchant]'))
    .alias('revoke')
    .description('the channel may not, from the next request on, whatever is imported')
    .option('--all', 'every merchant that has offers in the network')
    .action(run(revoke))
  addExamples(group, 'vitrine catalog approvals', [
    `vitrine catalog approvals list --channel ${EXAMPLE_CHANNEL}`,
    `vitrine catalog approvals add Kopje --channel ${EXAMPLE_CHANNEL} --network awin`,
    `vitrine catalog approvals add --all --channel ${EXAMPLE_CHANNEL}`,
    `vitrine catalog approvals remove Kopje --channel ${EXAMPLE_CHANNEL}`,
  ])
}

/** Add the options that say for which channel and network something is approved. */
export function withPlace(command: Command): Command {
  return command
    .requiredOption('--channel <id>', 'the channel')
    .option('--network <name>', 'only this network; else each that the channel has')
}

type Filter = Readonly<{ channel?: string; network?: string }>

async function list(context: CommandContext, filter: Filter): Promise<void> {
  await listCatalog(context, { group: 'approvals', filter }, async ({ reader }) => {
    const channel = filter.channel === undefined ? undefined : await getChannel(reader, filter.channel)
    const network = filter.network === undefined ? undefined : await getNetwork(reader, filter.network)
    const ofNetwork = network !== undefined && { networkId: network.id }
    const ofChannel = channel !== undefined && { channelId: channel.id }
    const approvals = await fetchApprovals(reader, { ...ofChannel, ...ofNetwork })
    return {
      rows: approvals.map(({ revokedAtMs, ...approval }) => ({
        ...approval,
        approved: revokedAtMs === null,
        revokedAt: revokedAtMs === null ? null : toIso(revokedAtMs),
      })),
      lines: toLines(approvals),
      ifNone:
        (channel && (await explainUnassigned(reader, channel, { ...ofNetwork }))) ??
        'No approval: vitrine catalog approvals add MERCHANT --channel ID gives one, and so does an import.',
    }
  })
}

/** A line for each network channel, and its merchants below it. */
function toLines(approvals: readonly Approval[]): readonly string[] {
  const groups = new Map<string, string[]>()
  for (const { networkChannelId, channelId, channel, network, merchant, revokedAtMs } of approvals) {
    const place =
      channelId === null
        ? `(network channel ${networkChannelId}, no channel)`
        : `${channelId}  ${channel ?? ''}`
    const merchants = groups.get(`${place}  ${network}`) ?? []
    merchants.push(indent(revokedAtMs === null ? merchant : `${merchant}  (revoked ${toDay(revokedAtMs)})`))
    groups.set(`${place}  ${network}`, merchants)
  }
  return [...groups].flatMap(([head, merchants]) => [head, ...merchants])
}

/** For one merchant, or with `all` every one that has offers; in each network that the channel has, or in one. */
type ChangeOptions = Readonly<{ channel: string; network?: string; all?: boolean }>

/** Allow a channel to show a merchant. @throws UsageError for something unknown, and a channel without the network. */
export function approve(
  context: CommandContext,
  merchant: string | undefined,
  options: ChangeOptions,
): Promise<void> {
  return change(context, { ...options, merchant, isApproved: true })
}

/** Forbid it, from the next request on, whatever is imported later. @throws UsageError as `approve` does. */
export function revoke(
  context: CommandContext,
  merchant: string | undefined,
  options: ChangeOptions,
): Promise<void> {
  return change(context, { ...options, merchant, isApproved: false })
}

type Order = ChangeOptions & Readonly<{ merchant: string | undefined; isApproved: boolean }>

async function change(context: CommandContext, order: Order): Promise<void> {
  const { isApproved } = order
  if ((order.merchant === undefined) !== (order.all === true))
    throw new UsageError('name one merchant, or all that have offers with --all')
  await changeCatalog(context, async (database, nowMs) => {
    const channel = await getChannel(database, order.channel)
    const merchant = order.merchant === undefined ? null : await getMerchant(database, order.merchant)
    const places = await getPlaces(database, channel, order.network)
    const allNetworks = await fetchNetworks(database)
    const networks: Readonly<{ network: string; networkChannelId: number; changes: number }>[] = []
    const notes: string[] = []
    for (const place of places) {
      const approval = {
        merchant,
        isApproved,
        nowMs,
        network: allNetworks.find(({ id }) => id === place.networkId),
      }
      const { changes, ...changed } = await changeOne(database, place, approval)
      networks.push({ network: place.network, networkChannelId: place.id, changes })
      notes.push(...changed.notes)
    }
    const changeCount = networks.reduce((sum, { changes }) => sum + changes, 0)
    const whom = merchant === null ? pluralize(changeCount, 'merchant') : quote(merchant.name)
    const where = places.map(({ network }) => quote(network)).join(', ')
    return {
      json: { channelId: channel.id, merchant: merchant?.name ?? null, approved: isApproved, networks },
      line: `${isApproved ? 'approved' : 'revoked'} ${whom} for ${quote(channel.name)} in ${where}`,
      notes,
    }
  })
}

/** `merchant` is `null` where all that have offers are meant. */
type Change = Readonly<{
  merchant: Merchant | null
  isApproved: boolean
  nowMs: number
  network: Network | undefined
}>

async function changeOne(
  database: Catalog,
  networkChannel: NetworkChannel,
  { merchant, isApproved, nowMs, network }: Change,
): Promise<Readonly<{ changes: number; notes: readonly string[] }>> {
  const { id: networkChannelId, networkId } = networkChannel
  const merchantId = merchant?.id ?? null
  const before =
    merchantId === null ? null : await getApprovalState(database, { networkChannelId, merchantId })
  const revokedAtMs = isApproved ? null : nowMs
  const changes = await setApprovals(database, { networkChannelId, networkId, merchantId, revokedAtMs })
  const notes = explainChange(networkChannel.network, { isApproved, changes, before })
  if (!isApproved || merchant === null || network === undefined) return { changes, notes }
  return {
    changes,
    notes: [...notes, ...(await explainNotShown(database, { networkChannel, network, merchant }))],
  }
}

async function getPlaces(
  database: Catalog,
  channel: OwnedChannel,
  networkName: string | undefined,
): Promise<readonly NetworkChannel[]> {
  const network = networkName === undefined ? undefined : await getNetwork(database, networkName)
  const places = await fetchNetworkChannels(database, {
    channelId: channel.id,
    ...(network !== undefined && { networkId: network.id }),
  })
  if (places.length > 0) return places
  const what = network === undefined ? 'no network' : `not the network ${quote(network.name)}`
  throw new UsageError(
    `the channel ${channel.id} has ${what}; "vitrine catalog networks assign NETWORK --channel ${channel.id}" gives it one`,
  )
}

/** `before` is `null` where all merchants were meant. */
type Changed = Readonly<{ isApproved: boolean; changes: number; before: ApprovalState | null }>

/** Say where nothing changed, or something that was not there did: perhaps another one was meant. */
function explainChange(network: string, { isApproved, changes, before }: Changed): readonly string[] {
  const place = quote(network)
  if (changes === 0)
    return [
      before === null
        ? `${place}: nothing to change among the merchants that have offers there.`
        : `${place}: it was ${isApproved ? 'approved' : 'revoked'} before.`,
    ]
  return !isApproved && before === 'unknown'
    ? [`${place}: it was never approved there; now no import will approve it.`]
    : []
}

/** Say why a channel has no approvals: no network channel serves it (in this network). `undefined`: one does. */
async function explainUnassigned(
  database: Catalog,
  channel: OwnedChannel,
  ofNetwork: Readonly<{ networkId?: number }>,
): Promise<string | undefined> {
  const own = await fetchNetworkChannels(database, { organizationId: channel.organizationId, ...ofNetwork })
  if (own.some(({ channelId }) => channelId === channel.id)) return undefined
  const approvals = await fetchApprovals(database, ofNetwork)
  const approved = new Set(approvals.map(({ networkChannelId }) => networkChannelId))
  const names = own
    .filter(({ id, channelId }) => channelId === null && approved.has(id))
    .map(({ id, network }) => `network channel ${id} (${quote(network)})`)
  const where = ofNetwork.networkId === undefined ? '' : ' there'
  const kept = names.length === 0 ? '' : `; approvals of ${names.join(', ')} are kept, without effect`
  return `The channel has no network channel${where} now${kept}: vitrine catalog networks assign NETWORK --channel ${channel.id}`
}

type Approved = Readonly<{ networkChannel: NetworkChannel; network: Network; merchant: Merchant }>

/** Say why an approval shows nothing yet; empty where it shows something. */
async function explainNotShown(
  database: Catalog,
  { networkChannel, network, merchant }: Approved,
): Promise<readonly string[]> {
  const links = await findShopLinks(database, {
    networkChannelId: networkChannel.id,
    networkId: network.id,
    merchantId: merchant.id,
  })
  const nothing = `${quote(network.name)}: nothing of ${quote(merchant.name)} is shown yet`
  if (links.own) return []
  if (!links.any) return [`${nothing}: it has no offers there; an import brings them.`]
  if (!links.pages)
    return [
      `${nothing}: its offers there have links that a feed brought for other network channels; import its feed for this channel, or one with links to the shop's own pages.`,
    ]
  if (network.linkTemplate === null)
    return [
      `${nothing}: its offers lead to its own pages, and the network has no link template: vitrine catalog networks set ${toShellWord(network.name)} --template TEMPLATE`,
    ]
  return isPlaceholder(networkChannel) ? warnOfNameless(network, [networkChannel]) : []
}
