import { once } from 'node:events'
import { Agent, type IncomingMessage, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { HOUR_MS } from '../../src/clock.ts'
import type { SubData } from '../../src/config/sub-ids-file.ts'
import { readAtom } from '../helpers/atom.ts'
import { CHANNEL_ID, makeWireOffer } from '../helpers/fake-catalog.ts'
import type { WhereToBuyJson } from '../../src/widgets/json-types.ts'
import { withSub } from '../../src/widgets/address.ts'
import type { Harness } from '../helpers/harness.ts'
import {
  BOX,
  BOX_EMBED,
  GRID_EMBED,
  GTIN,
  fetchPath,
  getAttribute,
  listElements,
  makeProductOnSale,
  startStockedHarness,
} from './app-client.ts'
import { IS_FULL } from '../helpers/property-runs.ts'

const ID_COUNT = IS_FULL ? 10_000 : 1_000

/** A rule for one network: the parameter `s`, at most 8 characters. */
const SUB_DATA: SubData = {
  networks: [
    {
      names: ['ruled'],
      hosts: ['a.example'],
      maxCharacters: 8,
      signatures: [],
      forms: [{ start: '', kind: 'parameter', name: 's', isLast: false }],
    },
  ],
  digest: '1',
}

const OFFERS = [
  makeWireOffer({
    merchant: { name: 'Ü & Co' },
    network: 'ruled',
    affiliate_url: 'https://a.example/?x=1&y=2',
  }),
  makeWireOffer({ merchant: { name: 'Brava' }, network: 'other', affiliate_url: 'https://b.example/?x=1' }),
]

function startRuledHarness(settings: Readonly<Record<string, string>> = {}): Promise<Harness> {
  const products = [makeProductOnSale({ offers: OFFERS.map((offer) => ({ ...offer, old_price: '99.80' })) })]
  return startStockedHarness(products, { settings, over: { subData: SUB_DATA } })
}

const listLinks = (text: string): readonly string[] =>
  listElements(text)
    .filter((element) => getAttribute(element, 'rel').includes('sponsored'))
    .map((element) => getAttribute(element, 'href'))
    .sort()

/** Serve the harness, and return a client that keeps its connection. */
async function listen(
  harness: Harness,
): Promise<(path: string) => Promise<Readonly<{ text: string; etag: string | undefined }>>> {
  const server = createServer(harness.app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => {
    agent.destroy()
    server.close()
  })
  return async (path) => {
    const sent = request({ host: '127.0.0.1', port, path, agent }).end()
    const [received] = (await once(sent, 'response')) as [IncomingMessage]
    return { text: await text(received), etag: received.headers.etag }
  }
}

describe('id of the placement', () => {
  test('with a rule - is added to the link; without one, and without an id - the link is unchanged', async () => {
    const harness = await startRuledHarness()
    for (const path of [BOX, BOX_EMBED, `${BOX}?limit=1&locale=de`]) {
      const plain = listLinks((await fetchPath(harness, path)).text)
      const tagged = listLinks((await fetchPath(harness, withSub(path, 'p-1_2345678'))).text)
      expect(plain).toEqual(expect.arrayContaining(['https://a.example/?x=1&y=2']))
      expect(tagged).toEqual(
        plain.map((link) => link.replace('https://a.example/?', 'https://a.example/?s=p-1_2345&')),
      )
    }
  })

  test('JSON, newsletter and feed - the link has the id, as in a page', async () => {
    const settings = { VITRINE_JSON: 'on', VITRINE_MAIL_NETWORKS: 'RULED' }
    const harness = await startRuledHarness(settings)
    const data = `/data/${CHANNEL_ID}/where-to-buy/${GTIN}`
    const mail = data.replace('data', 'mail')
    const feed = `/feeds/${CHANNEL_ID}/deals.atom?merchant=%C3%9C%20%26%20Co`
    const tagged = 'https://a.example/?s=p-1_2345&x=1&y=2'
    const json = JSON.parse((await fetchPath(harness, withSub(data, 'p-1_2345678'))).text) as WhereToBuyJson
    expect(json.offers.map(({ link }) => link)).toContain(tagged)
    expect(listLinks((await fetchPath(harness, withSub(mail, 'p-1_2345678'))).text)).toEqual([tagged])
    const { entries } = readAtom((await fetchPath(harness, withSub(feed, 'p-1_2345678'))).text)
    expect(entries[0]).toMatchObject({
      link: tagged,
      content: expect.stringContaining('?s=p-1_2345&amp;x=1'),
    })
    for (const path of [data, mail, feed]) {
      const { text } = await fetchPath(harness, path)
      expect(text).not.toMatch(/~sub|[?&;]s=/)
    }
  })

  test(`${ID_COUNT} ids of one product - share one cached response, one rendering and one catalog call`, async () => {
    const harness = await startRuledHarness({ VITRINE_SYNC_CRON: 'off' })
    const { context, catalog } = harness
    const render = vi.spyOn(context.renderer, 'renderWidget')
    catalog.calls.length = 0
    harness.clock.advance(2 * HOUR_MS)
    const fetchText = await listen(harness)
    const tags = new Set<string | undefined>()
    for (let number = 0; number < ID_COUNT; number += 1) {
      const found = await fetchText(`${BOX}?sub=p${number}`)
      expect(found.text.includes(`https://a.example/?s=p${number}&amp;x=1&amp;y=2`)).toBe(true)
      tags.add(found.etag)
    }
    expect(tags.size).toBe(ID_COUNT)
    expect(context.caches.responses.entryCount()).toBe(1)
    expect(render).toHaveBeenCalledTimes(1)
    expect(catalog.countCalls(/\/products\//)).toBe(1)
    const { text: metrics } = await context.metrics.render()
    const [, hits] = /surface="fragment where-to-buy",state="shown",cache="hit"} (\d+)/.exec(metrics) ?? []
    expect(Number(hits)).toBeGreaterThan(ID_COUNT * 0.99)
  })

  test('If-None-Match - 304 for the same id only', async () => {
    const harness = await startRuledHarness()
    const { headers } = await fetchPath(harness, `${BOX}?sub=a`)
    const tag = { 'If-None-Match': headers['etag'] ?? '' }
    expect((await fetchPath(harness, `${BOX}?sub=a`, tag)).status).toBe(304)
    expect((await fetchPath(harness, `${BOX}?sub=b`, tag)).status).toBe(200)
    expect((await fetchPath(harness, BOX, tag)).status).toBe(200)
  })

  test('embed - is compressed with the id, and its links to pages and oEmbed keep it', async () => {
    const harness = await startRuledHarness()
    await fetchPath(harness, BOX_EMBED, { 'Accept-Encoding': 'gzip' })
    const zipped = await fetchPath(harness, `${BOX_EMBED}?sub=p9`, { 'Accept-Encoding': 'gzip' })
    expect(zipped.headers['content-encoding']).toBe('gzip')
    const { text } = zipped
    expect(text).toBe((await fetchPath(harness, `${BOX_EMBED}?sub=p9`)).text)
    expect(text).toContain('%3Fsub%3Dp9')
    const grid = await fetchPath(harness, `${GRID_EMBED}?limit=1&page=2&sub=p9`)
    expect(grid.text).not.toContain('sub-')
    expect((await fetchPath(harness, GRID_EMBED)).text).not.toContain('sub=')
  })

  test('no slot - is left in any response', async () => {
    const harness = await startRuledHarness()
    for (const path of [BOX, BOX_EMBED, GRID_EMBED, '/studio/gallery'])
      expect((await fetchPath(harness, path)).text).not.toMatch(/~sub-/)
  })

  test('redirect of a sandboxed frame - adds the id; a broken one does not stop the reader', async () => {
    const harness = await startRuledHarness()
    const text = (await fetchPath(harness, `${BOX_EMBED}?sub=p7`)).text
    const paths = listElements(text)
      .map((element) => getAttribute(element, 'data-go'))
      .filter((path) => path !== '')
    const locations = await Promise.all(
      paths.map(async (path) => (await fetchPath(harness, `/go/${CHANNEL_ID}/${path}`)).headers['location']),
    )
    expect(new Set(locations)).toEqual(new Set(['https://a.example/?s=p7&x=1&y=2', 'https://b.example/?x=1']))
    const path = paths[locations.indexOf('https://a.example/?s=p7&x=1&y=2')] ?? ''
    const { headers } = await fetchPath(harness, `/go/${CHANNEL_ID}/${path}`)
    expect(headers['referrer-policy']).toBeUndefined()
    const broken = await fetchPath(harness, `/go/${CHANNEL_ID}/${path.replace('p7', 'a%20b')}`)
    expect(broken.headers['location']).toBe('https://a.example/?x=1&y=2')
  })

  test('VITRINE_LINKS=counted - links lead through this server and keep the id', async () => {
    const harness = await startRuledHarness({ VITRINE_LINKS: 'counted' })
    const links = listLinks((await fetchPath(harness, `${BOX}?sub=p7`)).text)
    expect(links).toHaveLength(2)
    for (const link of links)
      expect(link).toMatch(
        new RegExp(`^https://widgets\\.example/go/${CHANNEL_ID}/\\d{14}/[\\da-f]{16}\\?sub=p7$`),
      )
    const locations = await Promise.all(
      links.map(async (link) => {
        const { pathname, search } = new URL(link)
        return (await fetchPath(harness, pathname + search)).headers['location']
      }),
    )
    expect(new Set(locations)).toEqual(new Set(['https://a.example/?s=p7&x=1&y=2', 'https://b.example/?x=1']))
    expect(listLinks((await fetchPath(harness, BOX)).text)[0]).not.toContain('?')
  })
})
