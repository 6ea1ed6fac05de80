import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { transform } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/paths.ts'
import {
  type See,
  itIsAsTheTableSays,
  itKeepsAsTheTableSays,
  itSeesAfterTheLimit,
  openShown,
} from './cases.ts'
import type { PageLane } from './gate.ts'
import { type Place, openPlace } from './place.ts'
import { readRecipe } from './recipe.ts'
import { judgePage, toHostPage } from './sight.ts'

const HEADING = 'Next.js'
const HELPER = join(PACKAGE_FOLDER, 'integrations/nextjs/vitrine.ts')

/** What a component returns here: the page is written without React, which would set the same HTML. */
type Element = Readonly<{ dangerouslySetInnerHTML: Readonly<{ __html: string }> }> | null
type Component = (props: Readonly<{ url: string }>) => Promise<Element>

/** Next.js itself is not run: its component and its helper are, in a process that has not met the server before. */
describe('Next.js', () => {
  let place: Place
  beforeAll(async () => {
    place = await openPlace()
  })
  afterAll(() => place.dispose())

  /** The component of the recipe over a helper that remembers nothing yet. */
  async function openProcess(name = place.nextName()): Promise<Component> {
    const folder = join(place.folder, name)
    await mkdir(folder)
    const helper = await transform(await readFile(HELPER, 'utf8'), {
      loader: 'ts',
      format: 'esm',
    })
    await writeFile(join(folder, 'vitrine.mjs'), helper.code)
    const source = readRecipe({ heading: HEADING, language: 'tsx' }, [["'./vitrine'", "'./vitrine.mjs'"]])
    const component = await transform(source, { loader: 'tsx', format: 'esm', jsxFactory: 'toElement' })
    const toElement = 'const toElement = (_name, props) => props\n'
    await writeFile(join(folder, 'box.mjs'), toElement + component.code)
    const module = (await import(pathToFileURL(join(folder, 'box.mjs')).href)) as { VitrineBox: Component }
    return module.VitrineBox
  }

  const render = async (component: Component, query = ''): Promise<string> => {
    const element = await component({ url: place.gate.origin + place.path + query })
    return element?.dangerouslySetInnerHTML.__html ?? ''
  }
  async function addPage(lane?: PageLane): Promise<See> {
    const component = await openProcess(lane?.name)
    const query = lane === undefined ? '' : `?page=${lane.name}`
    return async () => judgePage(Buffer.from(toHostPage(await render(component, query))))
  }
  const keeper = { place: () => place, open: addPage }

  itIsAsTheTableSays('Next.js, recommended', {
    place: () => place,
    open: async (lane) => (await addPage(lane))(),
  })
  itKeepsAsTheTableSays('Next.js', keeper)
  itSeesAfterTheLimit('Next.js', keeper, 'nothing')

  it.each(['text', 'drip'] as const)('vitrine.ts - the server answers %s - nothing is seen', async (mode) => {
    await place.gate.setMode(mode)
    expect(await (await addPage())()).toBe('nothing')
  })

  it('vitrine.ts - many at once - share one request', async () => {
    await place.gate.setMode('shown')
    const see = await addPage()
    const before = place.gate.requests.length
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => see())))).toEqual(new Set(['box']))
    expect(place.gate.requests.length - before).toBe(1)
  })

  it('vitrine.ts - a fresh box - is not asked for again', async () => {
    place.gate.setMaxAge(null)
    await place.gate.setMode('shown')
    const see = await openShown({ open: () => keeper.open() })
    const before = place.gate.requests.length
    expect(await see()).toBe('box')
    expect(place.gate.requests.length).toBe(before)
  })

  it('vitrine.ts - a server that failed for one box - is not asked for another', async () => {
    await place.gate.setMode('500')
    const component = await openProcess()
    expect(await render(component)).toBe('')
    const before = place.gate.requests.length
    expect(await render(component, '?limit=2')).toBe('')
    expect(place.gate.requests.length).toBe(before)
  })

  it('vitrine.ts - a mistake in one address - does not keep the other boxes away', async () => {
    await place.gate.setMode('shown')
    const component = await openProcess()
    expect(await render(component, '?limit=0')).toBe('')
    expect(await render(component)).toContain('class="vitrine ')
  })

  it('vitrine.ts - what is no address - is nothing', async () => {
    const component = await openProcess()
    expect(await component({ url: '/fragments/x' })).toBeNull()
    expect(await component({ url: '' })).toBeNull()
  })
})
