import { fetchApprovals } from '../../catalog-service/store/merchants.ts'
import {
  type NetworkChannel,
  fetchNetworkChannels,
  fetchNetworks,
  insertNetwork,
  isPlaceholder,
  removeNetwork,
  updateNetwork,
} from '../../catalog-service/store/networks.ts'
import { hasNetworkOffers, removeNetworkOffers } from '../../catalog-service/store/remove-offers.ts'
import { UsageError } from '../../errors.ts'
import { type AssignOptions, type UnassignOptions, runAssign, runUnassign, warnOfNameless } from './assign.ts'
import { getNetwork } from './find.ts'
import { indent, printDone, printList } from './print.ts'
import { type ParsedTemplate, parseName, parseNewName, parseTemplate } from './words.ts'
import type { CommandContext, ExitCode } from '../command.ts'
import { quote } from '../plain-text.ts'
import { type Catalog, changeCatalog, makeRoom, withCatalog } from '../with-catalog.ts'
import { pluralize } from '../../lib/plural.ts'

/** What `catalog networks` is to do, as typed. `network` is a name, `channel` an id, `template` may be `none`. */
export type CatalogNetworksOptions =
  | Readonly<{ action: 'list' }>
  | Readonly<{ action: 'add'; name: string; template?: string | undefined }>
  | Readonly<{
      action: 'set'
      network: string
      name?: string | undefined
      template?: string | undefined
    }>
  | Readonly<{ action: 'remove'; network: string; yes?: boolean | undefined }>
  | AssignOptions
  | UnassignOptions

type Action<Name> = Extract<CatalogNetworksOptions, { action: Name }>

/**
 * `vitrine catalog networks [list]`, `add`, `set`, `remove`, `assign` and `unassign`.
 * @throws UsageError for a bad name, template or reference, for something unknown, and for a removal that would take
 * offers or network channels along and has no `--yes`.
 */
export async function runCatalogNetworks(
  context: CommandContext,
  options: CatalogNetworksOptions,
): Promise<ExitCode> {
  if (options.action === 'add') await add(context, options)
  else if (options.action === 'set') await set(context, options)
  else if (options.action === 'remove') await remove(context, options)
  else if (options.action === 'assign') await runAssign(context, options)
  else if (options.action === 'unassign') await runUnassign(context, options)
  else await list(context)
  return 0
}

async function list(context: CommandContext): Promise<void> {
  const { networks, networkChannels } = await withCatalog(context, async ({ reader }) => ({
    networks: await fetchNetworks(reader),
    networkChannels: await fetchNetworkChannels(reader),
  }))
  const rows = networks.map(({ id, name, linkTemplate }) => ({
    name,
    linkTemplate,
    networkChannels: networkChannels.filter(({ networkId }) => networkId === id),
  }))
  printList(context, {
    rows: rows.map((row) => ({ ...row, networkChannels: row.networkChannels.map(toJson) })),
    lines: rows.flatMap((row) => [
      row.name,
      indent(row.linkTemplate ?? '(no link template: only offers with links of their own are shown)'),
      ...row.networkChannels.flatMap(describeNetworkChannel),
    ]),
    ifNone: 'There is no network yet: vitrine catalog networks add NAME makes one, and so does an import.',
  })
}

function toJson({ networkId: _id, network: _network, ...networkChannel }: NetworkChannel): object {
  return networkChannel
}

function describeNetworkChannel(networkChannel: NetworkChannel): string[] {
  const { id, organization, reference, channelId, channel } = networkChannel
  const publisher = isPlaceholder(networkChannel) ? '(no publisher reference)' : `publisher ${reference}`
  return [
    indent(`network channel ${id}: ${organization}, ${publisher}`),
    indent(channelId === null ? '  assigned to no channel' : `  channel ${channelId}  ${channel ?? ''}`),
  ]
}

const NO_TEMPLATE: ParsedTemplate = { template: null, notes: [] }

async function add(context: CommandContext, options: Action<'add'>): Promise<void> {
  const name = parseName(options.name, 'a network')
  const { template, notes } = options.template === undefined ? NO_TEMPLATE : parseTemplate(options.template)
  const removedSample = await changeCatalog(context, async (database) => {
    const hadSample = await makeRoom(database)
    await refuseTaken(database, name)
    await insertNetwork(database, { name, linkTemplate: template })
    return hadSample
  })
  printDone(context, {
    json: { name, linkTemplate: template, removedSample },
    line: `made the network ${quote(name)}`,
    notes: [...(removedSample ? ['The sample data was removed.'] : []), ...notes],
  })
}

async function refuseTaken(database: Catalog, name: string): Promise<void> {
  const all = await fetchNetworks(database)
  if (all.some((known) => known.name === name))
    throw new UsageError(`there is a network ${quote(name)} already`)
}

async function set(context: CommandContext, options: Action<'set'>): Promise<void> {
  if (options.name === undefined && options.template === undefined) {
    throw new UsageError('nothing to set: name --template TEMPLATE, --name NEW, or both')
  }
  const name = parseNewName(options.name, 'a network')
  const parsed = options.template === undefined ? undefined : parseTemplate(options.template)
  const { after, networkChannels } = await changeCatalog(context, async (database) => {
    const before = await getNetwork(database, options.network)
    if (name !== undefined && name !== before.name) await refuseTaken(database, name)
    await updateNetwork(database, before.id, {
      ...(name !== undefined && { name }),
      ...(parsed !== undefined && { linkTemplate: parsed.template }),
    })
    return {
      after: await getNetwork(database, name ?? before.name),
      networkChannels: await fetchNetworkChannels(database, { networkId: before.id }),
    }
  })
  printDone(context, {
    json: { name: after.name, linkTemplate: after.linkTemplate },
    line: `${after.name}  ${after.linkTemplate ?? '(no link template)'}`,
    notes: [...(parsed?.notes ?? []), ...warnOfNameless(after, networkChannels)],
  })
}

async function remove(context: CommandContext, options: Action<'remove'>): Promise<void> {
  const done = await changeCatalog(context, async (database) => {
    const { id: networkId, name } = await getNetwork(database, options.network)
    const own = await fetchNetworkChannels(database, { networkId })
    const networkChannels = own.length
    const approvals = (await fetchApprovals(database, { networkId })).length
    if (options.yes !== true) {
      const belongings = `${pluralize(networkChannels, 'network channel')} and ${pluralize(approvals, 'approval')}`
      if (await hasNetworkOffers(database, networkId)) {
        throw new UsageError(
          `${quote(name)} has offers; they would go with it, and with them ${belongings}: add --yes`,
        )
      }
      if (own.length > 1 || own.some((one) => !isPlaceholder(one)))
        throw new UsageError(`${quote(name)} would take ${belongings} with it: add --yes`)
    }
    const removed = await removeNetworkOffers(database, networkId)
    await removeNetwork(database, networkId)
    return { name, networkChannels, approvals, ...removed }
  })
  const { name, networkChannels, approvals, offers, products } = done
  const gone = [
    pluralize(networkChannels, 'network channel'),
    pluralize(approvals, 'approval'),
    pluralize(offers, 'offer'),
    pluralize(products, 'product'),
  ]
  printDone(context, {
    json: { name, removed: true, networkChannels, approvals, offers, products },
    line: `removed ${quote(name)}, with ${gone.join(', ')}`,
  })
}
