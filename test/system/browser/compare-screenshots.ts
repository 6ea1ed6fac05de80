import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pixelmatch from 'pixelmatch'
import type { Page } from 'playwright-core'
import { PNG } from 'pngjs'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'

const SCREENSHOTS_FOLDER = join(PACKAGE_FOLDER, 'test/system/browser/screenshots')
const FAILED_FOLDER = join(tmpdir(), 'vitrine-screenshots')

/** Colour differences below this share come from anti-aliasing. */
const COLOUR_THRESHOLD = 0.15
/**
 * Share of pixels that may differ, and the tolerated difference in width and height, for rounding. Chromium 147 and 156 differ
 * by 0.27 % at most; the smallest change that a test looks for is 0.6 %.
 */
const MAX_DIFFERENT_SHARE = 0.004
const MAX_SIDE_DIFFERENCE_PX = 2

const require = createRequire(import.meta.url)
const FONTS = [
  ['Screenshot', '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2'],
  [
    'Screenshot Arabic',
    '@fontsource-variable/noto-sans-arabic/files/noto-sans-arabic-arabic-wght-normal.woff2',
  ],
] as const

/** Load fixed fonts, because system fonts differ between machines. */
export async function useOwnFonts(page: Page): Promise<void> {
  const faces = await Promise.all(
    FONTS.map(async ([family, file]) => {
      const data = (await readFile(require.resolve(file))).toString('base64')
      return `@font-face { font-family: '${family}'; font-weight: 100 900; src: url(data:font/woff2;base64,${data}) }`
    }),
  )
  const use =
    ":root, .page { --vitrine-font: 'Screenshot', 'Screenshot Arabic'; font-family: 'Screenshot', 'Screenshot Arabic' }"
  await page.addStyleTag({ content: `${faces.join('\n')}\n${use}` })
  await page.evaluate(
    "Promise.all(['Screenshot', 'Screenshot Arabic'].flatMap((name) => [400, 600].map((weight) => document.fonts.load(`${weight} 16px '${name}'`, 'aع'))))",
  )
}

/** The whole page at half its size. */
export type Screenshot = Readonly<{ image: PNG; page: Page }>

/** Take one screenshot of a page for all comparisons. Move each element to whole pixels, so that all lines are rounded in the same way. */
export async function takeScreenshot(page: Page, selector = '.ground'): Promise<Screenshot> {
  await page.evaluate(`for (const element of document.querySelectorAll(${JSON.stringify(selector)})) {
    const { left, top } = element.getBoundingClientRect()
    const [x, y] = [left + scrollX, top + scrollY]
    element.style.cssText = 'position:relative;left:' + (Math.round(x) - x) + 'px;top:' + (Math.round(y) - y) + 'px'
  }`)
  const bytes = await page.screenshot({ fullPage: true, animations: 'disabled', caret: 'hide' })
  return { image: PNG.sync.read(bytes), page }
}

/**
 * Compare an element of a screenshot with its baseline. Return `undefined` if they match, else the difference and where the new
 * picture is. `npm run screenshots` updates all baselines; look at them before you commit.
 */
export async function compareWithBaseline(
  { image, page }: Screenshot,
  selector: string,
  name: string,
): Promise<string | undefined> {
  const actual = await cropElement({ image, page }, selector)
  const path = join(SCREENSHOTS_FOLDER, `${name}.png`)
  // oxlint-disable-next-line node/no-process-env -- controls the tests, not a setting
  if (process.env['SCREENSHOTS'] === 'update') {
    await writeImage(path, actual)
    return undefined
  }
  if (!existsSync(path)) return `${name}: no baseline; "npm run screenshots" takes one`
  const difference = compareImages(PNG.sync.read(await readFile(path)), actual)
  if (difference === undefined) return undefined
  const failedPath = join(FAILED_FOLDER, `${name}.png`)
  await writeImage(failedPath, actual)
  return `${name}: ${difference}; taken now: ${failedPath}`
}

/** Cut an element out of a screenshot, at half its size. The element may be in the shadow root of a widget. */
export async function cropElement({ image, page }: Screenshot, selector: string): Promise<PNG> {
  return scaleToHalf(crop(image, await readBounds(page, selector)))
}

type Bounds = Readonly<{ x: number; y: number; width: number; height: number }>

async function readBounds(page: Page, selector: string): Promise<Bounds> {
  return page.evaluate<Bounds>(`(() => {
    const find = (root) => root?.querySelector(${JSON.stringify(selector)})
    const element = find(document) ?? find(document.querySelector('.vitrine-host')?.shadowRoot)
    const { left, top, width, height } = element.getBoundingClientRect()
    return { x: Math.round(left + scrollX), y: Math.round(top + scrollY), width: Math.round(width), height: Math.round(height) }
  })()`)
}

async function writeImage(path: string, image: PNG): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(
    path,
    PNG.sync.write(image, { colorType: 2, deflateLevel: 9, deflateStrategy: 0, filterType: 0 }),
  )
}

/** Return the difference of two images; `undefined` if a reader would see none. */
export function compareImages(baseline: PNG, actual: PNG): string | undefined {
  const sides = [baseline.width - actual.width, baseline.height - actual.height].map(Math.abs)
  if (Math.max(...sides) > MAX_SIDE_DIFFERENCE_PX)
    return `was ${baseline.width} x ${baseline.height}, is ${actual.width} x ${actual.height}`
  const width = Math.min(baseline.width, actual.width)
  const height = Math.min(baseline.height, actual.height)
  const [before, now] = [baseline, actual].map((image) => crop(image, { x: 0, y: 0, width, height }).data)
  const different = pixelmatch(before as Buffer, now as Buffer, undefined, width, height, {
    threshold: COLOUR_THRESHOLD,
  })
  const share = different / (width * height)
  return share > MAX_DIFFERENT_SHARE ? `${(share * 100).toFixed(2)} % of its pixels differ` : undefined
}

function crop(image: PNG, { x, y, width, height }: Bounds): PNG {
  const part = new PNG({ width, height })
  PNG.bitblt(image, part, x, y, width, height, 0, 0)
  return part
}

/** Average four pixels to one and reduce colours to 32 steps: this hides anti-aliasing and keeps files small. */
function scaleToHalf({ data, width, height }: PNG): PNG {
  const half = new PNG({ width: width >> 1, height: height >> 1 })
  for (let index = 0; index < half.data.length; index += 1) {
    const channel = index & 3
    const x = ((index >> 2) % half.width) * 2
    const y = Math.floor((index >> 2) / half.width) * 2
    const at = (y * width + x) * 4 + channel
    const below = at + width * 4
    const sum = (data[at] ?? 0) + (data[at + 4] ?? 0) + (data[below] ?? 0) + (data[below + 4] ?? 0)
    half.data[index] = (sum >> 2) & 0xf8
  }
  return half
}
