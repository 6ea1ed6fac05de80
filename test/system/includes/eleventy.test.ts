import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'
import { buildAndSee } from './build-site.ts'
import { type See, itIsAsTheTableSays, itKeepsAsTheTableSays } from './cases.ts'
import type { PageLane } from './gate.ts'
import { type Place, openPlace } from './place.ts'
import { readRecipe } from './recipe.ts'
import { PATIENCE_MS, toHostPage } from './sight.ts'

const HEADING = 'Eleventy'
const HELPER = join(PACKAGE_FOLDER, 'integrations/eleventy/vitrine.js')
const require = createRequire(import.meta.url)
const PROGRAM = join(dirname(require.resolve('@11ty/eleventy')), '../cmd.cjs')

/** What comes to mind first. */
const PLAIN = `export default function (eleventyConfig) {
  eleventyConfig.addAsyncShortcode('vitrine', async (url) => (await fetch(url)).text())
}`

describe('Eleventy', () => {
  let place: Place
  beforeAll(async () => {
    place = await openPlace()
  })
  afterAll(() => place.dispose())

  async function addSite(
    toConfig: (folder: string) => string,
    lane?: PageLane,
    include = readInclude(place, lane),
  ): Promise<See> {
    const cwd = join(place.folder, lane?.name ?? place.nextName())
    await mkdir(cwd)
    await writeFile(join(cwd, 'package.json'), '{ "type": "module" }')
    await writeFile(join(cwd, 'eleventy.config.js'), toConfig(cwd))
    await writeFile(join(cwd, 'index.njk'), toHostPage(include))
    const page = join(cwd, '_site/index.html')
    return () =>
      buildAndSee({
        command: process.execPath,
        args: [PROGRAM, '--quiet'],
        cwd,
        page,
        signal: lane?.patience() ?? AbortSignal.timeout(PATIENCE_MS),
      })
  }
  const addRecommended = (lane?: PageLane): Promise<See> => addSite(toRecommended, lane)

  itIsAsTheTableSays('Eleventy, plain', {
    place: () => place,
    open: async (lane) => (await addSite(() => PLAIN, lane))(),
  })
  itIsAsTheTableSays('Eleventy, recommended', {
    place: () => place,
    patienceMs: PATIENCE_MS,
    open: async (lane) => (await addRecommended(lane))(),
  })
  itKeepsAsTheTableSays('Eleventy', {
    isSettledAtOnce: true,
    place: () => place,
    patienceMs: PATIENCE_MS,
    open: addRecommended,
  })

  it.each(['text', 'drip'] as const)('vitrine.js - the server answers %s - nothing is seen', async (mode) => {
    await place.gate.setMode(mode)
    expect(await (await addRecommended())()).toBe('nothing')
  })

  it('vitrine.js - many boxes of a server that hangs - a build waits once', async () => {
    await place.gate.setMode('hang')
    const before = place.gate.requests.length
    const boxes = Array.from({ length: 8 }, (_, index) =>
      readInclude(place).replace('" %}', `?limit=${index + 1}" %}`),
    )
    const see = await addSite(toRecommended, undefined, boxes.join('\n'))
    expect(await see()).toBe('nothing')
    expect(place.gate.requests.length - before).toBe(1)
  })
})

function readInclude(place: Place, lane?: PageLane): string {
  const query = lane === undefined ? '' : `?page=${lane.name}`
  return readRecipe({ heading: HEADING, language: 'njk' }, [
    ['https://widgets.example/fragments/CHANNEL/where-to-buy/GTIN', place.gate.origin + place.path + query],
  ]).trim()
}

function toRecommended(folder: string): string {
  return readRecipe({ heading: HEADING, language: 'js' }, [
    ['./vitrine.js', HELPER],
    ['.cache/vitrine', join(folder, 'boxes')],
  ])
}
