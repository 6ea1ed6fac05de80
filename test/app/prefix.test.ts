import { once } from 'node:events'
import { type IncomingMessage, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  BOX,
  BOX_EMBED,
  GRID_EMBED,
  getAttribute,
  listElements,
  startStockedHarness,
  fetchPath,
} from './app-client.ts'

const SERVER = 'https://www.magazine.example/shop/widgets'
const PREFIX = '/shop/widgets'

/** Return all addresses of this server in a document: styles, scripts, pages, discovery and redirects. */
function listOwnAddresses(html: string): readonly string[] {
  const names = ['href', 'src', 'data-vitrine-go', 'data-go']
  return listElements(html)
    .flatMap((element) => names.map((name) => getAttribute(element, name)))
    .filter((address) => address.startsWith('https://www.magazine.example'))
}

const start = (publicUrl = SERVER): ReturnType<typeof startStockedHarness> =>
  startStockedHarness(undefined, { settings: { VITRINE_PUBLIC_URL: publicUrl } })

describe('server below a path prefix', () => {
  test('every address in responses - has the prefix, and works with and without it', async () => {
    const harness = await start()
    for (const path of [BOX, BOX_EMBED, `${GRID_EMBED}?accent=aa0000`]) {
      const { text } = await fetchPath(harness, path)
      const addresses = listOwnAddresses(text)
      expect(addresses.length).toBeGreaterThan(0)
      for (const address of addresses) {
        expect(address).toMatch(/^https:\/\/www\.magazine\.example\/shop\/widgets\//)
        if (address.includes('/go/')) continue
        const { pathname, search } = new URL(address)
        expect((await fetchPath(harness, pathname + search)).status).toBe(200)
        expect((await fetchPath(harness, pathname.slice(PREFIX.length) + search)).status).toBe(200)
      }
    }
  })

  test('prefix forwarded or removed by the proxy - the same bytes', async () => {
    const harness = await start()
    for (const path of [BOX, BOX_EMBED, GRID_EMBED, '/embed.js', '/healthz', `${BOX}?limit=2&theme=dark`]) {
      const [bare, prefixed] = [await fetchPath(harness, path), await fetchPath(harness, PREFIX + path)]
      expect(bare.status).toBe(200)
      expect(prefixed.body.equals(bare.body)).toBe(true)
      expect(prefixed.headers['etag']).toBe(bare.headers['etag'])
    }
  })

  test('oEmbed - recognizes embeds with the prefix', async () => {
    const harness = await start()
    const fetchOembed = (url: string): Promise<Readonly<{ status: number; text: string }>> =>
      fetchPath(harness, `${PREFIX}/oembed?url=${encodeURIComponent(url)}`)
    expect((await fetchOembed(SERVER + BOX_EMBED)).text).toContain(`${SERVER}${BOX_EMBED}`)
    expect((await fetchOembed(`https://www.magazine.example${BOX_EMBED}`)).status).toBe(404)
  })

  test('error below the prefix - has the format of its surface', async () => {
    const harness = await start()
    const seen = await fetchPath(harness, `${PREFIX}${BOX}?theme=blue`)
    expect([seen.status, seen.text.slice(0, 12)]).toEqual([400, '<!-- Vitrine'])
  })

  test.each(['/shop/widgetsx', '/shop', '/shop/widgets/other', '/shop/widgets/shop/widgets'])(
    '%s - 404',
    async (prefix) => {
      const harness = await start()
      expect((await fetchPath(harness, `${prefix}${BOX}`)).status).toBe(404)
    },
  )

  test('absolute address as request target, as some proxies send it - works', async () => {
    const harness = await start()
    const server = createServer(harness.app).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const path = `http://www.magazine.example${PREFIX}${BOX}`
    const [received] = (await once(get({ host: '127.0.0.1', port, path, agent: false }), 'response')) as [
      IncomingMessage,
    ]
    expect([received.statusCode, received.headers['vitrine-state']]).toEqual([200, 'shown'])
    received.resume()
  })

  test('prefix that equals a path of this server - works with both kinds of proxy', async () => {
    const harness = await start('https://www.magazine.example/embeds')
    for (const path of [BOX_EMBED, BOX, '/embed.js']) {
      expect((await fetchPath(harness, path)).status).toBe(200)
      expect((await fetchPath(harness, `/embeds${path}`)).status).toBe(200)
    }
  })
})
