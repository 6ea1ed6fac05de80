import { execFile } from 'node:child_process'
import { copyFile, cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Document } from '@contentful/rich-text-types'
import { transform } from 'esbuild'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { type BuiltServer, startBuiltServer } from '../../helpers/built-server.ts'
import { type PageServer, startPageServer, toHtmlResponse } from '../../helpers/page-server.ts'
import { useBrowser } from '../use-browser.ts'
import { classifyBox } from './page-outcome.ts'
import { describeWithProgram } from './program.ts'
import { type CodeBlockLocation, readRecipe } from './recipe.ts'

const run = promisify(execFile)

/** Channel and GTIN of a box of the sample data. */
type Box = Readonly<{ origin: string; channel: string; gtin: string }>

let host: PageServer
let server: BuiltServer
let box: Box
const browser = useBrowser()

beforeAll(async () => {
  host = await startPageServer()
  server = await startBuiltServer({ VITRINE_FRAME_ANCESTORS: host.origin, VITRINE_PICTURES: 'proxy' })
  const { publicUrl } = server.addresses
  const [, channel = '', gtin = ''] =
    /\/embeds\/([^/]+)\/where-to-buy\/(\d+)/.exec(server.addresses.box) ?? []
  box = { origin: publicUrl, channel, gtin }
})
afterAll(async () => {
  await server.stop()
  await host.close()
})

/** Return a code block of cms.md with the addresses of the test. */
function readBlock(location: Omit<CodeBlockLocation, 'page'>): string {
  return readRecipe({ page: 'cms.md', ...location })
    .replaceAll('https://widgets.example', box.origin)
    .replaceAll('CHANNEL', box.channel)
    .replaceAll('GTIN', box.gtin)
}

/** Open a page of the publisher and record what its content security policy blocks. */
async function openPage(html: string, csp?: string): Promise<Readonly<{ page: Page; violations: string[] }>> {
  host.responses.set('/', toHtmlResponse(html, csp))
  const page = await browser.newPage()
  const violations: string[] = []
  page.on('console', (message) => {
    if (/content security policy/i.test(message.text())) violations.push(message.text())
  })
  await page.goto(host.origin)
  return { page, violations }
}

/** Return the height to which the loader has opened the frame of a box. */
async function readFrameHeight(page: Page): Promise<number> {
  const frame = page.locator('[data-vitrine] iframe')
  await frame.contentFrame().locator('.vitrine-box').waitFor()
  return (await frame.boundingBox())?.height ?? 0
}

describe('Ghost', () => {
  it('the HTML card with code injection - a post - shows the box', async () => {
    const injected = readBlock({ heading: 'Ghost', language: 'html' })
    const card = readBlock({ heading: 'Ghost', language: 'html', index: 1 })
    const { page } = await openPage(`<!doctype html><html lang="en"><head>${injected}</head><body>
      <section class="gh-content"><p>before</p>
      <!--kg-card-begin: html-->\n${card}\n<!--kg-card-end: html-->
      <p>after</p></section></body></html>`)
    await expect.poll(() => readFrameHeight(page)).toBeGreaterThan(200)
  })

  /** Ghost needs a discovery link, and of a rich response: type, version, HTML and width. */
  it('the embed card - the URL of an embed - has all that Ghost needs, and shows the box', async () => {
    const embed = await (await fetch(server.addresses.box)).text()
    const [, link = ''] = /<link[^>]*type="application\/json\+oembed"[^>]*href="([^"]+)"/.exec(embed) ?? []
    const response = await fetch(link.replaceAll('&amp;', '&'))
    const data = (await response.json()) as Readonly<Record<string, unknown>>
    expect(data).toMatchObject({ type: 'rich', version: '1.0', html: expect.any(String) })
    expect(data['width']).toBeGreaterThan(0)
    const { page } = await openPage(
      `<!doctype html><figure class="kg-card kg-embed-card">${String(data['html'])}</figure>`,
    )
    const frame = page.locator('figure iframe')
    await frame.contentFrame().locator('.vitrine-box').waitFor()
    expect((await frame.boundingBox())?.height).toBe(data['height'])
  })
})

