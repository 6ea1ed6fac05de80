import type { OwnedChannel } from '../../catalog-service/store/channels.ts'
import {
  type Network,
  type NetworkChannel,
  fetchNetworkChannels,
  insertNetworkChannel,
  isPlaceholder,
  setChannel,
  setReference,
} from '../../catalog-service/store/networks.ts'
import { UsageError } from '../../errors.ts'
import { getChannel, getNetwork } from './find.ts'
import { printDone } from './print.ts'
import { parseReference } from './words.ts'
import type { CommandContext } from '../command.ts'
import { quote, toShellWord } from '../plain-text.ts'
import { type Catalog, changeCatalog } from '../with-catalog.ts'

/** `publisher` is what the network calls the publisher, `networkChannel` the number of one that there is. */
export type AssignOptions = Readonly<{
  action: 'assign'
  network: string
  channel: string
  publisher?: string | undefined
  networkChannel?: string | undefined
}>

/** Which channel a network is taken from. */
export type UnassignOptions = Readonly<{ action: 'unassign'; network: string; channel: string }>

/** A channel, a network, and the network channels that the channel's organization has there. */
type Place = Readonly<{ channel: OwnedChannel; network: Network; own: readonly NetworkChannel[] }>

/** What an assignment changed besides. */
type Assigned = Readonly<{
  place: Place
  id: number
  /** The one that served the channel before and now serves none. */
  replaced: NetworkChannel | undefined
  /** The channel that the network channel served before. */
  movedFrom: string | null
  after: readonly NetworkChannel[]
}>

/**
 * `vitrine catalog networks assign NETWORK --channel ID`: the channel shows what its network channel there is approved
 * for. A channel has one network channel a network, and a network channel serves one channel.
 * @throws UsageError for something unknown, and when it is not clear which network channel is meant.
 */
export async function runAssign(context: CommandContext, options: AssignOptions): Promise<void> {
  const publisher =
    options.publisher === undefined ? undefined : parseReference(options.publisher, '--publisher')
  const { place, id, replaced, movedFrom, after } = await changeCatalog(context, async (database) => {
    const found = await getPlace(database, options)
    const chosen = await choose(database, found, { publisher, word: options.networkChannel })
    return assign(database, found, chosen)
  })
  const { channel, network } = place
  const notes = [
    ...(replaced === undefined
      ? []
      : [`Network channel ${replaced.id} served it before, and now serves none.`]),
    ...(movedFrom === null ? [] : [`Before, it served the channel ${movedFrom}, which has none of it now.`]),
    ...(network.linkTemplate === null
      ? [`${quote(network.name)} has no link template: only offers with links of their own are shown.`]
      : []),
    ...warnOfNameless(network, after),
    `What it shows: vitrine catalog approvals --channel ${channel.id} --network ${toShellWord(network.name)}`,
  ]
  printDone(context, {
    json: {
      network: network.name,
      networkChannelId: id,
      channelId: channel.id,
      replacedNetworkChannelId: replaced?.id ?? null,
      movedFromChannelId: movedFrom,
    },
    line: `assigned network channel ${id} of ${quote(network.name)} to ${channel.id}`,
    notes,
  })
}

/**
 * `vitrine catalog networks unassign NETWORK --channel ID`: the channel shows nothing of the network any more.
 * @throws UsageError for something unknown, or when nothing is assigned.
 */
export async function runUnassign(context: CommandContext, options: UnassignOptions): Promise<void> {
  const { place, id } = await changeCatalog(context, async (database) => {
    const found = await getPlace(database, options)
    const current = findCurrent(found)
    if (current === undefined) {
      throw new UsageError(
        `the channel ${found.channel.id} has no network channel of ${quote(found.network.name)}; "vitrine catalog networks" lists them`,
      )
    }
    await setChannel(database, current.id, null)
    return { place: found, id: current.id }
  })
  printDone(context, {
    json: { network: place.network.name, networkChannelId: id, channelId: place.channel.id, assigned: false },
    line: `took network channel ${id} of ${quote(place.network.name)} from ${place.channel.id}; its approvals stay`,
  })
}

async function getPlace(
  database: Catalog,
  words: Readonly<{ network: string; channel: string }>,
): Promise<Place> {
  const channel = await getChannel(database, words.channel)
  const network = await getNetwork(database, words.network)
  const own = await fetchNetworkChannels(database, {
    networkId: network.id,
    organizationId: channel.organizationId,
  })
  return { channel, network, own }
}

