import type { OwnedChannel } from '../../catalog-service/store/channels.ts'
import {
  type NetworkChannel,
  fetchNetworkChannels,
  insertNetworkChannel,
  isPlaceholder,
  setChannel,
  setReference,
} from '../../catalog-service/store/network-channels.ts'
import type { Network } from '../../catalog-service/store/networks.ts'
import { UsageError } from '../../errors.ts'
import type { CommandContext } from '../command.ts'
import { quote, toShellWord } from '../output.ts'
import { type Catalog, changeCatalog, getChannel, getNetwork } from './store.ts'

/** `publisher`: what the network calls the publisher; `networkChannel`: the number of one that there is. */
type AssignOptions = Readonly<{ channel: string; publisher?: string; networkChannel?: string }>

/**
 * A channel, a network, the network channels that the channel's organization has there, and the one that serves the
 * channel. A channel has one network channel a network, and a network channel serves one channel.
 */
type Assignment = Readonly<{
  channel: OwnedChannel
  network: Network
  own: readonly NetworkChannel[]
  current: NetworkChannel | undefined
}>

/**
 * `vitrine catalog networks assign NETWORK --channel ID`: the channel shows what its network channel there is approved for.
 * @throws UsageError for something unknown, and when it is not clear which network channel is meant.
 */
export async function assign(context: CommandContext, word: string, options: AssignOptions): Promise<void> {
  await changeCatalog(context, async (database) => {
    const found = await findAssignment(database, word, options.channel)
    const { channel, network, own, current } = found
    const id = await choose(database, found, options)
    const replaced = current?.id === id ? undefined : current
    if (replaced !== undefined) await setChannel(database, replaced.id, null)
    const servedBefore = own.find((one) => one.id === id)?.channelId ?? null
    const movedFrom = servedBefore === channel.id ? null : servedBefore
    await setChannel(database, id, channel.id)
    const after = await fetchNetworkChannels(database, { networkId: network.id, channelId: channel.id })
    const notes = explainMove(replaced, movedFrom)
    if (network.linkTemplate === null)
      notes.push(
        `${quote(network.name)} has no link template: only offers with links of their own are shown.`,
      )
    notes.push(
      ...warnOfNameless(network, after),
      `What it shows: vitrine catalog approvals --channel ${channel.id} --network ${toShellWord(network.name)}`,
    )
    return {
      json: {
        network: network.name,
        networkChannelId: id,
        channelId: channel.id,
        replacedNetworkChannelId: replaced?.id ?? null,
        movedFromChannelId: movedFrom,
      },
      line: `assigned network channel ${id} of ${quote(network.name)} to ${channel.id}`,
      notes,
    }
  })
}

function explainMove(replaced: NetworkChannel | undefined, movedFrom: string | null): string[] {
  const notes: string[] = []
  if (replaced !== undefined)
    notes.push(`Network channel ${replaced.id} served it before, and now serves none.`)
  if (movedFrom !== null) notes.push(`Before, it served the channel ${movedFrom}, which has none of it now.`)
  return notes
}

/**
 * `vitrine catalog networks unassign NETWORK --channel ID`: the channel shows nothing of the network any more.
 * @throws UsageError for something unknown, or when nothing is assigned.
 */
export async function unassign(
  context: CommandContext,
  word: string,
  options: Readonly<{ channel: string }>,
): Promise<void> {
  await changeCatalog(context, async (database) => {
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
  })
}

async function findAssignment(
  database: Catalog,
  networkName: string,
  channelId: string,
): Promise<Assignment> {
  const channel = await getChannel(database, channelId)
  const network = await getNetwork(database, networkName)
  const { organizationId } = channel
  const own = await fetchNetworkChannels(database, { networkId: network.id, organizationId })
  return { channel, network, own, current: own.find((one) => one.channelId === channel.id) }
}

/** The number of the network channel that is meant; it is made, or its reference set, where that is what was asked. */
async function choose(
  database: Catalog,
  found: Assignment,
  { publisher, networkChannel }: AssignOptions,
): Promise<number> {
  if (networkChannel !== undefined) return chooseByNumber(database, found, networkChannel, publisher)
  return publisher === undefined ? chooseOnly(database, found) : chooseByReference(database, found, publisher)
}

async function chooseByNumber(
  database: Catalog,
  { channel, network, own }: Assignment,
  number: string,
  publisher: string | undefined,
): Promise<number> {
  const named = own.find(({ id }) => String(id) === number.trim())
  if (named === undefined)
    throw new UsageError(
      `${quote(channel.organization)} has no network channel ${quote(number)} in ${quote(network.name)}; ${describeOwn(own)}`,
    )
  if (publisher === undefined) return named.id
  const taken = own.find(({ id, reference }) => reference === publisher && id !== named.id)
  if (taken !== undefined)
    throw new UsageError(
      `network channel ${taken.id} has the publisher reference ${quote(publisher)} already`,
    )
  await setReference(database, named.id, publisher)
  return named.id
}

async function chooseByReference(database: Catalog, found: Assignment, publisher: string): Promise<number> {
  const known = found.own.find(({ reference }) => reference === publisher)
  if (known !== undefined) return known.id
  // What an import made for this channel knows no reference yet: it is this one, and keeps approvals and links.
  if (found.current === undefined || !isPlaceholder(found.current)) return create(database, found, publisher)
  await setReference(database, found.current.id, publisher)
  return found.current.id
}

async function chooseOnly(database: Catalog, found: Assignment): Promise<number> {
  const { network, own, current } = found
  if (current !== undefined) return current.id
  const [only, ...others] = own
  if (only === undefined && !network.linkTemplate?.includes('{publisher}')) return create(database, found, '')
  if (only !== undefined && only.channelId === null && others.length === 0) return only.id
  throw new UsageError(
    `say what ${quote(network.name)} calls the publisher with --publisher REF, or which network channel with --network-channel; ${describeOwn(own)}`,
  )
}

function create(database: Catalog, { channel, network }: Assignment, reference: string): Promise<number> {
  const { organizationId } = channel
  return insertNetworkChannel(database, { organizationId, networkId: network.id, reference })
}

function describeOwn(own: readonly NetworkChannel[]): string {
  if (own.length === 0) return 'it has none there yet'
  const described = own.map((one) => {
    const publisher = isPlaceholder(one) ? 'no publisher reference' : `publisher ${quote(one.reference)}`
    return `${one.id} (${publisher})`
  })
  return `there are ${described.join(', ')}`
}

/** A network channel that an import made does not know its publisher's reference: no link can be made for it. */
export function warnOfNameless(network: Network, networkChannels: readonly NetworkChannel[]): string[] {
  if (!network.linkTemplate?.includes('{publisher}')) return []
  return networkChannels.filter(isPlaceholder).map(({ id, channelId }) => {
    const which = channelId === null ? `--channel ID --network-channel ${id}` : `--channel ${channelId}`
    return `Network channel ${id} has no publisher reference yet; its offers are not shown until it has one: vitrine catalog networks assign ${toShellWord(network.name)} ${which} --publisher REF`
  })
}
