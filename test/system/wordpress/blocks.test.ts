import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useBrowser } from '../use-browser.ts'
import {
  type WordPressFixture,
  GTIN,
  OTHER_GTIN,
  UNSOLD_GTIN,
  createWordPressFixture,
  removeTimes,
} from './wordpress-fixture.ts'
import { isSkipped } from './programs.ts'
import { readContent, signInAs } from './visitor.ts'

/** Publishes the open post and returns its id. */
const PUBLISH = `(async () => {
  wp.data.dispatch('core/editor').editPost({ title: 'A box', status: 'publish' })
  await wp.data.dispatch('core/editor').savePost()
  return wp.data.select('core/editor').getCurrentPostId()
})()`

/** Lists the blocks of the loaded post, and whether the editor accepts them as valid. */
const BLOCKS = `wp.data.select('core/block-editor').getBlocks().map(
  ({ isValid, attributes }) => ({ isValid, layout: attributes.layout }))`

describe.skipIf(isSkipped)('the blocks in the editor', () => {
  let fixture: WordPressFixture
  const browser = useBrowser()
  let page: Page
  const problems: string[] = []

  beforeAll(async () => {
    fixture = await createWordPressFixture()
    page = await browser.newPage({ viewport: { width: 1300, height: 900 } })
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('console', (message) => {
      if (message.text().includes(' is deprecated ')) problems.push(message.text())
    })
    await page.goto(`${fixture.site.origin}/wp-login.php`)
    await page.fill('#user_login', 'author')
    await page.fill('#user_pass', 'author')
    await page.click('#wp-submit')
    await page.waitForURL(/wp-admin/)
  })
  afterAll(() => fixture.close())

  /** Return the content in the editor. WordPress 7 puts it into a frame. */
  const findCanvas = async (): Promise<Locator> => {
    const frame = page.locator('iframe[name="editor-canvas"]')
    await frame.or(page.locator('.block-editor-block-list__layout')).first().waitFor()
    const isFramed = (await frame.count()) > 0
    return (isFramed ? frame.contentFrame() : page).locator('.block-editor-block-list__layout').first()
  }

  /** Open a new post with one block and return the content. */
  const openEditor = async (block: string): Promise<Locator> => {
    await page.goto(`${fixture.site.origin}/wp-admin/post-new.php`)
    const canvas = await findCanvas()
    await canvas.waitFor()
    await page.evaluate(`wp.data.dispatch('core/preferences').set('core/edit-post', 'welcomeGuide', false)
      wp.data.dispatch('core/block-editor').insertBlock(wp.blocks.createBlock('${block}'))`)
    return canvas
  }

  it('a box - GTIN typed and layout selected - is previewed, saved, and shown to readers', async () => {
    const canvas = await openEditor('vitrine/where-to-buy')
    await canvas.getByLabel('GTIN').fill(GTIN)
    await canvas.getByRole('button', { name: 'Show' }).click()
    await canvas.locator('.vitrine-box[data-layout="list"]').waitFor()
    await page.getByRole('region', { name: 'Editor settings' }).getByLabel('Layout').selectOption('card')
    await canvas.locator('.vitrine-box[data-layout="card"]').waitFor()
    const id = await page.evaluate<number>(PUBLISH)
    const post = readContent(await (await signInAs(fixture.site)).get(`/?p=${id}`))
    const fragment = await fixture.fetchFragment(`where-to-buy/${GTIN}?layout=card`)
    expect(removeTimes(post)).toContain(removeTimes(fragment))
    await page.goto(`${fixture.site.origin}/wp-admin/post.php?post=${id}&action=edit`)
    await (await findCanvas()).locator('.vitrine-box[data-layout="card"]').waitFor()
    expect(await page.evaluate<unknown>(BLOCKS)).toEqual([{ isValid: true, layout: 'card' }])
    expect(problems).toEqual([])
  })

  it('a box - of a product that no shop sells - shows a note instead', async () => {
    const canvas = await openEditor('vitrine/where-to-buy')
    await canvas.getByLabel('GTIN').fill(UNSOLD_GTIN)
    await canvas.getByRole('button', { name: 'Show' }).click()
    await canvas.getByText('No shop of this channel sells it').waitFor()
    expect(problems).toEqual([])
  })

  it('a round-up - GTINs typed, layout and labels set - is previewed, saved, and shown to readers', async () => {
    const canvas = await openEditor('vitrine/picks')
    await canvas.getByLabel('GTINs').fill(`${GTIN}, ${OTHER_GTIN}`)
    await canvas.getByRole('button', { name: 'Show' }).click()
    await canvas.locator('.vitrine-picks[data-layout="rank"]').waitFor()
    const settings = page.getByRole('region', { name: 'Editor settings' })
    await settings.getByLabel('Layout').selectOption('table')
    await settings.getByLabel('Labels').fill('Best overall|Best value')
    await canvas.locator('.vitrine-picks[data-layout="table"]').getByText('Best value').waitFor()
    const id = await page.evaluate<number>(PUBLISH)
    const post = readContent(await (await signInAs(fixture.site)).get(`/?p=${id}`))
    const fragment = await fixture.fetchFragment(
      `picks/${GTIN},${OTHER_GTIN}?layout=table&label=Best%20overall&label=Best%20value`,
    )
    expect(removeTimes(post)).toContain(removeTimes(fragment))
    await page.goto(`${fixture.site.origin}/wp-admin/post.php?post=${id}&action=edit`)
    await (await findCanvas()).locator('.vitrine-picks[data-layout="table"]').waitFor()
    expect(await page.evaluate<unknown>(BLOCKS)).toEqual([{ isValid: true, layout: 'table' }])
    expect(problems).toEqual([])
  })

  it('a grid - with a number of cards - is previewed', async () => {
    const canvas = await openEditor('vitrine/deals')
    await canvas.locator('.vitrine-grid').waitFor()
    await page.getByRole('region', { name: 'Editor settings' }).getByLabel('Cards on a page').fill('2')
    await expect.poll(() => canvas.locator('.vitrine-grid li').count()).toBe(2)
    expect(problems).toEqual([])
  })

  it('a plain link - in the editor - is previewed as a frame', async () => {
    const author = await signInAs(fixture.site, 'author')
    const url = `${fixture.server.addresses.publicUrl}/embeds/${fixture.server.addresses.box.split('/embeds/')[1] ?? ''}`
    await fixture.site.run(`$all = get_option( 'vitrine_settings' );
      return update_option( 'vitrine_settings', array( 'server' => '${fixture.server.addresses.publicUrl}' ) + $all );`)
    const response = await author.get(
      `/index.php?rest_route=/oembed/1.0/proxy&url=${encodeURIComponent(url)}&_wpnonce=${(await author.get('/wp-admin/admin-ajax.php?action=rest-nonce')).html}`,
    )
    expect(response.status).toBe(200)
    const { html, type } = JSON.parse(response.html) as Readonly<{ html: string; type: string }>
    expect(type).toBe('rich')
    expect(html).toContain(`<iframe`)
    expect(html).toContain('/embeds/')
  })
})
