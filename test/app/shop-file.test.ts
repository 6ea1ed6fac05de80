import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { setUpOnce } from '../helpers/cleanup.ts'
import { CHANNEL_ID, makeWireOffer } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import {
  BOX,
  BOX_EMBED,
  GRID,
  GTIN,
  fetchPath,
  findByClass,
  getAttribute,
  getText,
  listElements,
  makeProductOnSale,
  readVisibleText,
  startHarness,
  stockCatalog,
} from './app-client.ts'

const PICKS = `/fragments/${CHANNEL_ID}/picks/${GTIN},${toGtin(9)}`
const LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><script>alert(1)</script></svg>'
const SHOPS = {
  'Kopje DE': { name: 'Kopje & Co', aliases: ['kopje.example'], logo: 'kopje.svg', terms: 'Free delivery' },
}

const offer = (merchant: string, price: string): ReturnType<typeof makeWireOffer> =>
  makeWireOffer({
    merchant: { name: merchant },
    price,
    old_price: '99.80',
    affiliate_url: `https://links.example/${encodeURIComponent(merchant)}`,
  })

const getHarness = setUpOnce(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-shops-'))
  writeFileSync(join(folder, 'kopje.svg'), LOGO)
  const path = join(folder, 'shops.json')
  writeFileSync(path, JSON.stringify(SHOPS))
  const harness = await startHarness({
    settings: { VITRINE_SHOPS_FILE: path, VITRINE_ADMIN_PASSWORD: 'pass' },
  })
  const offers = [offer('Kopje DE', '12'), offer('kopje.example', '11'), offer('Brava', '10')]
  await stockCatalog(harness, [makeProductOnSale({ offers })])
  return harness
})

describe('shop file', () => {
  test.each([BOX, BOX_EMBED])('%s - one row per shop with name, logo and terms', async (path) => {
    const { text } = await fetchPath(getHarness(), path)
    expect(readVisibleText(text)).toMatch(/Brava.*€10\.00.*Kopje & Co.*Free delivery.*€11\.00/s)
    expect(text.split('rel="sponsored').length - 1).toBe(2)
    expect(text).toMatch(
      /<img src="http[^"]+\/logos\/[\da-f]{12}-[\da-f]{12}\.svg" alt="" width="32" height="32"/,
    )
  })

  test('options - accept every name of the shop', async () => {
    for (const name of ['kopje.EXAMPLE', 'Kopje%20DE', 'Kopje%20%26%20Co']) {
      const box = readVisibleText((await fetchPath(getHarness(), `${BOX}?exclude=${name}`)).text)
      expect(box).toContain('Brava')
      expect(box).not.toContain('Kopje')
      const grid = readVisibleText((await fetchPath(getHarness(), `${GRID}?merchant=${name}`)).text)
      expect(grid).toContain('at Kopje & Co')
    }
  })

  test.each([
    [BOX, 'The option exclude=brava, kopje & co hides all 3 offers of this product.'],
    [PICKS, /^[0-9]+: The option exclude=brava, kopje & co hides all 3 offers of this product\./],
    [GRID, 'matches the option exclude=brava, kopje & co.'],
  ])('%s hidden by shops - the reason names them as in the address', async (path, reason) => {
    const { headers } = await fetchPath(getHarness(), `${path}?exclude=Kopje%20%26%20Co&exclude=Brava`)
    expect(headers['vitrine-state']).toBe('hidden')
    expect(headers['vitrine-reason']).toMatch(reason)
  })

  test('logo - immutable, for every site, and inert when opened as a page', async () => {
    const [, path = ''] =
      /src="https?:\/\/[^/]+(\/logos\/[^"]+)"/.exec((await fetchPath(getHarness(), BOX)).text) ?? []
    const seen = await fetchPath(getHarness(), path)
    expect(seen.body.toString()).toBe(LOGO)
    expect(seen.headers).toMatchObject({
      'content-type': 'image/svg+xml',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
    })
    for (const other of ['/logos/0123456789abcdef.svg', '/logos/..%2fshops.json'])
      expect((await fetchPath(getHarness(), other)).status).toBe(404)
  })
})

async function fetchStudio(query: string): Promise<string> {
  const admin = { Authorization: `Basic ${btoa('admin:pass')}` }
  return (await fetchPath(getHarness(), `/studio?${query}`, admin)).text
}

const listTexts = (html: string, name: string): string[] => findByClass(html, name).map(getText)

