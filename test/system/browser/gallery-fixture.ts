import type { BrowserContextOptions, CDPSession, Page } from 'playwright-core'
import { GALLERY_CASES } from '../../../src/studio/gallery/cases.ts'
import { LAYOUTS as GALLERY_LAYOUTS, hasExample, toLayoutId } from '../../../src/studio/gallery/examples.ts'
import { setUpOnce } from '../../helpers/cleanup.ts'
import { loadPictures } from '../../helpers/pictures.ts'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'

/** Ids of the layouts in the gallery. */
export const LAYOUTS: readonly string[] = GALLERY_LAYOUTS.map(toLayoutId)

/** The layouts that are blocks with a surface of their own, unlike `inline`. */
export const BLOCK_LAYOUTS: readonly string[] = LAYOUTS.filter((layout) => !layout.endsWith('-inline'))

/** List the ids of the cases that the gallery shows in a layout. */
export function listCases(layoutId: string): readonly string[] {
  const layout = GALLERY_LAYOUTS.find((one) => toLayoutId(one) === layoutId)
  if (layout === undefined) throw new TypeError(`no layout ${layoutId}`)
  return GALLERY_CASES.filter((entry) => hasExample(layout, entry)).map(({ id }) => id)
}

/** Preferences and viewport of the reader. */
type BrowserPreferences = Pick<BrowserContextOptions, 'colorScheme' | 'reducedMotion' | 'viewport'>

/** The gallery of the built server in a browser, for one test file. */
export type GalleryFixture = Readonly<{
  /**
   * Open a part of the gallery with all pictures loaded, in the page that all tests of the file share. Without a width:
   * in a phone's column.
   */
  open(query: string, reader?: BrowserPreferences): Promise<Page>
  /** Like `open`, in a separate page without scripts. */
  openWithoutScripts(query: string): Promise<Page>
  publicUrl(): string
}>

const VIEWPORT = { width: 1_300, height: 900 }

/** Use the gallery in the tests of a file. */
export function useGallery(): GalleryFixture {
  const browser = useBrowser()
  const server = useServer()
  const getPage = setUpOnce(() => browser.newPage({ bypassCSP: true }))
  const publicUrl = (): string => server.addresses.publicUrl
  const toUrl = (query: string): string =>
    `${publicUrl()}/studio/gallery?${query.includes('width=') ? '' : 'width=phone&'}${query}`
  return {
    publicUrl,
    async open(query, { colorScheme = 'light', reducedMotion = 'no-preference', viewport } = {}) {
      const page = getPage()
      await page.emulateMedia({ media: null, colorScheme, reducedMotion })
      await page.setViewportSize(viewport ?? VIEWPORT)
      await page.goto(toUrl(query))
      await loadPictures(page)
      return page
    },
    async openWithoutScripts(query) {
      const page = await browser.newPage({ javaScriptEnabled: false, viewport: VIEWPORT })
      await page.goto(toUrl(query))
      return page
    },
  }
}

/** A node of the accessibility tree that screen readers use. */
export type AccessibilityNode = Readonly<{ role: string; name: string }>

/** Read the accessibility tree of a page, in reading order. */
export async function readAccessibilityTree(page: Page): Promise<readonly AccessibilityNode[]> {
  const session: CDPSession = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  const byId = new Map(nodes.map((node) => [node.nodeId, node]))
  const read = (id: string): readonly AccessibilityNode[] => {
    const node = byId.get(id)
    if (node === undefined) return []
    const current = { role: String(node.role?.value ?? ''), name: String(node.name?.value ?? '') }
    return [...(node.ignored ? [] : [current]), ...(node.childIds ?? []).flatMap(read)]
  }
  return read(nodes[0]?.nodeId ?? '')
}
