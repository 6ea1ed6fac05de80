import { type OwnedChannel, fetchOwnedChannels } from '../../catalog-service/store/channels.ts'
import { type Merchant, findMerchant, findSimilarMerchant } from '../../catalog-service/store/merchants.ts'
import { type Network, fetchNetworks } from '../../catalog-service/store/networks.ts'
import {
  type NamedOrganization,
  fetchOrganizations,
  getOrMakeOrganizationId,
} from '../../catalog-service/store/organizations.ts'
import { UsageError } from '../../errors.ts'
import { quote } from '../plain-text.ts'
import type { Catalog } from '../with-catalog.ts'

/** The organization of this id or exact name. @throws UsageError when there is none, or several have the name. */
export async function getOrganization(database: Catalog, word: string): Promise<NamedOrganization> {
  const all = await fetchOrganizations(database)
  const byId = all.find(({ id }) => id === word.trim().toLowerCase())
  if (byId !== undefined) return byId
  const named = all.filter(({ name }) => name === word || name === word.trim())
  const [only] = named
  if (only === undefined) {
    const known = all.length === 0 ? 'there is none yet' : `there are ${all.map(describe).join(', ')}`
    throw new UsageError(`there is no organization ${quote(word)}; ${known}`)
  }
  if (named.length > 1) {
    const ids = named.map(({ id }) => id).join(', ')
    throw new UsageError(`several organizations have the name ${quote(word)}; say which by its id: ${ids}`)
  }
  return only
}

/**
 * Whose the new thing is: that of `--organization`, else the only one, which is made in a catalog without any.
 * @throws UsageError when there are several and none is named.
 */
export async function getOwnerId(
  database: Catalog,
  word: string | undefined,
  nowMs: number,
): Promise<string> {
  if (word !== undefined) return (await getOrganization(database, word)).id
  const all = await fetchOrganizations(database)
  if (all.length > 1) {
    throw new UsageError(`say whose it is with --organization; there are ${all.map(describe).join(', ')}`)
  }
  return getOrMakeOrganizationId(database, nowMs)
}

/** The channel of this id, in any case of its letters. @throws UsageError when there is none. */
export async function getChannel(database: Catalog, word: string): Promise<OwnedChannel> {
  const id = word.trim().toLowerCase()
  const found = (await fetchOwnedChannels(database)).find((channel) => channel.id === id)
  if (found !== undefined) return found
  throw new UsageError(
    `there is no channel of the id ${quote(word)}; "vitrine catalog channels" lists the channels`,
  )
}

/** The network of exactly this name. @throws UsageError that names those that there are. */
export async function getNetwork(database: Catalog, name: string): Promise<Network> {
  const all = await fetchNetworks(database)
  const found = all.find((network) => network.name === name) ?? all.find((one) => one.name === name.trim())
  if (found !== undefined) return found
  const known =
    all.length === 0
      ? 'there is none yet: "vitrine catalog networks add NAME" makes one'
      : `there are ${all.map((network) => quote(network.name)).join(', ')}`
  throw new UsageError(`there is no network ${quote(name)}; ${known}`)
}

/** The merchant of exactly this name. @throws UsageError that names one whose letters differ in case, if there is. */
export async function getMerchant(database: Catalog, name: string): Promise<Merchant> {
  const found = (await findMerchant(database, name)) ?? (await findMerchant(database, name.trim()))
  if (found !== undefined) return found
  const similar = await findSimilarMerchant(database, name.trim())
  const hint = similar === undefined ? '' : `; is it ${quote(similar.name)}?`
  throw new UsageError(
    `there is no merchant ${quote(name)}${hint}; "vitrine catalog merchants" lists the merchants`,
  )
}

function describe({ id, name }: NamedOrganization): string {
  return `${quote(name)} (${id})`
}
