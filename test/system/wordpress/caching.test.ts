import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { CHANNEL, type WordPressFixture, GTIN, createWordPressFixture } from './wordpress-fixture.ts'
import type { FaultMode } from './fault-proxy.ts'
import { isSkipped } from './programs.ts'
import { type Visitor, readContent, readVisibleText, signInAs } from './visitor.ts'

const BOX_PATH = `/fragments/${CHANNEL}/where-to-buy/${GTIN}`

const toBox = (text: string, caching = 'public, max-age=300'): FaultMode => ({
  body: `<p>${text}</p>`,
  caching,
})

describe.skipIf(isSkipped).each([
  ['the database', false],
  ['an object cache', true],
])('boxes cached in %s', (_name, objectCache) => {
  let fixture: WordPressFixture
  let reader: Visitor
  let count = 0

  beforeAll(async () => {
    fixture = await createWordPressFixture({ objectCache })
    reader = await signInAs(fixture.site)
  })
  afterAll(() => fixture.close())
  afterEach(async () => {
    fixture.faultProxy.setMode('pass')
    await fixture.site.advanceClock(31)
  })

  /** Publish a post with a box whose address no other test uses. */
  const publishBox = (): Promise<string> =>
    fixture.publish(`[vitrine gtin="${GTIN}" limit="${(count += 1)}"]`)

  it('the site - uses the cache of this test', async () => {
    expect(await fixture.site.run('return (bool) wp_using_ext_object_cache();')).toBe(objectCache)
  })

  it('one box - several visits - one request while it is fresh', async () => {
    const path = await publishBox()
    fixture.faultProxy.takeCalls()
    for (let visit = 0; visit < 4; visit += 1)
      expect(readContent(await reader.get(path))).toContain('class="vitrine vitrine-box"')
    expect(fixture.faultProxy.takeCalls()).toEqual([`${BOX_PATH}?limit=${count}`])
    await fixture.site.advanceClock(301)
    await reader.get(path)
    await reader.get(path)
    expect(fixture.faultProxy.takeCalls()).toHaveLength(1)
  })

  it('the same box - twice on a page, with attributes in another order - one request', async () => {
    const path = await fixture.publish(
      `[vitrine limit="40" theme="dark" gtin="${GTIN}"] [vitrine gtin="${GTIN}" theme="dark" limit="40" locale=""]`,
    )
    await reader.get(path)
    expect(fixture.faultProxy.takeCalls()).toEqual([`${BOX_PATH}?theme=dark&limit=40`])
  })

  it.each([
    ['public, max-age=0', 30, 61],
    ['public, max-age=120', 90, 121],
    ['public, max-age=99999', 270, 301],
    ['private', 30, 61],
  ])('a response with "%s" - is fresh for %i seconds and not for %i', async (caching, fresh, old) => {
    const path = await publishBox()
    fixture.faultProxy.setMode(toBox('first', caching))
    await reader.get(path)
    fixture.faultProxy.setMode(toBox('second', caching))
    await fixture.site.advanceClock(fresh)
    expect(readVisibleText(await reader.get(path))).toBe('first')
    await fixture.site.advanceClock(old - fresh)
    expect(readVisibleText(await reader.get(path))).toBe('second')
  })

  it('a response from a cache, with Age - is fresh for the remaining time', async () => {
    const path = await publishBox()
    fixture.faultProxy.setMode({
      body: '<p>first</p>',
      caching: 'public, max-age=300',
      headers: { age: '200' },
    })
    await reader.get(path)
    fixture.faultProxy.setMode(toBox('second'))
    await fixture.site.advanceClock(101)
    expect(readVisibleText(await reader.get(path))).toBe('second')
  })

  it('a running refresh - other visitors see the old box, without a second request', async () => {
    const path = await publishBox()
    fixture.faultProxy.setMode(toBox('old'))
    await reader.get(path)
    await fixture.site.advanceClock(301)
    fixture.faultProxy.setMode('hanging')
    fixture.faultProxy.takeCalls()
    const first = reader.get(path)
    await vi.waitFor(() => expect(fixture.faultProxy.countHanging()).toBe(1), { interval: 5 })
    const others = await Promise.all([reader.get(path), reader.get(path)])
    fixture.faultProxy.setMode('pass')
    expect(others.map(readVisibleText)).toEqual(['old', 'old'])
    expect(readVisibleText(await first)).toBe('old')
    expect(fixture.faultProxy.takeCalls()).toHaveLength(1)
    await fixture.site.advanceClock(31)
    expect(readContent(await reader.get(path))).toContain('class="vitrine vitrine-box"')
  })

  it('a running first request - other visitors see the page without the box', async () => {
    const path = await publishBox()
    fixture.faultProxy.setMode('hanging')
    fixture.faultProxy.takeCalls()
    const first = reader.get(path)
    await vi.waitFor(() => expect(fixture.faultProxy.countHanging()).toBe(1), { interval: 5 })
    expect(readVisibleText(await reader.get(path))).toBe('')
    fixture.faultProxy.setMode('pass')
    await first
    expect(fixture.faultProxy.takeCalls()).toHaveLength(1)
  })

  it('after a pause - many visitors at once - one request', async () => {
    const paths = [await publishBox(), await publishBox(), await publishBox()]
    fixture.faultProxy.setMode('failing')
    await reader.get(paths[0] ?? '')
    await fixture.site.advanceClock(31)
    fixture.faultProxy.setMode('hanging')
    fixture.faultProxy.takeCalls()
    const visits = paths.map((path) => reader.get(path))
    await Promise.all(visits)
    expect(fixture.faultProxy.takeCalls()).toHaveLength(1)
    fixture.faultProxy.setMode('pass')
    await fixture.site.advanceClock(31)
    expect(readContent(await reader.get(paths[2] ?? ''))).toContain('class="vitrine vitrine-box"')
  })

  it('a lock of a crashed request - is free after ten seconds', async () => {
    const path = await publishBox()
    const name = `'vitrine_lock_' . md5( '${fixture.faultProxy.origin}${BOX_PATH}?limit=${count}' )`
    expect(await fixture.site.run(`return vitrine_acquire_lock( ${name} );`)).toBe(true)
    expect(await fixture.site.run(`return vitrine_acquire_lock( ${name} );`)).toBe(false)
    expect(readVisibleText(await reader.get(path))).toBe('')
    if (objectCache) return // The expiry of an object cache does not follow the test clock.
    await fixture.site.advanceClock(11)
    expect(readContent(await reader.get(path))).toContain('class="vitrine vitrine-box"')
    expect(await fixture.site.run(`return vitrine_acquire_lock( ${name} );`)).toBe(true)
  })

  it('another server in the settings - shows no box of the previous one', async () => {
    const path = await fixture.publish(`[vitrine gtin="${GTIN}" theme="light"]`)
    expect(readContent(await reader.get(path))).toContain('class="vitrine vitrine-box"')
    const save = (server: string): Promise<unknown> =>
      fixture.site.run(
        `return update_option( 'vitrine_settings', array( 'server' => '${server}', 'channel' => '${CHANNEL}' ) );`,
      )
    await save(`${fixture.faultProxy.origin}/elsewhere`)
    expect(readVisibleText(await reader.get(path))).toBe('')
    await save(fixture.faultProxy.origin)
    expect(readContent(await reader.get(path))).toContain('class="vitrine vitrine-box"')
  })
})

