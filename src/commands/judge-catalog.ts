import { fetchOwnedChannels } from '../catalog-service/store/channels.ts'
import { fetchNetworkChannels } from '../catalog-service/store/network-channels.ts'
import { fetchNetworks } from '../catalog-service/store/networks.ts'
import { warnOfNameless } from './catalog-assign.ts'
import type { CommandContext } from './command.ts'
import { withCatalog } from './with-catalog.ts'

/** Something in the embedded catalog that may be meant, and what to type when it is not. */
type Hint = Readonly<{ subject: string; isGood: true; found: string; cure: string }>

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
