import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { GRID_LAYOUTS } from '../../../src/widgets/option-list.ts'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'

/** The library of Firefox's reader view. */
const READABILITY = createRequire(import.meta.url).resolve('@mozilla/readability/Readability.js')

const LAMP = '09520001001024'
const OTHERS = '09520001001017,09520001001031'
const PARAGRAPH = `<p>${'A long paragraph about headphones, their sound and their comfort. '.repeat(9)}</p>`

const browser = useBrowser()
const server = useServer()

/** The time of a box with variants is that of the oldest prices, and other tests of this server may have looked one product up before. */
const omitTime = (text: string): string => text.replace(/(?<=Prices checked on ).*? UTC/, '')

type Reading = Readonly<{ text: string; links: number }>

/** Read an article with a widget in it as Firefox's reader view shows it. */
async function read(widget: string): Promise<Reading & Readonly<{ fragmentLinks: number }>> {
  const base = server.addresses.box.replace('/embeds/', '/fragments/').replace(/\/where-to-buy\/.*/, '')
  const response = await fetch(`${base}/${widget}`)
  expect(response.headers.get('vitrine-state')).toBe('shown')
  const fragment = await response.text()
  const page = await browser.newPage()
  const [start, end] = widget.includes('inline')
    ? [PARAGRAPH.replace('</p>', fragment), '</p>']
    : [PARAGRAPH, fragment]
  await page.setContent(
    `<!doctype html><title>Best</title><article><h1>Best</h1>${start}${end}${PARAGRAPH}${PARAGRAPH}</article>`,
  )
  await page.addScriptTag({ path: READABILITY })
  const reading = await page.evaluate<Reading>(`(() => {
    const { content } = new Readability(document).parse()
    const { body } = new DOMParser().parseFromString(content, 'text/html')
    return { text: body.textContent.replace(/\\s+/g, ' '), links: body.querySelectorAll('a[rel~=sponsored]').length }
  })()`)
  const text = reading.text.replaceAll(
    'A long paragraph about headphones, their sound and their comfort. ',
    '',
  )
  return { ...reading, text: text.trim(), fragmentLinks: fragment.split('rel="sponsored').length - 1 }
}

describe('reader view', () => {
  test.each([
    ...['list', 'table', 'card'].map((layout) => `where-to-buy/${LAMP}?layout=${layout}`),
    `picks/${LAMP},${OTHERS}?layout=table`,
  ])('%s - is whole', async (widget) => {
    const { text, links, fragmentLinks } = await read(widget)
    expect(links).toBe(fragmentLinks)
    expect(text).toMatch(
      /We may earn a commission .*Arne 2 .*Novabrück.*€199\.00.*Prices checked on .*Not all shops are compared/,
    )
  })

  test(`where-to-buy/${LAMP}?layout=inline - is whole`, async () => {
    const { text, links } = await read(`where-to-buy/${LAMP}?layout=inline`)
    expect([text.replace('Best ', ''), links]).toEqual(['Ad from €199.00 at Novabrück', 1])
  })

  test.each(['list', 'table', 'card'])(
    'where-to-buy with variants, layout=%s - is whole without its folded variants',
    async (layout) => {
      const { text, links } = await read(`where-to-buy/${LAMP}~09520001001017?layout=${layout}`)
      const alone = await read(`where-to-buy/${LAMP}?layout=${layout}`)
      expect([omitTime(text), links]).toEqual([omitTime(alone.text), alone.links])
    },
  )

  test.each([
    ...['rank', 'row'].map((layout) => `picks/${LAMP},${OTHERS}?layout=${layout}`),
    ...GRID_LAYOUTS.flatMap((layout) => [12, 2].map((limit) => `deals?layout=${layout}&limit=${limit}`)),
  ])('%s - is dropped whole', async (widget) => {
    const { text, links } = await read(widget)
    expect([text.replace('Best', ''), links]).toEqual(['', 0])
  })
})
