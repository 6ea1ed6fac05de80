import { rm, writeFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CHANNEL, type WordPressFixture, GTIN, createWordPressFixture, toPhp } from './wordpress-fixture.ts'
import { isSkipped } from './programs.ts'
import { type Visitor, readContent, readVisibleText, signInAs } from './visitor.ts'

const BOX = 'class="vitrine vitrine-box"'
const PLACEHOLDER = 'data-vitrine-place'
const SHORTCODE = `[vitrine gtin="${GTIN}"]`
const TEXT = `before\n\n${SHORTCODE}\n\nafter`

/** Stores the output of a shortcode, as the element cache of Elementor does. */
const ELEMENT_CACHE = `add_shortcode( 'element', function ( $attributes, $content ) {
  $name = 'element_' . md5( $content );
  $html = get_transient( $name );
  if ( false === $html ) {
    $html = wp_kses_post( do_shortcode( $content ) );
    set_transient( $name, $html, DAY_IN_SECONDS );
  }
  return $html;
} );`

/** Serves a post to federated servers, in the steps of the ActivityPub plugin. */
const ACTIVITYPUB = `add_filter( 'template_include', function ( $template ) {
  if ( 'application/activity+json' !== $_SERVER['HTTP_ACCEPT'] ) {
    return $template;
  }
  $post = get_queried_object();
  setup_postdata( $post );
  do_action( 'activitypub_before_get_content', $post );
  $content = apply_filters( 'the_content', $post->post_content );
  $content = apply_filters( 'activitypub_the_content', wpautop( $content ), $post );
  wp_send_json( array( 'content' => $content, 'after' => apply_filters( 'the_content', $post->post_content ) ) );
}, 99 );`

/** Shows teasers of the post below it, as themes make them. */
const TEASERS = `add_action( 'wp_footer', function () {
  $content = apply_filters( 'the_content', get_queried_object()->post_content );
  echo 'TRIMMED(' . wp_trim_words( $content, 40 ) . ') STRIPPED(' . wp_strip_all_tags( $content, true ) . ')';
} );`

/** Keeps the content of a post when it is published, and after each request, as for mails. */
const MAILS = `add_action( 'publish_post', function ( $id, $post ) {
  update_option( 'mail_published', apply_filters( 'the_content', $post->post_content ) );
}, 10, 2 );
add_action( 'shutdown', function () {
  if ( did_action( 'template_redirect' ) ) {
    update_option( 'mail_shutdown', apply_filters( 'the_content', ${toPhp(TEXT)} ) );
  }
}, 9998 );`

/** Returns content for scripts of a page, as for "load more". */
const MORE = `add_action( 'wp_ajax_nopriv_more', function () {
  wp_send_json_success( apply_filters( 'the_content', ${toPhp(TEXT)} ) );
} );`

/** Opens an output buffer during each request, which PHP forbids while it flushes another one. */
const BUFFER = `add_filter( 'pre_http_request', function ( $response ) {
  ob_start();
  ob_end_clean();
  return $response;
} );`

/** Prints a page and ends the request before WordPress has chosen a template. */
const OWN_PAGE = `add_action( 'template_redirect', function () {
  exit( 'HOST-HEAD BOX(' . apply_filters( 'the_content', get_queried_object()->post_content ) . ')BOX HOST-FOOT</html>' );
} );`

