import { describe, expect, test } from 'vitest'
import type { WireProduct } from '../../src/catalog/contract.ts'
import { HOUR_MS } from '../../src/clock.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import type { Harness, HarnessOptions } from '../helpers/harness.ts'
import { findHtmlErrors } from '../helpers/html-errors.ts'
import { toGtin } from '../helpers/products.ts'
import {
  type Element,
  type TestResponse,
  findByClass,
  getAttribute,
  getText,
  listElements,
  readVisibleText,
  startHarness,
  stockCatalog,
  fetchPath,
} from './app-client.ts'
import { findAll, readStudio, readStudioLink, readWidgetLink } from './studio-page.ts'

const OTHER_ID = '00000000-0000-4000-8000-000000000002'
const ADMIN = { Authorization: `Basic ${btoa('admin:pass')}` }

/** Create a product that is on sale, at two shops if `index` is even. */
function makeDeal(index: number, brand: string, oldPrice: string): WireProduct {
  const shops = index % 2 === 0 ? ['Kopje', 'Quillhaven'] : ['Kopje']
  return makeWireProduct({
    gtin: toGtin(index),
    title: `${brand} thing ${index}`,
    brand,
    offers: shops.map((name) => makeWireOffer({ merchant: { name }, old_price: oldPrice })),
  })
}

const PRODUCTS = [
  makeDeal(1, 'Lumen', '99.80'),
  makeDeal(2, 'Lumen', '62.38'),
  makeDeal(3, 'Nordhem', '55.00'),
  makeDeal(4, 'Nordhem', '199.60'),
  makeWireProduct({ gtin: toGtin(5), title: 'Copper kettle', brand: 'Ember', offers: [makeWireOffer()] }),
]

/** Start the app with two channels. The second has one product, a lantern. */
async function startStudio(options: HarnessOptions = {}): Promise<Harness> {
  const harness = await startHarness({
    ...options,
    settings: { VITRINE_ADMIN_PASSWORD: 'pass', ...options.settings },
  })
  harness.catalog.channels.push({ id: OTHER_ID, name: 'Other magazine', kind: 'website', url: null })
  harness.catalog.products.set(OTHER_ID, [makeWireProduct({ gtin: toGtin(9), title: 'Paper lantern' })])
  await stockCatalog(harness, PRODUCTS)
  return harness
}

const fetchExplanation = async (harness: Harness, query: string): Promise<string> => {
  const { text } = await fetchAsAdmin(harness, `/studio?${query}`)
  expect(await findHtmlErrors(text)).toEqual([])
  return findByClass(text, 'why').map(getText).join(' ')
}

const fetchAsAdmin = (harness: Harness, path: string): Promise<TestResponse> =>
  fetchPath(harness, path, ADMIN)
const findByAttribute = (html: string, name: string, value: string): Element | undefined =>
  listElements(html).find((element) => getAttribute(element, name) === value)
const listTitles = (html: string): string[] => findByClass(html, 'match-title').map(getText)
const readNotice = (html: string): string => readStudio(html, '.notice')

/** Resolve an address like a browser on the studio page. */
const toPath = (address: string): string => {
  const { pathname, search } = new URL(address, 'https://widgets.example/studio')
  return pathname + search
}
const getHref = (html: string, name: 'embed' | 'fragment'): string => toPath(readWidgetLink(html, name))

