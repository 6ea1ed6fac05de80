import type { Command } from 'commander'
import { type Runner, addExamples } from '../../command.ts'
import { UsageError } from '../../errors.ts'
import { pluralize, toShellWord } from '../../lib/format.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import type { OwnedChannel } from '../store/channels.ts'
import {
  type Approval,
  type ApprovalState,
  type Merchant,
  fetchApprovals,
  fetchMerchantLinks,
  getApprovalState,
  setApprovals,
} from '../store/merchants.ts'
import { type NetworkChannel, fetchNetworkChannels } from '../store/networks.ts'
import type { Catalog } from '../store/schema.ts'
import { EXAMPLE_CHANNEL } from './arguments.ts'
import { listMissingReferenceWarnings } from './networks.ts'
import { type Listing, type CommandResult, quote, formatDay, toIso, toIsoOrNull } from './output.ts'
import {
  type ChangeTransaction,
  createChangeAction,
  getChannel,
  getMerchant,
  getNetwork,
  createListAction,
} from './store.ts'

export function addApprovals(catalog: Command, run: Runner): void {
  const group = catalog
    .command('approvals')
    .description('manage which merchants a channel may show in each network')
  group
    .command('list')
    .description('list approved and revoked merchants')
    .option('--channel <id>', 'only this channel')
    .option('--network <name>', 'only this network')
    .action(run(createListAction('approvals', listApprovals)))
  configureApprovalCommand(group.command('add [merchant]'), run, true)
    .alias('approve')
    .description('allow a channel to show the offers of a merchant')
    .option('--all', 'all merchants that have offers in the network')
  configureApprovalCommand(group.command('remove [merchant]'), run, false)
    .alias('revoke')
    .description('stop a channel from showing a merchant, even after later imports')
    .option('--all', 'all merchants that have offers in the network')
  addExamples(group, 'vitrine catalog approvals', [
    `vitrine catalog approvals list --channel ${EXAMPLE_CHANNEL}`,
    `vitrine catalog approvals add Kopje --channel ${EXAMPLE_CHANNEL} --network awin`,
    `vitrine catalog approvals add --all --channel ${EXAMPLE_CHANNEL}`,
    `vitrine catalog approvals remove Kopje --channel ${EXAMPLE_CHANNEL}`,
  ])
}

async function listApprovals(
  { read }: CatalogStore,
  filter: Readonly<{ channel?: string; network?: string }>,
): Promise<Listing> {
  const { channel: channelId, network: name } = filter
  const channel = channelId === undefined ? undefined : await read((reader) => getChannel(reader, channelId))
  const network = name === undefined ? undefined : await read((reader) => getNetwork(reader, name))
  const networkFilter = network === undefined ? {} : { networkId: network.id }
  const approvals = await read((reader) =>
    fetchApprovals(reader, {
      ...(channel && { channelId: channel.id }),
      ...networkFilter,
    }),
  )
  const unassignedHint =
    channel && (await read((reader) => findUnassignedHint(reader, channel, networkFilter)))
  return {
    rows: approvals.map(({ revokedAtMs, ...approval }) => ({
      ...approval,
      approved: revokedAtMs === null,
      revokedAt: toIsoOrNull(revokedAtMs),
    })),
    entries: toEntries(approvals),
    emptyMessage:
      unassignedHint ??
      'There are no approvals. Import a feed, or run: vitrine catalog approvals add MERCHANT --channel ID',
  }
}

function toEntries(approvals: readonly Approval[]): Listing['entries'] {
  const entries = new Map<string, string[]>()
  for (const { networkChannelId, channelId, channel, network, merchant, revokedAtMs } of approvals) {
    const channelText =
      channelId === null
        ? `(network channel ${networkChannelId}, no channel)`
        : `${channelId}  ${channel ?? ''}`
    const heading = `${channelText}  ${network}`
    const entry = entries.get(heading) ?? [heading]
    entry.push(revokedAtMs === null ? merchant : `${merchant}  (revoked ${formatDay(toIso(revokedAtMs))})`)
    entries.set(heading, entry)
  }
  return [...entries.values()]
}

/** `all`: every merchant that has offers. Without `network`: every network of the channel. */
type ApprovalOptions = Readonly<{ channel: string; network?: string; all?: boolean }>

/** Add options and action to a command that approves or revokes a merchant for a channel. Later imports keep the decision. */
export function configureApprovalCommand(command: Command, run: Runner, isApproved: boolean): Command {
  return command
    .requiredOption('--channel <id>', 'id of the channel')
    .option('--network <name>', 'only this network; default: all networks of the channel')
    .hook('preAction', checkMerchant)
    .action(
      run(
        createChangeAction((transaction, merchant: string | undefined, options: ApprovalOptions) =>
          setApproval(transaction, merchant, { ...options, isApproved }),
        ),
      ),
    )
}

function checkMerchant(command: Command): void {
  const { all = false } = command.opts<ApprovalOptions>()
  if ((command.args.length === 0) !== all)
    throw new UsageError('name one merchant, or use --all for all merchants that have offers')
}

