import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildAndClassify } from './build-site.ts'
import { type Reload, itMatchesColdTable, itMatchesCachedTable, openShown } from './outage-cases.ts'
import type { PageRoute } from './fault-proxy.ts'
import { type IncludeFixture, createIncludeFixture } from './include-fixture.ts'
import { describeWithProgram, findProgram } from './program.ts'
import { readRecipe } from './recipe.ts'
import { PAGE_TIMEOUT_MS, toHostPage } from './page-outcome.ts'

const HEADING = 'Hugo'
const TEMPLATE = 'go-html-template'

/** The example of the Hugo manual. */
const PLAIN = '{{ with resources.GetRemote . }}{{ .Content | safeHTML }}{{ end }}'

/** Hugo 0.141 and later catch errors with `try`, so select the recipe for the installed version. */
const partialIndex = isNewHugo() ? 1 : 0

describeWithProgram('hugo', HEADING, () => {
  let fixture: IncludeFixture
  beforeAll(async () => {
    fixture = await createIncludeFixture()
  })
  afterAll(() => fixture.dispose())

  async function addSite(
    site: Readonly<{ partial: string; config: string }>,
    route?: PageRoute,
  ): Promise<Reload> {
    const name = route?.name ?? fixture.nextName()
    const cwd = join(fixture.folder, name)
    await mkdir(join(cwd, 'layouts/partials'), { recursive: true })
    const line = readRecipe({ heading: HEADING, language: TEMPLATE, index: 2 }, [
      [
        'https://widgets.example/fragments/CHANNEL/where-to-buy/GTIN',
        `${fixture.faultProxy.origin}${fixture.path}?page=${name}`,
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
      buildAndClassify({
        command: findProgram('hugo') ?? '',
        args: ['--quiet'],
        cwd,
        env,
        page,
        signal: route?.hangTimeout() ?? AbortSignal.timeout(PAGE_TIMEOUT_MS),
      })
  }
  const addRecommended = (age: string, route?: PageRoute): Promise<Reload> => {
    const partial = readRecipe({ heading: HEADING, language: TEMPLATE, index: partialIndex })
    const config = readRecipe({ heading: HEADING, language: 'toml' }, [['"5m"', `"${age}"`]])
    return addSite({ partial, config }, route)
  }

  itMatchesColdTable('Hugo, plain', {
    fixture: () => fixture,
    open: async (route) => (await addSite({ partial: PLAIN, config: '' }, route))(),
  })
  itMatchesColdTable('Hugo, recommended', {
    fixture: () => fixture,
    open: async (route) => (await addRecommended('5m', route))(),
  })
  itMatchesCachedTable('Hugo', {
    isSynchronous: true,
    fixture: () => fixture,
    open: (route) => addRecommended('1s', route),
  })

  it('Hugo, recommended - rebuilt during an outage, within five minutes - has the box', async () => {
    await fixture.faultProxy.setMode('shown')
    const reload = await openShown({ open: () => addRecommended('5m') })
    await fixture.faultProxy.setMode('500')
    expect(await reload()).toBe('box')
  })

  it('Hugo, without the cache setting - a box that is hidden now - stays shown', async () => {
    await fixture.faultProxy.setMode('shown')
    const reload = await openShown({ open: () => addSite({ partial: PLAIN, config: '' }) })
    const before = fixture.faultProxy.requests.length
    await fixture.faultProxy.setMode('hidden')
    expect(await reload()).toBe('box')
    expect(fixture.faultProxy.requests.length).toBe(before)
  })
})

function isNewHugo(): boolean {
  const program = findProgram('hugo')
  if (program === undefined) return false
  const version = execFileSync(program, ['version'], { encoding: 'utf8' })
  const [, major = '0', minor = '0'] = /v(\d+)\.(\d+)/.exec(version) ?? []
  return Number(major) > 0 || Number(minor) >= 141
}
