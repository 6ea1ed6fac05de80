import type { Browser, BrowserContext, BrowserContextOptions, CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { LAYOUTS as GALLERY_LAYOUTS, toLayoutId } from '../../../src/gallery/specimens.ts'
import { type BuiltServer, startBuiltServer } from '../../helpers/built-server.ts'
import { launchChromium } from '../../helpers/chromium.ts'
import { loadPictures } from '../../helpers/pictures.ts'

/** Layouts by the id that the gallery knows them under. */
export const LAYOUTS: readonly string[] = GALLERY_LAYOUTS.map(toLayoutId)

/** A page of the gallery, and its context to close. */
export type Opened = Readonly<{ page: Page; context: BrowserContext }>

/** The gallery of the built server in a browser, for one test file. */
export type GalleryPlace = Readonly<{
  /** Opens a part of the gallery with every picture loaded. */
  open(query: string, options?: BrowserContextOptions): Promise<Opened>
  publicUrl(): string
  browser(): Browser
}>

/** Starts server and browser before the tests of a file, and ends both after them. */
export function useGallery(): GalleryPlace {
  const made: { server?: BuiltServer; browser?: Browser } = {}
  beforeAll(async () => {
    ;[made.server, made.browser] = await Promise.all([startBuiltServer(), launchChromium()])
  })
  afterAll(async () => {
    await made.browser?.close()
    await made.server?.stop()
  })
  const browser = (): Browser => made.browser as Browser
  const publicUrl = (): string => (made.server as BuiltServer).addresses.publicUrl
  return {
    browser,
    publicUrl,
    async open(query, options = {}) {
      const context = await browser().newContext({
        bypassCSP: true,
        viewport: { width: 1_300, height: 900 },
        ...options,
      })
      const page = await context.newPage()
      await page.goto(`${publicUrl()}/studio/gallery?${query}`)
      if (options.javaScriptEnabled !== false) await loadPictures(page)
      return { page, context }
    },
  }
}

/** A node of the accessibility tree, as a screen reader is given it. */
export type HeardNode = Readonly<{ role: string; name: string }>

/** What a screen reader is given of a page, in reading order. */
export async function hear(page: Page): Promise<readonly HeardNode[]> {
  const session: CDPSession = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  const byId = new Map(nodes.map((node) => [node.nodeId, node]))
  const read = (id: string): readonly HeardNode[] => {
    const node = byId.get(id)
    if (node === undefined) return []
    const own = { role: String(node.role?.value ?? ''), name: String(node.name?.value ?? '') }
    return [...(node.ignored ? [] : [own]), ...(node.childIds ?? []).flatMap(read)]
  }
  return read(nodes[0]?.nodeId ?? '')
}
