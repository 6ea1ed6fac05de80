import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/paths.ts'
import { buildAndSee } from './build-site.ts'
import { type See, itIsAsTheTableSays, itKeepsAsTheTableSays } from './cases.ts'
import { type Place, openPlace } from './place.ts'
import { readRecipe } from './recipe.ts'
import { toHostPage } from './sight.ts'

const HEADING = 'Eleventy'
const HELPER = join(PACKAGE_FOLDER, 'integrations/eleventy/vitrine.js')
const require = createRequire(import.meta.url)
const PROGRAM = join(dirname(require.resolve('@11ty/eleventy')), '../cmd.cjs')

/** A build takes a second or two; one that takes longer waits for something. */
const BUILD_PATIENCE_MS = 8000

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

  async function addSite(toConfig: (folder: string) => string, include = readInclude(place)): Promise<See> {
    const cwd = join(place.folder, place.nextName())
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
        patienceMs: BUILD_PATIENCE_MS,
      })
  }
  const addRecommended = (): Promise<See> => addSite(toRecommended)

  itIsAsTheTableSays('Eleventy, plain', {
    gate: () => place.gate,
    open: async () => (await addSite(() => PLAIN))(),
  })
  itIsAsTheTableSays('Eleventy, recommended', {
    gate: () => place.gate,
    open: async () => (await addRecommended())(),
  })
  itKeepsAsTheTableSays('Eleventy', { isSettledAtOnce: true, gate: () => place.gate, open: addRecommended })

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
    const see = await addSite(toRecommended, boxes.join('\n'))
    expect(await see()).toBe('nothing')
    expect(place.gate.requests.length - before).toBe(1)
  })
})

function readInclude(place: Place): string {
  return readRecipe({ heading: HEADING, language: 'njk' }, [
    ['https://widgets.example/fragments/CHANNEL/where-to-buy/GTIN', place.gate.origin + place.path],
  ]).trim()
}

function toRecommended(folder: string): string {
  return readRecipe({ heading: HEADING, language: 'js' }, [
    ['./vitrine.js', HELPER],
    ['.cache/vitrine', join(folder, 'boxes')],
  ])
}
