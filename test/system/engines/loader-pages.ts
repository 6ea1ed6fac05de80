import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { loadAssets } from '../../../src/http/assets.ts'
import { BUILT_FOLDER } from '../../../src/lib/files.ts'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import type { EnginePage } from './engine.ts'
import type { EngineInUse } from './use-engine.ts'

const CHANNEL = '6f0c1f7e-0000-4000-8000-000000000001'

/** Heights of the products that the servers of widgets know. */
const HEIGHTS_PX: Readonly<Record<string, number>> = { 1: 210, 2: 220, 3: 230 }

/** Script for a page: collects exceptions and warnings. */
const WATCH_PROBLEMS = `<script>
problems = []
warnings = []
addEventListener('error', ({ message }) => problems.push(message))
addEventListener('unhandledrejection', ({ reason }) => problems.push(String(reason)))
console.warn = (...all) => warnings.push(all[0])
console.error = (...all) => problems.push(all.join(' '))
</script>`

/** A placeholder of the loader. */
export function toPlaceholder(gtin: string, more = ''): string {
  return `<div data-vitrine="where-to-buy" data-channel="${CHANNEL}" data-gtin="${gtin}" ${more}></div>`
}

const toMessage = (more: string): string => `parent.postMessage({ vitrine: 1, ${more} }, '*')`

export type LoaderPages = Readonly<{
  publisher(): PageServer
  /** The origin of a server of widgets: the first has the loader of the pages. */
  origin(server?: 0 | 1): string
  script(): string
  /** Return a page with its scripts, which stand after the content, for the publisher's server. */
  toPage(body: string, script?: string): string
  open(body: string, script?: string): Promise<EnginePage>
}>

/** A publisher's server, and two servers of widgets, with frames that have nothing but a height. */
export function useLoaderPages(engine: EngineInUse): LoaderPages {
  let publisher: PageServer
  let servers: readonly [PageServer, PageServer]
  let page: EnginePage | undefined
  beforeAll(async () => {
    publisher = await startPageServer()
    servers = [await startPageServer(), await startPageServer()]
    const { contentType: type, bodies } = loadAssets(BUILT_FOLDER).get('embed.js')
    publisher.responses.set('/combined.js', { type, body: bodies.identity })
    for (const { responses } of servers) {
      responses.set('/embed.js', { type, body: bodies.identity })
      for (const [gtin, heightPx] of Object.entries(HEIGHTS_PX)) {
        responses.set(
          `/embeds/${CHANNEL}/where-to-buy/${gtin}`,
          toHtmlResponse(
            `<title>Product ${gtin}</title><script>${toMessage("type: 'ready'")}; ${toMessage(`type: 'height', heightPx: ${heightPx}`)}</script>`,
          ),
        )
      }
    }
  })
  afterAll(() => Promise.all([publisher, ...servers].map((server) => server.close())))
  afterEach(async () => {
    const problems = await page?.evaluate('problems')
    page = undefined
    expect(problems ?? []).toEqual([])
  })
  const origin = (server: 0 | 1 = 0): string => servers[server].origin
  const script = (): string => `<script async src="${origin()}/embed.js"></script>`
  const toPage = (body: string, scripts = script()): string =>
    `<!doctype html><html lang="en"><head><title>Article</title>${WATCH_PROBLEMS}</head><body>${body}${scripts}</body></html>`
  return {
    publisher: () => publisher,
    origin,
    script,
    toPage,
    async open(body, scripts) {
      publisher.responses.set('/', toHtmlResponse(toPage(body, scripts)))
      page = await engine.open({ width: 800, height: 900 })
      await page.goto(`${publisher.origin}/`)
      return page
    },
  }
}

/** List the products of the frames of a page, with a note at those that do not have the height of their content. */
export async function listProducts(page: EnginePage): Promise<readonly string[]> {
  const frames = await page.evaluate<
    readonly (readonly [address: string, heightPx: number, visibility: string])[]
  >(
    '[...document.querySelectorAll("iframe")].map((frame) => [frame.src, frame.offsetHeight, getComputedStyle(frame).visibility])',
  )
  return frames.map(([address, heightPx, visibility]) => {
    const gtin = new URL(address).pathname.split('/').at(-1) ?? ''
    return heightPx === HEIGHTS_PX[gtin] && visibility === 'visible'
      ? gtin
      : `${gtin}: ${heightPx} px, ${visibility}`
  })
}