describe.skipIf(isSkipped)('the context of a box', () => {
  let fixture: WordPressFixture
  let reader: Visitor

  beforeAll(async () => {
    fixture = await createWordPressFixture()
    reader = await signInAs(fixture.site)
  })
  afterAll(() => fixture.close())
  beforeEach(() => {
    fixture.faultProxy.takeCalls()
  })
  afterEach(async () => {
    await rm(toPlugin(), { force: true })
    await fixture.site.run(`switch_theme( 'classic' ); return 1;`)
    fixture.faultProxy.setMode('pass')
    await fixture.site.advanceClock(301)
  })

  const toPlugin = (): string => fixture.site.toPath('www/wp-content/mu-plugins/context.php')
  const addPlugin = (code: string): Promise<void> => writeFile(toPlugin(), `<?php\n${code}`)

  describe.each(['classic', 'blocks'])('theme "%s"', (theme) => {
    beforeEach(() => fixture.site.run(`switch_theme( '${theme}' ); return 1;`))

    it('an element cache - the second view and a view a day later - show a fresh box', async () => {
      await addPlugin(ELEMENT_CACHE)
      const path = await fixture.publish(
        `before\n\n[element][vitrine gtin="${GTIN}" theme="${theme === 'classic' ? 'dark' : 'light'}"][/element]\n\nafter`,
      )
      for (let view = 0; view < 3; view += 1) {
        const page = await reader.get(path)
        expect(readContent(page)).toContain(BOX)
        expect(page.html).not.toContain(PLACEHOLDER)
      }
      expect(fixture.faultProxy.takeCalls()).toHaveLength(1)
      await fixture.site.advanceClock(301)
      fixture.faultProxy.setMode({ body: '<p>new prices</p>' })
      expect(readVisibleText(await reader.get(path))).toBe('before new prices after')
      await fixture.site.advanceClock(301)
      fixture.faultProxy.setMode({ body: '' })
      const empty = await reader.get(path)
      expect(readVisibleText(empty)).toBe('before after')
      expect(readContent(empty).match(/<p/g)).toHaveLength(2)
    })

    it('an element cache - filled by a feed - shows the box in pages', async () => {
      await addPlugin(ELEMENT_CACHE)
      const path = await fixture.publish(
        `words [element][vitrine gtin="${GTIN}" accent="${theme === 'classic' ? 'aa0000' : '0000aa'}"][/element]`,
      )
      const feed = await reader.get('/?feed=rss2')
      expect(feed.html).toContain('words')
      expect(feed.html).not.toContain(PLACEHOLDER)
      expect(feed.html).not.toContain(BOX)
      expect(fixture.faultProxy.takeCalls()).toEqual([])
      expect(readContent(await reader.get(path))).toContain(BOX)
    })

    it('a placeholder that an author wrote - shows nothing and sends no request', async () => {
      const code = Buffer.from(JSON.stringify([1, 'where-to-buy', { gtin: GTIN }])).toString('hex')
      for (const forged of [`${code}-${'0'.repeat(32)}`, code, '', '-', 'zz-zz'])
        for (const content of [
          `<div ${PLACEHOLDER}="${forged}"></div>`,
          `x <div ${PLACEHOLDER}="${forged}"></div> y`,
        ]) {
          const page = await reader.get(await fixture.publish(content))
          expect(readVisibleText(page)).toBe(content.startsWith('x') ? 'x y' : '')
          expect(page.html).not.toContain(PLACEHOLDER)
        }
      expect(fixture.faultProxy.takeCalls()).toEqual([])
    })

    it('teasers by wp_trim_words and wp_strip_all_tags - have the text around the box only', async () => {
      await addPlugin(TEASERS)
      const page = await reader.get(await fixture.publish(TEXT))
      expect(readContent(page)).toContain(BOX)
      expect(page.html).toContain('TRIMMED(before after)')
      expect(page.html).toMatch(/STRIPPED\(before\s+after\)/)
      expect(page.html).not.toContain(PLACEHOLDER)
    })

    it('a plugin that opens an output buffer during a request - the page has the box', async () => {
      await addPlugin(BUFFER)
      const page = await reader.get(await fixture.publish(TEXT))
      expect(readContent(page)).toContain(BOX)
    })

    it('the filter vitrine_shows_boxes - forbids boxes in pages', async () => {
      await addPlugin(
        `add_filter( 'vitrine_shows_boxes', function ( $shows, $context ) { return 'page' !== $context; }, 10, 2 );`,
      )
      const page = await reader.get(await fixture.publish(TEXT))
      expect(readVisibleText(page)).toBe('before after')
      expect(page.html).not.toContain(PLACEHOLDER)
      expect(fixture.faultProxy.takeCalls()).toEqual([])
    })
  })

  it('a page that a plugin prints without a template - has the box', async () => {
    await addPlugin(OWN_PAGE)
    const page = await reader.get(await fixture.publish(TEXT))
    expect(readContent(page)).toContain(BOX)
    expect(page.html).not.toContain(PLACEHOLDER)
  })

  it.each(['cron', 'WP-CLI or another script'])(
    'content in %s - has no box, and sends no request',
    async (context) => {
      const render = `apply_filters( 'the_content', ${toPhp(TEXT)} ) . do_shortcode( ${toPhp(SHORTCODE)} )`
      const before = context === 'cron' ? `define( 'DOING_CRON', true );` : ''
      expect(await fixture.site.run(`${before} return ${render};`)).toBe('<p>before</p>\n\n<p>after</p>\n')
      expect(fixture.faultProxy.takeCalls()).toEqual([])
    },
  )

  it('the filter vitrine_shows_boxes - allows boxes in cron', async () => {
    const allow = `add_filter( 'vitrine_shows_boxes', function ( $shows, $context ) { return $shows || 'cron' === $context; }, 10, 2 );`
    const render = `apply_filters( 'the_content', ${toPhp(TEXT)} )`
    expect(await fixture.site.run(`${allow} return ${render};`)).not.toContain(BOX)
    expect(await fixture.site.run(`define( 'DOING_CRON', true ); ${allow} return ${render};`)).toContain(BOX)
  })

  it('a post for a federated server - has no box; the page and content after it have one', async () => {
    await addPlugin(ACTIVITYPUB)
    const path = await fixture.publish(TEXT)
    const { html } = await reader.get(path, { accept: 'application/activity+json' })
    const { content, after } = JSON.parse(html) as Readonly<{ content: string; after: string }>
    expect(content).toBe('<p>before</p>\n<p>after</p>\n')
    expect(after).toContain(BOX)
    expect(readContent(await reader.get(path))).toContain(BOX)
  })

  it('mails - written when a post is published, or after a page - have no box', async () => {
    await addPlugin(MAILS)
    const author = await signInAs(fixture.site, 'author')
    const { json, status } = await author.rest('/wp/v2/posts', {
      title: 'Post',
      status: 'publish',
      content: TEXT,
    })
    expect(status).toBe(201)
    const page = await reader.get(`/?p=${(json as { id: number }).id}`)
    expect(readContent(page)).toContain(BOX)
    for (const name of ['mail_published', 'mail_shutdown'])
      expect(await fixture.site.run(`return get_option( '${name}' );`), name).toBe(
        '<p>before</p>\n\n<p>after</p>\n',
      )
  })

  it('content that the scripts of a page load by AJAX - has the box', async () => {
    await addPlugin(MORE)
    const { html } = await reader.get('/wp-admin/admin-ajax.php?action=more')
    const { data } = JSON.parse(html) as Readonly<{ data: string }>
    expect(data).toContain(BOX)
    expect(data).not.toContain(PLACEHOLDER)
  })

  it('the REST API - read - has the box', async () => {
    const path = await fixture.publish(TEXT)
    const { json } = await reader.rest(`/wp/v2/posts/${path.slice('/?p='.length)}`)
    const { rendered } = (json as { content: { rendered: string } }).content
    expect(rendered).toContain(BOX)
    expect(rendered).not.toContain(PLACEHOLDER)
    expect(fixture.faultProxy.takeCalls()).toEqual([`/fragments/${CHANNEL}/where-to-buy/${GTIN}`])
  })
})

