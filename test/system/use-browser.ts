import { type BrowserContext, type BrowserContextOptions, type Page, chromium } from 'playwright-core'
import { afterEach, beforeEach } from 'vitest'
import { addCleanup, setUpOnce } from '../helpers/cleanup.ts'
import { getShared } from './shared.ts'

/** Long, because CI machines have paused for half a minute. */
const PAGE_LOAD_TIMEOUT_MS = 120_000

/** The browser that all files share. Pages opened by a test are closed after it, those opened in `beforeAll` after the file. */
export type FileBrowser = Readonly<{
  /** Create a new visitor, without cookies or cached files. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>
  /** Open a page as a new visitor. */
  newPage(options?: BrowserContextOptions): Promise<Page>
}>

/** Connect to the browser before the tests of a file, and disconnect after them. */
export function useBrowser(): FileBrowser {
  const getBrowser = setUpOnce(async () => {
    const browser = await chromium.connect(await getShared('browser'))
    addCleanup(() => browser.close())
    return browser
  })
  let openContexts: BrowserContext[] = []
  beforeEach(() => {
    openContexts = []
  })
  afterEach(async () => {
    await Promise.all(openContexts.map((context) => context.close()))
  })
  const newContext = async (options: BrowserContextOptions = {}): Promise<BrowserContext> => {
    const context = await getBrowser().newContext(options)
    context.setDefaultTimeout(PAGE_LOAD_TIMEOUT_MS)
    openContexts.push(context)
    return context
  }
  return { newContext, newPage: async (options) => (await newContext(options)).newPage() }
}
