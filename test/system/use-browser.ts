import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
  chromium,
} from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { getShared } from './shared.ts'

/** A page that is not there by then never comes: machines of CI have stood still for half a minute. */
const LOADING_MS = 120_000

/** The browser that all files share. What a test opens is closed after it, what `beforeAll` opens after the file. */
export type FileBrowser = Readonly<{
  /** A visitor of their own: no cookies, nothing cached. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>
  /** A page of a visitor of their own. */
  newPage(options?: BrowserContextOptions): Promise<Page>
}>

/** Connect to the browser before the tests of a file, and leave it after them. */
export function useBrowser(): FileBrowser {
  const made: { browser?: Browser } = {}
  let opened: BrowserContext[] = []
  beforeAll(async () => {
    made.browser = await chromium.connect(await getShared('browser'))
  })
  beforeEach(() => {
    opened = []
  })
  afterEach(async () => {
    await Promise.all(opened.map((context) => context.close()))
  })
  afterAll(() => made.browser?.close())
  const newContext = async (options: BrowserContextOptions = {}): Promise<BrowserContext> => {
    if (made.browser === undefined) throw new Error('there is no browser before the tests')
    const context = await made.browser.newContext(options)
    context.setDefaultTimeout(LOADING_MS)
    opened.push(context)
    return context
  }
  return { newContext, newPage: async (options) => (await newContext(options)).newPage() }
}
