import { fetchOwnedChannels } from '../../catalog-service/store/channels.ts'
import { fetchNetworkChannels } from '../../catalog-service/store/network-channels.ts'
import { fetchNetworks } from '../../catalog-service/store/networks.ts'
import { isCatalogEmpty } from '../../catalog-service/store/sample-state.ts'
import { warnOfNameless } from '../catalog/assign.ts'
import { withCatalog } from '../catalog/store.ts'
import type { CommandContext } from '../command.ts'
import { LOST_CATALOG, findCopiedCatalog, toLostRemedy } from '../open-catalog.ts'
import { type Finding, bad, good } from './findings.ts'

/**
 * Check the data of the embedded catalog: channels without a network show nothing, and links that name no publisher earn
 * nothing. Neither is a failure: a catalog is built step by step.
 * @throws StoreError when the catalog cannot be read.
 */
export async function checkEmbeddedCatalog(context: CommandContext): Promise<readonly Finding[]> {
  return withCatalog(context, async ({ reader }) => {
    if (await isCatalogEmpty(reader)) return checkLost(context)
    const networkChannels = await fetchNetworkChannels(reader)
    const assigned = new Set(networkChannels.map(({ channelId }) => channelId))
    const findings: Finding[] = []
    for (const { id, name } of await fetchOwnedChannels(reader)) {
      const cure = `vitrine catalog networks assign NETWORK --channel ${id}`
      if (!assigned.has(id))
        findings.push(good(`channel ${name} (${id})`, 'it has no network, and shows nothing', cure))
    }
    for (const network of await fetchNetworks(reader)) {
      const own = networkChannels.filter(({ networkId }) => networkId === network.id)
      for (const cure of warnOfNameless(network, own))
        findings.push(good(`network ${network.name}`, 'its links lack the publisher', cure))
    }
    return findings
  })
}

/** An empty catalog was lost where the stored copy knows one. A copy that cannot be read is a finding of its own. */
async function checkLost({ config }: CommandContext): Promise<readonly Finding[]> {
  const copied = await findCopiedCatalog(config.database).catch(() => undefined)
  const cure = toLostRemedy(config.catalogDatabase, config.database)
  return copied === undefined ? [] : [bad('catalog', LOST_CATALOG, cure)]
}
