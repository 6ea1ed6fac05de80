import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { BOX_LAYOUTS, GRID_LAYOUTS, PICKS_LAYOUTS } from '../../../src/widgets/option-list.ts'
import { useOwnFonts } from './compare-screenshots.ts'
import { useBrowser } from '../use-browser.ts'
import { useServer } from '../use-server.ts'

/** Compare the estimated height of frames without the loader with the actual one, in Chromium with one font. */
const browser = useBrowser()
const server = useServer()
let page: Page
beforeAll(async () => {
  // Only to set the fonts: the content policy of an embed blocks foreign styles.
  page = await browser.newPage({ bypassCSP: true })
})

type Heights = Readonly<{ estimatedPx: number; actualPx: number }>

/** Fetch the server's estimate of an embed's height. */
async function readEstimate(embed: string, widthPx: number): Promise<number> {
  const query = new URLSearchParams({ url: embed, maxwidth: String(widthPx) })
  const response = await fetch(`${server.addresses.publicUrl}/oembed?${query.toString()}`)
  const { height } = (await response.json()) as { height: number }
  return height
}

/** Measure the height of the open embed at a width. */
async function measure(widthPx: number): Promise<number> {
  await page.setViewportSize({ width: widthPx, height: 900 })
  await page.waitForFunction(`innerWidth === ${widthPx}`)
  return page.evaluate<number>(
    "Math.ceil(document.querySelector('.vitrine-content').getBoundingClientRect().height)",
  )
}

/** High enough, without a large gap: at most 15 % more, plus two lines that a shorter title does not need. */
const fits = ({ estimatedPx, actualPx }: Heights): boolean =>
  estimatedPx >= actualPx && estimatedPx <= actualPx * 1.15 + 54

/** List the addresses with a wrong estimate, with both heights. */
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

/** Read GTINs that the sample shops sell. */
async function readGtins(count: number): Promise<readonly string[]> {
  const html = await (await fetch(`${server.addresses.grid}?limit=60`)).text()
  return [...new Set([...html.matchAll(/data-gtin="(\d+)"/g)].map(([, gtin = '']) => gtin))].slice(0, count)
}

describe('height of a frame', () => {
  test.each(BOX_LAYOUTS)(
    '%s - any number of shops - the height is sufficient, and not much more',
    async (layout) => {
      const embeds = [1, 3, 5, 8].map((limit) => `${server.addresses.box}?layout=${layout}&limit=${limit}`)
      expect(await listWrongHeights(embeds, [300, 360, 480, 600, 680])).toEqual([])
    },
  )

  test.each(BOX_LAYOUTS)(
    '%s - observed prices - the height is sufficient, and not much more',
    async (layout) => {
      const embeds = ['history=note', 'history=chart', 'history=chart&head=none'].map(
        (query) => `${server.addresses.box}?layout=${layout}&limit=3&${query}`,
      )
      expect(await listWrongHeights(embeds, [300, 360, 480, 600, 680])).toEqual([])
    },
  )

  test.each(PICKS_LAYOUTS)(
    '%s - any number of products - the height is sufficient, and not much more',
    async (layout) => {
      const gtins = await readGtins(20)
      const toAddress = (count: number, query: string): string =>
        `${server.addresses.grid.replace(/deals$/, 'picks')}/${gtins.slice(0, count).join(',')}?layout=${layout}&${query}`
      const labels = 'label=Best+overall&label=&label=Best+value'
      const embeds = [
        ...[2, 5, 20].map((count) => toAddress(count, '')),
        toAddress(4, labels),
        toAddress(6, 'head=compact'),
        toAddress(6, 'head=none'),
      ]
      expect(await listWrongHeights(embeds, [300, 360, 480, 600, 680, 1_000])).toEqual([])
    },
  )

  test.each(BOX_LAYOUTS)(
    '%s - variants or a stand-in - the height is sufficient, and not much more',
    async (layout) => {
      const gtins = await readGtins(4)
      const missing = '04006381333931'
      const box = server.addresses.box.replace(/\d+$/, '')
      const embeds = [
        `${box}${gtins.join('~')}?layout=${layout}`,
        `${box}${missing}?layout=${layout}&else=${gtins[0]}`,
        `${box}${missing}?layout=${layout}&else=${gtins[0]}&head=none`,
      ]
      expect(await listWrongHeights(embeds, [300, 360, 480, 600, 680])).toEqual([])
    },
  )

  test.each(GRID_LAYOUTS)(
    '%s - any number of cards - the height is sufficient, and not much more',
    async (layout) => {
      const embeds = [1, 4, 12].map((limit) => `${server.addresses.grid}?layout=${layout}&limit=${limit}`)
      expect(await listWrongHeights(embeds, [320, 360, 680])).toEqual([])
    },
  )
})

describe('phone of 375 x 760 px', () => {
  test.each(BOX_LAYOUTS.filter((layout) => layout !== 'inline'))(
    '%s - the first price stands in the first third',
    async (layout) => {
      for (const locale of ['en', 'de', 'ar']) {
        await page.goto(`${server.addresses.box}?layout=${layout}&locale=${locale}`)
        await useOwnFonts(page)
        await page.setViewportSize({ width: 375, height: 760 })
        const bottom = await page.evaluate<number>(
          "document.querySelector('.vitrine-price').getBoundingClientRect().bottom",
        )
        expect(bottom).toBeLessThanOrEqual(760 / 3)
      }
    },
  )
})
