import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { CHANNEL, type Desk, GTIN, UNSOLD_GTIN, openDesk } from './desk.ts'
import { type GateMode, UNAVAILABLE } from './gate.ts'
import { isSkipped } from './programs.ts'
import { type Visited, type Visitor, readContent, readWords, visitAs } from './visitor.ts'

/** Longer than any box is fresh, and longer than a failing server is left alone. */
const FRESH_SECONDS = 301
const PAUSE_SECONDS = 31

const FAILURES: Readonly<Record<string, GateMode>> = {
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

const isBox = (page: Visited): boolean => readContent(page).includes('class="vitrine vitrine-box"')

describe.skipIf(isSkipped)('a failing server', () => {
  let desk: Desk
  let reader: Visitor

  beforeAll(async () => {
    desk = await openDesk()
    reader = await visitAs(desk.site)
  })
  afterAll(() => desk.close())
  afterEach(async () => {
    desk.gate.set('pass')
    await desk.site.pass(PAUSE_SECONDS)
  })

  const publishBox = (options = ''): Promise<string> =>
    desk.publish(`before\n\n[vitrine gtin="${GTIN}" ${options}]\n\nafter`)

  it('a shortcode - the server answers - shows its box between the words around it', async () => {
    const page = await reader.get(await publishBox())
    expect(page.status).toBe(200)
    expect(readWords(page)).toMatch(/^before Where to buy .* after$/)
    expect(page.headers.getSetCookie()).toEqual([])
  })

  it('a shortcode - a product that no shop sells - shows nothing, and that is remembered like a box', async () => {
    const path = await desk.publish(`before\n\n[vitrine gtin="${UNSOLD_GTIN}"]\n\nafter`)
    desk.gate.takeCalls()
    expect(readContent(await reader.get(path))).toBe('<p>before</p>\n\n<p>after</p>\n')
    expect(readWords(await reader.get(path))).toBe('before after')
    expect(desk.gate.takeCalls()).toEqual([`/fragments/${CHANNEL}/where-to-buy/${UNSOLD_GTIN}`])
  })

  it.each(Object.entries(FAILURES))(
    'a shortcode - %s - hides, or shows the last good box',
    async (name, mode) => {
      const path = await publishBox(
        `q="x" brand="ignored" limit="${2 + Object.keys(FAILURES).indexOf(name)}"`,
      )
      desk.gate.set(mode)
      expect(readContent(await reader.get(path))).toBe('<p>before</p>\n\n<p>after</p>\n')
      desk.gate.takeCalls()
      expect(readWords(await reader.get(path))).toBe('before after')
      expect(desk.gate.takeCalls()).toEqual([])

      desk.gate.set('pass')
      await desk.site.pass(PAUSE_SECONDS)
      const good = await reader.get(path)
      expect(isBox(good)).toBe(true)

      desk.gate.set(mode)
      await desk.site.pass(FRESH_SECONDS)
      const kept = await reader.get(path)
      expect(desk.gate.takeCalls()).toHaveLength(2)
      expect(readContent(kept)).toBe(readContent(good))
      expect(readContent(await reader.get(path))).toBe(readContent(good))
      expect(desk.gate.takeCalls()).toEqual([])

      desk.gate.set('pass')
      await desk.site.pass(PAUSE_SECONDS)
      expect(isBox(await reader.get(path))).toBe(true)
    },
  )

  it('a shortcode - the server is down - hides, or shows the last good box for a day and no longer', async () => {
    const path = await publishBox('theme="dark"')
    await desk.gate.down()
    expect(readWords(await reader.get(path))).toBe('before after')
    await desk.gate.up()
    await desk.site.pass(PAUSE_SECONDS)
    const good = await reader.get(path)
    expect(isBox(good)).toBe(true)
    await desk.gate.down()
    await desk.site.pass(FRESH_SECONDS)
    expect(readContent(await reader.get(path))).toBe(readContent(good))
    await desk.site.pass(86_000 - FRESH_SECONDS)
    expect(readContent(await reader.get(path))).toBe(readContent(good))
    await desk.site.pass(1000)
    expect(readWords(await reader.get(path))).toBe('before after')
    await desk.gate.up()
  })

  it('a kept box - its prices may be shown for a minute only - hides after it while the server fails', async () => {
    const path = await publishBox('theme="light"')
    desk.gate.set({ body: '<p>soon old</p>', caching: 'public, max-age=60, stale-if-error=60' })
    expect(readWords(await reader.get(path))).toBe('before soon old after')
    desk.gate.set('failing')
    await desk.site.pass(100)
    expect(readWords(await reader.get(path))).toBe('before soon old after')
    await desk.site.pass(21)
    expect(readWords(await reader.get(path))).toBe('before after')
  })

  it('a kept box - the product is sold out - goes with the next answer', async () => {
    const path = await publishBox('stock="in"')
    expect(isBox(await reader.get(path))).toBe(true)
    desk.gate.set({ body: '', headers: { 'vitrine-reason': 'No shop sells it.' } })
    await desk.site.pass(FRESH_SECONDS)
    expect(readWords(await reader.get(path))).toBe('before after')
    desk.gate.set('failing')
    await desk.site.pass(FRESH_SECONDS)
    expect(readWords(await reader.get(path))).toBe('before after')
  })

  it('a mistake in a template - 400 and 404 - shows no word of it, and does not stop the other boxes', async () => {
    const broken = `[vitrine gtin="${GTIN}" layout="sideways"] [vitrine_deals channel="${CHANNEL.replace('1', '9')}"]`
    const page = await reader.get(await desk.publish(`before ${broken} [vitrine_deals limit="2"] after`))
    expect(readContent(page)).not.toContain('<!--')
    expect(readContent(page)).toContain('class="vitrine vitrine-grid"')
    expect(readWords(page)).toMatch(/^before Deals .* after$/)
  })

  it('ten boxes - the server hangs - cost the visitor little more than a second, and the next one nothing', async () => {
    const boxes = Array.from({ length: 10 }, (_, index) => `[vitrine gtin="${GTIN}" limit="${30 + index}"]`)
    const path = await desk.publish(`before ${boxes.join(' ')} after`)
    const quick = await reader.get('/?p=1')
    desk.gate.set('hanging')
    desk.gate.takeCalls()
    const slow = await reader.get(path)
    expect(readWords(slow)).toBe('before after')
    expect(slow.seconds).toBeGreaterThan(0.9)
    // One after the other they would take ten seconds.
    expect(slow.seconds).toBeLessThan(8 + quick.seconds)
    expect(desk.gate.takeCalls()).toHaveLength(1)
    await reader.get(path)
    expect(desk.gate.takeCalls()).toEqual([])
    await desk.site.pass(PAUSE_SECONDS)
    await reader.get(path)
    expect(desk.gate.takeCalls()).toHaveLength(1)
    desk.gate.set('pass')
    await desk.site.pass(PAUSE_SECONDS)
    expect(readContent(await reader.get(path)).split('class="vitrine vitrine-box"')).toHaveLength(11)
  })

  it('many boxes - each is slow, none fails - are asked for until the page has waited a second', async () => {
    const boxes = Array.from({ length: 8 }, (_, index) => `[vitrine_deals limit="${30 + index}"]`)
    const path = await desk.publish(boxes.join(' '))
    desk.gate.set({ body: '<p>slow</p>', afterMs: 400 })
    desk.gate.takeCalls()
    const shown = readWords(await reader.get(path)).split(' ').length
    expect(desk.gate.takeCalls()).toHaveLength(shown)
    expect(shown).toBeLessThan(4)
    expect(readWords(await reader.get(path)).split(' ').length).toBeGreaterThan(shown)
  })

  it('an answer - packed, though nobody asked for it - is shown with its price', async () => {
    desk.gate.set('gzip')
    expect(readWords(await reader.get(await publishBox('limit="50"')))).toBe('before Packed – 9,99 € after')
  })
})