describe('studio', () => {
  test('everything that an embed loads from this server - is for every site', async () => {
    const { text } = await fetchPath(getHarness(), `${BOX_EMBED}?accent=aa0000`)
    const urls = listElements(text).flatMap((element) =>
      element.tagName === 'script' || element.tagName === 'img'
        ? [getAttribute(element, 'src')]
        : getAttribute(element, 'rel') === 'stylesheet'
          ? [getAttribute(element, 'href')]
          : [],
    )
    const paths = urls.filter((url) => url.startsWith('https://widgets.example/'))
    const names = paths.map((url) => new URL(url).pathname.split('/')[1])
    expect(new Set(names)).toEqual(new Set(['assets', 'accents', 'logos']))
    for (const path of paths) {
      const { headers } = await fetchPath(getHarness(), new URL(path).pathname)
      expect(headers['cross-origin-resource-policy'], path).toBe('cross-origin')
    }
  })

  test('deals - chips and lists have the shown name of a shop once, with the count of its grid', async () => {
    const html = await fetchStudio('tab=deals&merchant=kopje.example')
    expect(listTexts(html, 'chips').at(-1)).toBe('Brava 1 Kopje & Co 1')
    for (const texts of listTexts(html, 'check-list')) expect(texts).toBe('Brava 1 Kopje & Co 1')
    expect(html).toMatch(/aria-current="true"><bdi>Kopje &amp; Co/)
  })

  test('where to buy - lists the shown name once, and explains the alias', async () => {
    const html = await fetchStudio('')
    for (const texts of listTexts(html, 'check-list')) expect(texts).toBe('Brava Kopje & Co')
    expect(listTexts(html, 'outcomes').join(' ')).toContain(
      'Kopje DE and kopje.example are one shop, and kopje.example has a better offer',
    )
  })

  test('where to buy, hidden by shops - the reason names them as in the address', async () => {
    const html = await fetchStudio('exclude=Kopje%20%26%20Co&exclude=Brava')
    expect(readVisibleText(html)).toContain('The option exclude=brava, kopje & co hides all 3 offers')
    expect(listTexts(html, 'outcomes').join(' ')).toContain('left out by exclude=brava, kopje & co')
  })
})

describe('header options', () => {
  test('head=compact - no picture; head=none - only offers, disclosure and notices', async () => {
    const compact = (await fetchPath(getHarness(), `${BOX}?head=compact`)).text
    expect(compact).not.toContain('vitrine-picture')
    expect(compact).toContain('class="vitrine-title"')
    const none = (await fetchPath(getHarness(), `${BOX}?head=none`)).text
    expect(none).not.toMatch(/vitrine-(?:title|heading|picture)/)
    expect(readVisibleText(none)).toMatch(/We may earn.*Brava.*Shipping not included.*Prices checked/s)
    const grid = (await fetchPath(getHarness(), `${GRID}?head=none`)).text
    expect(grid).not.toContain('vitrine-title')
    expect(readVisibleText(grid)).toMatch(/We may earn.*Brava/s)
  })

  test('heading - is plain text in both widgets and in the title of the frame', async () => {
    const heading = 'Our <b>pick</b>'
    const query = new URLSearchParams({ heading }).toString()
    for (const path of [BOX, GRID, BOX_EMBED]) {
      const { text } = await fetchPath(getHarness(), `${path}?${query}`)
      expect(readVisibleText(text)).toContain(heading)
      expect(text).not.toContain('<b>')
    }
    const refused = await fetchPath(getHarness(), `${BOX}?heading=${'x'.repeat(81)}`)
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('text up to 80 characters')
  })

  test('layout=inline - a sentence with one link, without block elements', async () => {
    const { text } = await fetchPath(getHarness(), `${BOX}?layout=inline`)
    expect(readVisibleText(text).trim()).toBe('Ad from €10.00 at Brava')
    // No space at either end: the page may put it in parentheses.
    expect(text).toMatch(/^<span class="vitrine-inline"[^>]*><link [^>]*><a [^>]+><small /)
    expect(text).toMatch(/<\/a><\/span>$/)
    expect(text.split('<a ')).toHaveLength(2)
    const isolated = await fetchPath(getHarness(), `${BOX}?layout=inline&isolate=shadow`)
    expect(isolated.text).toMatch(/<template shadowrootmode="open"><span .*<\/span><\/template><\/span>$/)
    const marked = await fetchPath(getHarness(), `${BOX}?layout=inline&markup=schema`)
    expect(marked.text).toMatch(/<\/a><\/span><script type="application\/ld\+json">[^\n]*<\/script>$/)
    const embed = await fetchPath(getHarness(), `${BOX_EMBED}?layout=inline`)
    expect(readVisibleText(embed.text)).toContain('from €10.00 at Brava')
  })
})
