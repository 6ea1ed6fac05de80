import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildAndSee } from './build-site.ts'
import { type See, itIsAsTheTableSays, itKeepsAsTheTableSays } from './cases.ts'
import type { PageLane } from './gate.ts'
import { type Place, openPlace } from './place.ts'
import { describeWithProgram } from './program.ts'
import { readRecipe } from './recipe.ts'
import { PATIENCE_MS, toHostPage } from './sight.ts'

/** The page that includes the file, made of it as any program would. */
const [HEAD = '', FOOT = ''] = toHostPage('@BOX@').split('@BOX@')

describeWithProgram('curl', 'Shell', () => {
  let place: Place
  beforeAll(async () => {
    place = await openPlace()
  })
  afterAll(() => place.dispose())

  async function addSite(fetchBox: string, lane?: PageLane): Promise<See> {
    const name = lane?.name ?? place.nextName()
    const cwd = join(place.folder, name)
    await mkdir(cwd)
    await writeFile(join(cwd, 'head'), HEAD)
    await writeFile(join(cwd, 'foot'), FOOT)
    await writeFile(join(cwd, 'box.html'), '')
    await writeFile(join(cwd, 'fetch-box'), fetchBox)
    const url = `${place.gate.origin}${place.path}${lane === undefined ? '' : `?page=${name}`}`
    const script = `sh ./fetch-box '${url}' box.html; cat head box.html foot > page.html`
    const page = join(cwd, 'page.html')
    return () => {
      const signal = lane?.patience() ?? AbortSignal.timeout(PATIENCE_MS)
      return buildAndSee({ command: 'sh', args: ['-c', script], cwd, page, signal })
    }
  }
  const addRecommended = (lane?: PageLane): Promise<See> =>
    addSite(readRecipe({ heading: 'Fetch', language: 'sh' }), lane)

  itIsAsTheTableSays('Shell, plain', {
    place: () => place,
    open: async (lane) => (await addSite('curl --silent "$1" > "$2"', lane))(),
  })
  itIsAsTheTableSays('Shell, recommended', {
    place: () => place,
    open: async (lane) => (await addRecommended(lane))(),
  })
  itKeepsAsTheTableSays('Shell', { isSettledAtOnce: true, place: () => place, open: addRecommended })

  it('fetch-box - an answer that ends in the middle - leaves the file as it is', async () => {
    await place.gate.setMode('drip')
    expect(await (await addRecommended())()).toBe('nothing')
  })
})
