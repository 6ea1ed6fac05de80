import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  CHANNEL,
  type WordPressFixture,
  GTIN,
  UNSOLD_GTIN,
  createWordPressFixture,
} from './wordpress-fixture.ts'
import { type FaultMode, UNAVAILABLE } from './fault-proxy.ts'
import { isSkipped } from './programs.ts'
import { type VisitedPage, type Visitor, readContent, readVisibleText, signInAs } from './visitor.ts'

/** Longer than the freshness of a box, and longer than the pause after a failure. */
const FRESH_SECONDS = 301
const PAUSE_SECONDS = 31

const FAILURES: Readonly<Record<string, FaultMode>> = {
  'an error page': 'failing',
  'too many requests': 'limited',
  'a connection reset': 'reset',
  'a truncated response': 'cut',
  'a stalled response': 'stalled',
  'a redirect': 'redirect',
  'a message with status 400': { body: '<!-- Vitrine: what? -->', status: 400, caching: 'no-store' },
  'an unknown channel': { body: '<!-- Vitrine: who? -->', status: 404 },
  'a response larger than any box': 'huge',
  'a text instead of a box': 'text',
  'invalid UTF-8': { body: Buffer.from([0x3c, 0xff]) },
  'an empty no-store response': UNAVAILABLE,
  'a box with no-store': { body: '<p>unsaid</p>', caching: 'private, no-store' },
}

const isBox = (page: VisitedPage): boolean => readContent(page).includes('class="vitrine vitrine-box"')

