import { readFile } from 'node:fs/promises'
import { type IncomingMessage, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { listenHttp } from '../../../src/http/server.ts'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { BOX, BOX_EMBED, GTIN, fetchPath, makeProductOnSale, stockCatalog } from '../../app/app-client.ts'
import { readAtom } from '../../helpers/atom.ts'
import { addCleanup, setUpOnce } from '../../helpers/cleanup.ts'
import { CHANNEL_ID, makeWireOffer } from '../../helpers/fake-catalog.ts'
import { type Harness, createHarness } from '../../helpers/harness.ts'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import type { EnginePage } from './engine.ts'
import { defineSuite, run, waitUntil } from './use-engine.ts'

/** What an affiliate network learns of a click: the path of the link, and the referrer. */
type Visit = Readonly<{ path: string | undefined; referrer: string | undefined }>

/** An affiliate network on an origin of its own. */
async function startNetwork(): Promise<Readonly<{ origin: string; visits: Visit[] }>> {
  const visits: Visit[] = []
  const server = createServer(({ url, headers }: IncomingMessage, response) => {
    if (url !== '/favicon.ico') visits.push({ path: url, referrer: headers.referer })
    response.setHeader('content-type', 'text/html').end('<title>Shop</title>')
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  addCleanup(() => {
    server.close()
    server.closeAllConnections()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, visits }
}

type Fixture = Readonly<{
  publisher: PageServer
  network: Awaited<ReturnType<typeof startNetwork>>
  harness: Harness
  /** Origin of the widget server. */
  widgets: string
}>

async function startFixture(links: 'direct' | 'counted'): Promise<Fixture> {
  const network = await startNetwork()
  const publisher = await startPageServer()
  addCleanup(() => publisher.close())
  const server = await listenHttp('127.0.0.1', 0, systemClock)
  addCleanup(() => server.stop())
  const widgets = `http://127.0.0.1:${server.port}`
  const offer = makeWireOffer({ old_price: '99.80', affiliate_url: `${network.origin}/click` })
  const harness = await createHarness({
    settings: {
      VITRINE_PUBLIC_URL: widgets,
      VITRINE_FRAME_ANCESTORS: '*',
      VITRINE_LINKS: links,
      VITRINE_MAIL_NETWORKS: offer.network,
    },
  })
  addCleanup(() => harness.dispose())
  await stockCatalog(harness, [makeProductOnSale({ offers: [offer] })])
  server.setHandler(harness.app)
  const elements = await readFile(join(PACKAGE_FOLDER, 'packages/embed/dist/index.js'))
  publisher.responses.set('/elements.js', { type: 'text/javascript', body: elements })
  return { publisher, network, harness, widgets }
}

const NO_REFERRER = '<meta name="referrer" content="no-referrer">'

/** What WordPress's `wp-embed.js` does with the message of a sandboxed frame: it opens an address on the host of the frame. */
const FOLLOW_LINKS = `<script>
addEventListener('message', ({ source, data }) => {
  const frame = document.querySelector('iframe')
  if (data.message !== 'link' || source !== frame.contentWindow || document.activeElement !== frame) return
  if (new URL(data.value).host === new URL(frame.src).host) top.location.href = data.value
})
</script>`

const readText = async ({ harness }: Fixture, path: string): Promise<string> =>
  (await fetchPath(harness, path)).text

const toFrame = ({ widgets }: Fixture, attributes = '', hash = ''): string =>
  `<iframe src="${widgets}${BOX_EMBED}${hash}" title="Prices" width="600" height="500" ${attributes}></iframe>`

const toPlaceholder = ({ widgets }: Fixture): string =>
  `<div data-vitrine="where-to-buy" data-channel="${CHANNEL_ID}" data-gtin="${GTIN}"></div><script async src="${widgets}/embed.js"></script>`

const toElement = ({ widgets }: Fixture): string =>
  `<where-to-buy server="${widgets}" channel="${CHANNEL_ID}" gtin="${GTIN}"></where-to-buy><script type="module" src="/elements.js"></script>`

const clickInPage = (page: EnginePage): Promise<void> => page.click('a[rel^="sponsored"]')

const clickInFrame = async (page: EnginePage): Promise<void> => {
  await waitUntil(page, 'document.querySelector("iframe")?.offsetHeight > 50')
  await waitUntil(page, 'document.readyState === "complete"', 'iframe')
  await page.click('a[rel^="sponsored"]', 'iframe')
}

/** WebDriver finds nothing in a shadow root, so the reader uses the keyboard. `keys`: from the focused element to the click. */
async function pressInShadow(page: EnginePage, focused: string, keys: readonly ('Tab' | 'Enter')[]) {
  await waitUntil(page, `(${focused})?.offsetHeight > 0`)
  await run(page, `(${focused}).focus()`)
  for (const key of keys) await page.press(key)
}

const pressInShadowRoot = (page: EnginePage): Promise<void> =>
  pressInShadow(page, `document.querySelector('.vitrine-host').shadowRoot.querySelector('a')`, ['Enter'])

const pressInElement = (page: EnginePage): Promise<void> =>
  pressInShadow(page, `document.querySelector('where-to-buy').shadowRoot?.querySelector('iframe')`, [
    'Tab',
    'Enter',
  ])

type Case = Readonly<{
  name: string
  /** Whose origin the network learns. */
  expected: 'publisher' | 'widgets'
  toBody(fixture: Fixture): string | Promise<string>
  click(page: EnginePage): Promise<void>
}>

const CASES: readonly Case[] = [
  {
    name: 'fragment',
    expected: 'publisher',
    toBody: (fixture) => readText(fixture, BOX),
    click: clickInPage,
  },
  {
    name: 'fragment in a page without referrer',
    expected: 'publisher',
    toBody: async (fixture) => NO_REFERRER + (await readText(fixture, BOX)),
    click: clickInPage,
  },
  {
    name: 'fragment in declarative shadow DOM, in a page without referrer',
    expected: 'publisher',
    toBody: async (fixture) => NO_REFERRER + (await readText(fixture, `${BOX}?isolate=shadow`)),
    click: pressInShadowRoot,
  },
  { name: 'iframe', expected: 'widgets', toBody: (fixture) => toFrame(fixture), click: clickInFrame },
  {
    name: 'iframe without referrer, in a page without referrer',
    expected: 'widgets',
    toBody: (fixture) => NO_REFERRER + toFrame(fixture, 'referrerpolicy="no-referrer"'),
    click: clickInFrame,
  },
  { name: 'loader', expected: 'widgets', toBody: toPlaceholder, click: clickInFrame },
  {
    name: 'loader in a page without referrer',
    expected: 'widgets',
    toBody: (fixture) => NO_REFERRER + toPlaceholder(fixture),
    click: clickInFrame,
  },
  {
    name: 'element of @vitrine/embed, in a page without referrer',
    expected: 'widgets',
    toBody: (fixture) => NO_REFERRER + toElement(fixture),
    click: pressInElement,
  },
  {
    name: 'oEmbed in WordPress',
    expected: 'publisher',
    toBody: (fixture) => FOLLOW_LINKS + toFrame(fixture, 'sandbox="allow-scripts"', '#?secret=aB3dE6gH9j'),
    click: clickInFrame,
  },
  {
    name: 'newsletter, shown as a page',
    expected: 'publisher',
    toBody: async (fixture) => NO_REFERRER + (await readText(fixture, BOX.replace('fragments', 'mail'))),
    click: clickInPage,
  },
  {
    name: 'entry of the Atom feed, shown as a page',
    expected: 'publisher',
    async toBody(fixture) {
      const { entries } = readAtom(await readText(fixture, `/feeds/${CHANNEL_ID}/deals.atom`))
      return NO_REFERRER + String(entries[0]?.['content'])
    },
    click: clickInPage,
  },
]

export const referrersSuite = defineSuite('referrers of clicks', (engine) => {
  describe.each(['direct', 'counted'] as const)('VITRINE_LINKS=%s', (links) => {
    const getFixture = setUpOnce(() => startFixture(links))

    test.each(CASES)(
      '$name - the network learns the origin: $expected',
      async ({ expected, toBody, click }) => {
        const fixture = getFixture()
        const { publisher, network, widgets } = fixture
        network.visits.length = 0
        const body = `<!doctype html><title>Article</title>${await toBody(fixture)}`
        publisher.responses.set('/2026/article', toHtmlResponse(body))
        const page = await engine.open()
        await page.goto(`${publisher.origin}/2026/article`)
        await click(page)
        await vi.waitFor(() => expect(network.visits).not.toEqual([]))
        const origin = expected === 'publisher' ? publisher.origin : widgets
        expect(network.visits).toEqual([{ path: '/click', referrer: `${origin}/` }])
      },
    )
  })
})