describe('product search', () => {
  test('no search - the first products, and the box of the first', async () => {
    const { text } = await fetchAsAdmin(await startStudio(), '/studio')
    expect(listTitles(text)).toEqual(PRODUCTS.map(({ title }) => title))
    expect(getHref(text, 'embed')).toBe(`/embeds/${CHANNEL_ID}/where-to-buy/${toGtin(1)}`)
  })

  test.each([
    ['nordhem', ['Nordhem thing 3', 'Nordhem thing 4']],
    ['thing lum', ['Lumen thing 1', 'Lumen thing 2']],
    [toGtin(5), ['Copper kettle']],
    [toGtin(5).replace(/^0+/, ''), ['Copper kettle']],
  ])('search for %j - shows the matches and the box of the first', async (find, titles) => {
    const { text } = await fetchAsAdmin(await startStudio(), `/studio?find=${encodeURIComponent(find)}`)
    expect(listTitles(text).toSorted()).toEqual(titles)
    expect(getHref(text, 'embed')).toContain(
      PRODUCTS.find(({ title }) => title === listTitles(text)[0])?.gtin,
    )
    expect(readNotice(text)).toBe('')
  })

  test('chosen product - stays chosen while it matches the search', async () => {
    const harness = await startStudio()
    const chosen = await fetchAsAdmin(harness, `/studio?find=nordhem&gtin=${toGtin(4)}`)
    expect(getHref(chosen.text, 'embed')).toContain(toGtin(4))
    expect(findByClass(chosen.text, 'match').map((link) => getAttribute(link, 'aria-current'))).toEqual([
      '',
      'true',
    ])
    const { text } = await fetchAsAdmin(harness, `/studio?find=kettle&gtin=${toGtin(4)}`)
    expect(getHref(text, 'embed')).toContain(toGtin(5))
  })

  test('no match - a message, and nothing to embed', async () => {
    const { status, text } = await fetchAsAdmin(await startStudio(), '/studio?find=%22submarine%22')
    expect(status).toBe(200)
    expect(readNotice(text)).toBe('No product of this channel matches ""submarine"".')
    expect([...findByClass(text, 'preview'), ...findByClass(text, 'embedding')]).toEqual([])
    expect(findByClass(text, 'options')).toHaveLength(1)
  })

  test('another channel - its products; unknown channel: the first one, with a notice', async () => {
    const harness = await startStudio()
    const other = await fetchAsAdmin(harness, `/studio?channel=${OTHER_ID.toUpperCase()}`)
    expect(listTitles(other.text)).toEqual(['Paper lantern'])
    expect(getHref(other.text, 'embed')).toBe(`/embeds/${OTHER_ID}/where-to-buy/${toGtin(9)}`)
    const unknown = await fetchAsAdmin(harness, '/studio?channel=00000000-0000-4000-8000-00000000dead')
    expect(getHref(unknown.text, 'embed')).toContain(CHANNEL_ID)
    expect(readNotice(unknown.text)).toMatch(/^This server has no channel with the id/)
  })

  test('options without a match - hidden, with the reason of the response', async () => {
    const harness = await startStudio()
    const { text } = await fetchAsAdmin(harness, `/studio?gtin=${toGtin(5)}&merchant=Nobody`)
    const hidden = await fetchAsAdmin(harness, getHref(text, 'fragment'))
    expect(hidden.headers['vitrine-state']).toBe('hidden')
    expect(readNotice(text)).toBe(
      `Nothing is shown now, and the widget takes no space in a page. ${hidden.headers['vitrine-reason']}`,
    )
  })

  test('visit - makes no catalog call', async () => {
    const harness = await startStudio()
    const before = harness.catalog.calls.length
    for (const path of ['/studio', '/studio?find=lumen', '/studio?tab=deals', '/studio?tab=health'])
      expect((await fetchAsAdmin(harness, path)).status).toBe(200)
    expect(harness.catalog.calls.length).toBe(before)
  })
})

/** Return the number of cards in the grid that a studio page links to. */
async function countCards(harness: Harness, html: string): Promise<number> {
  const address = getHref(html, 'fragment')
  const { text } = await fetchAsAdmin(harness, `${address}${address.includes('?') ? '&' : '?'}limit=60`)
  return findByClass(text, 'vitrine-deal').length
}

describe('deals', () => {
  test.each(['', '&brand=Lumen', '&merchant=Quillhaven', '&min_discount=50&brand=Nordhem', '&q=thing+2'])(
    'filters %j - every count equals that of the linked grid',
    async (filters) => {
      const harness = await startStudio()
      const { text } = await fetchAsAdmin(harness, `/studio?tab=deals${filters}`)
      expect(Number(readStudio(text, 'summary .badge'))).toBe(await countCards(harness, text))
      const entries = findAll(text, '.facets a')
      expect(entries.length).toBeGreaterThan(2)
      for (const entry of entries) {
        if (getAttribute(entry, 'aria-current') === 'true') continue
        const [, name, count] = /^(.*) (\d+)$/.exec(getText(entry)) ?? []
        const linked = await fetchAsAdmin(harness, toPath(getAttribute(entry, 'href')))
        expect([name, Number(count)]).toEqual([name, await countCards(harness, linked.text)])
      }
    },
  )

  test('selected filter - its link removes the filter', async () => {
    const harness = await startStudio()
    const { text } = await fetchAsAdmin(harness, '/studio?tab=deals&brand=Lumen&sort=price')
    expect(readStudioLink(text, '.facets a', 'Lumen')).toBe(
      `studio?tab=deals&channel=${CHANNEL_ID}&sort=price`,
    )
  })

  test('channel without deals - hidden, with the reason', async () => {
    const { text } = await fetchAsAdmin(await startStudio(), `/studio?tab=deals&channel=${OTHER_ID}`)
    expect(readNotice(text)).toMatch(/^Nothing is shown now, and the widget takes no space in a page\. \w/)
  })
})

