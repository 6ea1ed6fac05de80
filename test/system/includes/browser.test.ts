import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Page, Request } from 'playwright-core'
import { systemClock } from '../../../src/clock.ts'
import { useBrowser } from '../use-browser.ts'
import { type PageServer, startPageServer, toPage } from '../../helpers/page-server.ts'
import { type See, itIsAsTheTableSays, itKeepsAsTheTableSays } from './cases.ts'
import { type Place, openPlace } from './place.ts'
import { readRecipe } from './recipe.ts'
import { type Sight, judgePage, toHostPage } from './sight.ts'

/** What comes to mind first. */
const PLAIN = `<div id="place"></div>
<script type="module">
  const answer = await fetch('@URL@')
  document.querySelector('#place').innerHTML = await answer.text()
</script>`

/** A reader has read on after this, box or no box, and an answer is in the page within that. */
const READING_MS = 3000
const FILLING_MS = 1500

describe('Browser fetch', () => {
  let place: Place
  const browser = useBrowser()
  let host: PageServer
  beforeAll(async () => {
    place = await openPlace()
    host = await startPageServer()
  })
  afterAll(async () => {
    await host.close()
    await place.dispose()
  })

  const addPage = (toInclude: (url: string) => string): See => {
    const path = `/${place.nextName()}`
    const url = `${place.gate.origin}${place.path}?page=${path}`
    host.answers.set(path, toPage(toHostPage(toInclude(url))))
    return async () => {
      const page = await browser.newPage()
      try {
        return await open(page, host.origin + path)
      } finally {
        await page.close()
      }
    }
  }
  itIsAsTheTableSays('Browser fetch, plain', {
    gate: () => place.gate,
    open: () => addPage((url) => PLAIN.replace('@URL@', url))(),
  })
  itIsAsTheTableSays('Browser fetch, recommended', {
    gate: () => place.gate,
    open: () => addPage(toRecommended)(),
  })
  itKeepsAsTheTableSays('Browser fetch', {
    isSettledAtOnce: true,
    gate: () => place.gate,
    open: () => Promise.resolve(addPage(toRecommended)),
  })

  it('a page with the recipe - a server that fails - throws nothing', async () => {
    await place.gate.setMode('reset')
    const page = await browser.newPage()
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    host.answers.set('/quiet', toPage(toHostPage(toRecommended(place.gate.origin + place.path))))
    await open(page, `${host.origin}/quiet`)
    await page.close()
    expect(errors).toEqual([])
  })
})

/** What is seen once the fetch has ended and its answer had time to be put in, or when a reader has read on. */
async function open(page: Page, url: string): Promise<Sight> {
  const ended = Promise.race([
    page.waitForEvent('requestfinished', { predicate: isFragment, timeout: 0 }),
    page.waitForEvent('requestfailed', { predicate: isFragment, timeout: 0 }),
  ]).catch(() => null)
  await page.goto(url, { waitUntil: 'domcontentloaded' })
  // Readers begin when the page is there, however long a busy machine took for it.
  const seen = await Promise.race([ended, systemClock.wait(READING_MS)])
  if (typeof seen === 'object' && seen !== null)
    await page.waitForSelector('.vitrine', { timeout: FILLING_MS }).catch(() => null)
  return judgePage(Buffer.from(toFilledPage(await page.content())))
}

/** Scripts are not seen, and the place that they fill is no box by itself. */
function toFilledPage(html: string): string {
  return html
    .replaceAll(/<script[\s\S]*?<\/script>/g, '')
    .replace(/BOX\(\s*<div[^>]*>([\s\S]*)<\/div>\s*\)BOX/, 'BOX($1)BOX')
}

function toRecommended(url: string): string {
  return readRecipe({ heading: 'Plain fetch', language: 'html' }, [
    ['https://widgets.example/fragments/CHANNEL/where-to-buy/GTIN', url],
  ])
}

function isFragment(request: Request): boolean {
  return request.url().includes('/fragments/')
}
