import type { Channel } from '../catalog/contract.ts'
import type { Config } from '../config/config.ts'

/** What to do for a channel whose boxes only this server's own pages may frame. */
export const UNFRAMED_HINT =
  "The channel has no address, so browsers refuse its frames on your site: set VITRINE_FRAME_ANCESTORS to the site's origin."

/** Do neither the channel's own address nor the settings let a site frame its boxes? Fragments are not concerned. */
export function isUnframed(config: Config, channel: Pick<Channel, 'url'>): boolean {
  return channel.url === null && config.frameAncestors.length === 0
}
