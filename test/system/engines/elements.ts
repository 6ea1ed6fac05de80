import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import type { EnginePage } from './engine.ts'
import { type EngineInUse, defineSuite, run, waitUntil } from './use-engine.ts'

const CHANNEL = '6f0c1f7e-0000-4000-8000-000000000001'
/** A server below a path prefix, like behind a proxy. */
const PREFIX = '/widgets'

let publisher: PageServer
let widgets: PageServer

const toMessage = (type: string, more = ''): string =>
  `parent.postMessage({ vitrine: 1, type: '${type}', ${more} }, '*')`

beforeAll(async () => {
  publisher = await startPageServer()
  widgets = await startPageServer()
  const body = await readFile(join(PACKAGE_FOLDER, 'packages/embed/dist/index.js'))
  publisher.responses.set('/index.js', { type: 'text/javascript', body })
  const put = (path: string, script: string): void =>
    void widgets.responses.set(
      `${PREFIX}/embeds/${CHANNEL}${path}`,
      toHtmlResponse(`<script>${script}</script>`),
    )
  put('/where-to-buy/1', toMessage('height', 'heightPx: 320'))
  put('/where-to-buy/2', toMessage('hidden'))
  put('/where-to-buy/4', toMessage('height', 'heightPx: 120'))
  put(
    '/where-to-buy/5',
    `${toMessage('height', 'heightPx: 90')}; ${toMessage('click', "merchant: 'Kopje', gtin: '00000000000005', position: 2, sub: null")}`,
  )
  put(
    '/where-to-buy/6',
    `${toMessage('ready', "title: 'Where to buy'")}; ${toMessage('height', 'heightPx: 600')}`,
  )
  // The server is down.
  widgets.responses.set(`${PREFIX}/embeds/${CHANNEL}/where-to-buy/3`, null)
})
afterAll(async () => {
  await publisher.close()
  await widgets.close()
})

/** Script for a page: keeps the timers of frames, and collects warnings, events and violations of the content policy. */
const WATCH_PAGE = `<script>
problems = []
clicks = []
timers = []
wait = setTimeout
setTimeout = (...timer) => [4_000, 15_000].includes(timer[1]) ? timers.push(timer) : wait(...timer)
console.warn = (...all) => problems.push(all[0])
addEventListener('error', ({ message }) => problems.push(message))
addEventListener('securitypolicyviolation', ({ violatedDirective }) => problems.push(violatedDirective))
addEventListener('vitrine:click', ({ target, detail }) => clicks.push([target.localName, detail]))
</script>`

const SCRIPT = '<script type="module" src="/index.js"></script>'

function toElement(gtin: string, attributes = ''): string {
  return `<where-to-buy server="${widgets.origin}${PREFIX}" channel="${CHANNEL}" gtin="${gtin}" ${attributes}><a href="/prices">Prices</a></where-to-buy>`
}

async function openPage(engine: EngineInUse, body: string, styleSource = "'none'"): Promise<EnginePage> {
  const csp = `default-src 'self' 'unsafe-inline'; style-src ${styleSource}; frame-src ${widgets.origin}`
  publisher.responses.set(
    '/',
    toHtmlResponse(`<!doctype html><title>Article</title><body>${WATCH_PAGE}${body}`, csp),
  )
  const page = await engine.open({ width: 800, height: 900 })
  await page.goto(`${publisher.origin}/`)
  await run(page, 'element = document.querySelector("where-to-buy")')
  return page
}

const FRAME = 'element.shadowRoot?.querySelector("iframe")'
const IS_OPEN = `${FRAME}?.style.visibility === "visible"`

type Shown = Readonly<{ frames: number; heightPx: number; isContentShown: boolean }>

const readShown = (page: EnginePage): Promise<Shown> =>
  page.evaluate<Shown>(`({
    frames: element.shadowRoot.querySelectorAll('iframe').length,
    heightPx: element.shadowRoot.firstChild.offsetHeight,
    isContentShown: element.firstElementChild.getClientRects().length > 0,
  })`)