/** The directives that TYPO3 sends to visitors by default. */
const TYPO3_CSP: Readonly<Record<string, string>> = {
  'default-src': "'self'",
  'script-src': "'self' 'nonce-r4nd0m'",
  'style-src-attr': "'unsafe-inline'",
  'img-src': "'self' data:",
  'base-uri': "'self'",
  'frame-src': "'self' *.youtube-nocookie.com *.youtube.com *.vimeo.com",
}

type Mutations = Readonly<{
  inheritDefault: boolean
  mutations: readonly Readonly<{ mode: string; directive: string; sources: readonly string[] }>[]
}>

/** Build the policy as TYPO3 does: "extend" adds to the directive, or else to a copy of `default-src`. */
function extendPolicy(yaml: string): string {
  const { inheritDefault, mutations } = parse(yaml) as Mutations
  expect(inheritDefault).toBe(true)
  const policy = new Map(Object.entries(TYPO3_CSP))
  for (const { mode, directive, sources } of mutations) {
    expect(mode).toBe('extend')
    const before = policy.get(directive) ?? policy.get('default-src') ?? ''
    policy.set(directive, `${before} ${sources.join(' ')}`)
  }
  return [...policy].map(([directive, sources]) => `${directive} ${sources}`).join('; ')
}

const readElement = (): string => readBlock({ heading: 'TYPO3', language: 'html' })
const readPolicy = (): string => extendPolicy(readBlock({ heading: 'TYPO3', language: 'yaml' }))
const toPage = (content: string): string =>
  `<!doctype html><html lang="en"><head><title>host</title></head><body><div id="c1" class="frame">${content}</div></body></html>`

/** Both are set only if picture and style sheet were loaded. */
const PICTURE_WIDTH = "document.querySelector('.vitrine-box img').naturalWidth"
const BACKGROUND = "getComputedStyle(document.querySelector('.vitrine-box')).backgroundColor"

describe('TYPO3', () => {
  it('the HTML element - under the extended policy - shows the box', async () => {
    const { page, violations } = await openPage(toPage(readElement()), readPolicy())
    await expect.poll(() => readFrameHeight(page)).toBeGreaterThan(200)
    expect(violations).toEqual([])
  })

  it('the HTML element - under the policy of TYPO3 alone - is blocked', async () => {
    const csp = extendPolicy('{ inheritDefault: true, mutations: [] }')
    const { page, violations } = await openPage(toPage(readElement()), csp)
    await page.waitForLoadState('load')
    expect(violations.join('\n')).toContain('/embed.js')
    expect(await page.locator('iframe').count()).toBe(0)
  })

  describeWithProgram('php', 'the extension', () => {
    let folder: string
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'vitrine-typo3-'))
      await cp(join(PACKAGE_FOLDER, 'integrations/typo3/vitrine'), join(folder, 'vitrine'), {
        recursive: true,
      })
      await copyFile(
        join(PACKAGE_FOLDER, 'integrations/php/vitrine.php'),
        join(folder, 'vitrine', 'vitrine.php'),
      )
    })
    afterAll(() => rm(folder, { recursive: true, force: true }))

    /** Render the tag of the recipe on stubs of TYPO3. */
    async function renderTag(gtin: string): Promise<string> {
      const template = readBlock({ heading: 'TYPO3', language: 'html', index: 1 })
      expect(template).toContain('xmlns:vitrine="http://typo3.org/ns/Vitrine/Typo3/ViewHelpers"')
      const [, url = ''] = /<vitrine:box url="([^"]+)" \/>/.exec(template) ?? []
      const stubs = join(PACKAGE_FOLDER, 'test/system/includes/typo3-stubs.php')
      const flags = ['-d', 'display_errors=1', '-d', 'error_reporting=-1']
      const values = [join(folder, 'vitrine'), join(folder, 'var'), url.replace('{product.gtin}', gtin)]
      return (await run('php', [...flags, stubs, ...values])).stdout
    }

    it('the tag - with a GTIN - prints the box, which the extended policy allows', async () => {
      const html = await renderTag(box.gtin)
      expect(classifyBox(html)).toBe('box')
      const { page, violations } = await openPage(toPage(html), readPolicy())
      await page.waitForLoadState('networkidle')
      expect(violations).toEqual([])
      expect(await page.evaluate(PICTURE_WIDTH)).toBeGreaterThan(0)
      expect(await page.evaluate(BACKGROUND)).not.toBe('rgba(0, 0, 0, 0)')
    })

    it('the tag - a GTIN that no shop sells - prints nothing', async () => {
      expect(await renderTag('09521234500005')).toBe('')
    })
  })
})

