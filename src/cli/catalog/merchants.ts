import {
  type ListedMerchant,
  type MerchantNetwork,
  fetchMerchants,
  findMerchant,
  insertMerchant,
  removeMerchant,
  setMerchantReference,
} from '../../catalog-service/store/merchants.ts'
import { hasMerchantOffers, removeMerchantOffers } from '../../catalog-service/store/remove-offers.ts'
import { UsageError } from '../../errors.ts'
import { runApprovalChange } from './approvals.ts'
import { getMerchant, getNetwork } from './find.ts'
import { indent, printDone, printList } from './print.ts'
import { parseLimit, parseName, parseReference, parseReferenceOrNone } from './words.ts'
import type { CommandContext, ExitCode } from '../command.ts'
import { quote, toShellWord } from '../plain-text.ts'
import { changeCatalog, makeRoom, withCatalog } from '../with-catalog.ts'
import { pluralize } from '../../lib/plural.ts'

/** What `catalog merchants` is to do, as typed. `merchant` and `network` are names, `channel` is an id. */
export type CatalogMerchantsOptions =
  | Readonly<{
      action: 'list'
      network?: string | undefined
      limit?: string | undefined
      counts?: boolean | undefined
    }>
  | Readonly<{
      action: 'add'
      name: string
      network?: string | undefined
      reference?: string | undefined
    }>
  | Readonly<{ action: 'set'; merchant: string; network: string; reference: string }>
  | Readonly<{ action: 'remove'; merchant: string; yes?: boolean | undefined }>
  | Readonly<{
      action: 'approve' | 'revoke'
      merchant: string
      channel: string
      network?: string | undefined
    }>

type Action<Name> = Extract<CatalogMerchantsOptions, { action: Name }>

/**
 * `vitrine catalog merchants [list]`, `add`, `set`, `remove`, `approve` and `revoke`.
 * @throws UsageError for a bad name, reference or limit, for something unknown, and for a removal that would take offers
 * along and has no `--yes`.
 */
export async function runCatalogMerchants(
  context: CommandContext,
  options: CatalogMerchantsOptions,
): Promise<ExitCode> {
  if (options.action === 'add') await add(context, options)
  else if (options.action === 'set') await set(context, options)
  else if (options.action === 'remove') await remove(context, options)
  else if (options.action === 'list') await list(context, options)
  else await runApprovalChange(context, { ...options, isApproved: options.action === 'approve' })
  return 0
}

async function list(context: CommandContext, options: Action<'list'>): Promise<void> {
  const limit = parseLimit(options.limit)
  const found = await withCatalog(context, async ({ reader }) =>
    fetchMerchants(reader, {
      networkId: options.network === undefined ? undefined : (await getNetwork(reader, options.network)).id,
      limit: limit === undefined ? undefined : limit + 1,
      isCounted: options.counts === true,
    }),
  )
  const merchants = found.slice(0, limit)
  printList(context, {
    rows: merchants,
    lines: merchants.flatMap(describe),
    ifNone:
      options.network === undefined
        ? 'There is no merchant yet: vitrine catalog merchants add NAME makes one, and so does an import.'
        : 'No merchant has offers or a reference in this network.',
  })
  if (merchants.length < found.length) context.io.err(`There are more than ${merchants.length}.\n`)
}

function describe({ name, networks }: ListedMerchant): string[] {
  if (networks.length === 0) return [name, indent('in no network')]
  return [name, ...networks.map((network) => indent(describeNetwork(network)))]
}

function describeNetwork({ name, reference, offers }: MerchantNetwork): string {
  const parts = [
    name,
    ...(reference === null ? [] : [`called ${reference} there`]),
    ...(offers === null ? [] : [pluralize(offers, 'offer')]),
  ]
  return parts.join(', ')
}

async function add(context: CommandContext, options: Action<'add'>): Promise<void> {
  const { network: networkName, reference: typedReference } = options
  const name = parseName(options.name, 'a merchant')
  if ((networkName === undefined) !== (typedReference === undefined)) {
    throw new UsageError('--network and --reference go together: what that network calls the merchant')
  }
  const reference = typedReference === undefined ? null : parseReference(typedReference, '--reference')
  const removedSample = await changeCatalog(context, async (database) => {
    const hadSample = await makeRoom(database)
    const network = networkName === undefined ? undefined : await getNetwork(database, networkName)
    if ((await findMerchant(database, name)) !== undefined)
      throw new UsageError(`there is a merchant ${quote(name)} already`)
    const merchantId = await insertMerchant(database, name)
    if (network !== undefined)
      await setMerchantReference(database, { networkId: network.id, merchantId }, reference)
    return hadSample
  })
  printDone(context, {
    json: { name, network: networkName ?? null, reference, removedSample },
    line: `made the merchant ${quote(name)}`,
    notes: [
      ...(removedSample ? ['The sample data was removed.'] : []),
      `No channel shows it yet: vitrine catalog merchants approve ${toShellWord(name)} --channel ID`,
    ],
  })
}

async function set(context: CommandContext, options: Action<'set'>): Promise<void> {
  const reference = parseReferenceOrNone(options.reference)
  const { merchant, network } = await changeCatalog(context, async (database) => {
    const found = {
      merchant: await getMerchant(database, options.merchant),
      network: await getNetwork(database, options.network),
    }
    const place = { networkId: found.network.id, merchantId: found.merchant.id }
    await setMerchantReference(database, place, reference)
    return found
  })
  printDone(context, {
    json: { name: merchant.name, network: network.name, reference },
    line: `${quote(network.name)} calls it ${quote(reference ?? merchant.name)}`,
  })
}

async function remove(context: CommandContext, options: Action<'remove'>): Promise<void> {
  const { name, offers, products } = await changeCatalog(context, async (database) => {
    const merchant = await getMerchant(database, options.merchant)
    if (options.yes !== true && (await hasMerchantOffers(database, merchant.id))) {
      throw new UsageError(
        `${quote(merchant.name)} has offers; they would go with it, and so would its approvals: add --yes`,
      )
    }
    const removed = await removeMerchantOffers(database, merchant.id)
    await removeMerchant(database, merchant.id)
    return { name: merchant.name, ...removed }
  })
  printDone(context, {
    json: { name, removed: true, offers, products },
    line: `removed ${quote(name)}, with ${pluralize(offers, 'offer')} and ${pluralize(products, 'product')}`,
  })
}
