import { describe, expect, test } from 'vitest'
import { GALLERY_CASES, type GalleryCase } from '../../../src/studio/gallery/cases.ts'
import {
  LAYOUTS,
  type Layout,
  createExample,
  hasExample,
  renderExample,
} from '../../../src/studio/gallery/examples.ts'
import { createRenderer } from '../../../src/widgets/render.ts'
import type { AnyView } from '../../../src/widgets/view-models.ts'

const DETAILS = {
  publicUrl: 'https://widgets.example/sub',
  stylePath: '/assets/vitrine.00000000.css',
  theme: 'light',
  locale: 'en',
} as const

const renderer = createRenderer()

function findCase(caseId: string): GalleryCase {
  const entry = GALLERY_CASES.find(({ id }) => id === caseId)
  if (entry === undefined) throw new TypeError(`no case ${caseId}`)
  return entry
}
const make = (layout: Layout, caseId: string): AnyView => createExample(layout, findCase(caseId), DETAILS)
const render = (example: AnyView): string => renderExample(renderer, example)

const listCaseIds = (layout: Layout): readonly string[] =>
  GALLERY_CASES.filter((entry) => hasExample(layout, entry)).map(({ id }) => id)

const BLOCKS = LAYOUTS.filter(({ name }) => name !== 'inline')
const BOX: Layout = { widget: 'where-to-buy', name: 'list' }
const GRID: Layout = { widget: 'deals', name: 'grid' }
const countLinks = (layout: Layout, caseId: string): number =>
  render(make(layout, caseId)).split('rel="sponsored').length - 1

describe('examples', () => {
  test.each(BLOCKS.flatMap((layout) => listCaseIds(layout).map((id) => [layout, id] as const)))(
    '%j, %s - has its layout and all notices',
    (layout, id) => {
      const example = make(layout, id)
      const html = render(example)
      expect(html).toContain(`data-layout="${layout.name}"`)
      expect(html).toContain('<time datetime="2026-11-21T05:12:00.000Z">')
      expect(html.match(/class="vitrine-note"/g)).toHaveLength(1)
      const { notices, header } = example
      for (const notice of [...notices.order, notices.shipping, notices.coverage, header.disclosure]) {
        expect(notice).toMatch(/\S{2}/)
        expect(html).toContain(notice)
      }
      expect(html.indexOf('vitrine-note')).toBeLessThan(html.indexOf('rel="sponsored'))
      // A struck price is explained once, and named at each offer for screen readers.
      const struckCount = html.split('<s><bdi ').length - 1
      const isObserved = layout.widget === 'deals' && findCase(id).query.grid.includes('evidence=observed')
      const hint = isObserved ? 'Lowest observed price of the 30 days before' : 'Shop’s former price'
      expect(html.split(`vitrine-sr-only">${hint} `).length - 1).toBe(
        html.includes('lang="en"') ? struckCount : 0,
      )
      expect(html.split('<s>').length - 1 - struckCount).toBe(struckCount > 0 ? 1 : 0)
    },
  )

  test('inline - a sentence with one link, which begins with a mark of advertising, and notices in its title', () => {
    const html = render(make({ widget: 'where-to-buy', name: 'inline' }, 'usual'))
    expect(html).toMatch(/^<span class="vitrine-inline" lang="en" dir="ltr"/)
    expect(html.split('<a ')).toHaveLength(2)
    expect(html).toMatch(/<a [^>]+><small class="vitrine-mark" title="We may earn [^"]+">Ad <\/small><bdi>/)
    expect(html).toMatch(
      /title="Prices checked on Nov\u00A021,\u00A02026, [^"]+ · Shipping not included · Not all/,
    )
    expect(html).not.toMatch(/<(?:div|p|section|ul)\b/)
  })

  test.each([
    [BOX, 'one', 1],
    [BOX, 'thirty', 30],
    [BOX, 'currencies', 2],
    [GRID, 'one', 1],
    [GRID, 'thirty', 30],
    [GRID, 'currencies', 3],
    [GRID, 'sold-out', 4],
  ])('%j, %s - has %i links', (layout, caseId, count) => {
    expect(countLinks(layout, caseId)).toBe(count)
  })

  test('cases match their titles', () => {
    const long = make(BOX, 'long')
    expect(long).toMatchObject({ title: expect.stringMatching(/^.{200}$/) })
    expect(render(make(BOX, 'sold-out'))).not.toContain('In stock<')
    expect(render(make(BOX, 'no-picture'))).not.toContain('<img')
    expect(render(make(GRID, 'no-picture'))).not.toContain('<img')
    expect(render(make(GRID, 'broken-picture'))).toContain('/sub/studio/gallery/pictures/broken.svg')
    expect(render(make(BOX, 'currencies'))).toContain('£165.00')
    expect(render(make(BOX, 'right-to-left'))).toMatch(/^<section [^>]*lang="ar" dir="rtl"/)
    expect(render(make(BOX, 'shadow'))).toContain('<template shadowrootmode="open">')
    expect(render(make(GRID, 'paged'))).toMatch(/rel="prev"[^]*rel="next"/)
  })

  test('prices too old - no price and no "best" mark', () => {
    for (const layout of BLOCKS) {
      const html = render(make(layout, 'old-prices'))
      expect(html).toContain('See price at shop')
      expect(html).not.toMatch(/€\s?\d|data-best|<s>/)
    }
  })
})