/** A rich text with an embedded entry, as the client delivers it. */
const toText = (target: unknown): Document =>
  ({
    nodeType: 'document',
    data: {},
    content: [
      {
        nodeType: 'paragraph',
        data: {},
        content: [{ nodeType: 'text', value: 'before', marks: [], data: {} }],
      },
      { nodeType: 'embedded-entry-block', data: { target }, content: [] },
    ],
  }) as unknown as Document
const toEntry = (type: string, fields: unknown): unknown => ({
  sys: { type: 'Entry', contentType: { sys: { id: type } } },
  fields,
})

describe('Contentful', () => {
  type Recipe = Readonly<{ toHtml(text: Document): string }>
  let folder: string
  let recipe: Recipe
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vitrine-contentful-'))
    await symlink(join(PACKAGE_FOLDER, 'test/system/node_modules'), join(folder, 'node_modules'))
    const source = readBlock({ heading: 'Contentful', language: 'ts' })
    await writeFile(join(folder, 'recipe.ts'), source)
    const { code } = await transform(source, { loader: 'ts', format: 'esm' })
    await writeFile(join(folder, 'recipe.mjs'), code)
    recipe = (await import(pathToFileURL(join(folder, 'recipe.mjs')).href)) as Recipe
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('the renderer - compiled in strict mode - has no errors', async () => {
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023']
    const compiler = join(PACKAGE_FOLDER, 'node_modules/typescript/bin/tsc')
    const { stdout } = await run(process.execPath, [compiler, ...flags, 'recipe.ts'], { cwd: folder })
    expect(stdout).toBe('')
  })

  it('the renderer - an entry with a GTIN - the page shows the box', async () => {
    const loader = readBlock({ heading: 'Webflow', language: 'html' })
    const { page } = await openPage(
      `<!doctype html>${recipe.toHtml(toText(toEntry('vitrineBox', { gtin: box.gtin })))}${loader}`,
    )
    await expect.poll(() => readFrameHeight(page)).toBeGreaterThan(200)
  })

  it.each([
    ['of another type', toEntry('quote', { text: 'x' })],
    ['that is not published', { sys: { type: 'Link', linkType: 'Entry', id: 'x' } }],
  ])('the renderer - an entry %s - prints nothing for it', (_case, target) => {
    expect(recipe.toHtml(toText(target))).toBe('<p>before</p>')
  })

  it('the renderer - a GTIN with markup - keeps only its digits', () => {
    const html = recipe.toHtml(toText(toEntry('vitrineBox', { gtin: '17"><script>~18' })))
    expect(html).toContain('data-gtin="17~18"')
    expect(html).not.toContain('<script')
  })
})

describe('Webflow', () => {
  it('the embed with the code of the footer - a page of a collection - shows the box', async () => {
    const footer = readBlock({ heading: 'Webflow', language: 'html' })
    const embed = readBlock({ heading: 'Webflow', language: 'html', index: 1 })
    const { page } = await openPage(
      `<!doctype html><html lang="en"><body><div class="w-embed">${embed}</div>${footer}</body></html>`,
    )
    await expect.poll(() => readFrameHeight(page)).toBeGreaterThan(200)
  })
})
