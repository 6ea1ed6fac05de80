import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import type { CommandContext } from '../../command.ts'
import { findErrorCode } from '../../database/failures.ts'
import { StoreError, UsageError } from '../../errors.ts'
import { type CatalogStore, CATALOG_LOCKED } from '../store/catalog-store.ts'
import { type OwnedChannel, fetchOwnedChannels } from '../store/channels.ts'
import { type Merchant, findMerchant, findSimilarMerchant } from '../store/merchants.ts'
import { isSampleOnly, removeSampleData } from '../store/meta.ts'
import { type Network, fetchNetworks } from '../store/networks.ts'
import { openCatalogStore } from '../store/open-store.ts'
import {
  type NamedOrganization,
  fetchOrganizations,
  getOrCreateOrganizationId,
} from '../store/organizations.ts'
import type { Catalog } from '../store/schema.ts'
import { type Listing, type CommandResult, printList, printResult, quote } from './output.ts'

/** @throws StoreError when the catalog cannot be opened, read or written, for example during an import. */
export async function withCatalog<T>(
  { clock, config }: CommandContext,
  work: (store: CatalogStore) => Promise<T>,
): Promise<T> {
  try {
    const store = await openCatalogStore({ database: config.catalogDatabase, clock })
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  } catch (error) {
    // SQLITE_BUSY and SQLITE_LOCKED.
    const code = findErrorCode(error)
    throw code === 5 || code === 6 ? new StoreError(CATALOG_LOCKED, { cause: error }) : error
  }
}

/** Whether there may be a catalog. */
export function hasCatalog({ config: { catalogDatabase } }: CommandContext): boolean {
  return catalogDatabase.kind === 'postgres' || existsSync(catalogDatabase.path)
}

type Action<Given extends unknown[]> = (context: CommandContext, ...args: Given) => Promise<void>

export function createAction<Given extends unknown[]>(
  work: (store: CatalogStore, ...args: Given) => Promise<CommandResult>,
): Action<Given> {
  return async (context, ...args) =>
    printResult(context, await withCatalog(context, (store) => work(store, ...args)))
}

export type ChangeTransaction = Readonly<{ database: Catalog; nowMs: number }>

export function createChangeAction<Given extends unknown[]>(
  work: (transaction: ChangeTransaction, ...args: Given) => Promise<CommandResult>,
): Action<Given> {
  return createAction((store, ...args: Given) =>
    store.write((database) => work({ database, nowMs: store.clock.nowMs() }, ...args)),
  )
}

/** Return a hook that rejects a `set` without options before the catalog is opened. */
export function requireOption(expected: string): (command: Command) => void {
  return (command) => {
    if (Object.keys(command.opts()).length === 0) throw new UsageError(`nothing to set: use ${expected}`)
  }
}

/** Return an action that lists. It never creates a catalog: an empty one would hide a mistyped path. */
export function createListAction<Options extends object>(
  group: string,
  read: (store: CatalogStore, options: Options) => Promise<Listing>,
): Action<[Options]> {
  return async (context, options) => {
    const { catalogDatabase: database } = context.config
    if (database.kind === 'postgres' || hasCatalog(context))
      return printList(context, await withCatalog(context, (store) => read(store, options)))
    const addCommandGroup = group === 'approvals' ? 'channels' : group
    const missingMessage = `there is no catalog at ${database.path} yet; import a feed or run "vitrine catalog ${addCommandGroup} add NAME", or set VITRINE_CATALOG_DATABASE_URL to another catalog`
    // A text option names a record of the catalog.
    if (Object.values(options).some((value) => typeof value === 'string'))
      throw new UsageError(missingMessage)
    printList(context, { rows: [], entries: [], emptyMessage: missingMessage })
  }
}

/** Remove sample data before the first record of the user, as an import does. */
export async function removeSampleBeforeFirstAdd(database: Catalog) {
  if (!(await isSampleOnly(database))) return { removedSample: false, notes: [] }
  await removeSampleData(database)
  return { removedSample: true, notes: ['The sample data was removed.'] }
}

/** Get an organization by id or exact name. @throws UsageError when there is none, or several have the name. */
export async function getOrganization(
  database: Catalog,
  organizationRef: string,
): Promise<NamedOrganization> {
  const all = await fetchOrganizations(database)
  const byId = all.find(({ id }) => id === organizationRef.trim().toLowerCase())
  if (byId !== undefined) return byId
  const [only, ...others] = all.filter(
    ({ name }) => name === organizationRef || name === organizationRef.trim(),
  )
  if (only === undefined) {
    const existingText = all.length === 0 ? 'there are none yet' : `there are ${describeOrganizations(all)}`
    throw new UsageError(`there is no organization ${quote(organizationRef)}; ${existingText}`)
  }
  if (others.length === 0) return only
  const ids = [only, ...others].map(({ id }) => id).join(', ')
  throw new UsageError(
    `several organizations have the name ${quote(organizationRef)}; use one of the ids: ${ids}`,
  )
}

/** Return `--organization`, or the only one, created when there is none. @throws UsageError when there are several. */
export async function getOrCreateOwnerId(
  { database, nowMs }: ChangeTransaction,
  organizationRef?: string,
): Promise<string> {
  if (organizationRef !== undefined) return (await getOrganization(database, organizationRef)).id
  const all = await fetchOrganizations(database)
  if (all.length > 1)
    throw new UsageError(`choose the owner with --organization; there are ${describeOrganizations(all)}`)
  return getOrCreateOrganizationId(database, nowMs)
}

function describeOrganizations(organizations: readonly NamedOrganization[]): string {
  return organizations.map(({ id, name }) => `${quote(name)} (${id})`).join(', ')
}

export async function getChannel(database: Catalog, idText: string): Promise<OwnedChannel> {
  const id = idText.trim().toLowerCase()
  const found = (await fetchOwnedChannels(database)).find((channel) => channel.id === id)
  if (found !== undefined) return found
  throw new UsageError(
    `there is no channel with the id ${quote(idText)}; "vitrine catalog channels" lists the channels`,
  )
}

export async function getNetwork(database: Catalog, name: string): Promise<Network> {
  const all = await fetchNetworks(database)
  const found = all.find((network) => network.name === name) ?? all.find((one) => one.name === name.trim())
  if (found !== undefined) return found
  const existingText =
    all.length === 0
      ? 'there are none yet: run "vitrine catalog networks add NAME"'
      : `there are ${all.map((network) => quote(network.name)).join(', ')}`
  throw new UsageError(`there is no network ${quote(name)}; ${existingText}`)
}

/** @throws UsageError, which suggests a name that differs only in case. */
export async function getMerchant(database: Catalog, name: string): Promise<Merchant> {
  const found = (await findMerchant(database, name)) ?? (await findMerchant(database, name.trim()))
  if (found !== undefined) return found
  const similar = await findSimilarMerchant(database, name.trim())
  const hint = similar === undefined ? '' : `; did you mean ${quote(similar.name)}?`
  throw new UsageError(
    `there is no merchant ${quote(name)}${hint}; "vitrine catalog merchants" lists the merchants`,
  )
}
