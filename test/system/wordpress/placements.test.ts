import { mkdir, rm, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  CHANNEL,
  type WordPressFixture,
  GTIN,
  OTHER_GTIN,
  createWordPressFixture,
  removeTimes,
  toPhp,
} from './wordpress-fixture.ts'
import { isSkipped } from './programs.ts'
import { type Visitor, readContent, signInAs } from './visitor.ts'

const SHORTCODE = `[vitrine gtin="${GTIN}"]`
const BLOCK = `<!-- wp:vitrine/where-to-buy {"gtin":"${GTIN}"} /-->`
const SIDEBAR_BLOCK = `<!-- wp:vitrine/where-to-buy {"gtin":"${OTHER_GTIN}"} /-->`
const PICKS = `picks/${GTIN},${OTHER_GTIN}`

const toFragment = (path: string): string => `/fragments/${CHANNEL}/${path}`

describe.skipIf(isSkipped)('the placement of a box', () => {
  let fixture: WordPressFixture
  let reader: Visitor

  beforeAll(async () => {
    fixture = await createWordPressFixture()
    reader = await signInAs(fixture.site)
    await writeFile(fixture.site.toPath('placements'), '')
  })
  afterAll(() => fixture.close())
  beforeEach(() => {
    fixture.faultProxy.takeCalls()
  })

  const toLink = (path: string): string => `${fixture.faultProxy.origin}/embeds/${CHANNEL}/${path}`

  it.each(['classic', 'blocks'])(
    'theme "%s" - shortcode, block and link of each widget - have the id of the post, and readers see them',
    async (theme) => {
      await fixture.site.run(`switch_theme( '${theme}' ); return 1;`)
      const contents = [
        [SHORTCODE, `where-to-buy/${GTIN}`, ''],
        [BLOCK, `where-to-buy/${GTIN}`, ''],
        [toLink(`where-to-buy/${GTIN}~17?else=18`), `where-to-buy/${GTIN}~17`, '&else=18'],
        [
          `[vitrine_picks gtins="${GTIN}, ${OTHER_GTIN}" labels="Best overall||"]`,
          PICKS,
          '&label=Best%20overall&label=&label=',
        ],
        [
          `<!-- wp:vitrine/picks {"gtins":"${GTIN},${OTHER_GTIN}","layout":"table"} /-->`,
          PICKS,
          '&layout=table',
        ],
        [toLink(`${PICKS}?label=&label=Best%20value`), PICKS, '&label=&label=Best%20value'],
        ['[vitrine_deals limit="2"]', 'deals', '&limit=2'],
      ] as const
      for (const [content, path, query] of contents) {
        const post = await fixture.publish(content)
        const sub = `p${post.slice('/?p='.length)}`
        const page = await reader.get(post)
        expect(fixture.faultProxy.takeCalls()).toEqual([toFragment(`${path}?sub=${sub}${query}`)])
        const fragment = await fixture.fetchFragment(`${path}?sub=${sub}${query}`)
        expect(fragment).toContain(`data-sub="${sub}"`)
        expect(removeTimes(readContent(page))).toContain(removeTimes(fragment))
      }
      await fixture.site.run(`switch_theme( 'classic' ); return 1;`)
    },
  )

  it.each(['classic', 'blocks'])(
    'theme "%s" - a list of posts - each box has the id of its post',
    async (theme) => {
      await fixture.site.run(`switch_theme( '${theme}' ); update_option( 'posts_per_page', 2 ); return 1;`)
      const posts = [await fixture.publish(SHORTCODE), await fixture.publish(BLOCK)]
      const calls = posts.map((post) => toFragment(`where-to-buy/${GTIN}?sub=p${post.slice('/?p='.length)}`))
      expect((await fixture.visitUntilCalled(reader, ['/'], calls.length)).toSorted()).toEqual(
        calls.toSorted(),
      )
      await fixture.site.run(`switch_theme( 'classic' ); return 1;`)
    },
  )

  it('theme "classic", the sidebar of two posts - has one box for both', async () => {
    const plugin = fixture.site.toPath('www/wp-content/mu-plugins/sidebar.php')
    await writeFile(
      plugin,
      toSidebarPlugin(['[vitrine_deals limit="4"]', SIDEBAR_BLOCK, toLink('deals?limit=5')]),
    )
    const posts = [await fixture.publish(SHORTCODE), await fixture.publish(SHORTCODE)]
    const inPosts = posts.map((post) => toFragment(`where-to-buy/${GTIN}?sub=p${post.slice('/?p='.length)}`))
    const inSidebar = ['deals?limit=4', `where-to-buy/${OTHER_GTIN}`, 'deals?limit=5'].map(toFragment)
    const calls = [...inPosts, ...inSidebar].toSorted()
    expect((await fixture.visitUntilCalled(reader, posts, calls.length)).toSorted()).toEqual(calls)
    await rm(plugin)
  })

  it('theme "blocks", template and footer of two posts - have one box for both', async () => {
    const theme = fixture.site.toPath('www/wp-content/themes/blocks')
    await mkdir(`${theme}/parts`)
    await writeFile(
      `${theme}/templates/single.html`,
      '<!-- wp:vitrine/deals {"limit":"6"} /--><!-- wp:post-content /--><!-- wp:template-part {"slug":"footer"} /-->',
    )
    await writeFile(`${theme}/parts/footer.html`, '<!-- wp:vitrine/deals {"limit":"7"} /-->')
    await fixture.site.run(`switch_theme( 'blocks' ); return 1;`)
    const posts = [await fixture.publish(BLOCK), await fixture.publish(BLOCK)]
    const inPosts = posts.map((post) => toFragment(`where-to-buy/${GTIN}?sub=p${post.slice('/?p='.length)}`))
    const inTheme = ['deals?limit=6', 'deals?limit=7'].map(toFragment)
    const calls = [...inPosts, ...inTheme].toSorted()
    expect((await fixture.visitUntilCalled(reader, posts, calls.length)).toSorted()).toEqual(calls)
    await rm(`${theme}/templates/single.html`)
    await fixture.site.run(`switch_theme( 'classic' ); return 1;`)
  })

  it('an id of the author - in an attribute or a link - is used instead', async () => {
    const link = toLink(`deals?sub=home-top`)
    const path = await fixture.publish(`[vitrine gtin="${GTIN}" sub="guide_7"]\n\n${link}`)
    expect((await fixture.visitUntilCalled(reader, [path], 2)).toSorted()).toEqual([
      toFragment('deals?sub=home-top'),
      toFragment(`where-to-buy/${GTIN}?sub=guide_7`),
    ])
  })

  it('a box outside of a post, and the preview of a block - have none', async () => {
    await fixture.site.run(
      `add_filter( 'vitrine_shows_boxes', '__return_true' );
      return apply_filters( 'widget_block_content', '${BLOCK}', array(), new WP_Widget_Block() );`,
    )
    const author = await signInAs(fixture.site, 'author')
    const attributes = { gtin: GTIN, limit: '2' }
    const route = '/wp/v2/block-renderer/vitrine/where-to-buy'
    expect((await author.rest(route, { context: 'edit', attributes })).status).toBe(200)
    expect(fixture.faultProxy.takeCalls()).toEqual([
      toFragment(`where-to-buy/${GTIN}`),
      toFragment(`where-to-buy/${GTIN}?limit=2`),
    ])
  })

  it('the filter vitrine_sub - returns another id, or none', async () => {
    expect(
      await fixture.site
        .run(`add_filter( 'vitrine_sub', function ( $sub, $post_id ) { return 'site-' . $post_id; }, 10, 2 );
        return vitrine_placement( array() );`),
    ).toBe('site-0')
    await rm(fixture.site.toPath('placements'))
    await reader.get(await fixture.publish(`[vitrine gtin="${GTIN}" limit="3"]`))
    expect(fixture.faultProxy.takeCalls()).toEqual([toFragment(`where-to-buy/${GTIN}?limit=3`)])
  })
})

/** Return a plugin that shows a sidebar, with a block widget for each content, below every page. */
function toSidebarPlugin(contents: readonly string[]): string {
  const widgets = contents.map((content, index) => `${index + 2} => array( 'content' => ${toPhp(content)} )`)
  const names = contents.map((_content, index) => `'block-${index + 2}'`)
  return `<?php
add_action( 'widgets_init', function () { register_sidebar( array( 'id' => 'test' ) ); } );
add_filter( 'pre_option_widget_block', function () { return array( ${widgets.join(', ')}, '_multiwidget' => 1 ); } );
add_filter( 'sidebars_widgets', function () { return array( 'test' => array( ${names.join(', ')} ) ); } );
add_action( 'wp_footer', function () { dynamic_sidebar( 'test' ); } );
`
}
