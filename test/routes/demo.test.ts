import request from 'supertest'
import { describe, expect, test } from 'vitest'
import type { Demo } from '../../src/context.ts'
import { readVisibleText, startHarness, fetchPath } from '../app/app-client.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'

const PICTURE = Buffer.from('RIFF....WEBP')
const PAGE_URL = 'https://kopje.example/p/1?a=1&b=2'
const DEMO_PRODUCT = {
  shop: 'Kopje',
  title: 'Lamp <b>bright</b>',
  price: '1049.5',
  currency: 'EUR',
  pictureUrl: null,
}

const DEMO: Demo = {
  findPicture: (name) => (name === 'lamp.webp' ? PICTURE : undefined),
  findDemoProduct: (pageUrl) => (pageUrl === PAGE_URL ? DEMO_PRODUCT : undefined),
  showcase: { channelId: CHANNEL_ID, gtin: '09521234567899' },
  readCatalogContent: () => Promise.resolve('sample'),
  readFeeds: () => Promise.resolve(undefined),
}

const startDemo = (): Promise<Harness> => startHarness({ over: { demo: DEMO } })
const toShop = (pairs: [string, string][]): string => `/demo/shop?${new URLSearchParams(pairs).toString()}`

/** Names and values of the tracking parameters on the page. */
async function listPrinted(pairs: [string, string][]): Promise<string[]> {
  const { text } = await fetchPath(await startDemo(), toShop(pairs))
  return pairs.map(([name]) => name).filter((name) => text.includes(`${name}<`))
}

describe('pictures', () => {
  test('sample picture - WebP that runs and loads nothing, cached for an hour', async () => {
    const seen = await fetchPath(await startDemo(), '/demo/pictures/lamp.webp')
    expect([seen.status, seen.headers['content-type'], seen.headers['content-length']]).toEqual([
      200,
      'image/webp',
      String(PICTURE.byteLength),
    ])
    expect(seen.headers).toMatchObject({
      'cache-control': 'public, max-age=3600',
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
    })
  })

  test.each(['/demo/pictures/other.webp', '/demo/pictures/', '/demo/pictures/lamp.webp/x', '/demo'])(
    '%s - 404, no-store',
    async (path) => {
      const seen = await fetchPath(await startDemo(), path)
      expect([seen.status, seen.headers['cache-control']]).toEqual([404, 'no-store'])
    },
  )

  test('HEAD - the type without a body', async () => {
    const seen = await request((await startDemo()).app).head('/demo/pictures/lamp.webp')
    expect([seen.status, seen.headers['content-type']]).toEqual([200, 'image/webp'])
  })
})

describe('shop', () => {
  test('known address - shop, escaped title, and price in English', async () => {
    const seen = await fetchPath(await startDemo(), toShop([['url', PAGE_URL]]))
    expect(readVisibleText(seen.text)).toContain('Kopje')
    expect(readVisibleText(seen.text)).toContain('Lamp <b>bright</b>')
    expect(readVisibleText(seen.text)).toContain('€1,049.50')
    expect(seen.text).not.toContain('<b>')
  })

  test('page - is not stored, indexed or framed', async () => {
    const { headers } = await fetchPath(await startDemo(), '/demo/shop')
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'x-robots-tag': 'noindex',
      'x-frame-options': 'DENY',
    })
    expect(headers['content-security-policy']).toMatch(/frame-ancestors 'none'/)
  })

  test.each([
    ['no address', []],
    ['another address', [['url', `${PAGE_URL}&c=3`]]],
    [
      'address after an empty one',
      [
        ['url', ''],
        ['url', PAGE_URL],
      ],
    ],
  ] as [string, [string, string][]][])('%s - no product', async (_case, pairs) => {
    expect(readVisibleText((await fetchPath(await startDemo(), toShop(pairs))).text)).toContain(
      'Nothing is listed here',
    )
  })

  test('twenty parameters - are printed; the twenty-first is not', async () => {
    const pairs = Array.from({ length: 21 }, (_, index): [string, string] => [`name${index}x`, 'v'])
    expect(await listPrinted(pairs)).toEqual(pairs.slice(0, 20).map(([name]) => name))
  })

  test('name and value of 300 characters - are printed; longer ones are cut', async () => {
    const { text } = await fetchPath(
      await startDemo(),
      toShop([
        ['n'.repeat(300), 'v'.repeat(300)],
        ['m'.repeat(301), 'w'.repeat(301)],
      ]),
    )
    const runs = [...readVisibleText(text).matchAll(/([nvmw])\1{50,}/g)].map(
      ([run, letter]) => `${letter} ${run.length}`,
    )
    expect(runs.toSorted()).toEqual(['m 300', 'n 300', 'v 300', 'w 300'])
  })

  test('parameters - keep their order, also repeated ones', async () => {
    const { text } = await fetchPath(await startDemo(), '/demo/shop?zz=11&aa=22&zz=33')
    expect(readVisibleText(text)).toMatch(/zz\D*11\D*aa\D*22\D*zz\D*33/)
  })
})

describe('without the embedded catalog', () => {
  test('both addresses - 404', async () => {
    const harness = await startHarness()
    for (const path of ['/demo/pictures/lamp.webp', toShop([['url', PAGE_URL]])])
      expect((await fetchPath(harness, path)).status).toBe(404)
  })
})
