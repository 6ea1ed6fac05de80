import { expect, vi } from 'vitest'
import type { ServedAddresses } from '../../helpers/built-server.ts'
import { getSampleServer } from '../use-server.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { type Site, type SiteOptions, startSite } from './site.ts'
import type { Visitor } from './visitor.ts'

/** A channel of the sample data. */
export const CHANNEL = '952a0000-0000-4000-8000-000000000001'

/** Two products of the sample data, and one that no shop sells. */
export const GTIN = '09520001001024'
export const OTHER_GTIN = '09520001001017'
export const UNSOLD_GTIN = '09521234500005'

/** Remove the times of price checks, because a box may be refreshed between two reads. */
export function removeTimes(html: string): string {
  return html.replace(/<time[^>]*>[^<]*<\/time>/g, '<time></time>')
}

/** A server with sample data, a fault proxy, and a WordPress that uses the proxy as its server. */
export type WordPressFixture = Readonly<{
  server: Readonly<{ addresses: ServedAddresses }>
  faultProxy: FaultProxy
  site: Site
  /** Publish a post and return the path of its page. */
  publish(content: string, status?: 'publish' | 'draft'): Promise<string>
  /** Fetch a fragment directly from the server. */
  fetchFragment(path: string): Promise<string>
  /**
   * Visit pages until they have sent this many requests, and return these, usually of one visit. On a slow machine, the time of a page
   * may end before all its boxes are requested; the next visit requests the others, and those that were too slow again.
   */
  visitUntilCalled(visitor: Visitor, paths: readonly string[], count: number): Promise<readonly string[]>
  /** Stop the site and the proxy. Throws if PHP logged warnings or errors. */
  close(): Promise<void>
}>

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
      const address = `${addresses.publicUrl}/fragments/${CHANNEL}/${path}`
      return vi.waitFor(async () => {
        const response = await fetch(address)
        const html = await response.text()
        // A stale box is refreshed in the background, so that the next one differs. A grid is stale until the next walk.
        if (!path.startsWith('deals')) expect(response.headers.get('cache-status')).not.toContain('stale')
        return html
      })
    },
    async visitUntilCalled(visitor, paths, count) {
      let calls: readonly string[] = []
      await vi.waitFor(async () => {
        const isFirst = calls.length === 0
        for (const path of paths) await visitor.get(path)
        calls = [...calls, ...faultProxy.takeCalls()]
        if (!isFirst) calls = [...new Set(calls)]
        // After a timeout, the plugin sends no request for 30 seconds.
        if (calls.length < count) await site.advanceClock(31)
        expect(calls.length).toBeGreaterThanOrEqual(count)
      })
      return calls
    },
    async close() {
      const phpErrors = await site.readPhpErrors()
      await Promise.all([site.stop(), faultProxy.close()])
      if (phpErrors.length > 0) throw new Error(phpErrors.join('\n'))
    },
  }
}

/** Convert a text to a PHP string literal. */
export function toPhp(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
