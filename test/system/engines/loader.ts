import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { loadAssets } from '../../../src/http/assets.ts'
import { BUILT_FOLDER } from '../../../src/lib/files.ts'
import { createRenderer } from '../../../src/widgets/render.ts'
import { EMBED_CSP, type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { makeBox, makeDeal, makeWrapper, makeGrid, makeOffer } from '../../helpers/views.ts'
import type { EnginePage, Viewport } from './engine.ts'
import { WATCH_MOVES, listMoves } from './moves.ts'
import { type EngineInUse, defineSuite, run, waitUntil } from './use-engine.ts'

const CHANNEL = '6f0c1f7e-0000-4000-8000-000000000001'
/** A server below a path prefix, like behind a proxy. */
const PREFIX = '/widgets'

let publisher: PageServer
let widgets: PageServer

beforeAll(async () => {
  publisher = await startPageServer()
  widgets = await startPageServer()
  serveWidgets()
})
afterAll(async () => {
  await Promise.all([publisher.close(), widgets.close()])
})

/** Script for a page: collects exceptions, violations of a content policy, and warnings for its author. */
const WATCH_PROBLEMS = `<script>
problems = []
warnings = []
addEventListener('error', ({ message }) => problems.push(message))
addEventListener('unhandledrejection', ({ reason }) => problems.push(String(reason)))
addEventListener('securitypolicyviolation', ({ violatedDirective }) => problems.push(violatedDirective))
console.warn = (...all) => warnings.push(all.join(' '))
</script>`

function serveWidgets(): void {
  const assets = loadAssets(BUILT_FOLDER)
  const renderer = createRenderer()
  const styles = [PREFIX + assets.get('vitrine.css').path]
  const frame = makeWrapper({ styles: [] })
  const toEmbed = (body: string): string =>
    renderer.renderEmbed({
      lang: 'en',
      dir: 'ltr',
      theme: 'light',
      title: 'Where to buy',
      state: body === '' ? 'hidden' : 'shown',
      reason: body === '' ? 'No shop sells it.' : null,
      styles,
      frameScript: PREFIX + assets.get('frame.js').path,
      isFailure: false,
      redirectBaseUrl: null,
      discovery: null,
      body,
    })
  const put = (path: string, body: string): void => {
    widgets.responses.set(`${PREFIX}/embeds/${CHANNEL}${path}`, toHtmlResponse(body, EMBED_CSP))
  }
  const more = Array.from({ length: 10 }, () => makeOffer())
  put(
    '/where-to-buy/1',
    toEmbed(
      renderer.renderWidget(makeBox({ wrapper: frame, picture: null, more, moreLabel: '10 more shops' })),
    ),
  )
  put('/where-to-buy/2', toEmbed(''))
  const next = { href: `${PREFIX}/embeds/${CHANNEL}/deals?page=2`, text: 'Next page' }
  const deals = Array.from({ length: 12 }, (_, index) => makeDeal({ title: `Product ${index}` }))
  const paging = { label: 'Pages of deals', previous: null, next }
  put('/deals', toEmbed(renderer.renderWidget(makeGrid({ wrapper: frame, deals, paging }))))
  widgets.responses.set(`${PREFIX}/embeds/${CHANNEL}/where-to-buy/3`, null)
  for (const name of ['vitrine.css', 'frame.js'] as const) {
    const asset = assets.get(name)
    widgets.responses.set(PREFIX + asset.path, { type: asset.contentType, body: asset.bodies.identity })
  }
  const embed = assets.get('embed.js')
  const script = { type: embed.contentType, body: embed.bodies.identity }
  widgets.responses.set(`${PREFIX}/embed.js`, script)
  // On the host of the page, where a module needs no CORS.
  for (const path of ['/shops/embed.js', '/shops/assets/embed.0123abcd.js', '/bundle.js'])
    publisher.responses.set(path, script)
  widgets.responses.set('/comments/embed.js', { type: embed.contentType, body: 'isForeignLoaded = true' })
}

function toPlaceholder(kind: string, attributes = ''): string {
  return `<div data-vitrine="${kind}" data-channel="${CHANNEL}" ${attributes}></div>`
}

/** Open a page with the loader, and run the tests of an engine in it. */
function usePage(engine: EngineInUse) {
  let page: EnginePage
  afterEach(async () => {
    // No test may cause an exception or a violation of a content policy.
    const problems = await page.evaluate<string[]>('problems')
    if (problems.length > 0) throw new Error(problems.join('\n'))
  })
  return {
    async open(
      body: string,
      viewport: Viewport = { width: 800, height: 900 },
      script = `<script async src="${widgets.origin}${PREFIX}/embed.js?v=1"></script>`,
    ): Promise<EnginePage> {
      publisher.responses.set(
        '/',
        toHtmlResponse(`<!doctype html><title>Article</title><body>${WATCH_PROBLEMS}${body}${script}`),
      )
      page = await engine.open(viewport)
      await page.goto(`${publisher.origin}/`)
      return page
    },
  }
}

const readHeights = (page: EnginePage): Promise<number[]> =>
  page.evaluate<number[]>('[...document.querySelectorAll("iframe")].map((frame) => frame.offsetHeight)')

/** Add a script to a page and wait until it has run. */
const addScript = (page: EnginePage, url: string): Promise<void> =>
  page.evaluate(
    `new Promise((done) => document.body.append(Object.assign(document.createElement('script'), { src: '${url}', onload: () => done() })))`,
  )

/** A script of others with the same name, like that of Disqus. */
const toForeignScript = (attributes = ''): string =>
  `<script src="${widgets.origin}/comments/embed.js" ${attributes}></script>`

const isShown = (index: number): string =>
  `document.querySelectorAll("iframe")[${index}]?.offsetHeight > 50 && ` +
  `getComputedStyle(document.querySelectorAll("iframe")[${index}]).visibility === "visible"`

export const loaderSuite = defineSuite('loader', (engine) => {
  const publisherPage = usePage(engine)

  test('three placeholders, one without offers - two open to their content, one stays closed', async () => {
    const page = await publisherPage.open(
      toPlaceholder('where-to-buy', 'data-gtin="1"') +
        toPlaceholder('where-to-buy', 'data-gtin="2" data-height="300" style="min-height:300px"') +
        toPlaceholder('deals'),
    )
    await waitUntil(page, `${isShown(0)} && ${isShown(2)}`)
    await waitUntil(page, 'document.querySelectorAll("[data-vitrine]")[1].offsetHeight === 0')
    const inside = await page.evaluate<number>(
      'Math.ceil(document.querySelector(".vitrine").getBoundingClientRect().height)',
      'iframe',
    )
    expect((await readHeights(page))[0]).toBe(inside)
    expect(await page.evaluate('document.querySelector("iframe").title')).toBe('Where to buy')
  })

  test('options as data attributes - become the query of the frame, unknown ones do not', async () => {
    const page = await publisherPage.open(
      toPlaceholder(
        'deals',
        'data-min-discount="20" data-max_price="99.5" data-merchant="Kopje|A &amp; B" data-theme="" data-tracking="x" data-title="Angebote"',
      ),
    )
    await waitUntil(page, isShown(0))
    expect(
      await page.evaluate('(({ src, title }) => ({ src, title }))(document.querySelector("iframe"))'),
    ).toEqual({
      src: `${widgets.origin}${PREFIX}/embeds/${CHANNEL}/deals?merchant=Kopje&merchant=A+%26+B&min_discount=20&max_price=99.5`,
      title: 'Angebote',
    })
  })

  test('round-up, variants, stand-ins and placement - are in the address of the frame, without the spaces of a list', async () => {
    const page = await publisherPage.open(
      toPlaceholder('where-to-buy', 'data-gtin="1"') +
        toPlaceholder(
          'picks',
          'data-gtins="1, 2,\n3" data-label="Best overall| |Best value " data-sub="p123" data-layout="table"',
        ) +
        toPlaceholder('picks', 'data-gtins="1,2" data-label=""') +
        toPlaceholder('where-to-buy', 'data-gtin="4 ~ 5" data-else="6, 7" data-sub="p-1"'),
    )
    await waitUntil(page, isShown(0))
    const [, ...sources] = await page.evaluate<string[]>(
      '[...document.querySelectorAll("iframe")].map(({ src }) => src)',
    )
    const base = `${widgets.origin}${PREFIX}/embeds/${CHANNEL}`
    expect(sources).toEqual([
      `${base}/picks/1,2,3?sub=p123&layout=table&label=Best+overall&label=&label=Best+value`,
      `${base}/picks/1,2`,
      `${base}/where-to-buy/4~5?sub=p-1&else=6%2C7`,
    ])
  })

  test('title of a frame - of data-title, else of the document in it', async () => {
    const page = await publisherPage.open(
      ['', 'data-title="Shops"']
        .map((more) => toPlaceholder('where-to-buy', `data-gtin="1" ${more}`))
        .join(''),
    )
    const titles = '[...document.querySelectorAll("iframe")].map(({ title }) => title).join()'
    await expect.poll(() => page.evaluate(titles)).toBe('Where to buy,Shops')
  })

  test('invalid placeholders - stay empty', async () => {
    const page = await publisherPage.open(
      `<div data-vitrine></div><div data-vitrine="toString" data-channel="x"></div><div data-vitrine="where-to-buy"></div>${toPlaceholder('where-to-buy')}${toPlaceholder('picks', 'data-gtin="1" data-gtins=" "')}<svg data-vitrine="deals"></svg>${toPlaceholder('deals', 'data-height="-5"')}`,
    )
    await waitUntil(page, isShown(0))
    expect(await readHeights(page)).toHaveLength(1)
    await run(page, 'window.vitrine.scan()')
    // Each is logged once, for the developer of the page.
    const warnings = await page.evaluate<string[]>('warnings')
    expect(warnings.filter((text) => text.includes('needs data-server'))).toHaveLength(5)
  })

  test('loader messages from a foreign frame - move nothing', async () => {
    const body = `<script>for (const type of ['ready','height','hidden']) parent.postMessage({ vitrine: 1, type, heightPx: 5000 }, '*'); parent.postMessage('done', '*')</script>`
    publisher.responses.set('/foreign', toHtmlResponse(body))
    widgets.responses.set('/foreign', toHtmlResponse(body))
    const page = await publisherPage.open(
      `<script>done = 0; addEventListener('message', ({ data }) => { done += data === 'done' })</script>${toPlaceholder('where-to-buy', 'data-gtin="1"')}`,
    )
    await waitUntil(page, isShown(0))
    const before = await readHeights(page)
    await run(
      page,
      `for (const src of ['/foreign', '${widgets.origin}/foreign']) document.body.append(Object.assign(document.createElement('iframe'), { src, height: 10 }))
       for (const type of ['height', 'hidden']) postMessage({ vitrine: 1, type, heightPx: 5000 }, '*')`,
    )
    await waitUntil(page, 'done === 2')
    expect((await readHeights(page))[0]).toBe(before[0])
  })

  test('extreme heights from its frame - clamped or ignored', async () => {
    const wild = '[120.4, NaN, -1, "700", null, undefined, 1e9, Infinity, 0, 33]'
    widgets.responses.set(
      `${PREFIX}/embeds/${CHANNEL}/where-to-buy/4`,
      toHtmlResponse(
        `<script>for (const data of [null, 'x', 1, { vitrine: 2, type: 'height', heightPx: 9 }, { vitrine: 1, type: 'other', heightPx: 9 }]) parent.postMessage(data, '*')
         for (const heightPx of ${wild}) parent.postMessage({ vitrine: 1, type: 'height', heightPx }, '*')</script>`,
      ),
    )
    const page = await publisherPage.open(toPlaceholder('where-to-buy', 'data-gtin="1"'))
    await waitUntil(page, isShown(0))
    await run(
      page,
      `seen = []; element = document.querySelector('[data-vitrine]'); vitrine.destroy(element); element.dataset.gtin = '4'; vitrine.scan(element)
       addEventListener('message', ({ data }) => { if (data?.type === 'height' && data.vitrine === 1) seen.push(document.querySelector('iframe').style.height) })`,
    )
    await waitUntil(page, 'seen.length === 10')
    expect(await page.evaluate('seen')).toEqual([
      ...Array.from({ length: 6 }, () => '121px'),
      '10000px',
      '10000px',
      '0px',
      '33px',
    ])
  })

  test('elements with names of properties of the document, and a frame with ours - the widget is shown', async () => {
    const names = ['currentScript', 'documentElement', 'querySelector', 'querySelectorAll', 'createElement']
    const comment = names.map((name) => `<img name="${name}" alt="">`).join('')
    const frame = `<iframe name="vitrine" src="${widgets.origin}/comments/embed.js"></iframe>`
    const page = await publisherPage.open(comment + frame + toPlaceholder('where-to-buy', 'data-gtin="1"'))
    await waitUntil(page, 'document.getElementsByTagName("iframe")[1]?.offsetHeight > 50')
    expect(await page.evaluate('document.currentScript.localName')).toBe('img')
  })

  test.each([
    '<a id="vitrine"></a><a id="vitrine" name="scan"></a>',
    '<form id="vitrine"><input name="scan"></form>',
    '<form id="vitrine" name="scan"><input name="call"></form><a id="vitrine"></a>',
    '<form data-vitrine="deals"><input name="getAttribute"></form>',
  ])('%s in a comment - the widget is shown', async (comment) => {
    const page = await publisherPage.open(comment + toPlaceholder('where-to-buy', 'data-gtin="1"'))
    await waitUntil(page, isShown(0))
    expect(await page.evaluate('document.querySelectorAll("iframe").length')).toBe(1)
  })

  test('form with a field named querySelectorAll, inserted later - the widget after it is shown', async () => {
    const page = await publisherPage.open('<main></main>')
    const inserted = `<form><input name="querySelectorAll"></form>${toPlaceholder('where-to-buy', 'data-gtin="1"')}`
    await run(page, `document.querySelector('main').innerHTML = ${JSON.stringify(inserted)}`)
    await waitUntil(page, isShown(0))
    expect(await page.evaluate('document.querySelectorAll("iframe").length')).toBe(1)
  })

  test.each([
    ['module', '<script type="module" src="/shops/embed.js?v=1"></script>'],
    ['pinned module', '<script type="module" src="/shops/assets/embed.0123abcd.js"></script>'],
    ['imported module', '<script type="module">import "/shops/embed.js"</script>'],
    [
      'script in a shadow root',
      `<div></div><script>document.querySelector('div').attachShadow({ mode: 'open' }).append(Object.assign(document.createElement('script'), { src: '/shops/embed.js' }))</script>`,
    ],
  ])('%s, beside scripts of others with the same name - takes its own folder', async (_name, script) => {
    const foreign = toForeignScript() + toForeignScript('type="module"')
    const page = await publisherPage.open(
      `${foreign}<main>${toPlaceholder('deals')}</main>`,
      undefined,
      script,
    )
    await waitUntil(page, 'document.querySelector("main iframe")')
    expect(await page.evaluate('document.querySelector("main iframe").src')).toBe(
      `${publisher.origin}/shops/embeds/${CHANNEL}/deals`,
    )
    expect(await page.evaluate('isForeignLoaded')).toBe(true)
  })

  test('code in another file - one warning, and no frame from a guessed server', async () => {
    const page = await publisherPage.open(
      toForeignScript() + toPlaceholder('deals') + toPlaceholder('deals'),
      undefined,
      '<script src="/bundle.js"></script>',
    )
    const warning =
      'Vitrine needs data-server or embed.js, data-channel, data-gtin(s). [object HTMLDivElement]'
    expect(await page.evaluate('warnings')).toEqual([warning])
    expect(await page.evaluate('document.querySelector("iframe")')).toBeNull()
  })

  test('loaded twice - one frame per placeholder, one window.vitrine', async () => {
    const page = await publisherPage.open(
      `${toPlaceholder('deals')}<script async src="${widgets.origin}${PREFIX}/embed.js?again"></script>`,
    )
    await waitUntil(page, isShown(0))
    await addScript(page, `${widgets.origin}${PREFIX}/embed.js?third`)
    expect(await readHeights(page)).toHaveLength(1)
  })

  test('placeholders added later and in a shadow root - get a frame, which is destroyed on request or on removal', async () => {
    const page = await publisherPage.open('<main></main>')
    await waitUntil(page, '"vitrine" in window')
    await run(
      page,
      `document.querySelector('main').innerHTML = '<section>${toPlaceholder('deals')}</section>'
       root = document.body.appendChild(document.createElement('div')).attachShadow({ mode: 'open' })
       root.innerHTML = '${toPlaceholder('where-to-buy', 'data-gtin="1"')}'
       vitrine.scan(root)`,
    )
    await waitUntil(page, `${isShown(0)} && root.querySelector('iframe').offsetHeight > 50`)
    await run(page, 'vitrine.destroy(root.firstChild); vitrine.destroy(document.body)')
    expect(await page.evaluate('root.querySelector("iframe")')).toBeNull()
    await run(page, 'placeholder = document.querySelector("[data-vitrine]"); placeholder.remove()')
    await waitUntil(page, 'placeholder.childElementCount === 0')
  })

  test('content that grows and shrinks - the frame adjusts', async () => {
    const page = await publisherPage.open(toPlaceholder('where-to-buy', 'data-gtin="1"'))
    await waitUntil(page, isShown(0))
    const [closedPx = 0] = await readHeights(page)
    await page.click('summary', 'iframe')
    await waitUntil(page, `document.querySelector('iframe').offsetHeight > ${closedPx} + 300`)
    await page.click('summary', 'iframe')
    await waitUntil(page, `document.querySelector('iframe').offsetHeight === ${closedPx}`)
    await page.resize({ width: 300, height: 900 })
    await waitUntil(page, `document.querySelector('iframe').offsetHeight > ${closedPx}`)
    expect(closedPx).toBeGreaterThan(100)
  })

  test('next page of deals, clicked at the bottom of a high frame - scrolls to its top', async () => {
    const page = await publisherPage.open(
      `<p>Words before.</p>${toPlaceholder('deals')}<p>Words after.</p>`,
      { width: 360, height: 600 },
    )
    await waitUntil(page, isShown(0))
    await run(page, 'historyBefore = history.length; scrollTo(0, document.body.scrollHeight)')
    await page.click('.vitrine-pages a', 'iframe')
    await waitUntil(page, 'Math.abs(document.querySelector("iframe").getBoundingClientRect().top) < 2')
    expect(await page.evaluate<number>('document.querySelector("iframe").offsetHeight')).toBeGreaterThan(
      1_000,
    )
    expect(await page.evaluate('location.search', 'iframe')).toContain('page=2')
    // Back leaves the article.
    expect(await page.evaluate('history.length - historyBefore')).toBe(0)
  })

  test('server down - nothing is shown, and the reserved space is released', async () => {
    const page = await publisherPage.open(
      `<script>timers = []; wait = setTimeout; setTimeout = (...timer) => [4_000, 15_000].includes(timer[1]) ? timers.push(timer) : wait(...timer)</script>${toPlaceholder('where-to-buy', 'data-gtin="3" data-height="240"')}`,
    )
    await waitUntil(page, 'document.querySelector("iframe")')
    const readReserved = (): Promise<number> =>
      page.evaluate<number>('document.querySelector("[data-vitrine]").offsetHeight')
    expect(await readReserved()).toBe(240)
    expect(await page.evaluate('getComputedStyle(document.querySelector("iframe")).visibility')).toBe(
      'hidden',
    )
    await waitUntil(page, 'timers.length > 0')
    await run(page, 'for (const [action, , ...values] of timers) action(...values)')
    expect(await readHeights(page)).toEqual([0])
    expect(await readReserved()).toBe(0)
  })

  test('sufficient reserved height - nothing moves', async () => {
    const probe = await publisherPage.open(toPlaceholder('where-to-buy', 'data-gtin="1"'))
    await waitUntil(probe, isShown(0))
    const [heightPx = 0] = await readHeights(probe)
    const page = await publisherPage.open(
      `${WATCH_MOVES}${toPlaceholder('where-to-buy', `data-gtin="1" data-height="${heightPx}" style="min-height:${heightPx}px"`)}<p data-still>Text below</p>`,
    )
    await waitUntil(page, isShown(0))
    expect(await listMoves(page)).toEqual([])
  })
})