/** Return the cells of a row in the table of copies. */
const readRow = (html: string, name: string): string[] => {
  const rows = listElements(html).filter(({ tagName }) => tagName === 'tr')
  const row = rows.find((one) => getText(one).startsWith(name))
  return (row?.childNodes ?? []).map(getText).filter((cell) => cell !== '')
}

describe('health', () => {
  test('after a walk - the catalog and all copies are healthy', async () => {
    const { text } = await fetchAsAdmin(await startStudio(), '/studio?tab=health')
    expect(readVisibleText(text)).toContain('Catalog responds')
    expect(readVisibleText(text)).not.toContain('Needs attention')
    expect(readRow(text, 'Test magazine').slice(1, 5)).toEqual([
      'less than a minute',
      '5',
      '4',
      'observed on 1 day',
    ])
    expect(readRow(text, 'Other magazine').slice(1, 4)).toEqual(['less than a minute', '1', '0'])
  })

  test('old copy, failing catalog - names the problem', async () => {
    const harness = await startStudio()
    harness.catalog.fault = {
      pathPattern: /./,
      respond: (_request, response) => response.writeHead(401).end(),
    }
    harness.clock.advance(3 * HOUR_MS)
    await fetchPath(harness, `/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(1)}`)
    const { text } = await fetchAsAdmin(harness, '/studio?tab=health')
    expect(readVisibleText(text)).toContain('Needs attention: rejected the key')
    expect(readRow(text, 'Test magazine')[1]).toBe('3 h')
    expect(readRow(text, 'Test magazine')[0]).toContain('needs attention')
  })
})

const TAB_QUERIES = [
  '?find=lumen&theme=dark&limit=99',
  '?find=submarine',
  '?tab=deals&brand=lumen&accent=x',
  '?tab=health',
]

