import { type BrowserContext, type BrowserContextOptions, type Page, chromium } from 'playwright-core'
import { afterEach, beforeEach } from 'vitest'
import { atEnd, useOnce } from '../helpers/at-end.ts'
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
  const getBrowser = useOnce(async () => {
    const browser = await chromium.connect(await getShared('browser'))
    atEnd(() => browser.close())
    return browser
  })
  let opened: BrowserContext[] = []
  beforeEach(() => {
    opened = []
  })
  afterEach(async () => {
    await Promise.all(opened.map((context) => context.close()))
  })
  const newContext = async (options: BrowserContextOptions = {}): Promise<BrowserContext> => {
    const context = await getBrowser().newContext(options)
    context.setDefaultTimeout(LOADING_MS)
    opened.push(context)
    return context
  }
  return { newContext, newPage: async (options) => (await newContext(options)).newPage() }
}
