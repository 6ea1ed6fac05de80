import { describe, expect, test } from 'vitest'
import { HOUR_MS, SECOND_MS } from '../../src/clock.ts'
import { findAtomProblems, readAtom } from '../helpers/atom.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import { fetchPath, startHarness, startStockedHarness, stockCatalog } from './app-client.ts'

const FEED = `/feeds/${CHANNEL_ID}/deals.atom`

const makeDeal = (gtin: string, price: string, title = 'Lumen Arc') =>
  makeWireProduct({ gtin, title, offers: [makeWireOffer({ price, old_price: '100' })] })

const makeOf = (network: string, name: string) => [
  makeWireProduct({
    gtin: toGtin(1),
    offers: [makeWireOffer({ network, merchant: { name }, price: '50', old_price: '100' })],
  }),
]

const ENTRY_RULES = { published: /Z$/, content: /We may earn a commission.*Prices checked on/s }

describe('feed of deals', () => {
  test('deals - an entry for each, with disclosure, price, link and date, and no price in the title', async () => {
    const harness = await startStockedHarness([makeDeal(toGtin(1), '50'), makeDeal(toGtin(2), '60', 'Kvist')])
    const { text, headers, status } = await fetchPath(harness, FEED)
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'application/atom+xml; charset=utf-8',
      'cache-control': expect.stringMatching(/^public, max-age=/),
      'vitrine-state': 'shown',
      vary: 'Accept-Encoding',
    })
    expect(findAtomProblems(text, ENTRY_RULES)).toEqual([])
    const { feed, entries } = readAtom(text)
    expect(feed).toMatchObject({
      id: `https://widgets.example${FEED}`,
      self: `https://widgets.example${FEED}`,
      title: 'Deals – Test magazine',
    })
    expect(entries.map(({ title }) => title)).toEqual(['Lumen Arc – Kopje', 'Kvist – Kopje'])
    expect(entries[0]?.['content']).toContain('<b>€50.00</b> <s>€100.00</s> −50% at\u00A0Kopje')
    const again = await fetchPath(harness, FEED, { 'If-None-Match': headers['etag'] ?? '' })
    expect(again.status).toBe(304)
  })

  test('another price and a later walk - the entry keeps its id and time', async () => {
    const harness = await startStockedHarness([makeDeal(toGtin(1), '50')])
    const before = readAtom((await fetchPath(harness, FEED)).text).entries
    harness.clock.advance(HOUR_MS)
    await stockCatalog(harness, [makeDeal(toGtin(1), '40'), makeDeal(toGtin(2), '60')])
    const after = readAtom((await fetchPath(harness, FEED)).text).entries
    expect(after.length).toBe(2)
    expect(after[0]).toMatchObject({ id: before[0]?.['id'], updated: before[0]?.['updated'] })
    expect(after[0]?.['content']).toContain('€40.00')
  })

  test('another network or spelling of the shop - the entry keeps its id', async () => {
    const harness = await startStockedHarness(makeOf('awin', 'Kopje'))
    const readIds = async () => readAtom((await fetchPath(harness, FEED)).text).entries.map(({ id }) => id)
    const ids = await readIds()
    harness.clock.advance(HOUR_MS)
    await stockCatalog(harness, makeOf('cj', 'KOPJE'))
    expect(ids).toHaveLength(1)
    expect(await readIds()).toEqual(ids)
    harness.clock.advance(HOUR_MS)
    await stockCatalog(harness, makeOf('cj', 'Zaal'))
    expect(await readIds()).not.toEqual(ids)
  })

  test('channel with a new name and address - another ETag and body', async () => {
    const harness = await startStockedHarness([makeDeal(toGtin(1), '50')])
    const before = await fetchPath(harness, FEED)
    const { context, clock } = harness
    const list = await context.store.findChannelList()
    const renamed = (list?.channels ?? []).map((channel) => ({
      ...channel,
      name: 'Renamed',
      url: 'https://renamed.example/',
    }))
    await context.store.putChannelList(renamed, clock.nowMs() + 30 * SECOND_MS)
    clock.advance(31 * SECOND_MS)
    await context.channels.listChannels()
    const after = await fetchPath(harness, FEED, { 'If-None-Match': before.headers['etag'] ?? '' })
    expect(after.status).toBe(200)
    expect(readAtom(after.text).feed).toMatchObject({ title: 'Deals – Renamed' })
  })

  test('characters that are invalid in XML, in links and options - the feed stays well-formed', async () => {
    const affiliate_url = 'https://links.example/\uFFFEx'
    const offers = [
      makeWireOffer({ price: '50', old_price: '100', affiliate_url }),
      makeWireOffer({ price: '60', old_price: '100', merchant: { name: 'Zaal' } }),
    ]
    const harness = await startStockedHarness([makeWireProduct({ gtin: toGtin(1), offers })])
    const { text } = await fetchPath(harness, FEED)
    expect(findAtomProblems(text, ENTRY_RULES)).toEqual([])
    expect(text).not.toContain('\uFFFE')
    expect((await fetchPath(harness, `${FEED}?heading=a%EF%BF%BE`)).status).toBe(400)
  })

  test('options - apply as in a grid', async () => {
    const harness = await startStockedHarness([makeDeal(toGtin(1), '50'), makeDeal(toGtin(2), '60')])
    const { feed, entries } = readAtom(
      (await fetchPath(harness, `${FEED}?limit=1&sort=price&locale=de`)).text,
    )
    expect(feed).toMatchObject({ self: `https://widgets.example${FEED}?locale=de&limit=1&sort=price` })
    expect(entries.map(({ content }) => content?.includes('50,00'))).toEqual([true])
    expect((await fetchPath(harness, `${FEED}?limit=x`)).status).toBe(400)
  })

  test('no deals, and no copy yet - an empty feed, which is valid', async () => {
    const withoutDeals = await startStockedHarness([makeWireProduct()])
    const withoutCopy = await startHarness()
    for (const harness of [withoutDeals, withoutCopy]) {
      const { status, text } = await fetchPath(harness, FEED)
      expect(status).toBe(200)
      expect(findAtomProblems(text, {})).toEqual([])
      expect(readAtom(text).entries).toEqual([])
    }
    const { headers } = await fetchPath(withoutCopy, FEED)
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'vitrine-state': 'unavailable' })
  })

  test('no copy yet - the feed has the id, language and heading of the address', async () => {
    const query = '?locale=de&limit=5&heading=Angebote+heute'
    const read = async (harness: Parameters<typeof fetchPath>[0]) => {
      const { headers, text } = await fetchPath(harness, `${FEED}${query}`)
      const { id, self, title } = readAtom(text).feed
      return { state: headers['vitrine-state'], id, self, title: title?.split(' – ')[0] }
    }
    const shown = await read(await startStockedHarness([makeDeal(toGtin(1), '50')]))
    const failed = await read(await startHarness())
    expect(shown).toMatchObject({ state: 'shown', title: 'Angebote heute' })
    expect(failed).toEqual({ ...shown, state: 'unavailable' })
  })

  test('other widgets, and other addresses below the prefix - 404', async () => {
    const harness = await startHarness()
    for (const path of [
      `/feeds/${CHANNEL_ID}/deals`,
      `/feeds/${CHANNEL_ID}/where-to-buy/${toGtin(1)}`,
      '/feeds',
    ]) {
      const { status, headers, text } = await fetchPath(harness, path)
      expect([status, headers['content-type']]).toEqual([404, 'text/plain; charset=utf-8'])
      expect(text).toMatch(/^Vitrine: \w/)
    }
  })
})