test.each(['', ...TAB_QUERIES])('page %j - is valid HTML without empty texts', async (query) => {
  const { text, status } = await fetchAsAdmin(await startStudio(), `/studio${query}`)
  expect(status).toBe(200)
  expect(await findHtmlErrors(text)).toEqual([])
  expect(readVisibleText(text)).not.toMatch(/undefined|null|NaN|\[object/)
})

test.each([
  ['/studio', 'Skip to the preview', 'stage'],
  ['/studio?tab=deals', 'Skip to the preview', 'stage'],
  ['/studio?tab=health', 'Skip to the content', 'content'],
  ['/studio/gallery', 'Skip to the content', 'content'],
])('%s - begins with a link that skips the head of the page', async (path, skipText, id) => {
  const { text } = await fetchAsAdmin(await startStudio(), path)
  const link = listElements(text).find(({ tagName }) => tagName === 'a')
  expect(link && [getText(link), getAttribute(link, 'href')]).toEqual([skipText, `#${id}`])
  expect(findByAttribute(text, 'id', id)).toBeDefined()
})

test('page at any address - its links are relative, and widget links use the public address', async () => {
  const harness = await startStudio({ settings: { VITRINE_PUBLIC_URL: 'https://example.org/widgets' } })
  for (const query of ['', '?tab=deals', '?tab=health']) {
    const { text } = await fetchAsAdmin(harness, `/studio${query}`)
    const widgetLinks = findAll(text, '.addresses a')
    expect(widgetLinks.length > 0).toBe(query !== '?tab=health')
    for (const link of widgetLinks)
      expect(getAttribute(link, 'href')).toMatch(/^https:\/\/example\.org\/widgets\//)
    const links = listElements(text).flatMap((element) =>
      element.attrs.filter(
        ({ name, value }) =>
          /^(?:href|src|action)$/.test(name) &&
          element.tagName !== 'img' &&
          widgetLinks.every((link) => getAttribute(link, 'href') !== value),
      ),
    )
    expect(links.length).toBeGreaterThan(5)
    for (const { value } of links) expect(value).toMatch(/^(?:#stage$|#content$|studio|assets\/|embed\.js$)/)
  }
})

test('trailing slash - redirects to the page with its query', async () => {
  const { status, headers } = await fetchAsAdmin(await startStudio(), '/studio/?tab=deals')
  expect([status, headers['location']]).toEqual([302, '../studio?tab=deals'])
})

test('unknown GTIN - a message, and no other product is shown', async () => {
  const { text } = await fetchAsAdmin(await startStudio(), '/studio?gtin=123')
  expect(readNotice(text)).toBe('No product of this channel matches "123".')
  expect(findByClass(text, 'preview')).toEqual([])
})

const isVisible = (element: Element): boolean => element.attrs.every(({ name }) => name !== 'hidden')

describe('layout inline', () => {
  const QUERY = `gtin=${toGtin(2)}&layout=inline&theme=dark&heading=Mine&limit=2&stock=in&locale=de`

  test('page - offers only code for a sentence, and hides the fields without effect, with their values', async () => {
    const { text } = await fetchAsAdmin(await startStudio(), `/studio?${QUERY}`)
    const snippets = findByClass(text, 'snippet').filter(isVisible)
    expect(snippets.map((snippet) => getText(snippet).trim().split(' ')[0])).toEqual(
      'Browser WordPress nginx Varnish PHP Code'.split(' '),
    )
    expect(snippets.map((snippet) => snippet.attrs.some(({ name }) => name === 'open'))).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
    ])
    expect(readVisibleText(text)).toContain('Only code that puts the link into the sentence is listed.')
    const blockNotes = listElements(text).filter(
      (element) => element.tagName === 'span' && getText(element).includes('The block editor'),
    )
    expect(blockNotes.map(isVisible)).toEqual([false])
    expect(getHref(text, 'fragment')).toMatch(/\?locale=de&layout=inline$/)
    const hidden = findByClass(text, 'field').filter((field) => !isVisible(field))
    expect(hidden.map((field) => getText(field).split(' ')[0])).toEqual(
      'Header Heading Theme Accent Shops Stock'.split(' '),
    )
    const heading = findByAttribute(text, 'id', 'option-heading')
    expect(heading && getAttribute(heading, 'value')).toBe('Mine')
    expect(text).not.toContain('The preview needs JavaScript')
    expect(await findHtmlErrors(text)).toEqual([])
  })

  test('preview - is the fragment between invented words, for frames of this server only', async () => {
    const harness = await startStudio()
    const page = await fetchAsAdmin(harness, `/studio?${QUERY}`)
    const fragment = await fetchAsAdmin(harness, getHref(page.text, 'fragment'))
    expect(fragment.text).toMatch(/^<span class="vitrine-inline" lang="de"/)
    const frames = listElements(page.text).filter(({ tagName }) => tagName === 'iframe')
    expect(frames).toHaveLength(4)
    for (const frame of frames) {
      const { text, headers } = await fetchAsAdmin(harness, toPath(getAttribute(frame, 'src')))
      expect(text).toContain(`mentions the product, ${fragment.text}, and then`)
      expect(headers['content-security-policy']).toContain("frame-ancestors 'self'")
      expect(headers['x-frame-options']).toBe('SAMEORIGIN')
      expect(await findHtmlErrors(text)).toEqual([])
    }
  })
})

describe('explanation of a box', () => {
  test('shown, filtered and mistyped product - is explained below the preview', async () => {
    const harness = await startStudio()
    expect(await fetchExplanation(harness, `gtin=${toGtin(1)}`)).toContain('A box is shown: 1 offer.')
    const filtered = await fetchExplanation(harness, `gtin=${toGtin(1)}&exclude=Kopje`)
    expect(filtered).toContain(
      'Nothing is shown. The option exclude=kopje hides the only offer of this product.',
    )
    expect(filtered).toContain('left out by exclude=kopje')
    const mistyped = `${toGtin(1).slice(0, -1)}${(Number(toGtin(1).at(-1)) + 1) % 10}`
    expect(await fetchExplanation(harness, `find=${mistyped}`)).toContain(
      `The check digit (last digit) of the GTIN ${mistyped} is wrong`,
    )
    expect(await fetchExplanation(harness, 'tab=deals')).toBe('')
  })

  test('explanation - makes no catalog call and escapes names from a feed', async () => {
    const harness = await startStudio()
    const name = '<b onclick=x>Shop</b>'
    await stockCatalog(harness, [
      makeWireProduct({ gtin: toGtin(1), offers: [makeWireOffer({ merchant: { name } })] }),
    ])
    harness.catalog.calls.length = 0
    const { text } = await fetchAsAdmin(harness, `/studio?gtin=${toGtin(1)}&exclude=x`)
    expect(harness.catalog.calls).toEqual([])
    expect(text).not.toContain('<b onclick')
    expect(readVisibleText(text)).toContain(`${name}, €49.90`)
  })
})
