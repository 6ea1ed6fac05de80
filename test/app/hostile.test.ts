import { beforeEach, describe, expect, test } from 'vitest'
import type { WireProduct } from '../../src/catalog/contract.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { toGtin } from '../helpers/products.ts'
import {
  type Element,
  getAttribute,
  listElements,
  readVisibleText,
  startHarness,
  stockCatalog,
  fetchPath,
} from './app-client.ts'

const GTIN = toGtin(1)
const SURFACES = [
  `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}`,
  `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}?isolate=shadow`,
  `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}?markup=schema`,
  `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}?markup=schema&isolate=shadow&locale=de&limit=1`,
  `/embeds/${CHANNEL_ID}/where-to-buy/${GTIN}`,
  `/fragments/${CHANNEL_ID}/deals`,
  `/fragments/${CHANNEL_ID}/deals?isolate=shadow`,
  `/embeds/${CHANNEL_ID}/deals?locale=de`,
  `/studio?gtin=${GTIN}`,
  `/studio?gtin=${GTIN}&layout=inline`,
  `/studio/sentence?channel=${CHANNEL_ID}&gtin=${GTIN}`,
  '/studio?tab=deals&stock=any',
  '/studio?tab=health',
  '/studio?tab=coverage',
]

/** Texts that try to break out of an HTML, script or template context. */
const TEXTS = [
  '"><script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '</script><script>alert(1)</script>',
  '</template></section><svg onload=alert(1)>',
  '--><iframe src="javascript:alert(1)">',
  '<!--#include virtual="/etc/passwd" --><esi:include src="/x"/><?php die(); ?>',
  '{{constructor.constructor("alert(1)")()}} ${alert(1)} <%= alert(1) %>',
  '\u202Egnp.exe\u202C \u2066hidden\u2069 \u200Bzero\uFEFF \u0000\u001b[31m\u009b',
  '&lt;script&gt; &#x3c;b&#x3e;',
  '\uD800 lone \uDC00',
]

/** Addresses that must not be used as links or pictures. */
const ADDRESSES = [
  'javascript:alert(1)',
  ' javascript:alert(1)',
  'jAvA\nscript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  'file:///etc/passwd',
  '//evil.example/x',
  '/\\evil.example',
  'https://user:pass@evil.example/',
  'https:evil.example',
  'blob:https://evil.example/x',
]

const ADMIN = { Authorization: `Basic ${btoa('admin:pass')}` }

let harness: Harness

/** The studio uses relative addresses, because it can be opened at an address other than the public one. */
const OWN_RELATIVE =
  /^(?:studio(?:\/(?:gallery|sentence))?(?:\?|$)|(?:\.\.\/)?assets\/|embed\.js$|#(?:stage|content)$)/

const isOwnAddress = (value: string): boolean =>
  /^https:\/\/(?!evil|user)/.test(value) || OWN_RELATIVE.test(value)

/** Find elements and attributes that could run code or lead to another site. Use an independent parser. */
function listDangers(html: string, ownScripts: readonly string[]): string[] {
  const dangers: string[] = []
  for (const element of listElements(html)) {
    if (isDangerous(element, ownScripts)) dangers.push(element.tagName)
    for (const { name, value } of element.attrs) {
      if (/^on|^style$|^srcdoc$/.test(name)) dangers.push(name)
      if (/^(?:href|src|action|formaction)$/.test(name) && !isOwnAddress(value))
        dangers.push(`${name}=${value}`)
    }
  }
  return dangers
}

function isDangerous(element: Element, ownScripts: readonly string[]): boolean {
  const { tagName } = element
  const isJson = getAttribute(element, 'type') === 'application/ld+json'
  if (tagName === 'script') return !isJson && !ownScripts.includes(getAttribute(element, 'src'))
  if (tagName === 'iframe') return !getAttribute(element, 'src').startsWith('studio/sentence?')
  if (tagName === 'svg') return getAttribute(element, 'class') !== 'logo'
  return /^(?:object|embed|base|math|style)$/.test(tagName)
}

/** Return the scripts that the documents load on purpose. */
function listOwnScripts(): string[] {
  const { assets, publicUrl } = harness.context
  return [`${publicUrl}${assets.get('frame.js').path}`, assets.get('studio.js').path.slice(1), 'embed.js']
}

/** Control, direction and invisible characters. */
// oxlint-disable-next-line no-control-regex -- none of these may be in a page
const UNWANTED = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200b\ufeff]/

