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
import type { CatalogStore } from '../../catalog-service/store/catalog-store.ts'
import type { OwnedChannel } from '../../catalog-service/store/channels.ts'
import { type NetworkChannel, fetchNetworkChannels } from '../../catalog-service/store/networks.ts'
import type { Catalog } from '../../catalog-service/store/schema.ts'
import { UsageError } from '../../errors.ts'
import { pluralize } from '../../lib/plural.ts'
import { type Runner, addExamples } from '../command.ts'
import { type Listing, type Result, indent, quote, toDay, toIsoOrNull, toShellWord } from '../output.ts'
import { EXAMPLE_CHANNEL } from './arguments.ts'
import { warnOfNameless } from './networks.ts'
import { type Change, change, getChannel, getMerchant, getNetwork, list } from './store.ts'

export function addApprovals(catalog: Command, run: Runner): void {
  const group = catalog
    .command('approvals')
    .description('which merchants a channel may show, network by network')
  group
    .command('list')
    .description('lists what was approved or revoked')
    .option('--channel <id>', 'only for this channel')
    .option('--network <name>', 'only in this network')
    .action(run(list('approvals', listApprovals)))
  addApproval(group.command('add [merchant]'), run, true)
    .alias('approve')
    .description('the channel may show the offers of a merchant')
    .option('--all', 'every merchant that has offers in the network')
  addApproval(group.command('remove [merchant]'), run, false)
    .alias('revoke')
    .description('the channel may not, from the next request on, whatever is imported')
    .option('--all', 'every merchant that has offers in the network')
  addExamples(group, 'vitrine catalog approvals', [
    `vitrine catalog approvals list --channel ${EXAMPLE_CHANNEL}`,
    `vitrine catalog approvals add Kopje --channel ${EXAMPLE_CHANNEL} --network awin`,
    `vitrine catalog approvals add --all --channel ${EXAMPLE_CHANNEL}`,
    `vitrine catalog approvals remove Kopje --channel ${EXAMPLE_CHANNEL}`,
  ])
}

async function listApprovals(
  { reader }: CatalogStore,
  filter: Readonly<{ channel?: string; network?: string }>,
): Promise<Listing> {
  const channel = filter.channel === undefined ? undefined : await getChannel(reader, filter.channel)
  const network = filter.network === undefined ? undefined : await getNetwork(reader, filter.network)
  const ofNetwork = network !== undefined && { networkId: network.id }
  const approvals = await fetchApprovals(reader, { ...(channel && { channelId: channel.id }), ...ofNetwork })
  const unassigned = channel && (await explainUnassigned(reader, channel, { ...ofNetwork }))
  return {
    rows: approvals.map(({ revokedAtMs, ...approval }) => ({
      ...approval,
      approved: revokedAtMs === null,
      revokedAt: toIsoOrNull(revokedAtMs),
    })),
    lines: toLines(approvals),
    ifNone:
      unassigned ??
      'No approval: vitrine catalog approvals add MERCHANT --channel ID gives one, and so does an import.',
  }
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
type ApprovalOptions = Readonly<{ channel: string; network?: string; all?: boolean }>

/** Declare the command that allows a channel to show a merchant, or forbids it, whatever is imported later. */
export function addApproval(command: Command, run: Runner, isApproved: boolean): Command {
  const setApproval = change(
    (transaction: Change, merchant: string | undefined, options: ApprovalOptions) =>
      approve(transaction, merchant, { ...options, isApproved }),
    (merchant, { all = false }) => {
      if ((merchant === undefined) !== all)
        throw new UsageError('name one merchant, or all that have offers with --all')
    },
  )
  return command
    .requiredOption('--channel <id>', 'the channel')
    .option('--network <name>', 'only this network; else each that the channel has')
    .action(run(setApproval))
}

/** @throws UsageError for something unknown, and a channel without the network */
async function approve(
  { database, nowMs }: Change,
  merchantName: string | undefined,
  { channel: channelId, network, isApproved }: ApprovalOptions & Readonly<{ isApproved: boolean }>,
): Promise<Result> {
  const channel = await getChannel(database, channelId)
  const merchant = merchantName === undefined ? null : await getMerchant(database, merchantName)
  const places = await getPlaces(database, channel, network)
  const networks: ChangedNetwork[] = []
  const notes: string[] = []
  for (const place of places) {
    const approval = { merchant, revokedAtMs: isApproved ? null : nowMs }
    networks.push(await setIn(place, { database, ...approval, notes }))
  }
  const count = networks.reduce((sum, { changes }) => sum + changes, 0)
  const whom = merchant === null ? pluralize(count, 'merchant') : quote(merchant.name)
  const where = places.map((place) => quote(place.network)).join(', ')
  return {
    json: { channelId: channel.id, merchant: merchant?.name ?? null, approved: isApproved, networks },
    line: `${isApproved ? 'approved' : 'revoked'} ${whom} for ${quote(channel.name)} in ${where}`,
    notes,
  }
}

type ChangedNetwork = Readonly<{ network: string; networkChannelId: number; changes: number }>
type Approving = Readonly<{
  database: Catalog
  /** `null`: all that have offers. */
  merchant: Merchant | null
  revokedAtMs: number | null
  notes: string[]
}>

async function setIn(
  place: NetworkChannel,
  { database, merchant, revokedAtMs, notes }: Approving,
): Promise<ChangedNetwork> {
  const { id: networkChannelId, networkId, network } = place
  const key = { networkChannelId, networkId }
  const isApproved = revokedAtMs === null
  const before = merchant && (await getApprovalState(database, { ...key, merchantId: merchant.id }))
  const changes = await setApprovals(database, { ...key, merchantId: merchant?.id ?? null, revokedAtMs })
  notes.push(...explainChange(quote(network), { isApproved, changes, before }))
  if (isApproved && merchant !== null) notes.push(...(await explainNotShown(database, place, merchant)))
  return { network, networkChannelId, changes }
}

type Changed = Readonly<{ isApproved: boolean; changes: number; before: ApprovalState | null }>

/** Say where nothing changed, or something that was not there did: perhaps another one was meant. */
function explainChange(place: string, { isApproved, changes, before }: Changed): readonly string[] {
  if (changes === 0 && before === null)
    return [`${place}: nothing to change among the merchants that have offers there.`]
  if (changes === 0) return [`${place}: it was ${isApproved ? 'approved' : 'revoked'} before.`]
  return !isApproved && before === 'unknown'
    ? [`${place}: it was never approved there; now no import will approve it.`]
    : []
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

/** Say why an approval shows nothing yet; empty where it shows something. */
async function explainNotShown(
  database: Catalog,
  networkChannel: NetworkChannel,
  merchant: Merchant,
): Promise<readonly string[]> {
  const { id: networkChannelId, networkId } = networkChannel
  const links = await findShopLinks(database, { networkChannelId, networkId, merchantId: merchant.id })
  if (links.own) return []
  const nothing = `${quote(networkChannel.network)}: nothing of ${quote(merchant.name)} is shown yet`
  if (!links.any) return [`${nothing}: it has no offers there; an import brings them.`]
  if (!links.pages)
    return [
      `${nothing}: its offers there have links that a feed brought for other network channels; import its feed for this channel, or one with links to the shop's own pages.`,
    ]
  const network = await getNetwork(database, networkChannel.network)
  if (network.linkTemplate !== null) return warnOfNameless(network, [networkChannel])
  return [
    `${nothing}: its offers lead to its own pages, and the network has no link template: vitrine catalog networks set ${toShellWord(network.name)} --template TEMPLATE`,
  ]
}
