import type { Command } from 'commander'
import { type Runner, addExamples } from '../../command.ts'
import { UsageError } from '../../errors.ts'
import { pluralize, toShellWord } from '../../lib/format.ts'
import type { CatalogStore } from '../store/catalog-store.ts'
import {
  type MerchantNetwork,
  fetchMerchants,
  findMerchant,
  insertMerchant,
  setMerchantReference,
} from '../store/merchants.ts'
import { hasMerchantOffers, removeMerchant } from '../store/removal.ts'
import { configureApprovalCommand } from './approvals.ts'
import { type Confirmation, EXAMPLE_CHANNEL, createLineParser, noneToNull, parseLimit } from './arguments.ts'
import { type Listing, type CommandResult, quote } from './output.ts'
import {
  type ChangeTransaction,
  createChangeAction,
  getMerchant,
  getNetwork,
  createListAction,
  removeSampleBeforeFirstAdd,
} from './store.ts'

export function addMerchants(catalog: Command, run: Runner): void {
  const group = catalog.command('merchants').description('manage merchants and their references in networks')
  group
    .command('list')
    .description('list the merchants with the networks where they have offers')
    .option('--network <name>', 'only merchants of this network')
    .option('--limit <n>', 'maximum number of merchants', parseLimit)
    .option('--counts', 'count the offers; slow in a large catalog')
    .action(run(createListAction('merchants', listMerchants)))
  group
    .command('add')
    .description('create a merchant before its first import')
    .argument('<name>', 'name of the merchant', createLineParser('a merchant needs a name of'))
    .option('--network <name>', 'network of the reference')
    .option(
      '--reference <reference>',
      'name or number of the merchant in the network: {merchant} of the link template',
      createLineParser('--reference accepts'),
    )
    .hook('preAction', checkReference)
    .action(run(createChangeAction(add)))
  group
    .command('set <merchant>')
    .description('set the reference of a merchant in a network')
    .requiredOption('--network <name>', 'network of the reference')
    .requiredOption(
      '--reference <reference>',
      'name or number of the merchant in the network, or none to use its name',
      createLineParser('--reference accepts'),
    )
    .action(run(createChangeAction(set)))
  group
    .command('remove <merchant>')
    .description('remove a merchant with its offers and approvals')
    .option('--yes', 'remove it even if it has offers')
    .action(run(createChangeAction(remove)))
  configureApprovalCommand(group.command('approve <merchant>'), run, true).description(
    'same as "approvals add"',
  )
  configureApprovalCommand(group.command('revoke <merchant>'), run, false).description(
    'same as "approvals remove"',
  )
  addExamples(group, 'vitrine catalog merchants', [
    'vitrine catalog merchants list',
    'vitrine catalog merchants list --network awin --counts',
    'vitrine catalog merchants add Kopje --network awin --reference 12345',
    'vitrine catalog merchants set Kopje --network awin --reference 12345',
    'vitrine catalog merchants remove Kopje --yes',
    `vitrine catalog merchants approve Kopje --channel ${EXAMPLE_CHANNEL}`,
  ])
}

async function listMerchants(
  { read }: CatalogStore,
  { network, limit, counts = false }: Readonly<{ network?: string; limit?: number; counts?: boolean }>,
): Promise<Listing> {
  const merchants = await read(async (reader) =>
    fetchMerchants(reader, {
      networkId: network === undefined ? undefined : (await getNetwork(reader, network)).id,
      limit: limit === undefined ? undefined : limit + 1,
      hasOfferCounts: counts,
    }),
  )
  const rows = merchants.slice(0, limit)
  return {
    rows,
    entries: rows.map(({ name, networks }) => [
      name,
      ...(networks.length === 0 ? ['in no network'] : networks.map(describeNetwork)),
    ]),
    emptyMessage:
      network === undefined
        ? 'There are no merchants yet. Import a feed, or run: vitrine catalog merchants add NAME'
        : 'No merchant has offers or a reference in this network.',
    truncationNote: rows.length < merchants.length ? `There are more than ${limit} merchants.` : undefined,
  }
}

function describeNetwork({ name, reference, offers }: MerchantNetwork): string {
  const referenceText = reference === null ? [] : [`reference ${reference}`]
  return [name, ...referenceText, ...(offers === null ? [] : [pluralize(offers, 'offer')])].join(', ')
}

type Reference = Readonly<{ network?: string; reference?: string }>

function checkReference(command: Command): void {
  const { network, reference } = command.opts<Reference>()
  if ((network === undefined) !== (reference === undefined))
    throw new UsageError(
      'use --network and --reference together: the reference is that of the merchant in the network',
    )
}

async function add(
  { database }: ChangeTransaction,
  name: string,
  { network, reference }: Reference,
): Promise<CommandResult> {
  const { removedSample, notes } = await removeSampleBeforeFirstAdd(database)
  const networkId = network === undefined ? undefined : (await getNetwork(database, network)).id
  if ((await findMerchant(database, name)) !== undefined)
    throw new UsageError(`a merchant ${quote(name)} already exists`)
  const merchantId = await insertMerchant(database, name)
  if (networkId !== undefined)
    await setMerchantReference(database, { networkId, merchantId }, reference ?? null)
  const hint = `No channel shows it yet: vitrine catalog merchants approve ${toShellWord(name)} --channel ID`
  return {
    json: { name, network: network ?? null, reference: reference ?? null, removedSample },
    line: `created the merchant ${quote(name)}`,
    notes: [...notes, hint],
  }
}

async function set(
  { database }: ChangeTransaction,
  merchantName: string,
  options: Required<Reference>,
): Promise<CommandResult> {
  const { id: merchantId, name } = await getMerchant(database, merchantName)
  const { id: networkId, name: network } = await getNetwork(database, options.network)
  const reference = noneToNull(options.reference)
  await setMerchantReference(database, { networkId, merchantId }, reference)
  return {
    json: { name, network, reference },
    line: `the reference of ${quote(name)} in ${quote(network)} is ${quote(reference ?? name)}`,
  }
}

async function remove(
  { database }: ChangeTransaction,
  merchantName: string,
  { yes = false }: Confirmation,
): Promise<CommandResult> {
  const { id, name } = await getMerchant(database, merchantName)
  if (!yes && (await hasMerchantOffers(database, id)))
    throw new UsageError(`${quote(name)} has offers; add --yes to remove it with its offers and approvals`)
  const { offers, products } = await removeMerchant(database, id)
  return {
    json: { name, removed: true, offers, products },
    line: `removed ${quote(name)}, with ${pluralize(offers, 'offer')} and ${pluralize(products, 'product')}`,
  }
}