/** Return the problems of all surfaces with these products. */
async function listProblems(products: readonly WireProduct[]): Promise<string[]> {
  await stockCatalog(harness, products)
  for (const { gtin } of products)
    harness.context.coverage.countWidget({ channelId: CHANNEL_ID, gtin, sub: 'post-1', state: 'shown' })
  await harness.context.coverage.flush()
  const problems: string[] = []
  for (const path of SURFACES) {
    const headers = path.startsWith('/studio') ? ADMIN : {}
    const { status, text } = await fetchPath(harness, path, headers)
    const found = [
      ...(status === 200 ? [] : [`status ${status}`]),
      ...listDangers(text, listOwnScripts()),
      ...(/<\?|<!--#|<esi:|<%/.exec(text) ?? []),
      ...(UNWANTED.test(text) ? ['unwanted characters'] : []),
      ...(/undefined|NaN|\[object/.exec(readVisibleText(text)) ?? []),
    ]
    problems.push(...found.map((problem) => `${path}: ${problem}`))
  }
  return problems
}

beforeEach(async () => {
  harness = await startHarness({ settings: { VITRINE_ADMIN_PASSWORD: 'pass' } })
})

describe('hostile feed', () => {
  test.each(TEXTS)('text %j in every field - stays text on all surfaces', async (text) => {
    const offer = makeWireOffer({
      merchant: { name: text },
      network: text,
      availability: text,
      old_price: '99.00',
    })
    const harmless = makeWireOffer({ old_price: '99.00' })
    harness.catalog.channels = [{ id: CHANNEL_ID, name: text, kind: 'website', url: text }]
    const product = makeWireProduct({
      gtin: GTIN,
      title: `a ${text}`,
      brand: text,
      offers: [offer, harmless],
    })
    expect(await listProblems([product])).toEqual([])
  })

  test.each(ADDRESSES)('address %j as link and picture - is not used', async (address) => {
    const bad = makeWireOffer({ merchant: { name: 'Bad' }, affiliate_url: address, old_price: '99.00' })
    const good = makeWireOffer({ old_price: '99.00' })
    const images = [{ url: address }]
    harness.catalog.channels = [{ id: CHANNEL_ID, name: 'Test', kind: 'website', url: address }]
    expect(await listProblems([makeWireProduct({ gtin: GTIN, images, offers: [bad, good] })])).toEqual([])
    const { text, headers } = await fetchPath(harness, `/embeds/${CHANNEL_ID}/where-to-buy/${GTIN}`)
    expect(readVisibleText(text)).not.toContain('Bad')
    expect(headers['content-security-policy']).not.toMatch(/javascript|data:|blob:|file:/)
  })

  test.each(['https://shop.example/" onclick="alert(1)', "https://shop.example/'><script>alert(1)</script>"])(
    'address %j as link and picture - is encoded',
    async (address) => {
      const offers = [makeWireOffer({ affiliate_url: address, old_price: '99.00' })]
      expect(
        await listProblems([makeWireProduct({ gtin: GTIN, images: [{ url: address }], offers })]),
      ).toEqual([])
      const { text } = await fetchPath(harness, `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}`)
      const links = listElements(text).map((element) => getAttribute(element, 'href'))
      expect(links).toContain(new URL(address).href)
    },
  )

  test('title of the feed - is shown unchanged', async () => {
    const title = '"><script>alert(1)</script>'
    await stockCatalog(harness, [makeWireProduct({ gtin: GTIN, title })])
    const { text } = await fetchPath(harness, `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}?markup=schema`)
    expect(readVisibleText(text)).toContain(title)
    const json = /<script type="application\/ld\+json">(.*?)<\/script>/s.exec(text)?.[1] ?? ''
    expect(JSON.parse(json)).toMatchObject({ name: title })
  })

  test('very long title and merchant - are truncated', async () => {
    const long = 'x'.repeat(100_000)
    const offers = [makeWireOffer({ merchant: { name: long } })]
    await stockCatalog(harness, [makeWireProduct({ gtin: GTIN, title: long, brand: long, offers })])
    const { body } = await fetchPath(harness, `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}`)
    expect(body.length).toBeLessThan(10_000)
  })

  test('hostile query in the studio - stays text', async () => {
    await stockCatalog(harness, [makeWireProduct({ gtin: GTIN })])
    for (const text of TEXTS) {
      const value = encodeURIComponent(text.toWellFormed())
      const names = ['find', 'gtin', 'channel', 'tab', 'theme', 'locale', 'limit', 'merchant', 'accent']
      const queries = [
        ...names.map((name) => `${name}=${value}`),
        ...['locale', 'merchant', 'heading'].map((name) => `layout=inline&${name}=${value}`),
        ...['q', 'brand', 'max_price', 'exclude', 'gtin'].map((name) => `tab=deals&${name}=${value}`),
      ]
      for (const query of queries) {
        const seen = await fetchPath(harness, `/studio?${query}`, ADMIN)
        expect([query, seen.status]).toEqual([query, 200])
        expect([query, ...listDangers(seen.text, listOwnScripts())]).toEqual([query])
      }
      const sentence = `/studio/sentence?channel=${CHANNEL_ID}&gtin=${GTIN}`
      for (const name of ['locale', 'merchant', 'background', 'isolate']) {
        const seen = await fetchPath(harness, `${sentence}&${name}=${value}`, ADMIN)
        expect([name, seen.status, ...listDangers(seen.text, [])]).toEqual([name, 200])
      }
    }
  })
})
