import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildAndClassify } from './build-site.ts'
import { type Reload, itMatchesColdTable, itMatchesCachedTable } from './outage-cases.ts'
import type { PageRoute } from './fault-proxy.ts'
import { type IncludeFixture, createIncludeFixture } from './include-fixture.ts'
import { describeWithProgram } from './program.ts'
import { readRecipe } from './recipe.ts'
import { PAGE_TIMEOUT_MS, toHostPage } from './page-outcome.ts'

/** The page around the included file. */
const [HEAD = '', FOOT = ''] = toHostPage('@BOX@').split('@BOX@')

describeWithProgram('curl', 'Shell', () => {
  let fixture: IncludeFixture
  beforeAll(async () => {
    fixture = await createIncludeFixture()
  })
  afterAll(() => fixture.dispose())

  async function addSite(fetchBox: string, route?: PageRoute): Promise<Reload> {
    const name = route?.name ?? fixture.nextName()
    const cwd = join(fixture.folder, name)
    await mkdir(cwd)
    await writeFile(join(cwd, 'head'), HEAD)
    await writeFile(join(cwd, 'foot'), FOOT)
    await writeFile(join(cwd, 'box.html'), '')
    await writeFile(join(cwd, 'fetch-box'), fetchBox)
    const url = `${fixture.faultProxy.origin}${fixture.path}${route === undefined ? '' : `?page=${name}`}`
    const script = `sh ./fetch-box '${url}' box.html; cat head box.html foot > page.html`
    const page = join(cwd, 'page.html')
    return () => {
      const signal = route?.hangTimeout() ?? AbortSignal.timeout(PAGE_TIMEOUT_MS)
      return buildAndClassify({ command: 'sh', args: ['-c', script], cwd, page, signal })
    }
  }
  const addRecommended = (route?: PageRoute): Promise<Reload> =>
    addSite(readRecipe({ heading: 'Fetch', language: 'sh' }), route)

  itMatchesColdTable('Shell, plain', {
    fixture: () => fixture,
    open: async (route) => (await addSite('curl --silent "$1" > "$2"', route))(),
  })
  itMatchesColdTable('Shell, recommended', {
    fixture: () => fixture,
    open: async (route) => (await addRecommended(route))(),
  })
  itMatchesCachedTable('Shell', { isSynchronous: true, fixture: () => fixture, open: addRecommended })

  it.each(['drip', 'large'] as const)(
    'fetch-box - the server sends %s - the file is unchanged',
    async (mode) => {
      await fixture.faultProxy.setMode(mode)
      expect(await (await addRecommended())()).toBe('nothing')
    },
  )
})