async function setApproval(
  { database, nowMs }: ChangeTransaction,
  merchantName: string | undefined,
  { channel: channelId, network, isApproved }: ApprovalOptions & Readonly<{ isApproved: boolean }>,
): Promise<CommandResult> {
  const channel = await getChannel(database, channelId)
  const merchant = merchantName === undefined ? null : await getMerchant(database, merchantName)
  const results = []
  for (const networkChannel of await getNetworkChannels(database, channel, network))
    results.push(await setApprovalInNetwork(database, networkChannel, merchant, isApproved ? null : nowMs))
  const networks = results.map(({ notes: _notes, ...rest }) => rest)
  const count = networks.reduce((sum, { changes }) => sum + changes, 0)
  const merchantText = merchant === null ? pluralize(count, 'merchant') : quote(merchant.name)
  const networkNames = networks.map((result) => quote(result.network)).join(', ')
  return {
    json: { channelId: channel.id, merchant: merchant?.name ?? null, approved: isApproved, networks },
    line: `${isApproved ? 'approved' : 'revoked'} ${merchantText} for ${quote(channel.name)} in ${networkNames}`,
    notes: results.flatMap(({ notes }) => notes),
  }
}

/** `merchant`: `null` for all merchants that have offers in the network. */
async function setApprovalInNetwork(
  database: Catalog,
  networkChannel: NetworkChannel,
  merchant: Merchant | null,
  revokedAtMs: number | null,
) {
  const { id: networkChannelId, networkId, network } = networkChannel
  const key = { networkChannelId, networkId }
  const isApproved = revokedAtMs === null
  const previousState = merchant && (await getApprovalState(database, { ...key, merchantId: merchant.id }))
  const changes = await setApprovals(database, { ...key, merchantId: merchant?.id ?? null, revokedAtMs })
  const notes = listChangeNotes(network, isApproved, changes, previousState)
  if (isApproved && merchant !== null)
    notes.push(...(await listHiddenReasons(database, networkChannel, merchant)))
  return { network, networkChannelId, changes, notes }
}

/** Explain why nothing changed, or warn that a revoked merchant was never approved: the user may have meant another one. */
function listChangeNotes(
  network: string,
  isApproved: boolean,
  changes: number,
  previousState: ApprovalState | null,
): string[] {
  if (changes === 0 && previousState === null)
    return [`${quote(network)}: nothing to change for the merchants that have offers there.`]
  if (changes === 0)
    return [`${quote(network)}: the merchant is already ${isApproved ? 'approved' : 'revoked'}.`]
  return !isApproved && previousState === 'unknown'
    ? [`${quote(network)}: the merchant was never approved there; from now on no import approves it.`]
    : []
}

async function getNetworkChannels(
  database: Catalog,
  channel: OwnedChannel,
  networkName: string | undefined,
): Promise<readonly NetworkChannel[]> {
  const network = networkName === undefined ? undefined : await getNetwork(database, networkName)
  const networkChannels = await fetchNetworkChannels(database, {
    channelId: channel.id,
    ...(network !== undefined && { networkId: network.id }),
  })
  if (networkChannels.length > 0) return networkChannels
  const missing = network === undefined ? 'no network' : `not the network ${quote(network.name)}`
  throw new UsageError(
    `the channel ${channel.id} has ${missing}; assign one with "vitrine catalog networks assign NETWORK --channel ${channel.id}"`,
  )
}

/** Explain why a channel has no approvals: it has no network channel (in this network). `undefined` when it has one. */
async function findUnassignedHint(
  database: Catalog,
  channel: OwnedChannel,
  networkFilter: Readonly<{ networkId?: number }>,
): Promise<string | undefined> {
  const ownNetworkChannels = await fetchNetworkChannels(database, {
    organizationId: channel.organizationId,
    ...networkFilter,
  })
  if (ownNetworkChannels.some(({ channelId }) => channelId === channel.id)) return undefined
  const approvals = await fetchApprovals(database, networkFilter)
  const approvedIds = new Set(approvals.map(({ networkChannelId }) => networkChannelId))
  const kept = ownNetworkChannels
    .filter(({ id, channelId }) => channelId === null && approvedIds.has(id))
    .map(({ id, network }) => `network channel ${id} (${quote(network)})`)
  const scope = networkFilter.networkId === undefined ? '' : ' there'
  const keptText =
    kept.length === 0 ? '' : `; the approvals of ${kept.join(', ')} are kept but have no effect`
  return `The channel has no network channel${scope}${keptText}. Assign one: vitrine catalog networks assign NETWORK --channel ${channel.id}`
}

/** Explain why an approval shows nothing yet; empty when it shows offers. */
async function listHiddenReasons(
  database: Catalog,
  networkChannel: NetworkChannel,
  merchant: Merchant,
): Promise<readonly string[]> {
  const { id: networkChannelId, networkId } = networkChannel
  const links = await fetchMerchantLinks(database, { networkChannelId, networkId, merchantId: merchant.id })
  if (links.hasOwnLinks) return []
  const hiddenText = `${quote(networkChannel.network)}: nothing of ${quote(merchant.name)} is shown yet`
  if (!links.hasOffers) return [`${hiddenText}: it has no offers there; import its feed.`]
  if (!links.hasShopPages)
    return [
      `${hiddenText}: its offers have tracking links of other network channels; import its feed for this channel, or a feed with links to the shop's own pages.`,
    ]
  const network = await getNetwork(database, networkChannel.network)
  if (network.linkTemplate !== null) return listMissingReferenceWarnings(network, [networkChannel])
  return [
    `${hiddenText}: its offers lead to its own pages, and the network has no link template. Set one: vitrine catalog networks set ${toShellWord(network.name)} --template TEMPLATE`,
  ]
}
