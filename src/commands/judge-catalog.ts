import { fetchOwnedChannels } from '../catalog-service/store/channels.ts'
import { fetchNetworkChannels } from '../catalog-service/store/network-channels.ts'
import { fetchNetworks } from '../catalog-service/store/networks.ts'
import { warnOfNameless } from './catalog-assign.ts'
import type { DatabaseAddress } from '../config/config.ts'
import type { CommandContext } from './command.ts'
import { withCatalog } from './with-catalog.ts'

/** Something in the embedded catalog that may be meant, and what to type when it is not. */
type Hint = Readonly<{ subject: string; isGood: true; found: string; cure: string }>

/** What to do when the catalog's own database fails, by code; a file's are those of every file. */
export function findCatalogCures(database: DatabaseAddress): Readonly<Record<string, string>> {
  return database.kind === 'postgres' ? SERVER_CURES : {}
}

const SERVER_CURES: Readonly<Record<string, string>> = {
  VITRINE_STORE_FAILED:
    'Is the server of VITRINE_CATALOG_DATABASE_URL running, and does this machine reach it? Are user, password, database and sslmode right, and may the user make a schema there?',
  VITRINE_STORE_NEWER: 'Run the newer version, or name another database in VITRINE_CATALOG_DATABASE_URL.',
}

/**
 * What `check` says of the embedded catalog: channels without a network show nothing, and links that name no publisher earn
 * nothing. Neither is a failure: a catalog is built step by step.
 * @throws StoreError when the catalog cannot be read.
 */
export async function judgeCatalog(context: CommandContext): Promise<readonly Hint[]> {
  return withCatalog(context, async ({ reader }) => {
    const networkChannels = await fetchNetworkChannels(reader)
    const idle = (await fetchOwnedChannels(reader)).filter(
      ({ id }) => !networkChannels.some(({ channelId }) => channelId === id),
    )
    const networks = await fetchNetworks(reader)
    return [
      ...idle.map(({ id, name }) => ({
        subject: `channel ${name} (${id})`,
        isGood: true as const,
        found: 'it has no network, and shows nothing',
        cure: `vitrine catalog networks assign NETWORK --channel ${id}`,
      })),
      ...networks.flatMap((network) => {
        const own = networkChannels.filter(({ networkId }) => networkId === network.id)
        return warnOfNameless(network, own).map((cure) => ({
          subject: `network ${network.name}`,
          isGood: true as const,
          found: 'its links lack the publisher',
          cure,
        }))
      }),
    ]
  })
}
