import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  CHANNEL,
  type WordPressFixture,
  GTIN,
  UNSOLD_GTIN,
  createWordPressFixture,
  removeTimes,
} from './wordpress-fixture.ts'
import { isSkipped } from './programs.ts'
import { type VisitedPage, type Visitor, readContent, readVisibleText, signInAs } from './visitor.ts'

/** Everything that WordPress reformats in a text, and special characters of replacement functions. */
const AWKWARD = `<section class="odd">
<p>"Quoted" and 'quoted' -- 10x20 ... (c) Wordpress :) 8-) ;-)</p>

[gallery] [vitrine_deals] [embed]https://video.example/1[/embed]
https://video.example/2

<p>9,99 € · 1 299,00 kr · 価格 ￥1,200 · 🎧 $1 \\0 \\\\ %s</p>


<img src="https://pictures.example/a.jpg" alt="">
<p><br></p><!-- a comment --><table><tr><td>x</td></tr></table>
<script type="application/ld+json">{"name":"a \\u0022b\\u0022 -- c"}</script>
</section>`

const SHORTCODE = `[vitrine gtin="${GTIN}"]`
const BLOCK = `<!-- wp:vitrine/where-to-buy {"gtin":"${GTIN}"} /-->`
const PARAGRAPH = '<!-- wp:paragraph --><p>before</p><!-- /wp:paragraph -->'

/** WordPress 7.1 adds a class to the paragraphs of blocks. */
const removeParagraphClass = (html: string): string => html.replaceAll(' class="wp-block-paragraph"', '')