function findCurrent({ channel, own }: Place): NetworkChannel | undefined {
  return own.find(({ channelId }) => channelId === channel.id)
}

type Wanted = Readonly<{ publisher: string | undefined; word: string | undefined }>

/** The number of the network channel that is meant; it is made, or its reference set, where that is what was asked. */
async function choose(database: Catalog, place: Place, { publisher, word }: Wanted): Promise<number> {
  if (word !== undefined) {
    const named = getNamed(place, word)
    if (publisher !== undefined) await nameIt(database, place, { id: named.id, publisher })
    return named.id
  }
  return publisher === undefined ? chooseAny(database, place) : chooseByReference(database, place, publisher)
}

function getNamed({ channel, network, own }: Place, word: string): NetworkChannel {
  const found = own.find(({ id }) => String(id) === word.trim())
  if (found !== undefined) return found
  throw new UsageError(
    `${quote(channel.organization)} has no network channel ${quote(word)} in ${quote(network.name)}; ${describeOwn(own)}`,
  )
}

async function nameIt(
  database: Catalog,
  { own }: Place,
  { id, publisher }: Readonly<{ id: number; publisher: string }>,
): Promise<void> {
  const taken = own.find((one) => one.reference === publisher && one.id !== id)
  if (taken !== undefined) {
    throw new UsageError(
      `network channel ${taken.id} has the publisher reference ${quote(publisher)} already`,
    )
  }
  await setReference(database, id, publisher)
}

async function chooseByReference(database: Catalog, place: Place, publisher: string): Promise<number> {
  const known = place.own.find(({ reference }) => reference === publisher)
  if (known !== undefined) return known.id
  // What an import made for this channel knows no reference yet: it is this one, and keeps approvals and links.
  const current = findCurrent(place)
  if (current !== undefined && isPlaceholder(current)) {
    await setReference(database, current.id, publisher)
    return current.id
  }
  return make(database, place, publisher)
}

async function chooseAny(database: Catalog, place: Place): Promise<number> {
  const current = findCurrent(place)
  if (current !== undefined) return current.id
  const { network, own } = place
  const [only, ...others] = own
  if (only === undefined && !network.linkTemplate?.includes('{publisher}')) {
    return make(database, place, '')
  }
  if (only !== undefined && only.channelId === null && others.length === 0) return only.id
  throw new UsageError(
    `say what ${quote(network.name)} calls the publisher with --publisher REF, or which network channel with --network-channel; ${describeOwn(own)}`,
  )
}

async function make(database: Catalog, { channel, network }: Place, reference: string): Promise<number> {
  const { organizationId } = channel
  return insertNetworkChannel(database, { organizationId, networkId: network.id, reference })
}

async function assign(database: Catalog, place: Place, id: number): Promise<Assigned> {
  const current = findCurrent(place)
  const replaced = current?.id === id ? undefined : current
  if (replaced !== undefined) await setChannel(database, replaced.id, null)
  const before = place.own.find((one) => one.id === id)?.channelId ?? null
  await setChannel(database, id, place.channel.id)
  const after = await fetchNetworkChannels(database, {
    networkId: place.network.id,
    channelId: place.channel.id,
  })
  return { place, id, replaced, movedFrom: before === place.channel.id ? null : before, after }
}

function describeOwn(own: readonly NetworkChannel[]): string {
  if (own.length === 0) return 'it has none there yet'
  return `there are ${own.map((one) => `${one.id} (${describePublisher(one)})`).join(', ')}`
}

function describePublisher(networkChannel: NetworkChannel): string {
  return isPlaceholder(networkChannel)
    ? 'no publisher reference'
    : `publisher ${quote(networkChannel.reference)}`
}

/** A network channel that an import made does not know its publisher's reference: no link can be made for it. */
export function warnOfNameless(network: Network, networkChannels: readonly NetworkChannel[]): string[] {
  if (!network.linkTemplate?.includes('{publisher}')) return []
  return networkChannels
    .filter(isPlaceholder)
    .map(
      (one) =>
        `Network channel ${one.id} has no publisher reference yet; its offers are not shown until it has one: ${toCure(one)}`,
    )
}

function toCure({ id, network, channelId }: NetworkChannel): string {
  const which = channelId === null ? `--channel ID --network-channel ${id}` : `--channel ${channelId}`
  return `vitrine catalog networks assign ${toShellWord(network)} ${which} --publisher REF`
}