describe.skipIf(isSkipped)('a failing server', () => {
  let fixture: WordPressFixture
  let reader: Visitor

  beforeAll(async () => {
    fixture = await createWordPressFixture()
    reader = await signInAs(fixture.site)
  })
  afterAll(() => fixture.close())
  afterEach(async () => {
    fixture.faultProxy.setMode('pass')
    await fixture.site.advanceClock(PAUSE_SECONDS)
  })

  const publishBox = (options = ''): Promise<string> =>
    fixture.publish(`before\n\n[vitrine gtin="${GTIN}" ${options}]\n\nafter`)

  it('a shortcode - the server responds - shows its box between the text around it', async () => {
    const page = await reader.get(await publishBox())
    expect(page.status).toBe(200)
    expect(readVisibleText(page)).toMatch(/^before Where to buy .* after$/)
    expect(page.headers.getSetCookie()).toEqual([])
  })

  it('a shortcode - a product that no shop sells - shows nothing, and the empty result is cached', async () => {
    const path = await fixture.publish(`before\n\n[vitrine gtin="${UNSOLD_GTIN}"]\n\nafter`)
    fixture.faultProxy.takeCalls()
    expect(readContent(await reader.get(path))).toBe('<p>before</p>\n\n<p>after</p>\n')
    expect(readVisibleText(await reader.get(path))).toBe('before after')
    expect(fixture.faultProxy.takeCalls()).toEqual([`/fragments/${CHANNEL}/where-to-buy/${UNSOLD_GTIN}`])
  })

  it.each(Object.entries(FAILURES))(
    'a shortcode - %s - hides, or shows the last good box',
    async (name, mode) => {
      const path = await publishBox(
        `q="x" brand="ignored" limit="${2 + Object.keys(FAILURES).indexOf(name)}"`,
      )
      fixture.faultProxy.setMode(mode)
      expect(readContent(await reader.get(path))).toBe('<p>before</p>\n\n<p>after</p>\n')
      fixture.faultProxy.takeCalls()
      expect(readVisibleText(await reader.get(path))).toBe('before after')
      expect(fixture.faultProxy.takeCalls()).toEqual([])

      fixture.faultProxy.setMode('pass')
      await fixture.site.advanceClock(PAUSE_SECONDS)
      const good = await reader.get(path)
      expect(isBox(good)).toBe(true)

      fixture.faultProxy.setMode(mode)
      await fixture.site.advanceClock(FRESH_SECONDS)
      const cached = await reader.get(path)
      expect(fixture.faultProxy.takeCalls()).toHaveLength(2)
      expect(readContent(cached)).toBe(readContent(good))
      expect(readContent(await reader.get(path))).toBe(readContent(good))
      expect(fixture.faultProxy.takeCalls()).toEqual([])

      fixture.faultProxy.setMode('pass')
      await fixture.site.advanceClock(PAUSE_SECONDS)
      expect(isBox(await reader.get(path))).toBe(true)
    },
  )

  it('a shortcode - the server is down - hides, or shows the last good box for at most a day', async () => {
    const path = await publishBox('theme="dark"')
    await fixture.faultProxy.down()
    expect(readVisibleText(await reader.get(path))).toBe('before after')
    await fixture.faultProxy.up()
    await fixture.site.advanceClock(PAUSE_SECONDS)
    const good = await reader.get(path)
    expect(isBox(good)).toBe(true)
    await fixture.faultProxy.down()
    await fixture.site.advanceClock(FRESH_SECONDS)
    expect(readContent(await reader.get(path))).toBe(readContent(good))
    await fixture.site.advanceClock(86_000 - FRESH_SECONDS)
    expect(readContent(await reader.get(path))).toBe(readContent(good))
    await fixture.site.advanceClock(1000)
    expect(readVisibleText(await reader.get(path))).toBe('before after')
    await fixture.faultProxy.up()
  })

  it('a cached box - stale-if-error of a minute - hides after it while the server fails', async () => {
    const path = await publishBox('theme="light"')
    fixture.faultProxy.setMode({ body: '<p>soon old</p>', caching: 'public, max-age=60, stale-if-error=60' })
    expect(readVisibleText(await reader.get(path))).toBe('before soon old after')
    fixture.faultProxy.setMode('failing')
    await fixture.site.advanceClock(100)
    expect(readVisibleText(await reader.get(path))).toBe('before soon old after')
    await fixture.site.advanceClock(21)
    expect(readVisibleText(await reader.get(path))).toBe('before after')
  })

  it('a cached box - the product is sold out - disappears with the next response', async () => {
    const path = await publishBox('stock="in"')
    expect(isBox(await reader.get(path))).toBe(true)
    fixture.faultProxy.setMode({ body: '', headers: { 'vitrine-reason': 'No shop sells it.' } })
    await fixture.site.advanceClock(FRESH_SECONDS)
    expect(readVisibleText(await reader.get(path))).toBe('before after')
    fixture.faultProxy.setMode('failing')
    await fixture.site.advanceClock(FRESH_SECONDS)
    expect(readVisibleText(await reader.get(path))).toBe('before after')
  })

  it('an error in a template - 400 and 404 - shows no message, and other boxes still appear', async () => {
    const broken = `[vitrine gtin="${GTIN}" layout="sideways"] [vitrine_deals channel="${CHANNEL.replace('1', '9')}"]`
    const page = await reader.get(await fixture.publish(`before ${broken} [vitrine_deals limit="2"] after`))
    expect(readContent(page)).not.toContain('<!--')
    expect(readContent(page)).toContain('class="vitrine vitrine-grid"')
    expect(readVisibleText(page)).toMatch(/^before Deals .* after$/)
  })

  it('ten boxes - the server hangs - delay one visitor by about a second, and the next one not at all', async () => {
    const boxes = Array.from({ length: 10 }, (_, index) => `[vitrine gtin="${GTIN}" limit="${30 + index}"]`)
    const path = await fixture.publish(`before ${boxes.join(' ')} after`)
    const quick = await reader.get('/?p=1')
    fixture.faultProxy.setMode('hanging')
    fixture.faultProxy.takeCalls()
    const slow = await reader.get(path)
    expect(readVisibleText(slow)).toBe('before after')
    expect(slow.seconds).toBeGreaterThan(0.9)
    // Ten requests in sequence would take ten seconds.
    expect(slow.seconds).toBeLessThan(8 + quick.seconds)
    expect(fixture.faultProxy.takeCalls()).toHaveLength(1)
    await reader.get(path)
    expect(fixture.faultProxy.takeCalls()).toEqual([])
    await fixture.site.advanceClock(PAUSE_SECONDS)
    await reader.get(path)
    expect(fixture.faultProxy.takeCalls()).toHaveLength(1)
    fixture.faultProxy.setMode('pass')
    await fixture.site.advanceClock(PAUSE_SECONDS)
    expect(readContent(await reader.get(path)).split('class="vitrine vitrine-box"')).toHaveLength(11)
  })

  it('many slow boxes - are requested until the page has waited a second', async () => {
    const boxes = Array.from({ length: 8 }, (_, index) => `[vitrine_deals limit="${30 + index}"]`)
    const path = await fixture.publish(boxes.join(' '))
    fixture.faultProxy.setMode({ body: '<p>slow</p>', afterMs: 400 })
    fixture.faultProxy.takeCalls()
    const shown = readVisibleText(await reader.get(path)).split(' ').length
    expect(fixture.faultProxy.takeCalls()).toHaveLength(shown)
    expect(shown).toBeLessThan(4)
    expect(readVisibleText(await reader.get(path)).split(' ').length).toBeGreaterThan(shown)
  })

  it('an unrequested gzip response - is shown with its price', async () => {
    fixture.faultProxy.setMode('gzip')
    expect(readVisibleText(await reader.get(await publishBox('limit="50"')))).toBe(
      'before Packed – 9,99 € after',
    )
  })
})
