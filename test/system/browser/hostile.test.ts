import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import request from 'supertest'
import { expect, onTestFinished, test, vi } from 'vitest'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { createHarness } from '../../helpers/harness.ts'
import { startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { toGtin } from '../../helpers/products.ts'
import { useBrowser } from '../use-browser.ts'

/** Texts that would run if they became markup: in text, attributes, comments, scripts and templates. */
const HOSTILE = [
  '<script>alert(1)</script>',
  '"><script>alert(1)</script>',
  "'><img src=x onerror=alert(1)>",
  '" onmouseover="alert(1)" autofocus onfocus="alert(1)',
  "' onerror='alert(1)' src='x",
  '</script><script>alert(1)</script>',
  '</template></section></a><svg onload=alert(1)>',
  '--><iframe src="javascript:alert(1)"></iframe><!--',
  '</title></style></textarea><details open ontoggle=alert(1)>',
  '<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '{{constructor.constructor("alert(1)")()}} ${alert(1)} <%= alert(1) %> <?php alert(1) ?>',
  '&lt;img src=x onerror=alert(1)&gt; &#60;script&#62;alert(1)&#60;/script&#62;',
  '\u202e<img src=x onerror=alert(1)>\u202c\u0000<script>alert(1)</script>',
]

const products = HOSTILE.map((text, index) =>
  makeWireProduct({
    gtin: toGtin(index),
    title: text,
    brand: text,
    images: [{ url: text }, { url: `https://pictures.example/${text}` }],
    offers: [
      makeWireOffer({ merchant: { name: text }, network: text, availability: text, old_price: '99.00' }),
      makeWireOffer({
        merchant: { name: 'Links' },
        affiliate_url: `https://links.example/?u=${text}`,
        old_price: text,
      }),
      makeWireOffer({ merchant: { name: 'Schemes' }, affiliate_url: `javascript:alert(1)//${text}` }),
      makeWireOffer({ merchant: { name: 'Prices' }, price: text, currency: text }),
    ],
  }),
)

const browser = useBrowser()

/** Start the widget server with a hostile catalog, on a separate port. */
async function startServer(): Promise<string> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const harness = await createHarness({
    settings: {
      VITRINE_PUBLIC_URL: url,
      VITRINE_FRAME_ANCESTORS: '*',
      VITRINE_ADMIN_PASSWORD: 'pass',
      VITRINE_CATALOG_TIMEOUT_MS: '5000',
    },
  })
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await harness.dispose()
  })
  server.on('request', harness.app)
  harness.catalog.channels = [
    { id: CHANNEL_ID, name: HOSTILE[1] ?? '', kind: 'website', url: 'https://magazine.example/' },
  ]
  harness.catalog.products.set(CHANNEL_ID, products)
  await harness.context.walks.runNow()
  return url
}

/** Record violations of the content policy of a page: attempted attacks. */
function watchViolations(page: Page): string[] {
  const violations: string[] = []
  page.on('console', (message) => {
    if (/content security policy|trusted/i.test(message.text())) violations.push(message.text())
  })
  return violations
}

/** Open a page and record its dialogs, which an attack would show. */
async function openWatched(): Promise<Readonly<{ page: Page; attacks: string[] }>> {
  const page = await browser.newPage({ httpCredentials: { username: 'admin', password: 'pass' } })
  const attacks: string[] = []
  page.on('dialog', (dialog) => {
    attacks.push(`${dialog.type()} on ${page.url()}`)
    void dialog.dismiss()
  })
  return { page, attacks }
}

/** Hovers over and focuses every element, to trigger event handlers. */
const PROVOKE = `for (const element of document.querySelectorAll('*')) {
  element.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))
  if (element instanceof HTMLElement) element.focus()
}`

/**
 * Run `PROVOKE` in every frame with a loaded document. A frame that is still loading may lose its script context, and
 * then `evaluate` never settles.
 */
async function provoke(page: Page): Promise<void> {
  for (const frame of page.frames()) if (frame.url() !== '') await frame.evaluate(PROVOKE)
}

/** Insert texts into an open page like a script of a publisher. */
function putByInnerHtml(page: Page, texts: readonly string[]): Promise<unknown> {
  return page.evaluate(`for (const text of ${JSON.stringify(texts)}) {
    const place = document.createElement('div')
    place.innerHTML = text
    document.querySelector('main').append(place)
  }`)
}

const readPage = (page: Page): Promise<string> => page.evaluate<string>('document.body.textContent')

const listFragments = (url: string): string[] => [
  ...products.flatMap(({ gtin }) =>
    ['', '?isolate=shadow', '?markup=schema', '?locale=de&limit=1'].map(
      (query) => `${url}/fragments/${CHANNEL_ID}/where-to-buy/${gtin}${query}`,
    ),
  ),
  ...['?stock=any', '?stock=any&isolate=shadow', '?stock=any&limit=60'].map(
    (query) => `${url}/fragments/${CHANNEL_ID}/deals${query}`,
  ),
]

test('the same texts as markup - run: the tests below would detect it', async () => {
  const publisher = await startPageServer()
  onTestFinished(() => publisher.close())
  publisher.responses.set('/included', toHtmlResponse(HOSTILE.join('\n')))
  publisher.responses.set('/empty', toHtmlResponse('<main></main>'))
  const { page, attacks } = await openWatched()
  await page.goto(`${publisher.origin}/included`)
  await provoke(page)
  const included = attacks.length
  await page.goto(`${publisher.origin}/empty`)
  await putByInnerHtml(page, HOSTILE)
  await provoke(page)
  await vi.waitFor(() => expect(attacks.length).toBeGreaterThan(included + 1))
  expect(included).toBeGreaterThan(1)
})