/** Makes the site the first one of a network. */
const INSTALL_NETWORK = `define( 'WP_INSTALLING_NETWORK', true );
global $wpdb;
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
foreach ( $wpdb->tables( 'ms_global' ) as $name => $table ) {
  $wpdb->$name = $table;
}
install_network();
return populate_network( 1, $_SERVER['HTTP_HOST'], 'a@shelf.example', 'Network' );`

const NETWORK_CONFIG = `<?php
define( 'MULTISITE', true );
define( 'SUBDOMAIN_INSTALL', false );
define( 'DOMAIN_CURRENT_SITE', preg_replace( '#^https?://#', '', WP_HOME ) );
define( 'PATH_CURRENT_SITE', '/' );
define( 'SITE_ID_CURRENT_SITE', 1 );
define( 'BLOG_ID_CURRENT_SITE', 1 );`

/** Shows the same shortcode for another site of the network below each page. */
const OTHER_SITE = `remove_action( 'template_redirect', 'redirect_canonical' );
add_action( 'wp_footer', function () {
  switch_to_blog( 2 );
  echo apply_filters( 'the_content', ${toPhp(SHORTCODE)} );
  restore_current_blog();
} );`

describe.skipIf(isSkipped)('a network of sites', () => {
  let fixture: WordPressFixture

  beforeAll(async () => {
    fixture = await createWordPressFixture()
  })
  afterAll(() => fixture.close())

  it('a page with content of another site - uses the settings of that site', async () => {
    const { site, faultProxy } = fixture
    const otherChannel = CHANNEL.replace('1', '2')
    await site.run(INSTALL_NETWORK)
    await writeFile(site.toPath('config.php'), NETWORK_CONFIG)
    await site.run(`update_option( 'permalink_structure', '' );
      $id = wp_insert_site( array( 'domain' => $_SERVER['HTTP_HOST'], 'path' => '/other/', 'user_id' => 1 ) );
      switch_to_blog( $id );
      update_option( 'vitrine_settings', array( 'server' => '${faultProxy.origin}', 'channel' => '${otherChannel}' ) );
      return $id;`)
    await writeFile(site.toPath('www/wp-content/mu-plugins/context.php'), `<?php\n${OTHER_SITE}`)
    await (await signInAs(site)).get(await fixture.publish(SHORTCODE))
    expect(faultProxy.takeCalls()).toEqual(
      [CHANNEL, otherChannel].map((channel) => `/fragments/${channel}/where-to-buy/${GTIN}`),
    )
  })
})