describe.skipIf(isSkipped)('pages without boxes', () => {
  let fixture: WordPressFixture

  beforeAll(async () => {
    fixture = await createWordPressFixture()
  })
  afterAll(() => fixture.close())

  it('lists, feeds, searches and excerpts - of posts with boxes and links - send no request and show no box', async () => {
    const link = `${fixture.faultProxy.origin}/embeds/${CHANNEL}/where-to-buy/${GTIN}`
    const block = `<!-- wp:vitrine/deals {"limit":"3"} /-->`
    await fixture.publish(`words\n\n[vitrine gtin="${GTIN}"]\n\n${link}`)
    await fixture.publish(`<!-- wp:paragraph --><p>words</p><!-- /wp:paragraph -->${block}`)
    const admin = await signInAs(fixture.site, 'administrator')
    const lists = ['edit.php', 'edit.php?mode=excerpt', 'index.php', 'plugins.php']
    for (const list of lists) {
      const { html, status } = await admin.get(`/wp-admin/${list}`)
      expect(status).toBe(200)
      expect(html).not.toContain('class="vitrine')
    }
    for (const path of ['/?feed=rss2', '/?feed=atom', '/?s=words']) {
      const { html, status } = await admin.get(path)
      expect(status).toBe(200)
      expect(html).toContain('words')
      expect(html).not.toMatch(/vitrine-(?:box|grid|place)|\/embeds\//)
    }
    expect(fixture.faultProxy.takeCalls()).toEqual([])
  })
})
