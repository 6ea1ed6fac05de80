import { describe, expect, test } from 'vitest'
import type { PicksJson, WhereToBuyJson } from '../../src/widgets/json-types.ts'
import { CHANNEL_ID, makeWireOffer } from '../helpers/fake-catalog.ts'
import { makeHeavyProduct, makeLongPictureUrls } from '../helpers/heavy-products.ts'
import { toGtin } from '../helpers/products.ts'
import { fetchPath, useWalkedCopy } from './app-client.ts'

const MAX_RESPONSE_BYTES = 300_000

/** An ordinary product with 18 shops, and one with 500 shops and short links. */
const [ORDINARY, POPULAR] = [toGtin(21), toGtin(22)] as const
const HEAVY = Array.from({ length: 20 }, (_, index) => toGtin(index + 1))

const [pictureUrl = ''] = makeLongPictureUrls(1)

const getHarness = useWalkedCopy(
  [
    ...HEAVY.map((gtin) => ({ ...makeHeavyProduct(gtin, 500), images: [{ url: pictureUrl }] })),
    makeHeavyProduct(ORDINARY, 18, 'https://links.example/c?to='),
    makeHeavyProduct(POPULAR, 500, 'https://links.example/c?to='),
  ],
  { settings: { VITRINE_JSON: 'on', VITRINE_MAIL_NETWORKS: 'brightlink' } },
)

async function fetchText(path: string): Promise<string> {
  const { status, headers, text } = await fetchPath(getHarness(), path)
  expect([status, headers['vitrine-state']]).toEqual([200, 'shown'])
  return text
}

const fetchData = async (path: string): Promise<unknown> =>
  JSON.parse(await fetchText(`/data/${CHANNEL_ID}/${path}`))

const fetchBoxData = async (path: string): Promise<WhereToBuyJson> =>
  (await fetchData(`where-to-buy/${path}`)) as WhereToBuyJson

const fetchPicksData = async (gtins: readonly string[]): Promise<PicksJson> =>
  (await fetchData(`picks/${gtins.join()}`)) as PicksJson

describe('500 offers with links of 3.6 kB', () => {
  const surfaces = ['fragments', 'embeds', 'data', 'mail']
  const widgets = [
    ...['list', 'table', 'card', 'button', 'inline'].flatMap((layout) => [
      `where-to-buy/${HEAVY[0]}?layout=${layout}`,
      `where-to-buy/${HEAVY.slice(0, 8).join('~')}?layout=${layout}&limit=50`,
    ]),
    ...['rank', 'table', 'row'].map((layout) => `picks/${HEAVY.join()}?layout=${layout}`),
    `where-to-buy/${toGtin(900)}?else=${HEAVY[0]}&limit=50`,
  ]
  test.each(surfaces.flatMap((surface) => widgets.map((path) => [surface, path] as const)))(
    '/%s/…/%s - at most 300 kB',
    async (surface, path) => {
      const text = await fetchText(`/${surface}/${CHANNEL_ID}/${path}`)
      expect(Buffer.byteLength(text)).toBeLessThan(MAX_RESPONSE_BYTES)
    },
  )

  test('box - the cheapest offers, in order, then how many are left out', async () => {
    const { offers, moreOffers, omittedOffers, moreOffersLabel } = await fetchBoxData(`${HEAVY[0]}?limit=3`)
    const amounts = [...offers, ...moreOffers].map(({ price }) => Number(price?.amount))
    expect(amounts).toEqual(Array.from(amounts, (_, index) => 11 + index))
    expect([offers.length, offers[0]?.lowestLabel]).toEqual([3, 'Lowest listed price'])
    const count = omittedOffers?.count ?? 0
    expect(omittedOffers).toEqual({ count, text: `${count} further shops are not listed` })
    expect(moreOffersLabel).toBe(`${moreOffers.length + count} more shops`)
  })

  test('round-up - the other product is as in a round-up of its own', async () => {
    const alone = await fetchPicksData([ORDINARY, POPULAR])
    const together = await fetchPicksData([...HEAVY.slice(0, 18), ORDINARY, POPULAR])
    expect(together.products.at(-2)).toEqual(alone.products[0])
    expect(alone.products[0]).toMatchObject({ offersLabel: '18 shops', omittedOffers: null })
    expect(together.products).toHaveLength(20)
    for (const { offers, offersLabel, omittedOffers } of together.products.slice(0, 18)) {
      expect(offers[0]?.price?.amount).toBe('11.00')
      const listed = offers.length === 1 ? 1 : offers.length
      expect(offersLabel).toBe(`${listed + (omittedOffers?.count ?? 0)} shops`)
    }
  })
})

