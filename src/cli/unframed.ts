import type { Channel } from '../catalog/contract.ts'
import type { Config } from '../config/config.ts'

/** What to do for a channel whose boxes only this server's own pages may frame; `null` when other sites may. */
export function findUnframedHint(config: Config, channel: Pick<Channel, 'id' | 'url'>): string | null {
  if (channel.url !== null || config.frameAncestors.length > 0) return null
  const isOwn = config.catalog.kind === 'embedded'
  const first = isOwn ? `run "vitrine catalog channels set ${channel.id} --url https://YOUR-SITE", or ` : ''
  return `The channel has no address, so browsers refuse its frames on your site: ${first}set VITRINE_FRAME_ANCESTORS to the site's origin.`
}
