import { fetchOwnedChannels } from '../catalog-service/store/channels.ts'
import { fetchNetworkChannels } from '../catalog-service/store/network-channels.ts'
import { fetchNetworks } from '../catalog-service/store/networks.ts'
import { warnOfNameless } from './catalog/assign.ts'
import type { DatabaseAddress } from '../config/database-address.ts'
import { isCatalogEmpty } from '../catalog-service/store/sample-state.ts'
import type { CommandContext } from './command.ts'
import { type Finding, bad, good } from './findings.ts'
import { LOST_CATALOG, findCopiedCatalog, toLostRemedy } from './lost-catalog.ts'
import { withCatalog } from './catalog/store.ts'

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
export async function judgeCatalog(context: CommandContext): Promise<readonly Finding[]> {
  return withCatalog(context, async ({ reader }) => {
    if (await isCatalogEmpty(reader)) return judgeEmpty(context)
    const networkChannels = await fetchNetworkChannels(reader)
    const idle = (await fetchOwnedChannels(reader)).filter(
      ({ id }) => !networkChannels.some(({ channelId }) => channelId === id),
    )
    const networks = await fetchNetworks(reader)
    return [
      ...idle.map(({ id, name }) =>
        good(
          `channel ${name} (${id})`,
          'it has no network, and shows nothing',
          `vitrine catalog networks assign NETWORK --channel ${id}`,
        ),
      ),
      ...networks.flatMap((network) => {
        const own = networkChannels.filter(({ networkId }) => networkId === network.id)
        return warnOfNameless(network, own).map((cure) =>
          good(`network ${network.name}`, 'its links lack the publisher', cure),
        )
      }),
    ]
  })
}

/** An empty catalog was lost where the stored copy knows one. A copy that cannot be read is a finding of its own. */
async function judgeEmpty({ config }: CommandContext): Promise<readonly Finding[]> {
  const copied = await findCopiedCatalog(config.database).catch(() => undefined)
  const cure = toLostRemedy(config.catalogDatabase, config.database)
  return copied === undefined ? [] : [bad('catalog', LOST_CATALOG, cure)]
}
