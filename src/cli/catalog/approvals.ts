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
import { EXAMPLE_CHANNEL } from './arguments.ts'
import { type Listing, type Result, quote, toDay, toIso, toIsoOrNull, toShellWord } from './output.ts'
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
  const ofNetwork = network === undefined ? {} : { networkId: network.id }
  const approvals = await fetchApprovals(reader, { ...(channel && { channelId: channel.id }), ...ofNetwork })
  const unassigned = channel && (await explainUnassigned(reader, channel, ofNetwork))
  return {
    rows: approvals.map(({ revokedAtMs, ...approval }) => ({
      ...approval,
      approved: revokedAtMs === null,
      revokedAt: toIsoOrNull(revokedAtMs),
    })),
    entries: toEntries(approvals),
    ifNone:
      unassigned ??
      'No approval: vitrine catalog approvals add MERCHANT --channel ID gives one, and so does an import.',
  }
}

/** A line for each network channel, and its merchants below it. */
function toEntries(approvals: readonly Approval[]): Listing['entries'] {
  const entries = new Map<string, string[]>()
  for (const { networkChannelId, channelId, channel, network, merchant, revokedAtMs } of approvals) {
    const served =
      channelId === null
        ? `(network channel ${networkChannelId}, no channel)`
        : `${channelId}  ${channel ?? ''}`
    const head = `${served}  ${network}`
    const entry = entries.get(head) ?? [head]
    entry.push(revokedAtMs === null ? merchant : `${merchant}  (revoked ${toDay(toIso(revokedAtMs))})`)
    entries.set(head, entry)
  }
  return [...entries.values()]
}

/** For one merchant, or with `all` every one that has offers; in each network that the channel has, or in one. */
type ApprovalOptions = Readonly<{ channel: string; network?: string; all?: boolean }>

/** Declare the command that allows a channel to show a merchant, or forbids it, whatever is imported later. */
export function addApproval(command: Command, run: Runner, isApproved: boolean): Command {
  return command
    .requiredOption('--channel <id>', 'the channel')
    .option('--network <name>', 'only this network; else each that the channel has')
    .hook('preAction', checkMerchant)
    .action(
      run(
        change((transaction, merchant: string | undefined, options: ApprovalOptions) =>
          approve(transaction, merchant, { ...options, isApproved }),
        ),
      ),
    )
}

function checkMerchant(command: Command): void {
  const { all = false } = command.opts<ApprovalOptions>()
  if ((command.args.length === 0) !== all)
    throw new UsageError('name one merchant, or all that have offers with --all')
}

/** @throws UsageError for something unknown, and a channel without the network */
async function approve(
  { database, nowMs }: Change,
  merchantName: string | undefined,
  { channel: channelId, network, isApproved }: ApprovalOptions & Readonly<{ isApproved: boolean }>,
): Promise<Result> {
  const channel = await getChannel(database, channelId)
  const merchant = merchantName === undefined ? null : await getMerchant(database, merchantName)
  const changed = []
  for (const one of await getNetworkChannels(database, channel, network))
    changed.push(await approveIn(database, one, merchant, isApproved ? null : nowMs))
  const networks = changed.map(({ notes: _notes, ...rest }) => rest)
  const count = networks.reduce((sum, { changes }) => sum + changes, 0)
  const whom = merchant === null ? pluralize(count, 'merchant') : quote(merchant.name)
  const where = networks.map((one) => quote(one.network)).join(', ')
  return {
    json: { channelId: channel.id, merchant: merchant?.name ?? null, approved: isApproved, networks },
    line: `${isApproved ? 'approved' : 'revoked'} ${whom} for ${quote(channel.name)} in ${where}`,
    notes: changed.flatMap(({ notes }) => notes),
  }
}

/** Approve or revoke in one network channel; `merchant`: `null` is all that have offers there. */
async function approveIn(
  database: Catalog,
  networkChannel: NetworkChannel,
  merchant: Merchant | null,
  revokedAtMs: number | null,
) {
  const { id: networkChannelId, networkId, network } = networkChannel
  const key = { networkChannelId, networkId }
  const isApproved = revokedAtMs === null
  const before = merchant && (await getApprovalState(database, { ...key, merchantId: merchant.id }))
  const changes = await setApprovals(database, { ...key, merchantId: merchant?.id ?? null, revokedAtMs })
  const notes = explainChange(network, isApproved, changes, before)
  if (isApproved && merchant !== null)
    notes.push(...(await explainNotShown(database, networkChannel, merchant)))
  return { network, networkChannelId, changes, notes }
}

/** Say where nothing changed, or something that was not there did: perhaps another one was meant. */
function explainChange(
  network: string,
  isApproved: boolean,
  changes: number,
  before: ApprovalState | null,
): string[] {
  if (changes === 0 && before === null)
    return [`${quote(network)}: nothing to change among the merchants that have offers there.`]
  if (changes === 0) return [`${quote(network)}: it was ${isApproved ? 'approved' : 'revoked'} before.`]
  return !isApproved && before === 'unknown'
    ? [`${quote(network)}: it was never approved there; now no import will approve it.`]
    : []
}

async function getNetworkChannels(
  database: Catalog,
  channel: OwnedChannel,
  networkName: string | undefined,
): Promise<readonly NetworkChannel[]> {
  const network = networkName === undefined ? undefined : await getNetwork(database, networkName)
  const found = await fetchNetworkChannels(database, {
    channelId: channel.id,
    ...(network !== undefined && { networkId: network.id }),
  })
  if (found.length > 0) return found
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
