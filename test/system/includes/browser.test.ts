import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { useBrowser } from '../use-browser.ts'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { type Reload, itMatchesColdTable, itMatchesCachedTable } from './outage-cases.ts'
import type { FaultProxy } from './fault-proxy.ts'
import { type IncludeFixture, createIncludeFixture } from './include-fixture.ts'
import { readRecipe } from './recipe.ts'
import { type PageOutcome, classifyPage, toHostPage } from './page-outcome.ts'

/** The naive way. */
const PLAIN = `<div id="place"></div>
<script type="module">
  const response = await fetch('@URL@')
  document.querySelector('#place').innerHTML = await response.text()
</script>`

/**
 * Count pending responses and body reads of a page. Each counts until the next task, so that the count does not drop to zero
 * between a response and the read of its body.
 */
const WATCH = `(() => {
  let [begun, ended] = [0, 0]
  const track = (promise) => {
    begun += 1
    const end = () => setTimeout(() => (ended += 1))
    promise.then(end, end)
    return promise
  }
  const [send, read] = [fetch, Response.prototype.text]
  window.fetch = (...all) => track(send(...all))
  Response.prototype.text = function () { return track(read.call(this)) }
  window.isSettled = () => begun > 0 && begun === ended
})()`

describe('Browser fetch', () => {
  let fixture: IncludeFixture
  const browser = useBrowser()
  let host: PageServer
  beforeAll(async () => {
    fixture = await createIncludeFixture()
    host = await startPageServer()
  })
  afterAll(async () => {
    await host.close()
    await fixture.dispose()
  })

  const addPage = (toInclude: (url: string) => string): Reload => {
    const path = `/${fixture.nextName()}`
    const url = `${fixture.faultProxy.origin}${fixture.path}?page=${path}`
    host.responses.set(path, toHtmlResponse(toHostPage(toInclude(url))))
    return async () => {
      const page = await browser.newPage()
      try {
        return await open(page, host.origin + path, fixture.faultProxy)
      } finally {
        await page.close()
      }
    }
  }
  itMatchesColdTable('Browser fetch, plain', {
    faultProxy: () => fixture.faultProxy,
    open: () => addPage((url) => PLAIN.replace('@URL@', url))(),
  })
  itMatchesColdTable('Browser fetch, recommended', {
    faultProxy: () => fixture.faultProxy,
    open: () => addPage(toRecommended)(),
  })
  itMatchesCachedTable('Browser fetch', {
    isSynchronous: true,
    faultProxy: () => fixture.faultProxy,
    open: () => Promise.resolve(addPage(toRecommended)),
  })

  it('a page with the recipe - the server fails - throws nothing', async () => {
    await fixture.faultProxy.setMode('reset')
    const page = await browser.newPage()
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    host.responses.set(
      '/quiet',
      toHtmlResponse(toHostPage(toRecommended(fixture.faultProxy.origin + fixture.path))),
    )
    await open(page, `${host.origin}/quiet`, fixture.faultProxy)
    await page.close()
    expect(errors).toEqual([])
  })
})

/** Return the outcome after the response was inserted or failed; for a hanging response, after the request was sent. */
async function open(page: Page, url: string, faultProxy: FaultProxy): Promise<PageOutcome> {
  const before = faultProxy.requests.length
  await page.addInitScript(WATCH)
  await page.goto(url, { waitUntil: 'domcontentloaded' })
  const isSettled = (): Promise<boolean> => page.evaluate<boolean>('isSettled()')
  const isRequested = (): Promise<boolean> => Promise.resolve(faultProxy.requests.length > before)
  await expect.poll(faultProxy.mode === 'hang' ? isRequested : isSettled).toBe(true)
  return classifyPage(Buffer.from(toFilledPage(await page.content())))
}

/** Remove scripts, and the element that the script fills. */
function toFilledPage(html: string): string {
  return html
    .replaceAll(/<script[\s\S]*?<\/script>/g, '')
    .replace(/BOX\(\s*<(div|span)[^>]*>([\s\S]*)<\/\1>\s*\)BOX/, 'BOX($2)BOX')
}

function toRecommended(url: string): string {
  return readRecipe({ heading: 'Fetch', language: 'html' }, [
    ['https://widgets.example/fragments/CHANNEL/where-to-buy/GTIN', url],
  ])
}
