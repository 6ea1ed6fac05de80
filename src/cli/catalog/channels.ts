import { randomUUID } from 'node:crypto'
import {
  type OwnedChannel,
  fetchOwnedChannels,
  insertChannel,
  removeChannel,
  updateChannel,
} from '../../catalog-service/store/channels.ts'
import { fetchNetworkChannels } from '../../catalog-service/store/networks.ts'
import { UsageError } from '../../errors.ts'
import { getChannel, getOrganization, getOwnerId } from './find.ts'
import { indent, printDone, printList, toLines } from './print.ts'
import { parseKind, parseName, parseNewId, parseNewName, parseUrl } from './words.ts'
import type { CommandContext, ExitCode } from '../command.ts'
import { quote } from '../plain-text.ts'
import { type Catalog, changeCatalog, makeRoom, withCatalog } from '../with-catalog.ts'
import { pluralize } from '../../lib/plural.ts'

/** What `catalog channels` is to do, as typed. `organization` is an id or a name, `id` that of the channel. */
export type CatalogChannelsOptions =
  | Readonly<{ action: 'list'; organization?: string | undefined }>
  | (Readonly<{ action: 'add'; name: string; id?: string | undefined; organization?: string | undefined }> &
      Details)
  | (Readonly<{ action: 'set'; channel: string; name?: string | undefined }> & Details)
  | Readonly<{ action: 'remove'; channel: string }>

/** One of the contract's kinds; an address or `none`. */
type Details = Readonly<{ kind?: string | undefined; url?: string | undefined }>

type Action<Name> = Extract<CatalogChannelsOptions, { action: Name }>

/**
 * `vitrine catalog channels [list]`, `add`, `set` and `remove`.
 * @throws UsageError for a bad name, kind, address or id, and for an unknown channel or organization.
 */
export async function runCatalogChannels(
  context: CommandContext,
  options: CatalogChannelsOptions = { action: 'list' },
): Promise<ExitCode> {
  if (options.action === 'add') await add(context, options)
  else if (options.action === 'set') await set(context, options)
  else if (options.action === 'remove') await remove(context, options.channel)
  else await list(context, options.organization)
  return 0
}

async function list(context: CommandContext, word: string | undefined): Promise<void> {
  const { channels, networkChannels } = await withCatalog(context, async ({ reader }) => {
    const owner = word === undefined ? undefined : await getOrganization(reader, word)
    const all = await fetchOwnedChannels(reader)
    return {
      channels: owner === undefined ? all : all.filter((one) => one.organizationId === owner.id),
      networkChannels: await fetchNetworkChannels(reader),
    }
  })
  const rows = channels.map((channel) => ({
    ...channel,
    networks: networkChannels.filter(({ channelId }) => channelId === channel.id).map((one) => one.network),
  }))
  const heads = toLines(rows.map(({ id, kind, name }) => [id, kind, name]))
  printList(context, {
    rows,
    lines: rows.flatMap(({ url, organization, networks }, index) => [
      heads[index] ?? '',
      indent(url ?? '(no address)'),
      indent(`${organization}; ${networks.length === 0 ? 'no network' : networks.join(', ')}`),
    ]),
    ifNone:
      'There is no channel yet: vitrine catalog channels add NAME makes one, and so does vitrine catalog import FILE.',
  })
}

async function add(context: CommandContext, options: Action<'add'>): Promise<void> {
  const channel = {
    id: options.id === undefined ? randomUUID() : parseNewId(options.id),
    name: parseName(options.name, 'a channel'),
    kind: parseKind(options.kind ?? 'website'),
    url: options.url === undefined ? null : parseUrl(options.url),
  } as const
  const { organizationId, removedSample } = await changeCatalog(context, async (database, nowMs) => {
    const hadSample = await makeRoom(database)
    const ownerId = await getOwnerId(database, options.organization, nowMs)
    const all = await fetchOwnedChannels(database)
    if (all.some(({ id }) => id === channel.id))
      throw new UsageError(`there is a channel of the id ${channel.id} already`)
    refuseTaken(all, ownerId, channel.name)
    await insertChannel(database, { ...channel, organizationId: ownerId, createdAtMs: nowMs })
    return { organizationId: ownerId, removedSample: hadSample }
  })
  printDone(context, {
    json: { ...channel, organizationId, removedSample },
    line: channel.id,
    notes: [
      ...(removedSample ? ['The sample data was removed.'] : []),
      `It shows nothing yet: vitrine catalog networks assign NETWORK --channel ${channel.id}`,
    ],
  })
}

function refuseTaken(channels: readonly OwnedChannel[], organizationId: string, name: string): void {
  const taken = channels.find((known) => known.organizationId === organizationId && known.name === name)
  if (taken !== undefined) {
    throw new UsageError(`${quote(taken.organization)} has a channel ${quote(name)} already: ${taken.id}`)
  }
}

async function set(context: CommandContext, options: Action<'set'>): Promise<void> {
  const { name, kind, url } = options
  if (name === undefined && kind === undefined && url === undefined) {
    throw new UsageError('nothing to set: name --name NAME, --kind KIND, --url URL, or several')
  }
  const newName = parseNewName(name, 'a channel')
  const change = {
    ...(newName !== undefined && { name: newName }),
    ...(kind !== undefined && { kind: parseKind(kind) }),
    ...(url !== undefined && { url: parseUrl(url) }),
  }
  const after = await changeCatalog(context, async (database) => {
    const before = await getChannel(database, options.channel)
    if (newName !== undefined && newName !== before.name) {
      refuseTaken(await fetchOwnedChannels(database), before.organizationId, newName)
    }
    await updateChannel(database, before.id, change)
    return getChannel(database, before.id)
  })
  printDone(context, {
    json: after,
    line: `${after.id}  ${after.kind}  ${after.name}  ${after.url ?? '(no address)'}`,
  })
}

async function remove(context: CommandContext, word: string): Promise<void> {
  const { channel, freed } = await changeCatalog(context, (database) => removeWithWords(database, word))
  const what = pluralize(freed, 'network channel')
  printDone(context, {
    json: { id: channel.id, name: channel.name, removed: true, unassignedNetworkChannels: freed },
    line: `removed ${channel.id}`,
    notes:
      freed === 0
        ? []
        : [
            `${what} of it kept, with approvals and with the offers that a feed brought links for.`,
            'Nobody sees those until they are assigned to a channel again: vitrine catalog networks assign',
          ],
  })
}

async function removeWithWords(
  database: Catalog,
  word: string,
): Promise<Readonly<{ channel: OwnedChannel; freed: number }>> {
  const channel = await getChannel(database, word)
  const freed = (await fetchNetworkChannels(database, { channelId: channel.id })).length
  await removeChannel(database, channel.id)
  return { channel, freed }
}
