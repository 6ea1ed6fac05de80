import type { Command } from 'commander'
import {
  type MerchantNetwork,
  fetchMerchants,
  findMerchant,
  insertMerchant,
  removeMerchant,
  setMerchantReference,
} from '../../catalog-service/store/merchants.ts'
import { hasMerchantOffers, removeMerchantOffers } from '../../catalog-service/store/remove-offers.ts'
import { UsageError } from '../../errors.ts'
import { pluralize } from '../../lib/plural.ts'
import { type CommandContext, type Runner, addExamples } from '../command.ts'
import { indent, quote, toShellWord } from '../output.ts'
import { approve, revoke, withPlace } from './approvals.ts'
import {
  EXAMPLE_CHANNEL,
  nameOf,
  orNull,
  parseLimit,
  parseReferenceOrNone,
  referenceFor,
} from './arguments.ts'
import { changeCatalog, getMerchant, getNetwork, listCatalog, removeSample } from './store.ts'

/** Declare `vitrine catalog merchants`. */
export function addMerchants(catalog: Command, run: Runner): void {
  const group = catalog.command('merchants').description('shops, and what networks call them')
  group
    .command('list')
    .description('lists the merchants, with the networks where they have offers')
    .option('--network <name>', 'only those of this network')
    .option('--limit <n>', 'at most as many', parseLimit)
    .option('--counts', 'counts the offers, which takes a while in a large catalog')
    .action(run(list))
  group
    .command('add')
    .description('makes a merchant, before its first feed does')
    .argument('<name>', 'its name', nameOf('a merchant'))
    .option('--network <name>', 'a network that calls it differently')
    .option(
      '--reference <reference>',
      'what that network calls it: {merchant} of the link template',
      referenceFor('--reference'),
    )
    .action(run(add))
  group
    .command('set <merchant>')
    .description('says what a network calls a merchant')
    .requiredOption('--network <name>', 'the network')
    .requiredOption('--reference <reference>', 'what it calls it, or none: its name', parseReferenceOrNone)
    .action(run(set))
  group
    .command('remove <merchant>')
    .description('removes a merchant, with its offers and approvals')
    .option('--yes', 'also when it has offers')
    .action(run(remove))
  withPlace(group.command('approve <merchant>'))
    .description('the channel may show its offers; as "approvals add"')
    .action(run(approve))
  withPlace(group.command('revoke <merchant>'))
    .description('the channel may not, whatever is imported; as "approvals remove"')
    .action(run(revoke))
  addExamples(group, 'vitrine catalog merchants', [
    'vitrine catalog merchants list',
    'vitrine catalog merchants list --network awin --counts',
    'vitrine catalog merchants add Kopje --network awin --reference 12345',
    'vitrine catalog merchants set Kopje --network awin --reference 12345',
    'vitrine catalog merchants remove Kopje --yes',
    `vitrine catalog merchants approve Kopje --channel ${EXAMPLE_CHANNEL}`,
  ])
}

type ListOptions = Readonly<{ network?: string; limit?: number; counts?: boolean }>

async function list(context: CommandContext, { network, limit, counts }: ListOptions): Promise<void> {
  let isMore = false
  await listCatalog(context, { group: 'merchants', filter: { network } }, async ({ reader }) => {
    const found = await fetchMerchants(reader, {
      networkId: network === undefined ? undefined : (await getNetwork(reader, network)).id,
      limit: limit === undefined ? undefined : limit + 1,
      isCounted: counts === true,
    })
    const rows = found.slice(0, limit)
    isMore = rows.length < found.length
    return {
      rows,
      lines: rows.flatMap(({ name, networks }) => [
        name,
        ...(networks.length === 0 ? ['in no network'] : networks.map(describeNetwork)).map(indent),
      ]),
      ifNone:
        network === undefined
          ? 'There is no merchant yet: vitrine catalog merchants add NAME makes one, and so does an import.'
          : 'No merchant has offers or a reference in this network.',
    }
  })
  if (isMore) context.io.err(`There are more than ${limit}.\n`)
}

function describeNetwork({ name, reference, offers }: MerchantNetwork): string {
  const called = reference === null ? [] : [`called ${reference} there`]
  return [name, ...called, ...(offers === null ? [] : [pluralize(offers, 'offer')])].join(', ')
}

async function add(
  context: CommandContext,
  name: string,
  options: Readonly<{ network?: string; reference?: string }>,
): Promise<void> {
  const { network = null, reference = null } = options
  if ((network === null) !== (reference === null))
    throw new UsageError('--network and --reference go together: what that network calls the merchant')
  await changeCatalog(context, async (database) => {
    const { removedSample, notes } = await removeSample(database)
    const networkId = network === null ? null : (await getNetwork(database, network)).id
    if ((await findMerchant(database, name)) !== undefined)
      throw new UsageError(`there is a merchant ${quote(name)} already`)
    const merchantId = await insertMerchant(database, name)
    if (networkId !== null) await setMerchantReference(database, { networkId, merchantId }, reference)
    return {
      json: { name, network, reference, removedSample },
      line: `made the merchant ${quote(name)}`,
      notes: [
        ...notes,
        `No channel shows it yet: vitrine catalog merchants approve ${toShellWord(name)} --channel ID`,
      ],
    }
  })
}

async function set(
  context: CommandContext,
  word: string,
  options: Readonly<{ network: string; reference: string }>,
): Promise<void> {
  await changeCatalog(context, async (database) => {
    const { id: merchantId, name } = await getMerchant(database, word)
    const { id: networkId, name: network } = await getNetwork(database, options.network)
    const reference = orNull(options.reference)
    await setMerchantReference(database, { networkId, merchantId }, reference)
    return {
      json: { name, network, reference },
      line: `${quote(network)} calls it ${quote(reference ?? name)}`,
    }
  })
}

async function remove(
  context: CommandContext,
  word: string,
  { yes = false }: Readonly<{ yes?: boolean }>,
): Promise<void> {
  await changeCatalog(context, async (database) => {
    const { id, name } = await getMerchant(database, word)
    if (!yes && (await hasMerchantOffers(database, id)))
      throw new UsageError(
        `${quote(name)} has offers; they would go with it, and so would its approvals: add --yes`,
      )
    const { offers, products } = await removeMerchantOffers(database, id)
    await removeMerchant(database, id)
    return {
      json: { name, removed: true, offers, products },
      line: `removed ${quote(name)}, with ${pluralize(offers, 'offer')} and ${pluralize(products, 'product')}`,
    }
  })
}
