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

/** Every address of ours in a document: styles, scripts, links of pages, discovery, and where links lead. */
function listOwnAddresses(html: string): readonly string[] {
  const names = ['href', 'src', 'data-vitrine-go', 'data-go']
  return listElements(html)
    .flatMap((element) => names.map((name) => getAttribute(element, name)))
    .filter((address) => address.startsWith('https://www.magazine.example'))
}

const start = (publicUrl = SERVER): ReturnType<typeof startStockedHarness> =>
  startStockedHarness(undefined, { settings: { VITRINE_PUBLIC_URL: publicUrl } })

describe('server below a path prefix', () => {
  test('every address in its answers - has the prefix, and opens with it and without it', async () => {
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

  test('prefix left on by the proxy, or taken off - the same bytes', async () => {
    const harness = await start()
    for (const path of [BOX, BOX_EMBED, GRID_EMBED, '/embed.js', '/healthz', `${BOX}?limit=2&theme=dark`]) {
      const [bare, prefixed] = [await fetchPath(harness, path), await fetchPath(harness, PREFIX + path)]
      expect(bare.status).toBe(200)
      expect(prefixed.body.equals(bare.body)).toBe(true)
      expect(prefixed.headers['etag']).toBe(bare.headers['etag'])
    }
  })

  test('oEmbed - knows its embeds by the prefix', async () => {
    const harness = await start()
    const ask = (url: string): Promise<Readonly<{ status: number; text: string }>> =>
      fetchPath(harness, `${PREFIX}/oembed?url=${encodeURIComponent(url)}`)
    expect((await ask(SERVER + BOX_EMBED)).text).toContain(`${SERVER}${BOX_EMBED}`)
    expect((await ask(`https://www.magazine.example${BOX_EMBED}`)).status).toBe(404)
  })

  test('mistake below the prefix - is answered in the form of its surface', async () => {
    const harness = await start()
    const seen = await fetchPath(harness, `${PREFIX}${BOX}?theme=blue`)
    expect([seen.status, seen.text.slice(0, 12)]).toEqual([400, '<!-- Vitrine'])
  })

  test.each(['/shop/widgetsx', '/shop', '/shop/widgets/other', '/shop/widgets/shop/widgets'])(
    '%s - nothing of ours stands there',
    async (start_) => {
      const harness = await start()
      expect((await fetchPath(harness, `${start_}${BOX}`)).status).toBe(404)
    },
  )

  test('whole address as the target of a request - as some proxies name it - is understood', async () => {
    const harness = await start()
    const server = createServer(harness.app).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const path = `http://www.magazine.example${PREFIX}${BOX}`
    const [answer] = (await once(get({ host: '127.0.0.1', port, path, agent: false }), 'response')) as [
      IncomingMessage,
    ]
    expect([answer.statusCode, answer.headers['vitrine-state']]).toEqual([200, 'shown'])
    answer.resume()
  })

  test('prefix that is named like an address of ours - both kinds of proxy still reach everything', async () => {
    const harness = await start('https://www.magazine.example/embeds')
    for (const path of [BOX_EMBED, BOX, '/embed.js']) {
      expect((await fetchPath(harness, path)).status).toBe(200)
      expect((await fetchPath(harness, `/embeds${path}`)).status).toBe(200)
    }
  })
})
