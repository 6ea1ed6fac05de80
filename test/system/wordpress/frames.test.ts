import type { Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { useBrowser } from '../use-browser.ts'
import {
  CHANNEL,
  type WordPressFixture,
  GTIN,
  OTHER_GTIN,
  UNSOLD_GTIN,
  createWordPressFixture,
  removeTimes,
} from './wordpress-fixture.ts'
import { isSkipped } from './programs.ts'
import { readContent, signInAs } from './visitor.ts'

const FRAME_HEIGHT = 'document.querySelector("iframe").getBoundingClientRect().height'
/** Whether WordPress shows the frame. Before version 7 it hides frames by `clip`, since then by `visibility`. */
const IS_FRAME_SHOWN = `(({ clip, visibility }) => clip === 'auto' && visibility === 'visible')(
  getComputedStyle(document.querySelector("iframe")))`
/** Top of the paragraph after the embed. */
const LAST_TOP = '[...document.querySelectorAll("main p")].at(-1).getBoundingClientRect().top'

describe.skipIf(isSkipped)('a plain link in a WordPress without the plugin', () => {
  let fixture: WordPressFixture
  const browser = useBrowser()
  let page: Page

  beforeAll(async () => {
    fixture = await createWordPressFixture({ plugin: false })
  })
  afterAll(() => fixture.close())
  beforeEach(async () => {
    page = await browser.newPage({ viewport: { width: 900, height: 900 } })
  })

  const toLink = (path: string): string => `${fixture.server.addresses.publicUrl}/embeds/${CHANNEL}/${path}`

  /** Open a post with a link between two paragraphs. */
  const openPost = async (link: string): Promise<void> => {
    const path = await fixture.publish(`before\n\n${link}\n\nafter`)
    await page.goto(fixture.site.origin + path)
  }

  /** Return the frame of the post after it has loaded. */
  const findFrame = async (): Promise<Frame> => {
    const element = await page.waitForSelector('iframe.wp-embedded-content', { state: 'attached' })
    const frame = await element.contentFrame()
    if (frame === null) throw new Error('the element is not a frame')
    await frame.waitForLoadState('load')
    return frame
  }

  it('the HTML of the post - has the sandboxed frame of oEmbed discovery, without prices', async () => {
    const reader = await signInAs(fixture.site)
    const link = toLink(`where-to-buy/${GTIN}?theme=dark&limit=3`)
    const page = await reader.get(await fixture.publish(`before\n\n${link}\n\nafter`))
    const html = readContent(page).replaceAll(/&(#038|amp);/g, '&')
    expect(html).toMatch(/<blockquote[^>]*class="wp-embedded-content"[^>]*><\/blockquote>/)
    expect(html).toMatch(/<iframe[^>]* sandbox="allow-scripts"/)
    expect(html).toContain(`/embeds/${CHANNEL}/where-to-buy/${GTIN}?theme=dark&limit=3#?secret=`)
    expect(html).not.toMatch(/€|vitrine-box/)
  })

  it('a round-up with a placement - in Chromium - is shown, and both are in the address of the frame', async () => {
    const list = `${GTIN}%2C${OTHER_GTIN}`
    await openPost(toLink(`picks/${list}?label=Best&label=&sub=guide_7`))
    const frame = await findFrame()
    expect(frame.url()).toMatch(
      new RegExp(`/embeds/${CHANNEL}/picks/${GTIN},${OTHER_GTIN}\\?label=Best&sub=guide_7#\\?secret=\\w+$`),
    )
    await expect.poll(() => frame.locator('.vitrine-pick').count()).toBe(2)
    await expect.poll(() => page.evaluate(FRAME_HEIGHT)).toBeGreaterThan(200)
  })

  it('a box - in Chromium - has the height of its content, without a scroll bar', async () => {
    await openPost(toLink(`where-to-buy/${GTIN}`))
    const frame = await findFrame()
    const contentPx = await frame.evaluate<number>(
      'Math.ceil(document.documentElement.getBoundingClientRect().height)',
    )
    expect(contentPx).toBeGreaterThan(250)
    expect(contentPx).toBeLessThan(1000)
    await page.waitForFunction(`${FRAME_HEIGHT} === ${contentPx}`)
    expect(await page.evaluate(IS_FRAME_SHOWN)).toBe(true)
    expect(await page.locator('blockquote').isVisible()).toBe(false)
    expect(await frame.evaluate<boolean>('document.documentElement.scrollHeight <= innerHeight')).toBe(true)
  })

  it('a product that no shop sells - in Chromium - shows nothing and takes no space', async () => {
    await openPost('nothing')
    const plainPx = await page.evaluate<number>(LAST_TOP)
    await openPost(toLink(`where-to-buy/${UNSOLD_GTIN}`))
    await findFrame()
    expect(await page.evaluate(IS_FRAME_SHOWN)).toBe(false)
    expect(await page.evaluate<number>(LAST_TOP)).toBeLessThanOrEqual(plainPx)
    expect(await page.locator('main').innerText()).toMatch(/^BOX\(\s*before\s*after\s*\)BOX$/)
  })

  it('a shop link - clicked - opens in the window through an address of this server', async () => {
    await openPost(toLink(`where-to-buy/${GTIN}`))
    const frame = await findFrame()
    const visited: string[] = []
    page.on('request', (request) => {
      if (request.isNavigationRequest() && request.frame() === page.mainFrame()) visited.push(request.url())
    })
    const shop = frame.locator('a[data-go]').first()
    const address = await shop.getAttribute('href')
    await shop.click()
    await page.waitForURL((url) => url.href === address)
    expect(visited[0]).toMatch(
      new RegExp(`^${fixture.server.addresses.publicUrl}/go/${CHANNEL}/${GTIN}/[0-9a-f]{16}$`),
    )
    expect(visited[1]).toBe(address)
  })

  it('a grid of deals - in Chromium - has at most the height that WordPress allows', async () => {
    await openPost(toLink('deals?limit=2'))
    await findFrame()
    await page.waitForFunction(IS_FRAME_SHOWN)
    expect(await page.evaluate<number>(FRAME_HEIGHT)).toBeGreaterThan(200)
    expect(await page.evaluate<number>(FRAME_HEIGHT)).toBeLessThanOrEqual(1000)
  })

  it('the plugin - activated later and deactivated - turns the same link into a box, then into a frame again', async () => {
    const reader = await signInAs(fixture.site)
    const path = await fixture.publish(toLink(`where-to-buy/${GTIN}?limit=2`))
    const readPost = async (): Promise<string> => readContent(await reader.get(path))
    expect(await readPost()).toContain('<iframe')
    await fixture.site
      .run(`update_option( 'vitrine_settings', array( 'server' => '${fixture.server.addresses.publicUrl}' ) );
      activate_plugin( 'vitrine/vitrine.php' ); return 1;`)
    const post = await readPost()
    const fragment = await fixture.fetchFragment(`where-to-buy/${GTIN}?limit=2`)
    expect(removeTimes(post).trim()).toBe(removeTimes(fragment).trim())
    await fixture.site.run(`deactivate_plugins( 'vitrine/vitrine.php' ); return 1;`)
    expect(await readPost()).toContain('<iframe')
  })
})
