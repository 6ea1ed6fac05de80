import { type Merchant, fetchApprovals, findShopLinks } from '../../catalog-service/store/merchants.ts'
import type { OwnedChannel } from '../../catalog-service/store/channels.ts'
import {
  type Network,
  type NetworkChannel,
  fetchNetworkChannels,
  isPlaceholder,
} from '../../catalog-service/store/networks.ts'
import { warnOfNameless } from './assign.ts'
import { quote, toShellWord } from '../plain-text.ts'
import type { Catalog } from '../with-catalog.ts'

/**
 * Why a channel has no approvals though there are some: no network channel is assigned to it (in this network). Answers
 * `undefined` where one is.
 */
export async function explainUnassigned(
  database: Catalog,
  channel: OwnedChannel,
  network: Readonly<{ networkId?: number }>,
): Promise<string | undefined> {
  const own = await fetchNetworkChannels(database, { organizationId: channel.organizationId, ...network })
  if (own.some(({ channelId }) => channelId === channel.id)) return undefined
  const approvals = await fetchApprovals(database, network)
  const kept = own.filter(
    ({ id, channelId }) =>
      channelId === null && approvals.some(({ networkChannelId }) => networkChannelId === id),
  )
  const names = kept.map(({ id, network: name }) => `network channel ${id} (${quote(name)})`).join(', ')
  const where = network.networkId === undefined ? '' : ' there'
  return [
    `The channel has no network channel${where} now`,
    ...(kept.length === 0 ? [] : [`; approvals of ${names} are kept, without effect`]),
    `: vitrine catalog networks assign NETWORK --channel ${channel.id}`,
  ].join('')
}

/** A merchant's approval in a network channel of this network. */
type Place = Readonly<{ networkChannel: NetworkChannel; network: Network; merchant: Merchant }>

/** Why an approval shows nothing yet; empty where it shows something. */
export async function explainUnshown(
  database: Catalog,
  { networkChannel, network, merchant }: Place,
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
