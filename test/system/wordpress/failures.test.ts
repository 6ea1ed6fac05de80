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

/** Longer than any box is fresh, and longer than a failing server is left alone. */
const FRESH_SECONDS = 301
const PAUSE_SECONDS = 31

const FAILURES: Readonly<Record<string, FaultMode>> = {
  'an error page': 'failing',
  'too many requests': 'limited',
  'a connection that is reset': 'reset',
  'an answer that is cut': 'cut',
  'an answer that stalls': 'stalled',
  'a redirect': 'redirect',
  'a mistake in words': { body: '<!-- Vitrine: what? -->', status: 400, caching: 'no-store' },
  'an unknown channel': { body: '<!-- Vitrine: who? -->', status: 404 },
  'an answer larger than any box': 'huge',
  'a text that is no box': 'text',
  'bytes that are no text': { body: Buffer.from([0x3c, 0xff]) },
  'nothing, not to be stored': UNAVAILABLE,
  'a box, not to be stored': { body: '<p>unsaid</p>', caching: 'private, no-store' },
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

  it('a shortcode - the server answers - shows its box between the words around it', async () => {
    const page = await reader.get(await publishBox())
    expect(page.status).toBe(200)
    expect(readVisibleText(page)).toMatch(/^before Where to buy .* after$/)
    expect(page.headers.getSetCookie()).toEqual([])
  })

  it('a shortcode - a product that no shop sells - shows nothing, and that is remembered like a box', async () => {
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
      const kept = await reader.get(path)
      expect(fixture.faultProxy.takeCalls()).toHaveLength(2)
      expect(readContent(kept)).toBe(readContent(good))
      expect(readContent(await reader.get(path))).toBe(readContent(good))
      expect(fixture.faultProxy.takeCalls()).toEqual([])

      fixture.faultProxy.setMode('pass')
      await fixture.site.advanceClock(PAUSE_SECONDS)
      expect(isBox(await reader.get(path))).toBe(true)
    },
  )

  it('a shortcode - the server is down - hides, or shows the last good box for a day and no longer', async () => {
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

  it('a kept box - its prices may be shown for a minute only - hides after it while the server fails', async () => {
    const path = await publishBox('theme="light"')
    fixture.faultProxy.setMode({ body: '<p>soon old</p>', caching: 'public, max-age=60, stale-if-error=60' })
    expect(readVisibleText(await reader.get(path))).toBe('before soon old after')
    fixture.faultProxy.setMode('failing')
    await fixture.site.advanceClock(100)
    expect(readVisibleText(await reader.get(path))).toBe('before soon old after')
    await fixture.site.advanceClock(21)
    expect(readVisibleText(await reader.get(path))).toBe('before after')
  })

  it('a kept box - the product is sold out - goes with the next answer', async () => {
    const path = await publishBox('stock="in"')
    expect(isBox(await reader.get(path))).toBe(true)
    fixture.faultProxy.setMode({ body: '', headers: { 'vitrine-reason': 'No shop sells it.' } })
    await fixture.site.advanceClock(FRESH_SECONDS)
    expect(readVisibleText(await reader.get(path))).toBe('before after')
    fixture.faultProxy.setMode('failing')
    await fixture.site.advanceClock(FRESH_SECONDS)
    expect(readVisibleText(await reader.get(path))).toBe('before after')
  })

  it('a mistake in a template - 400 and 404 - shows no word of it, and does not stop the other boxes', async () => {
    const broken = `[vitrine gtin="${GTIN}" layout="sideways"] [vitrine_deals channel="${CHANNEL.replace('1', '9')}"]`
    const page = await reader.get(await fixture.publish(`before ${broken} [vitrine_deals limit="2"] after`))
    expect(readContent(page)).not.toContain('<!--')
    expect(readContent(page)).toContain('class="vitrine vitrine-grid"')
    expect(readVisibleText(page)).toMatch(/^before Deals .* after$/)
  })

  it('ten boxes - the server hangs - cost the visitor little more than a second, and the next one nothing', async () => {
    const boxes = Array.from({ length: 10 }, (_, index) => `[vitrine gtin="${GTIN}" limit="${30 + index}"]`)
    const path = await fixture.publish(`before ${boxes.join(' ')} after`)
    const quick = await reader.get('/?p=1')
    fixture.faultProxy.setMode('hanging')
    fixture.faultProxy.takeCalls()
    const slow = await reader.get(path)
    expect(readVisibleText(slow)).toBe('before after')
    expect(slow.seconds).toBeGreaterThan(0.9)
    // One after the other they would take ten seconds.
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

  it('many boxes - each is slow, none fails - are asked for until the page has waited a second', async () => {
    const boxes = Array.from({ length: 8 }, (_, index) => `[vitrine_deals limit="${30 + index}"]`)
    const path = await fixture.publish(boxes.join(' '))
    fixture.faultProxy.setMode({ body: '<p>slow</p>', afterMs: 400 })
    fixture.faultProxy.takeCalls()
    const shown = readVisibleText(await reader.get(path)).split(' ').length
    expect(fixture.faultProxy.takeCalls()).toHaveLength(shown)
    expect(shown).toBeLessThan(4)
    expect(readVisibleText(await reader.get(path)).split(' ').length).toBeGreaterThan(shown)
  })

  it('an answer - packed, though nobody asked for it - is shown with its price', async () => {
    fixture.faultProxy.setMode('gzip')
    expect(readVisibleText(await reader.get(await publishBox('limit="50"')))).toBe(
      'before Packed – 9,99 € after',
    )
  })
})
