import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  CHANNEL,
  type WordPressFixture,
  GTIN,
  OTHER_GTIN,
  UNSOLD_GTIN,
  createWordPressFixture,
  removeTimes,
} from './wordpress-fixture.ts'
import { UNAVAILABLE } from './fault-proxy.ts'
import { isSkipped } from './programs.ts'
import { type Visitor, readContent, readVisibleText, signInAs } from './visitor.ts'

const BOX = 'class="vitrine vitrine-box"'

/** Request the preview of a block as ServerSideRender does. */
async function preview(
  visitor: Visitor,
  attributes: Readonly<Record<string, string>>,
  block = 'where-to-buy',
): Promise<Readonly<{ status: number; rendered: string }>> {
  const route = `/wp/v2/block-renderer/vitrine/${block}`
  const { status, json } = await visitor.rest(route, { context: 'edit', attributes })
  return { status, rendered: (json as Readonly<{ rendered?: string }>).rendered ?? '' }
}

describe.skipIf(isSkipped)('the editor', () => {
  let fixture: WordPressFixture
  let admin: Visitor
  let author: Visitor
  let reader: Visitor

  beforeAll(async () => {
    fixture = await createWordPressFixture()
    admin = await signInAs(fixture.site, 'administrator')
    author = await signInAs(fixture.site, 'author')
    reader = await signInAs(fixture.site)
  })
  afterAll(() => fixture.close())
  afterEach(async () => {
    fixture.faultProxy.setMode('pass')
    await fixture.site.advanceClock(31)
  })

  it('a block - previewed by an administrator or an author - is the box of the server', async () => {
    const fragment = await fixture.fetchFragment(`where-to-buy/${GTIN}?layout=card`)
    for (const visitor of [admin, author])
      expect(await preview(visitor, { gtin: GTIN, layout: 'card' })).toEqual({
        status: 200,
        rendered: fragment,
      })
    const gtins = `${GTIN}, ${OTHER_GTIN}`
    const picks = await fixture.fetchFragment(
      `picks/${GTIN},${OTHER_GTIN}?layout=table&label=&label=Best%20value`,
    )
    expect(await preview(author, { gtins, labels: '|Best value', layout: 'table' }, 'picks')).toEqual({
      status: 200,
      rendered: picks,
    })
    expect(await preview(admin, { limit: '3' }, 'deals')).toEqual({
      status: 200,
      rendered: await fixture.fetchFragment('deals?limit=3'),
    })
  })

  it('a preview - requested by a visitor or a subscriber - is rejected', async () => {
    const subscriber = await signInAs(fixture.site, 'subscriber')
    expect((await preview(reader, { gtin: GTIN })).status).toBe(401)
    expect((await preview(subscriber, { gtin: GTIN })).status).toBe(403)
  })

  it.each([
    ['no product', {}, 'Enter the GTIN of a product'],
    ['an invalid GTIN', { gtin: '12-34' }, 'A GTIN is 1 to 14 digits'],
    ['a product that no shop sells', { gtin: UNSOLD_GTIN }, 'No shop of this channel sells it'],
    [
      'a bad option',
      { gtin: GTIN, layout: 'sideways' },
      '&quot;layout&quot; accepts list, table, card, button or inline',
    ],
    ['an invalid channel', { gtin: GTIN, channel: 'mine' }, 'not an id of 36 characters'],
    [
      'another channel',
      { gtin: GTIN, channel: CHANNEL.replace('1', '9') },
      'not serve a channel with this id',
    ],
  ])('a preview - %s - shows the reason to the editor', async (_case, attributes, reason) => {
    const { status, rendered } = await preview(author, attributes)
    expect(status).toBe(200)
    expect(rendered).toContain(reason)
    expect(rendered).toMatch(
      /^<p class="vitrine-editor-note [a-z -]+">Vitrine: .* Readers see nothing here\.<\/p>$/,
    )
  })

  it.each([
    ['no products', {}, 'Enter the GTINs of 2 to 20 products'],
    ['one product', { gtins: GTIN }, 'A round-up has 2 to 20 different GTINs'],
  ])('a preview of a round-up - %s - shows the reason to the editor', async (_case, attributes, reason) => {
    expect((await preview(author, attributes, 'picks')).rendered).toContain(reason)
  })

  it('a preview - the server fails or has no data - shows which', async () => {
    fixture.faultProxy.setMode(UNAVAILABLE)
    expect((await preview(admin, { gtin: GTIN, limit: '9' })).rendered).toContain('no prices for this box')
    fixture.faultProxy.setMode('failing')
    expect((await preview(admin, { gtin: GTIN, limit: '8' })).rendered).toContain('with status 500')
    expect((await preview(admin, { gtin: GTIN, limit: '7' })).rendered).toContain('with status 500')
  })

  it('a message of the server - with markup - is printed as text', async () => {
    fixture.faultProxy.setMode({
      status: 400,
      body: '<!-- Vitrine: <script>alert(1)</script> & "x" -->',
      caching: 'no-store',
    })
    const { rendered } = await preview(admin, { gtin: GTIN, limit: '11' })
    expect(rendered).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;x&quot;')
    expect(rendered).not.toContain('<script')
  })

  it('a post without a visible box - previewed by its author - shows the reason', async () => {
    const content = `before [vitrine gtin="${GTIN}" layout="sideways"] after`
    const path = await fixture.publish(content)
    expect(readVisibleText(await reader.get(path))).toBe('before after')
    expect(readVisibleText(await admin.get(path))).toBe('before after')
    const draft = await fixture.publish(content, 'draft')
    expect((await reader.get(`${draft}&preview=true`)).html).not.toContain('accepts list')
    expect(readVisibleText(await admin.get(`${draft}&preview=true`))).toContain(
      'accepts list, table, card, button or inline',
    )
  })

  it('the REST API - a post for readers - has the box and no note', async () => {
    const path = await fixture.publish(`before [vitrine gtin="${GTIN}"] [vitrine] after`)
    const route = `/wp/v2/posts/${path.slice('/?p='.length)}`
    for (const visitor of [reader, admin]) {
      const { json } = await visitor.rest(route)
      const { rendered } = (json as { content: { rendered: string } }).content
      const fragment = await fixture.fetchFragment(`where-to-buy/${GTIN}`)
      expect(removeTimes(rendered)).toContain(removeTimes(fragment))
      expect(rendered).not.toContain('vitrine-place')
      expect(rendered).not.toContain('Readers see nothing')
    }
  })

  it('an author - without unfiltered_html - writes shortcode, block and link, and readers see all three', async () => {
    expect(
      await fixture.site.run(`return user_can( get_user_by( 'login', 'author' ), 'unfiltered_html' );`),
    ).toBe(false)
    const link = `${fixture.faultProxy.origin}/embeds/${CHANNEL}/deals?limit=2&brand=H%26M&merchant=A&merchant=B`
    const content = `<!-- wp:vitrine/where-to-buy {"gtin":"${GTIN}","merchant":"Pfefferkorn \\u0026 Lind|Velofjell"} /-->
<!-- wp:paragraph --><p>${link}</p><!-- /wp:paragraph -->
<!-- wp:shortcode -->[vitrine_deals brand="H&M" layout="list"]<!-- /wp:shortcode -->`
    fixture.faultProxy.takeCalls()
    const { status, json } = await author.rest('/wp/v2/posts', {
      title: 'By an author',
      status: 'publish',
      content,
    })
    expect(status).toBe(201)
    const path = `/?p=${(json as { id: number }).id}`
    expect((await fixture.visitUntilCalled(reader, [path], 3)).toSorted()).toEqual([
      `/fragments/${CHANNEL}/deals?layout=list&brand=H%26M`,
      `/fragments/${CHANNEL}/deals?merchant=A&merchant=B&limit=2&brand=H%26M`,
      `/fragments/${CHANNEL}/where-to-buy/${GTIN}?merchant=Pfefferkorn%20%26%20Lind&merchant=Velofjell`,
    ])
    const page = await reader.get(path)
    expect(readContent(page)).toContain(BOX)
    expect(readVisibleText(page)).toContain('Pfefferkorn &amp; Lind')
  })

  it('options - all of the widgets - are sent, and no other attributes', async () => {
    const common =
      'theme="dark" accent="ff6600" locale="de" currency="EUR" stock="in" merchant="A| B |" exclude="C" sub="top"'
    const rest = 'isolate="none" css="none" layout="list" limit="4" utm_source="x" channel="" gtin2="5" q=""'
    const path = await fixture.publish(
      `[vitrine gtin="${GTIN}" ${common} ${rest} history="note" else="17, 18" markup="none"] [vitrine_picks gtins="${GTIN}, 18" ${common} layout="row" labels="Best overall| |Best & cheap" limit="4"] [vitrine_deals ${common} ${rest} page="1" sort="price" evidence="shop" min_discount="5" max_price="99.50" brand="Ä b"]`,
    )
    fixture.faultProxy.takeCalls()
    const first = 'theme=dark&accent=ff6600&locale=de&currency=EUR&stock=in&merchant=A&merchant=B&exclude=C'
    const options = `${first}&isolate=none&css=none&sub=top&layout=list&limit=4`
    expect(await fixture.visitUntilCalled(reader, [path], 3)).toEqual([
      `/fragments/${CHANNEL}/where-to-buy/${GTIN}?${options}&history=note&else=17%2C18&markup=none`,
      `/fragments/${CHANNEL}/picks/${GTIN},18?${first}&sub=top&layout=row&label=Best%20overall&label=&label=Best%20%26%20cheap`,
      `/fragments/${CHANNEL}/deals?${options}&page=1&sort=price&evidence=shop&min_discount=5&max_price=99.50&brand=%C3%84%20b`,
    ])
  })

  it('the editor page - loads the script of the blocks; the front end loads no script', async () => {
    const { html } = await admin.get('/wp-admin/post-new.php')
    expect(html).toContain('/plugins/vitrine/assets/blocks.js')
    expect(html.replaceAll('\\/', '/')).toContain('"vitrine/where-to-buy"')
    const page = await reader.get(await fixture.publish(`[vitrine gtin="${GTIN}"]`))
    expect(page.html).toContain(BOX)
    expect(page.html).not.toContain('blocks.js')
    expect(readContent(page)).not.toContain('<script')
  })
})
