import {
  type Approval,
  type ApprovalState,
  type Merchant,
  fetchApprovals,
  getApprovalState,
  setApprovals,
} from '../../catalog-service/store/merchants.ts'
import type { OwnedChannel } from '../../catalog-service/store/channels.ts'
import {
  type NetworkChannel,
  fetchNetworkChannels,
  fetchNetworks,
} from '../../catalog-service/store/networks.ts'
import { UsageError } from '../../errors.ts'
import { getChannel, getMerchant, getNetwork } from './find.ts'
import { explainUnassigned, explainUnshown } from './unshown.ts'
import { indent, printDone, printList, toDay, toIso } from './print.ts'
import type { CommandContext, ExitCode } from '../command.ts'
import { quote } from '../plain-text.ts'
import { type Catalog, changeCatalog, withCatalog } from '../with-catalog.ts'
import { pluralize } from '../../lib/plural.ts'

const NO_APPROVAL =
  'No approval: vitrine catalog approvals add MERCHANT --channel ID gives one, and so does an import.'

/** Whom to approve or revoke, as typed: a merchant, or `all` that have offers; for the networks of a channel, or one. */
type Change = Readonly<{
  merchant?: string | undefined
  all?: boolean | undefined
  channel: string
  network?: string | undefined
}>

/** What `catalog approvals` is to do. */
export type CatalogApprovalsOptions =
  | Readonly<{ action: 'list'; channel?: string | undefined; network?: string | undefined }>
  | (Readonly<{ action: 'add' | 'remove' }> & Change)

/** An approval or its end. */
export type ApprovalChangeOptions = Change & Readonly<{ isApproved: boolean }>

/**
 * `vitrine catalog approvals [list]`, `add` and `remove`.
 * @throws UsageError for something unknown, and for a channel without a network.
 */
export async function runCatalogApprovals(
  context: CommandContext,
  options: CatalogApprovalsOptions,
): Promise<ExitCode> {
  if (options.action === 'list') await list(context, options)
  else await runApprovalChange(context, { ...options, isApproved: options.action === 'add' })
  return 0
}

async function list(
  context: CommandContext,
  words: Readonly<{ channel?: string | undefined; network?: string | undefined }>,
): Promise<void> {
  const { approvals, ifNone } = await withCatalog(context, async ({ reader }) => {
    const channel = words.channel === undefined ? undefined : await getChannel(reader, words.channel)
    const network = words.network === undefined ? undefined : await getNetwork(reader, words.network)
    const ofNetwork = network !== undefined && { networkId: network.id }
    return {
      approvals: await fetchApprovals(reader, {
        ...(channel !== undefined && { channelId: channel.id }),
        ...ofNetwork,
      }),
      ifNone: (channel && (await explainUnassigned(reader, channel, { ...ofNetwork }))) ?? NO_APPROVAL,
    }
  })
  printList(context, {
    rows: approvals.map(({ revokedAtMs, ...approval }) => ({
      ...approval,
      approved: revokedAtMs === null,
      revokedAt: revokedAtMs === null ? null : toIso(revokedAtMs),
    })),
    lines: toGroups(approvals),
    ifNone,
  })
}

/** A line for each network channel, and its merchants below it. */
function toGroups(approvals: readonly Approval[]): string[] {
  const lines: string[] = []
  let last: number | undefined
  for (const { networkChannelId, channelId, channel, network, merchant, revokedAtMs } of approvals) {
    if (networkChannelId !== last) {
      const place =
        channelId === null
          ? `(network channel ${networkChannelId}, no channel)`
          : `${channelId}  ${channel ?? ''}`
      lines.push(`${place}  ${network}`)
      last = networkChannelId
    }
    lines.push(indent(revokedAtMs === null ? merchant : `${merchant}  (revoked ${toDay(revokedAtMs)})`))
  }
  return lines
}

/**
 * What an approval or its end did in one network. `before` is `null` where it was about all merchants; `unshown` says why
 * an approval shows nothing yet.
 */
type Changed = Readonly<{
  network: string
  networkChannelId: number
  changes: number
  before: ApprovalState | null
  unshown: readonly string[]
}>

/**
 * Approves or revokes a merchant for a channel: in every network that is assigned to it, or in one. It holds from the
 * next request on. What is revoked stays so over imports.
 * @throws UsageError for something unknown, for neither or both of a merchant and `--all`, and for a channel without
 * the network.
 */
export async function runApprovalChange(
  context: CommandContext,
  options: ApprovalChangeOptions,
): Promise<void> {
  const { isApproved } = options
  if ((options.merchant === undefined) !== (options.all === true)) {
    throw new UsageError('name one merchant, or all that have offers with --all')
  }
  const { channel, merchant, changed } = await changeCatalog(context, async (database, nowMs) => {
    const owned = await getChannel(database, options.channel)
    const known = options.merchant === undefined ? null : await getMerchant(database, options.merchant)
    const places = await getPlaces(database, owned, options.network)
    const revokedAtMs = isApproved ? null : nowMs
    return {
      channel: owned,
      merchant: known,
      changed: await changeAll(database, places, { merchant: known, revokedAtMs }),
    }
  })
  const verb = isApproved ? 'approved' : 'revoked'
  const networks = changed.map(({ network }) => quote(network)).join(', ')
  printDone(context, {
    json: {
      channelId: channel.id,
      merchant: merchant?.name ?? null,
      approved: isApproved,
      networks: changed.map(({ before: _before, unshown: _unshown, ...rest }) => rest),
    },
    line: `${verb} ${describeWhom(merchant, changed)} for ${quote(channel.name)} in ${networks}`,
    notes: changed.flatMap((one) => [...explain(one, isApproved), ...one.unshown]),
  })
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

type Whom = Readonly<{ merchant: Merchant | null; revokedAtMs: number | null }>

async function changeAll(
  database: Catalog,
  places: readonly NetworkChannel[],
  { merchant, revokedAtMs }: Whom,
): Promise<readonly Changed[]> {
  const changed: Changed[] = []
  const networks = await fetchNetworks(database)
  for (const networkChannel of places) {
    const { id: networkChannelId, networkId, network: name } = networkChannel
    const network = networks.find(({ id }) => id === networkId)
    const before =
      merchant === null
        ? null
        : await getApprovalState(database, { networkChannelId, merchantId: merchant.id })
    const changes = await setApprovals(database, {
      networkChannelId,
      networkId,
      merchantId: merchant?.id ?? null,
      revokedAtMs,
    })
    const isOne = network !== undefined && merchant !== null && revokedAtMs === null
    const unshown = isOne ? await explainUnshown(database, { networkChannel, network, merchant }) : []
    changed.push({ network: name, networkChannelId, changes, before, unshown })
  }
  return changed
}

function describeWhom(merchant: Merchant | null, changed: readonly Changed[]): string {
  if (merchant !== null) return quote(merchant.name)
  return pluralize(
    changed.reduce((sum, { changes }) => sum + changes, 0),
    'merchant',
  )
}

/** Where nothing changed, or something did that was not there: whoever typed it may have meant another. */
function explain({ network, changes, before }: Changed, isApproved: boolean): string[] {
  const place = quote(network)
  if (before === null) {
    return changes === 0 ? [`${place}: nothing to change among the merchants that have offers there.`] : []
  }
  if (changes === 0) return [`${place}: it was ${isApproved ? 'approved' : 'revoked'} before.`]
  if (!isApproved && before === 'unknown') {
    return [`${place}: it was never approved there; now no import will approve it.`]
  }
  return []
}