describe('500 offers with short links', () => {
  test('box - 50 are folded, 445 left out', async () => {
    const { offers, moreOffers, moreOffersLabel, omittedOffers } = await fetchBoxData(POPULAR)
    expect([offers.length, moreOffers.length, moreOffersLabel]).toEqual([5, 50, '495 more shops'])
    expect(omittedOffers).toEqual({ count: 445, text: '445 further shops are not listed' })
  })

  test.each([
    ['list', 'en', '445 further shops are not listed'],
    ['table', 'de', '445 weitere Shops sind nicht aufgeführt'],
    ['card', 'pl', 'Poza listą: jeszcze 445 sklepów'],
    ['button', 'ar', '445 متجرًا آخر خارج القائمة'],
  ])('box, layout %s, %s - the fold ends with the number', async (layout, locale, text) => {
    const path = `where-to-buy/${POPULAR}?layout=${layout}&locale=${locale}`
    const html = await fetchText(`/fragments/${CHANNEL_ID}/${path}`)
    const [, fold = ''] = /<details class="vitrine-more">([^]*?)<\/details>/.exec(html) ?? []
    expect(fold.trim().endsWith(`<p class="vitrine-small">${text}</p>`)).toBe(true)
  })

  test('sentence and newsletter - list no further shops, so they name no number', async () => {
    for (const path of [
      `fragments/${CHANNEL_ID}/where-to-buy/${POPULAR}?layout=inline`,
      `mail/${CHANNEL_ID}/where-to-buy/${POPULAR}`,
    ]) {
      const html = await fetchText(`/${path}`)
      expect(html).not.toContain('further shops')
    }
    expect((await fetchBoxData(`${POPULAR}?layout=inline`)).sentence).toMatch(/^from €11.00 at Shop 499 /)
  })

  test('round-up and variants - 20 are listed, 480 left out', async () => {
    const [popular] = (await fetchPicksData([POPULAR, ORDINARY])).products
    expect([popular?.offers.length, popular?.offersLabel]).toEqual([20, '500 shops'])
    expect(popular?.omittedOffers).toEqual({ count: 480, text: '480 further shops are not listed' })
    const { variants } = await fetchBoxData(`${ORDINARY}~${POPULAR}`)
    expect(variants).toMatchObject([{ offersLabel: '500 shops', omittedOffers: { count: 480 } }])
    const html = await fetchText(`/fragments/${CHANNEL_ID}/picks/${POPULAR},${ORDINARY}`)
    expect(html.match(/480 further shops are not listed/g)).toHaveLength(1)
  })

  test('filter by a shop that is not listed - shows it', async () => {
    const dearest = makeHeavyProduct(POPULAR, 500).offers[0]?.merchant.name ?? ''
    const { offers, omittedOffers } = await fetchBoxData(`${POPULAR}?merchant=${encodeURIComponent(dearest)}`)
    expect([offers.length, omittedOffers]).toEqual([1, null])
  })
})

test('offers that differ only in what is not listed - the ETag is the same', async () => {
  const harness = getHarness()
  const path = `/fragments/${CHANNEL_ID}/where-to-buy/${POPULAR}?heading=`
  const { headers } = await fetchPath(harness, `${path}a`)
  expect(headers['etag']).toBeDefined()
  const popular = makeHeavyProduct(POPULAR, 500, 'https://links.example/c?to=')
  const [dearest = makeWireOffer(), ...others] = popular.offers
  const products = harness.catalog.products.get(CHANNEL_ID) ?? []
  const changed = { ...popular, offers: [{ ...dearest, price: '999.00' }, ...others] }
  harness.catalog.products.set(CHANNEL_ID, [...products.filter(({ gtin }) => gtin !== POPULAR), changed])
  await harness.context.walks.runNow()
  expect((await fetchPath(harness, `${path}a`)).headers['etag']).toBe(headers['etag'])
})