describe.skipIf(isSkipped)('a box in the filters of WordPress', () => {
  let fixture: WordPressFixture
  let reader: Visitor

  beforeAll(async () => {
    fixture = await createWordPressFixture()
    reader = await signInAs(fixture.site)
  })
  afterAll(() => fixture.close())
  beforeEach(() => {
    fixture.faultProxy.setMode({ body: AWKWARD })
  })
  afterEach(async () => {
    fixture.faultProxy.setMode('pass')
    await fixture.site.advanceClock(301)
    await fixture.site.run(`switch_theme( 'classic' ); return 1;`)
  })

  const toLink = (gtin = GTIN): string =>
    `${fixture.faultProxy.origin}/embeds/${CHANNEL}/where-to-buy/${gtin}`

  /** Every way to put the box into a post, with the expected HTML around it in the page. */
  const ways = (): Readonly<Record<string, readonly [content: string, page: string]>> => ({
    shortcode: [`before\n\n${SHORTCODE}\n\nafter`, `<p>before</p>\n${AWKWARD}\n<p>after</p>\n`],
    'shortcode in a sentence': [`before ${SHORTCODE} after`, `<p>before ${AWKWARD} after</p>\n`],
    'shortcode among blocks': [
      `${PARAGRAPH}\n<!-- wp:shortcode -->${SHORTCODE}<!-- /wp:shortcode -->`,
      `\n${AWKWARD}`,
    ],
    block: [`${PARAGRAPH}\n${BLOCK}`, `<p>before</p>\n${AWKWARD}`],
    'block in a group': [
      `<!-- wp:group --><div class="wp-block-group">${BLOCK}</div><!-- /wp:group -->`,
      `${AWKWARD}</div>`,
    ],
    'plain link': [`before\n\n${toLink()}\n\nafter`, `<p>before</p>\n${AWKWARD}\n<p>after</p>\n`],
    'plain link in a paragraph': [`<p>before</p><p>${toLink()}</p>`, `<p>before</p>\n${AWKWARD}`],
    'embed block': [
      `<!-- wp:embed {"url":"${toLink()}"} --><figure class="wp-block-embed"><div class="wp-block-embed__wrapper">
${toLink()}
</div></figure><!-- /wp:embed -->`,
      `\n${AWKWARD}\n</div></figure>`,
    ],
  })

  it.each(['classic', 'blocks'])(
    'theme "%s" - every way into a post - the bytes are unchanged',
    async (theme) => {
      await fixture.site.run(`switch_theme( '${theme}' ); return 1;`)
      for (const [way, [content, expected]] of Object.entries(ways())) {
        const page = await reader.get(await fixture.publish(content))
        expect(removeParagraphClass(readContent(page)), way).toContain(
          theme === 'classic' ? expected : AWKWARD,
        )
        expect(page.html, way).not.toContain('data-vitrine-place')
        expect(page.html.split('<section class="odd">'), way).toHaveLength(2)
      }
    },
  )

  it.each(['classic', 'blocks'])(
    'theme "%s" - boxes of the real server - the bytes are unchanged',
    async (theme) => {
      await fixture.site.run(`switch_theme( '${theme}' ); return 1;`)
      fixture.faultProxy.setMode('pass')
      const path = await fixture.publish(
        `[vitrine gtin="${GTIN}" locale="de" layout="table" markup="schema"]\n\n[vitrine_deals limit="60" locale="sv" isolate="shadow"]`,
      )
      const page = removeTimes(readContent(await reader.get(path)))
      const box = await fixture.fetchFragment(`where-to-buy/${GTIN}?locale=de&layout=table&markup=schema`)
      const grid = await fixture.fetchFragment('deals?limit=60&locale=sv&isolate=shadow')
      expect(box).toMatch(/\d,\d\d\s€/)
      expect(page).toContain(removeTimes(box))
      expect(page).toContain(removeTimes(grid))
    },
  )

  it('a cached box - database tables in latin1 - all letters are unchanged', async () => {
    await fixture.site.run(
      `global $wpdb; return $wpdb->query( 'ALTER TABLE wp_options CONVERT TO CHARACTER SET latin1' );`,
    )
    const path = await fixture.publish(SHORTCODE)
    await reader.get(path)
    fixture.faultProxy.takeCalls()
    expect(readContent(await reader.get(path))).toContain(AWKWARD)
    expect(fixture.faultProxy.takeCalls()).toEqual([])
  })

  it('a box in a post that another post shows - is not filtered', async () => {
    const inner = await fixture.publish(`innermost\n\n${BLOCK}`)
    await fixture.site.run(`stick_post( ${inner.slice('/?p='.length)} ); return 1;`)
    const query = `<!-- wp:query {"query":{"postType":"post","perPage":1,"sticky":"only"}} --><div class="wp-block-query"><!-- wp:post-template --><!-- wp:post-content /--><!-- /wp:post-template --></div><!-- /wp:query -->`
    const page = readContent(await reader.get(await fixture.publish(`${PARAGRAPH}${query}`)))
    expect(page).toContain('innermost')
    expect(page).toContain(AWKWARD)
    expect(page.split('<section class="odd">')).toHaveLength(2)
  })

  it('a block widget - in a sidebar - is unchanged', async () => {
    const html = await fixture.site.run(`add_filter( 'vitrine_shows_boxes', '__return_true' );
      return apply_filters( 'widget_block_content', '${BLOCK} ' . "\\n\\n" . '"a"',
      array(), new WP_Widget_Block() );`)
    expect(html).toContain(AWKWARD)
  })

  it.each(['classic', 'blocks'])(
    'theme "%s" - a hidden box - leaves no paragraph and no figure',
    async (theme) => {
      await fixture.site.run(`switch_theme( '${theme}' ); return 1;`)
      fixture.faultProxy.setMode('pass')
      const link = toLink(UNSOLD_GTIN)
      const figure = `<!-- wp:embed {"url":"${link}"} --><figure class="wp-block-embed"><div class="wp-block-embed__wrapper">\n${link}\n</div></figure><!-- /wp:embed -->`
      const readEmpty = async (content: string): Promise<VisitedPage> =>
        reader.get(await fixture.publish(content))
      const plain = await readEmpty(`before\n\n${link}\n\n[vitrine gtin="${UNSOLD_GTIN}"]\n\nafter`)
      expect(readVisibleText(plain)).toBe('before after')
      expect(readContent(plain).match(/<p/g)).toHaveLength(2)
      const blocks = await readEmpty(`${PARAGRAPH}${figure}`)
      expect(readContent(blocks)).not.toContain('figure')
      expect(readVisibleText(blocks)).toBe('before')
    },
  )
})
