import type { ServedAddresses } from '../../helpers/built-server.ts'
import { getSampleServer } from '../use-server.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { type Site, type SiteOptions, startSite } from './site.ts'

/** A channel of the sample data. */
export const CHANNEL = '952a0000-0000-4000-8000-000000000001'

/** A product of the sample data that shops sell, and one that none sells. */
export const GTIN = '09520001001024'
export const UNSOLD_GTIN = '09521234500005'

/** Leave out when prices were checked: a box that is looked at twice may be refreshed in between. */
export function removeTimes(html: string): string {
  return html.replace(/<time[^>]*>[^<]*<\/time>/g, '<time></time>')
}

/** A server with sample data, a gate before it, and a WordPress that knows the gate as its server. */
export type WordPressFixture = Readonly<{
  server: Readonly<{ addresses: ServedAddresses }>
  faultProxy: FaultProxy
  site: Site
  /** Publishes a post; gives the path of its page. */
  publish(content: string, status?: 'publish' | 'draft'): Promise<string>
  /** The bytes of a fragment, as the server sends them now. */
  fetchFragment(path: string): Promise<string>
  /** Ends what is its own; fails when PHP had to complain of anything meanwhile. */
  close(): Promise<void>
}>

/** Opens all three for a test file. */
export async function createWordPressFixture(
  options: SiteOptions & Readonly<{ prefix?: string }> = {},
): Promise<WordPressFixture> {
  const addresses = await getSampleServer()
  const site = await startSite(options)
  const faultProxy = await startFaultProxy(addresses.publicUrl, options.prefix)
  await site.run(
    `update_option( 'vitrine_settings', array( 'server' => '${faultProxy.origin}', 'channel' => '${CHANNEL}' ) ); return 1;`,
  )
  return {
    server: { addresses },
    faultProxy,
    site,
    async publish(content, status = 'publish') {
      const id = await site.run(`kses_remove_filters();
        return wp_insert_post( wp_slash( array( 'post_status' => '${status}', 'post_title' => 'Post',
          'post_content' => ${toPhp(content)} ) ) );`)
      return `/?p=${String(id)}`
    },
    async fetchFragment(path) {
      const answer = await fetch(`${addresses.publicUrl}/fragments/${CHANNEL}/${path}`)
      return answer.text()
    },
    async close() {
      const complaints = await site.readComplaints()
      await Promise.all([site.stop(), faultProxy.close()])
      if (complaints.length > 0) throw new Error(complaints.join('\n'))
    },
  }
}

/** A text as PHP writes it. */
export function toPhp(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
