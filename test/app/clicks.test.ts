import { describe, expect, test } from 'vitest'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { readAtom } from '../helpers/atom.ts'
import {
  BOX,
  BOX_DATA,
  BOX_EMBED,
  GTIN,
  fetchPath,
  getAttribute,
  listElements,
  makeProductOnSale,
  useWalkedCopy,
} from './app-client.ts'

/** What a link tells a network: the origin of its page, never the article. */
const POLICY = 'strict-origin-when-cross-origin'

const PRODUCT = makeProductOnSale({ images: [{ url: 'https://pictures.example/1.jpg' }] })
const getHarness = useWalkedCopy([PRODUCT], {
  settings: { VITRINE_JSON: 'on', VITRINE_MAIL_NETWORKS: PRODUCT.offers[0]?.network ?? '' },
})

const WIDGETS = [
  ...['list', 'table', 'card', 'button', 'inline'].map((layout) => `where-to-buy/${GTIN}?layout=${layout}`),
  ...['rank', 'table', 'row'].map((layout) => `picks/${GTIN},09521234500005?layout=${layout}`),
  ...['grid', 'list', 'carousel'].map((layout) => `deals?layout=${layout}`),
]
const FEED = `/feeds/${CHANNEL_ID}/deals.atom`
const HTML_PATHS = [
  ...['/fragments', '/embeds', '/mail'].flatMap((surface) =>
    WIDGETS.map((widget) => `${surface}/${CHANNEL_ID}/${widget}`),
  ),
  `${BOX}?isolate=shadow`,
]

function expectGoodLinks(html: string): void {
  const elements = listElements(html)
  const links = elements.filter((element) => getAttribute(element, 'rel').includes('sponsored'))
  expect(links.length).toBeGreaterThan(0)
  expect(new Set(links.map((link) => getAttribute(link, 'referrerpolicy')))).toEqual(new Set([POLICY]))
  for (const element of elements) expect(getAttribute(element, 'rel')).not.toContain('noreferrer')
  // The policy of a page must not decide for its links: it may be stricter.
  expect(elements.filter((element) => getAttribute(element, 'name') === 'referrer')).toEqual([])
}

describe('referrer of clicks', () => {
  test.each(HTML_PATHS)('%s - links tell the network the origin', async (path) => {
    const { text, status } = await fetchPath(getHarness(), path)
    expect(status).toBe(200)
    expectGoodLinks(text)
  })

  test('entries of the Atom feed - links tell the network the origin, and pictures nothing', async () => {
    const [entry] = readAtom((await fetchPath(getHarness(), FEED)).text).entries
    const content = String(entry?.['content'])
    expectGoodLinks(content)
    const pictures = listElements(content).filter(({ tagName }) => tagName === 'img')
    expect(pictures.map((image) => getAttribute(image, 'referrerpolicy'))).toEqual(['no-referrer'])
  })

  test('responses of widgets and their files, errors too - have no stricter policy', async () => {
    const embedUrl = encodeURIComponent(`https://widgets.example${BOX_EMBED}`)
    const paths = [
      ...HTML_PATHS,
      FEED,
      BOX_DATA,
      `${BOX}?merchant=nobody`,
      `${BOX_EMBED}?merchant=nobody`,
      `${BOX}?limit=many`,
      `${BOX_EMBED}?limit=many`,
      `${BOX_DATA}?limit=many`,
      `/fragments/${CHANNEL_ID}/where-to-buy/lamp`,
      `/embeds/${CHANNEL_ID}/where-to-buy/lamp`,
      `/oembed?url=${embedUrl}`,
      '/oembed',
      '/embed.js',
      '/accents/ff6600.css',
      '/openapi.json',
      ...(['vitrine.css', 'frame.js'] as const).map((name) => getHarness().context.assets.get(name).path),
    ]
    for (const path of paths) {
      const { headers } = await fetchPath(getHarness(), path)
      expect([path, headers['referrer-policy']]).toEqual([path, POLICY])
    }
  })
})