test('hostile products in a page of a publisher, on the server and by innerHTML - nothing runs, everything is text', async () => {
  const url = await startServer()
  const publisher = await startPageServer()
  onTestFinished(() => publisher.close())
  const bodies: string[] = []
  for (const address of listFragments(url)) {
    const { status, headers, text } = await request(address).get('')
    expect([address, status, headers['vitrine-state']]).toEqual([address, 200, 'shown'])
    bodies.push(text)
  }
  publisher.responses.set('/included', toHtmlResponse(bodies.map((body) => `<div>${body}</div>`).join('\n')))
  publisher.responses.set('/empty', toHtmlResponse('<main></main>'))
  const { page, attacks } = await openWatched()
  await page.goto(`${publisher.origin}/included`)
  await provoke(page)
  await page.goto(`${publisher.origin}/empty`)
  await putByInnerHtml(page, bodies)
  await provoke(page)
  const text = await readPage(page)
  for (const shown of HOSTILE.slice(0, 12)) expect(text).toContain(shown)
  expect(attacks).toEqual([])
})

test('frames and error page with hostile products - nothing runs or is attempted', async () => {
  const url = await startServer()
  const { page, attacks } = await openWatched()
  const violations = watchViolations(page)
  const pages = [
    ...products.map(({ gtin }) => `${url}/embeds/${CHANNEL_ID}/where-to-buy/${gtin}`),
    `${url}/embeds/${CHANNEL_ID}/deals?stock=any&limit=60`,
    ...HOSTILE.map((text) => `${url}/embeds/${CHANNEL_ID}/deals?theme=${encodeURIComponent(text)}`),
  ]
  for (const address of pages) {
    await page.goto(address, { waitUntil: 'domcontentloaded' })
    await provoke(page)
  }
  await page.goto(`${url}/embeds/${CHANNEL_ID}/where-to-buy/${products[0]?.gtin}`)
  expect(await readPage(page)).toContain(HOSTILE[0])
  expect([attacks, violations]).toEqual([[], []])
})

const EMBED: unknown = expect.stringContaining('/embeds/')

const TEXTS = HOSTILE.map((text) => encodeURIComponent(text))

const GTINS = products.map(({ gtin }) => gtin)
const PICKS = `tab=picks&gtins=${GTINS.slice(0, 20).join(',')}`
const BOX = `gtin=${GTINS.slice(0, 3).join('~')}&else=${GTINS.slice(3, 5).join(',')}`

test.each([
  ['its tabs', [`gtin=${products[0]?.gtin}`, 'tab=deals&stock=any', 'tab=health']],
  ['round-ups', TEXTS.slice(0, 7).map((text) => `${PICKS}&find=${text}&label=${text}&heading=${text}`)],
  ['variants and stand-ins', TEXTS.slice(7).map((text) => `${BOX}&also=${text}&sub=${text}`)],
  ['boxes, the first texts', TEXTS.slice(0, 7).map((text) => `find=${text}&theme=${text}`)],
  ['boxes, the other texts', TEXTS.slice(7).map((text) => `find=${text}&theme=${text}`)],
  ['grids, the first texts', TEXTS.slice(0, 7).map((text) => `tab=deals&merchant=${text}&q=${text}`)],
  ['grids, the other texts', TEXTS.slice(7).map((text) => `tab=deals&merchant=${text}&q=${text}`)],
])('studio with hostile products: %s - nothing runs or is attempted', async (_, queries) => {
  const url = await startServer()
  const { page, attacks } = await openWatched()
  const violations = watchViolations(page)
  for (const query of queries) {
    await page.goto(`${url}/studio?${query}`)
    await provoke(page)
  }
  await page.goto(`${url}/studio?gtin=${products[0]?.gtin}`)
  await vi.waitFor(() => expect(page.frames().map((frame) => frame.url())).toContainEqual(EMBED))
  await provoke(page)
  expect(await readPage(page)).toContain(HOSTILE[0])
  expect([attacks, violations]).toEqual([[], []])
})

test('hostile texts typed and selected in the studio - are inserted as text', async () => {
  const url = await startServer()
  const { page, attacks } = await openWatched()
  const violations = watchViolations(page)
  await page.goto(`${url}/studio?tab=deals&stock=any`)
  for (const text of HOSTILE.slice(0, 8)) {
    await page.locator('#option-q').fill(text)
    await page.locator('#option-accent').fill(text)
    const query = new URLSearchParams({ q: text }).toString()
    await vi.waitFor(async () => {
      expect(await page.locator('[aria-labelledby="share"] code').textContent()).toContain(query)
      expect(await page.locator('#wrong-accent').isVisible()).toBe(true)
    })
    await page.evaluate(PROVOKE)
  }
  await page.locator('#option-q').fill('')
  // Without the words that no deal has, there are shops again.
  await vi.waitFor(async () =>
    expect(await page.locator('input[name="merchant"]').count()).toBeGreaterThan(5),
  )
  await page.locator('details.checks summary').first().click()
  for (const shop of await page.locator('input[name="merchant"]').all()) await shop.check()
  await vi.waitFor(() =>
    expect(new URL(page.url()).searchParams.getAll('merchant').length).toBeGreaterThan(5),
  )
  await page.evaluate(PROVOKE)
  expect(await page.locator('#snippet-loader code').textContent()).toContain('data-merchant=')
  expect([attacks, violations]).toEqual([[], []])
})
