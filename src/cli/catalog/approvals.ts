import type { Command } from 'commander'
import {
  type Approval,
  type ApprovalState,
  type Merchant,
  fetchApprovals,
  readMerchantLinks,
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
import {
  type Listing,
  type CommandResult,
  quote,
  formatDay,
  toIso,
  toIsoOrNull,
  toShellWord,
} from './output.ts'
import { listMissingReferenceWarnings } from './networks.ts'
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
    .description('which merchants a channel may show, network by network')
  group
    .command('list')
    .description('lists what was approved or revoked')
    .option('--channel <id>', 'only for this channel')
    .option('--network <name>', 'only in this network')
    .action(run(createListAction('approvals', listApprovals)))
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
  const networkFilter = network === undefined ? {} : { networkId: network.id }
  const approvals = await fetchApprovals(reader, {
    ...(channel && { channelId: channel.id }),
    ...networkFilter,
  })
  const unassignedHint = channel && (await findUnassignedHint(reader, channel, networkFilter))
  return {
    rows: approvals.map(({ revokedAtMs, ...approval }) => ({
      ...approval,
      approved: revokedAtMs === null,
      revokedAt: toIsoOrNull(revokedAtMs),
    })),
    entries: toEntries(approvals),
    emptyMessage:
      unassignedHint ??
      'No approval: vitrine catalog approvals add MERCHANT --channel ID gives one, and so does an import.',
  }
}

/** A line for each network channel, and its merchants below it. */
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
        createChangeAction((transaction, merchant: string | undefined, options: ApprovalOptions) =>
          setApproval(transaction, merchant, { ...options, isApproved }),
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

/** Approve or revoke in one network channel; `merchant`: `null` is all that have offers there. */
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

/** Say where nothing changed, or something that was not there did: perhaps another one was meant. */
function listChangeNotes(
  network: string,
  isApproved: boolean,
  changes: number,
  previousState: ApprovalState | null,
): string[] {
  if (changes === 0 && previousState === null)
    return [`${quote(network)}: nothing to change among the merchants that have offers there.`]
  if (changes === 0) return [`${quote(network)}: it was ${isApproved ? 'approved' : 'revoked'} before.`]
  return !isApproved && previousState === 'unknown'
    ? [`${quote(network)}: it was never approved there; now no import will approve it.`]
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
    `the channel ${channel.id} has ${missing}; "vitrine catalog networks assign NETWORK --channel ${channel.id}" gives it one`,
  )
}

/** Say why a channel has no approvals: no network channel serves it (in this network). `undefined`: one does. */
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
  const names = ownNetworkChannels
    .filter(({ id, channelId }) => channelId === null && approvedIds.has(id))
    .map(({ id, network }) => `network channel ${id} (${quote(network)})`)
  const scope = networkFilter.networkId === undefined ? '' : ' there'
  const keptText = names.length === 0 ? '' : `; approvals of ${names.join(', ')} are kept, without effect`
  return `The channel has no network channel${scope} now${keptText}: vitrine catalog networks assign NETWORK --channel ${channel.id}`
}

/** Say why an approval shows nothing yet; empty where it shows something. */
async function listHiddenReasons(
  database: Catalog,
  networkChannel: NetworkChannel,
  merchant: Merchant,
): Promise<readonly string[]> {
  const { id: networkChannelId, networkId } = networkChannel
  const links = await readMerchantLinks(database, { networkChannelId, networkId, merchantId: merchant.id })
  if (links.own) return []
  const hiddenText = `${quote(networkChannel.network)}: nothing of ${quote(merchant.name)} is shown yet`
  if (!links.any) return [`${hiddenText}: it has no offers there; an import brings them.`]
  if (!links.pages)
    return [
      `${hiddenText}: its offers there have links that a feed brought for other network channels; import its feed for this channel, or one with links to the shop's own pages.`,
    ]
  const network = await getNetwork(database, networkChannel.network)
  if (network.linkTemplate !== null) return listMissingReferenceWarnings(network, [networkChannel])
  return [
    `${hiddenText}: its offers lead to its own pages, and the network has no link template: vitrine catalog networks set ${toShellWord(network.name)} --template TEMPLATE`,
  ]
}
