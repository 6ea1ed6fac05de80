import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import { buildAndClassify } from './build-site.ts'
import { type Reload, itMatchesColdTable, itMatchesCachedTable } from './outage-cases.ts'
import type { PageRoute } from './fault-proxy.ts'
import { type IncludeFixture, createIncludeFixture } from './include-fixture.ts'
import { readRecipe } from './recipe.ts'
import { PAGE_TIMEOUT_MS, toHostPage } from './page-outcome.ts'

const HEADING = 'Eleventy'
const HELPER = join(PACKAGE_FOLDER, 'integrations/eleventy/vitrine.js')
const require = createRequire(join(PACKAGE_FOLDER, 'site/package.json'))
const PROGRAM = join(dirname(require.resolve('@11ty/eleventy')), '../cmd.cjs')

/** The naive way. */
const PLAIN = `export default function (eleventyConfig) {
  eleventyConfig.addAsyncShortcode('vitrine', async (url) => (await fetch(url)).text())
}`

describe('Eleventy', () => {
  let fixture: IncludeFixture
  beforeAll(async () => {
    fixture = await createIncludeFixture()
  })
  afterAll(() => fixture.dispose())

  async function addSite(
    toConfig: (folder: string) => string,
    route?: PageRoute,
    include = readInclude(fixture, route),
  ): Promise<Reload> {
    const cwd = join(fixture.folder, route?.name ?? fixture.nextName())
    await mkdir(cwd)
    await writeFile(join(cwd, 'package.json'), '{ "type": "module" }')
    await writeFile(join(cwd, 'eleventy.config.js'), toConfig(cwd))
    await writeFile(join(cwd, 'index.njk'), toHostPage(include))
    const page = join(cwd, '_site/index.html')
    return () =>
      buildAndClassify({
        command: process.execPath,
        args: [PROGRAM, '--quiet'],
        cwd,
        page,
        signal: route?.hangTimeout() ?? AbortSignal.timeout(PAGE_TIMEOUT_MS),
      })
  }
  const addRecommended = (route?: PageRoute): Promise<Reload> => addSite(toRecommended, route)

  itMatchesColdTable('Eleventy, plain', {
    fixture: () => fixture,
    open: async (route) => (await addSite(() => PLAIN, route))(),
  })
  itMatchesColdTable('Eleventy, recommended', {
    fixture: () => fixture,
    hangTimeoutMs: PAGE_TIMEOUT_MS,
    open: async (route) => (await addRecommended(route))(),
  })
  itMatchesCachedTable('Eleventy', {
    isSynchronous: true,
    fixture: () => fixture,
    hangTimeoutMs: PAGE_TIMEOUT_MS,
    open: addRecommended,
  })

  it.each(['text', 'drip', 'large'] as const)(
    'vitrine.js - the server responds with %s - shows nothing',
    async (mode) => {
      await fixture.faultProxy.setMode(mode)
      expect(await (await addRecommended())()).toBe('nothing')
    },
  )

  it('vitrine.js - many boxes of a hanging server - the build waits once', async () => {
    await fixture.faultProxy.setMode('hang')
    const before = fixture.faultProxy.requests.length
    const boxes = Array.from({ length: 8 }, (_, index) =>
      readInclude(fixture).replace('" %}', `?limit=${index + 1}" %}`),
    )
    const reload = await addSite(toRecommended, undefined, boxes.join('\n'))
    expect(await reload()).toBe('nothing')
    expect(fixture.faultProxy.requests.length - before).toBe(1)
  })

  it('a round-up with labels - is shown, and its address is unchanged', async () => {
    await fixture.faultProxy.setMode('shown')
    const path = `${fixture.roundUpPath}?label=Best%20overall&label=&sub=p1`
    const include = readInclude(fixture).replace(fixture.path, path)
    expect(await (await addSite(toRecommended, undefined, include))()).toBe('box')
    expect(fixture.faultProxy.requests.at(-1)?.url).toBe(path)
  })
})

function readInclude(fixture: IncludeFixture, route?: PageRoute): string {
  const query = route === undefined ? '' : `?page=${route.name}`
  return readRecipe({ heading: HEADING, language: 'njk' }, [
    [
      'https://widgets.example/fragments/CHANNEL/where-to-buy/GTIN',
      fixture.faultProxy.origin + fixture.path + query,
    ],
  ]).trim()
}

function toRecommended(folder: string): string {
  return readRecipe({ heading: HEADING, language: 'js' }, [
    ['./vitrine.js', HELPER],
    ['.cache/vitrine', join(folder, 'boxes')],
  ])
}
