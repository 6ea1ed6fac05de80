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
import { type NetworkChannel, fetchNetworkChannels } from '../../catalog-service/store/networks.ts'
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
type Change = (
  context: CommandContext,
  merchant: string | undefined,
  options: Readonly<{ channel: string; network?: string; all?: boolean }>,
) => Promise<void>

/** Allow a channel to show a merchant. @throws UsageError for something unknown, and a channel without the network. */
export const approve: Change = createChange(true)

/** Forbid it, from the next request on, whatever is imported later. @throws UsageError as `approve` does. */
export const revoke: Change = createChange(false)

function createChange(isApproved: boolean): Change {
  return async (context, merchantName, { channel: channelId, network: networkName, all = false }) => {
    if ((merchantName === undefined) !== all)
      throw new UsageError('name one merchant, or all that have offers with --all')
    await changeCatalog(context, async (database, nowMs) => {
      const channel = await getChannel(database, channelId)
      const merchant = merchantName === undefined ? null : await getMerchant(database, merchantName)
      const places = await getPlaces(database, channel, networkName)
      const results: Awaited<ReturnType<typeof changeOne>>[] = []
      for (const place of places)
        results.push(await changeOne(database, place, { merchant, revokedAtMs: isApproved ? null : nowMs }))
      const count = results.reduce((sum, { json }) => sum + json.changes, 0)
      const whom = merchant === null ? pluralize(count, 'merchant') : quote(merchant.name)
      const where = places.map(({ network }) => quote(network)).join(', ')
      const networks = results.map(({ json }) => json)
      return {
        json: { channelId: channel.id, merchant: merchant?.name ?? null, approved: isApproved, networks },
        line: `${isApproved ? 'approved' : 'revoked'} ${whom} for ${quote(channel.name)} in ${where}`,
        notes: results.flatMap(({ notes }) => notes),
      }
    })
  }
}

/** `merchant` is `null` where all that have offers are meant. */
async function changeOne(
  database: Catalog,
  networkChannel: NetworkChannel,
  { merchant, revokedAtMs }: Readonly<{ merchant: Merchant | null; revokedAtMs: number | null }>,
): Promise<
  Readonly<{
    json: Readonly<{ network: string; networkChannelId: number; changes: number }>
    notes: readonly string[]
  }>
> {
  const { id: networkChannelId, networkId, network } = networkChannel
  const merchantId = merchant?.id ?? null
  const before =
    merchantId === null ? null : await getApprovalState(database, { networkChannelId, merchantId })
  const changes = await setApprovals(database, { networkChannelId, networkId, merchantId, revokedAtMs })
  const isApproved = revokedAtMs === null
  const notes = explainChange(quote(network), { isApproved, changes, before })
  if (isApproved && merchant !== null)
    notes.push(...(await explainNotShown(database, networkChannel, merchant)))
  return { json: { network, networkChannelId, changes }, notes }
}

type Changed = Readonly<{ isApproved: boolean; changes: number; before: ApprovalState | null }>

/** Say where nothing changed, or something that was not there did: perhaps another one was meant. */
function explainChange(place: string, { isApproved, changes, before }: Changed): string[] {
  if (changes > 0)
    return !isApproved && before === 'unknown'
      ? [`${place}: it was never approved there; now no import will approve it.`]
      : []
  return before === null
    ? [`${place}: nothing to change among the merchants that have offers there.`]
    : [`${place}: it was ${isApproved ? 'approved' : 'revoked'} before.`]
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
