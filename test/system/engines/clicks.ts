import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadAssets } from '../../../src/http/assets.ts'
import { BUILT_FOLDER } from '../../../src/lib/files.ts'
import { createRenderer } from '../../../src/widgets/render.ts'
import { EMBED_CSP, type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { makeBox, makeDeal, makeGrid, makeOffer, makeWrapper } from '../../helpers/views.ts'
import type { EnginePage } from './engine.ts'
import { type EngineInUse, defineSuite, run, waitUntil } from './use-engine.ts'

const CHANNEL = '6f0c1f7e-0000-4000-8000-000000000001'
const GTIN = '09520001001024'
const FRAME_PATH = `/embeds/${CHANNEL}/where-to-buy/${GTIN}`

const renderer = createRenderer()
let publisher: PageServer
let widgets: PageServer

beforeAll(async () => {
  publisher = await startPageServer()
  widgets = await startPageServer()
  const assets = loadAssets(BUILT_FOLDER)
  for (const name of ['vitrine.css', 'frame.js'] as const) {
    const asset = assets.get(name)
    widgets.responses.set(asset.path, { type: asset.contentType, body: asset.bodies.identity })
  }
  const embed = assets.get('embed.js')
  widgets.responses.set('/embed.js', { type: embed.contentType, body: embed.bodies.identity })
  const document = renderer.renderEmbed({
    lang: 'en',
    dir: 'ltr',
    theme: 'light',
    title: 'Where to buy',
    state: 'shown',
    reason: null,
    styles: [assets.get('vitrine.css').path],
    frameScript: assets.get('frame.js').path,
    isFailure: false,
    redirectBaseUrl: null,
    discovery: null,
    body: renderShops(null),
  })
  widgets.responses.set(FRAME_PATH, toHtmlResponse(document, EMBED_CSP))
})
afterAll(async () => {
  await publisher.close()
  await widgets.close()
})

const toShop = (merchant: string) =>
  makeOffer({ merchant, countedMerchant: merchant, href: `https://shop.example/${merchant}` })

/** A box with one visible shop and two in the fold. */
function renderShops(sub: string | null): string {
  return renderer.renderWidget(
    makeBox({
      wrapper: makeWrapper({ styles: [], sub }),
      picture: null,
      offers: [toShop('Kopje')],
      more: [toShop('Tweede'), toShop('Derde')],
      moreLabel: '2 more shops',
    }),
  )
}

/** Collects the events at the window, with the element that dispatched them. */
const WATCH_CLICKS =
  "<script>clicks = []; addEventListener('vitrine:click', ({ target, detail }) => clicks.push([target.className, detail]))</script>"

async function openPage(engine: EngineInUse, body: string): Promise<EnginePage> {
  const script = `<script async src="${widgets.origin}/embed.js"></script>`
  publisher.responses.set(
    '/',
    toHtmlResponse(`<!doctype html><title>Article</title>${WATCH_CLICKS}${body}${script}`),
  )
  const page = await engine.open()
  await page.goto(`${publisher.origin}/`)
  await waitUntil(page, 'typeof window.vitrine?.scan === "function"')
  return page
}

async function openFramePage(engine: EngineInUse): Promise<EnginePage> {
  const page = await openPage(
    engine,
    `<div class="place" data-vitrine="where-to-buy" data-channel="${CHANNEL}" data-gtin="${GTIN}" data-sub="p123"></div>`,
  )
  await waitUntil(page, 'document.querySelector("iframe").offsetHeight > 50')
  return page
}

/** An event of the frame. */
const toFrameEvent = (merchant: string, position: number): unknown => [
  'place',
  { merchant, gtin: GTIN, position, sub: 'p123' },
]

const toLink = (merchant: string, gtin: string): string =>
  `<a href="https://shop.example/${merchant}/${gtin}" data-merchant="${merchant}" data-gtin="${gtin}">${merchant}</a>`

/** An event of the round-up. */
const toPickEvent = (merchant: string, gtin: string, position: number): unknown => [
  'vitrine vitrine-picks',
  { merchant, gtin, position, sub: 'round-up' },
]

/** A link must not open a tab in front of the page. The widget listens before this. */
const stayHere = (page: EnginePage, frame?: string): Promise<void> =>
  run(
    page,
    "for (const type of ['click', 'auxclick']) addEventListener(type, (event) => { if (event.target.closest('a')) event.preventDefault() })",
    frame,
  )

const readClicks = (page: EnginePage): Promise<unknown> => page.evaluate('clicks')

export const clicksSuite = defineSuite('clicks', (engine) => {
  test('links in a frame - by mouse, in the fold, by middle button: an event on the placeholder', async () => {
    const page = await openFramePage(engine)
    await stayHere(page, 'iframe')
    await page.click('[data-merchant="Kopje"]', 'iframe')
    await page.click('summary', 'iframe')
    await page.click('[data-merchant="Derde"]', 'iframe')
    await run(
      page,
      `for (const button of [1, 2]) document.querySelector('[data-merchant="Tweede"] span').dispatchEvent(new MouseEvent('auxclick', { bubbles: true, composed: true, button }))`,
      'iframe',
    )
    await waitUntil(page, 'clicks.length === 3')
    expect(await readClicks(page)).toEqual([
      toFrameEvent('Kopje', 1),
      toFrameEvent('Derde', 3),
      toFrameEvent('Tweede', 2),
    ])
  })

  test('link in the page - Enter - an event', async () => {
    const page = await openPage(engine, renderShops(''))
    await stayHere(page)
    await run(page, `document.querySelector('[data-merchant="Kopje"]').focus()`)
    await page.press('Enter')
    await waitUntil(page, 'clicks.length === 1')
    const detail = { merchant: 'Kopje', gtin: GTIN, position: 1, sub: null }
    expect(await readClicks(page)).toEqual([['vitrine vitrine-box', detail]])
  })

  test('links that are no shop links - no event', async () => {
    const page = await openPage(
      engine,
      `<section class="vitrine vitrine-grid"><a id="next" href="#next">Next page</a></section><a id="outside" href="#outside" data-merchant="Kopje" data-gtin="${GTIN}">Kopje</a>`,
    )
    await page.click('#next')
    await page.click('#outside')
    await waitUntil(page, 'location.hash === "#outside"')
    expect(await readClicks(page)).toEqual([])
  })

  test('messages of clicks - from a foreign frame, with wrong types or lengths - no event', async () => {
    const good = { vitrine: 1, type: 'click', merchant: 'Kopje', gtin: GTIN, position: 1, sub: null }
    const bad = [
      { ...good, merchant: 5 },
      { ...good, merchant: 'x'.repeat(201) },
      { ...good, gtin: null },
      { ...good, gtin: [GTIN] },
      { ...good, position: '1' },
      { ...good, position: 1.5 },
      { ...good, sub: 7 },
      { ...good, sub: 'x'.repeat(201) },
      { ...good, vitrine: 2 },
    ]
    const script = `for (const data of ${JSON.stringify([...bad, { ...good, extra: 'dropped' }])}) parent.postMessage(data, '*')`
    widgets.responses.set(
      '/other',
      toHtmlResponse(`<script>${script}; parent.postMessage('done', '*')</script>`),
    )
    const page = await openFramePage(engine)
    await run(
      page,
      `done = 0; addEventListener('message', ({ data }) => { done += data === 'done' })
       document.body.append(Object.assign(document.createElement('iframe'), { src: '${widgets.origin}/other' }))`,
    )
    await waitUntil(page, 'done === 1')
    expect(await readClicks(page)).toEqual([])
    await run(page, `document.querySelector('.place iframe').src = '${widgets.origin}/other'`)
    await waitUntil(page, 'done === 2')
    const detail = { merchant: 'Kopje', gtin: GTIN, position: 1, sub: null }
    expect(await readClicks(page)).toEqual([['place', detail]])
  })

  test('fragments in the page - box, sentence, grid, round-up and shadow root: an event on the element of the widget', async () => {
    const picks = `<section class="vitrine vitrine-picks" data-sub="round-up">${toLink('A', '1')}${toLink('A', '1')}${toLink('B', '1')}${toLink('A', '2')}${toLink('C', '2')}</section>`
    const sentence = renderer.renderWidget(
      makeBox({ layout: 'inline', wrapper: makeWrapper({ styles: [] }) }),
    )
    const deals = [makeDeal(), makeDeal({ gtin: '00000000000002' }), makeDeal({ gtin: '00000000000003' })]
    const grid = renderer.renderWidget(makeGrid({ wrapper: makeWrapper({ styles: [] }), deals }))
    const shadow = renderer.renderWidget(
      makeBox({ wrapper: makeWrapper({ styles: [], isolate: 'shadow', sub: 'p5' }) }),
    )
    const page = await openPage(engine, [renderShops(''), sentence, grid, picks, shadow].join('\n'))
    await stayHere(page)
    await run(
      page,
      `const select = (selector) => document.querySelector(selector)
       select('.vitrine-box summary').click()
       select('.vitrine-box [data-merchant="Derde"]').click()
       select('.vitrine-inline a').click()
       select('.vitrine-grid [data-gtin="00000000000003"]').click()
       for (const link of document.querySelectorAll('.vitrine-picks a')) link.click()
       shadowEvents = 0
       const { shadowRoot } = select('.vitrine-host')
       shadowRoot.addEventListener('vitrine:click', ({ target }) => { shadowEvents += target.matches('.vitrine') })
       shadowRoot.querySelector('a').click()`,
    )
    expect(await readClicks(page)).toEqual([
      ['vitrine vitrine-box', { merchant: 'Derde', gtin: GTIN, position: 3, sub: null }],
      ['vitrine-inline', { merchant: 'Kopje', gtin: GTIN, position: 1, sub: null }],
      ['vitrine vitrine-grid', { merchant: 'Kopje', gtin: '00000000000003', position: 3, sub: null }],
      toPickEvent('A', '1', 1),
      toPickEvent('A', '1', 1),
      toPickEvent('B', '1', 1),
      toPickEvent('A', '2', 2),
      toPickEvent('C', '2', 2),
      ['vitrine-host', { merchant: 'Kopje', gtin: GTIN, position: 1, sub: 'p5' }],
    ])
    expect(await page.evaluate('shadowEvents')).toBe(1)
  })
})
