import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { BOX_LAYOUTS, GRID_LAYOUTS } from '../../../src/widgets/options.ts'
import { useOwnFonts } from '../../helpers/screenshots.ts'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'

/** Frames without the loader have an estimated height: compare it with the layout in Chromium, for phone and article. */
const browser = useBrowser()
const server = useServer()
let page: Page
beforeAll(async () => {
  // Only for the fonts: the content security policy of an embed blocks styles of other origins.
  page = await browser.newPage({ bypassCSP: true })
})

type Heights = Readonly<{ estimatedPx: number; actualPx: number }>

/** The estimated height of an embed. */
async function readEstimate(embed: string, widthPx: number): Promise<number> {
  const query = new URLSearchParams({ url: embed, maxwidth: String(widthPx) })
  const response = await fetch(`${server.addresses.publicUrl}/oembed?${query.toString()}`)
  const { height } = (await response.json()) as { height: number }
  return height
}

/** The height of the embed in the browser at a width. */
async function measure(widthPx: number): Promise<number> {
  await page.setViewportSize({ width: widthPx, height: 900 })
  await page.waitForFunction(`innerWidth === ${widthPx}`)
  return page.evaluate<number>(
    "Math.ceil(document.querySelector('.vitrine-content').getBoundingClientRect().height)",
  )
}

/** Sufficient, and not too much: at most a seventh and two lines of a shorter title. */
const fits = ({ estimatedPx, actualPx }: Heights): boolean =>
  estimatedPx >= actualPx && estimatedPx <= actualPx * 1.15 + 54

/** List addresses with a wrong estimate, with both heights. */
async function listWrongHeights(embeds: readonly string[], widths: readonly number[]): Promise<string[]> {
  const wrongHeights: string[] = []
  for (const embed of embeds) {
    await page.goto(embed)
    await useOwnFonts(page)
    for (const widthPx of widths) {
      const heights = { estimatedPx: await readEstimate(embed, widthPx), actualPx: await measure(widthPx) }
      if (!fits(heights)) wrongHeights.push(`${embed} at ${widthPx} px: ${JSON.stringify(heights)}`)
    }
  }
  return wrongHeights
}

describe('height of a frame', () => {
  test.each(BOX_LAYOUTS)('%s, any number of shops - sufficient, and not much more', async (layout) => {
    const embeds = [1, 3, 5, 8].map((limit) => `${server.addresses.box}?layout=${layout}&limit=${limit}`)
    expect(await listWrongHeights(embeds, [300, 360, 480, 600, 680])).toEqual([])
  })

  test.each(GRID_LAYOUTS)('%s, any number of cards - sufficient, and not much more', async (layout) => {
    const embeds = [1, 4, 12].map((limit) => `${server.addresses.grid}?layout=${layout}&limit=${limit}`)
    expect(await listWrongHeights(embeds, [320, 360, 680])).toEqual([])
  })
})
