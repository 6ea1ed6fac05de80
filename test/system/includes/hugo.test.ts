import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildAndSee } from './build-site.ts'
import { type See, itIsAsTheTableSays, itKeepsAsTheTableSays, openShown } from './cases.ts'
import type { PageLane } from './gate.ts'
import { type Place, openPlace } from './place.ts'
import { describeWithProgram, findProgram } from './program.ts'
import { readRecipe } from './recipe.ts'
import { PATIENCE_MS, toHostPage } from './sight.ts'

const HEADING = 'Hugo'
const TEMPLATE = 'go-html-template'

/** As in the manual of Hugo. */
const PLAIN = '{{ with resources.GetRemote . }}{{ .Content | safeHTML }}{{ end }}'

/** From 0.141 on errors are caught by `try`: the recipe that the installed program needs is the one that is run. */
const partialIndex = isNewHugo() ? 1 : 0

describeWithProgram('hugo', HEADING, () => {
  let place: Place
  beforeAll(async () => {
    place = await openPlace()
  })
  afterAll(() => place.dispose())

  async function addSite(site: Readonly<{ partial: string; config: string }>, lane?: PageLane): Promise<See> {
    const name = lane?.name ?? place.nextName()
    const cwd = join(place.folder, name)
    await mkdir(join(cwd, 'layouts/partials'), { recursive: true })
    const line = readRecipe({ heading: HEADING, language: TEMPLATE, index: 2 }, [
      [
        'https://widgets.example/fragments/CHANNEL/where-to-buy/GTIN',
        `${place.gate.origin}${place.path}?page=${name}`,
      ],
    ])
    const common =
      'baseURL = "http://127.0.0.1/"\ndisableKinds = ["taxonomy", "term", "RSS", "sitemap", "404"]\n'
    await writeFile(join(cwd, 'hugo.toml'), common + site.config)
    await writeFile(join(cwd, 'layouts/index.html'), toHostPage(line))
    await writeFile(join(cwd, 'layouts/partials/vitrine.html'), site.partial)
    const env = { HUGO_CACHEDIR: join(cwd, 'cache') }
    const page = join(cwd, 'public/index.html')
    return () =>
      buildAndSee({
        command: findProgram('hugo') ?? '',
        args: ['--quiet'],
        cwd,
        env,
        page,
        signal: lane?.patience() ?? AbortSignal.timeout(PATIENCE_MS),
      })
  }
  const addRecommended = (age: string, lane?: PageLane): Promise<See> => {
    const partial = readRecipe({ heading: HEADING, language: TEMPLATE, index: partialIndex })
    const config = readRecipe({ heading: HEADING, language: 'toml' }, [['"5m"', `"${age}"`]])
    return addSite({ partial, config }, lane)
  }

  itIsAsTheTableSays('Hugo, plain', {
    place: () => place,
    open: async (lane) => (await addSite({ partial: PLAIN, config: '' }, lane))(),
  })
  itIsAsTheTableSays('Hugo, recommended', {
    place: () => place,
    open: async (lane) => (await addRecommended('5m', lane))(),
  })
  itKeepsAsTheTableSays('Hugo', {
    isSettledAtOnce: true,
    place: () => place,
    open: (lane) => addRecommended('1s', lane),
  })

  it('Hugo, recommended - built again within five minutes of an outage - has the box', async () => {
    await place.gate.setMode('shown')
    const see = await openShown({ open: () => addRecommended('5m') })
    await place.gate.setMode('500')
    expect(await see()).toBe('box')
  })

  it('Hugo, without the cache setting - a box that is hidden now - is shown for ever', async () => {
    await place.gate.setMode('shown')
    const see = await openShown({ open: () => addSite({ partial: PLAIN, config: '' }) })
    const before = place.gate.requests.length
    await place.gate.setMode('hidden')
    expect(await see()).toBe('box')
    expect(place.gate.requests.length).toBe(before)
  })
})

function isNewHugo(): boolean {
  const program = findProgram('hugo')
  if (program === undefined) return false
  const version = execFileSync(program, ['version'], { encoding: 'utf8' })
  const [, major = '0', minor = '0'] = /v(\d+)\.(\d+)/.exec(version) ?? []
  return Number(major) > 0 || Number(minor) >= 141
}