export const elementsSuite = defineSuite('elements', (engine) => {
  test('box - replaces the content, below a path prefix, with a strict content policy', async () => {
    const page = await openPage(engine, toElement('1', 'min-discount="5"') + SCRIPT)
    await waitUntil(page, IS_OPEN)
    expect(await readShown(page)).toEqual({ frames: 1, heightPx: 320, isContentShown: false })
    expect(await page.evaluate(`${FRAME}.src`)).toBe(
      `${widgets.origin}${PREFIX}/embeds/${CHANNEL}/where-to-buy/1?min_discount=5`,
    )
    expect(await page.evaluate('problems')).toEqual([])
  })

  test('elements with names of methods of the document - the box is shown', async () => {
    const comment = '<img name="createElement" alt=""><img name="currentScript" alt="">'
    const page = await openPage(engine, comment + toElement('1') + SCRIPT)
    await waitUntil(page, IS_OPEN)
    expect((await readShown(page)).frames).toBe(1)
  })

  test('example of the documentation - shows its box', async () => {
    const docs = await readFile(join(PACKAGE_FOLDER, 'docs/publish/components.md'), 'utf8')
    const [, example = ''] = /```html\n(.*?)```/s.exec(docs) ?? []
    const [, channel = ''] = /channel="([^"]+)"/.exec(example) ?? []
    widgets.responses.set(
      `/embeds/${channel}/where-to-buy/09520001001024`,
      toHtmlResponse(`<script>${toMessage('height', 'heightPx: 600')}</script>`),
    )
    const page = await openPage(
      engine,
      example
        .replace('https://widgets.example', widgets.origin)
        .replace('/scripts/vitrine-embed.js', '/index.js'),
    )
    await waitUntil(page, IS_OPEN)
    expect((await readShown(page)).heightPx).toBe(600)
  })

  test('nothing to show - neither frame nor content, and the space of the page is released', async () => {
    const page = await openPage(
      engine,
      toElement('2', 'height="300" style="display:block;min-height:300px"') + SCRIPT,
      "'unsafe-inline'",
    )
    await waitUntil(page, 'element.offsetHeight === 0')
    expect(await readShown(page)).toEqual({ frames: 1, heightPx: 0, isContentShown: false })
  })

  test('server down - the content stays, in the reserved space until the end of the wait', async () => {
    const page = await openPage(engine, toElement('3', 'height="300"') + SCRIPT)
    await waitUntil(page, 'timers.length > 0')
    expect(await readShown(page)).toEqual({ frames: 1, heightPx: 300, isContentShown: true })
    await run(page, 'for (const [action, , ...values] of timers) action(...values)')
    const { heightPx, isContentShown } = await readShown(page)
    expect(isContentShown).toBe(true)
    expect(heightPx).toBeLessThan(60)
  })

  test('height - is reserved at once, and kept when the box is lower', async () => {
    const page = await openPage(engine, `<main></main>${toElement('4', 'height="300"')}${SCRIPT}`)
    await waitUntil(page, IS_OPEN)
    expect((await readShown(page)).heightPx).toBe(300)
  })

  test('several changes of attributes at once - one other frame; the same values - the same frame', async () => {
    const page = await openPage(engine, toElement('1') + SCRIPT)
    await waitUntil(page, IS_OPEN)
    await run(
      page,
      `frame = ${FRAME}
       for (const name of element.getAttributeNames()) element.setAttribute(name, element.getAttribute(name))
       element.append('More content')`,
    )
    expect(await page.evaluate(`${FRAME} === frame`)).toBe(true)
    const keptPx = await page.evaluate<number>(
      `(element.setAttribute('limit', 3), element.setAttribute('gtin', 4),
       Promise.resolve().then(() => element.shadowRoot.firstChild.offsetHeight))`,
    )
    expect(keptPx).toBe(320)
    await waitUntil(page, `${IS_OPEN} && ${FRAME}.src.endsWith('/4?limit=3')`)
    expect(await readShown(page)).toEqual({ frames: 1, heightPx: 120, isContentShown: false })
  })

  test('moved - keeps its frame; removed - none; inserted again - a new one', async () => {
    const page = await openPage(engine, `<main></main>${toElement('1')}${SCRIPT}`)
    await waitUntil(page, IS_OPEN)
    await run(page, `frame = ${FRAME}; document.querySelector('main').append(element)`)
    expect(await page.evaluate(`${FRAME} === frame`)).toBe(true)
    await run(page, 'element.remove()')
    expect(await page.evaluate(FRAME)).toBeNull()
    await run(page, 'document.body.append(element)')
    await waitUntil(page, IS_OPEN)
    expect(await readShown(page)).toEqual({ frames: 1, heightPx: 320, isContentShown: false })
  })

  test('moved while the reader is below its top - the page does not scroll', async () => {
    const page = await openPage(
      engine,
      `<main></main>${toElement('6')}<p style="height:3000px"></p>${SCRIPT}`,
      "'unsafe-inline'",
    )
    await waitUntil(page, IS_OPEN)
    await run(
      page,
      `frame = ${FRAME}
       isReloaded = false
       addEventListener('message', ({ data }) => { isReloaded ||= data.type === 'height' })
       scrollTo(0, 350)
       document.querySelector('main').append(element)`,
    )
    await waitUntil(page, 'isReloaded')
    expect(await page.evaluate(`[${FRAME} === frame, scrollY]`)).toEqual([true, 350])
  })

  test('elements before and after the script, by the parser and by scripts, and the script twice - one frame each', async () => {
    const page = await openPage(
      engine,
      `${toElement('1')}${SCRIPT}<script type="module" src="/index.js?again"></script>${toElement('4')}`,
    )
    await waitUntil(page, IS_OPEN)
    await run(
      page,
      // WebKit runs microtasks between the statements of a WebDriver command.
      `queueMicrotask(() => {
         const other = document.createElement('where-to-buy')
         document.body.append(other, element.cloneNode(true))
         for (const { name, value } of element.attributes) other.setAttribute(name, value)
       })`,
    )
    const counts =
      '[...document.querySelectorAll("where-to-buy")].map(({ shadowRoot }) => shadowRoot.querySelectorAll("iframe").length)'
    await waitUntil(page, `${counts}.join() === '1,1,1,1'`)
    expect(await page.evaluate('problems')).toEqual([])
  })

  test('without server, product or valid address - the content stays, and a warning for the author', async () => {
    const page = await openPage(
      engine,
      `${toElement('')}<deal-grid channel="${CHANNEL}">Deals</deal-grid><deal-grid server="x" channel="${CHANNEL}">Deals</deal-grid>${SCRIPT}`,
    )
    await waitUntil(page, 'problems.length === 3')
    expect(await readShown(page)).toMatchObject({ frames: 0, isContentShown: true })
    await run(page, 'element.setAttribute("gtin", 1)')
    await waitUntil(page, IS_OPEN)
    await run(page, 'element.removeAttribute("gtin")')
    expect(await readShown(page)).toMatchObject({ frames: 0, isContentShown: true })
  })

  test('server that is not http or https - no frame, and its script does not run', async () => {
    const page = await openPage(engine, toElement('1') + SCRIPT)
    await waitUntil(page, IS_OPEN)
    for (const scheme of ['javascript', ' JavaScript', 'data', 'vbscript']) {
      await run(page, `element.setAttribute('server', "${scheme}://x/%0Aparent.document.title='XSS';//")`)
      expect(await readShown(page)).toMatchObject({ frames: 0, isContentShown: true })
    }
    expect(await page.evaluate('document.title')).toBe('Article')
  })

  test('click in a frame - an event on the element', async () => {
    const page = await openPage(engine, toElement('5') + SCRIPT)
    await waitUntil(page, 'clicks.length > 0')
    const detail = { merchant: 'Kopje', gtin: '00000000000005', position: 2, sub: null }
    expect(await page.evaluate('clicks')).toEqual([['where-to-buy', detail]])
  })

  test('title - of the attribute, else of the document in the frame', async () => {
    const page = await openPage(engine, toElement('6') + toElement('6', 'title="Shops"') + SCRIPT)
    const titles =
      '[...document.querySelectorAll("where-to-buy")].map(({ shadowRoot }) => shadowRoot.querySelector("iframe")?.title).join()'
    await expect.poll(() => page.evaluate(titles)).toBe('Where to buy,Shops')
  })
})
