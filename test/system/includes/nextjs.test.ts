import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { transform } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PACKAGE_FOLDER } from '../../../src/lib/files.ts'
import {
  type Reload,
  itMatchesColdTable,
  itMatchesCachedTable,
  itExpiresAfterStaleIfError,
  openShown,
} from './outage-cases.ts'
import type { PageRoute } from './fault-proxy.ts'
import { type IncludeFixture, createIncludeFixture } from './include-fixture.ts'
import { readRecipe } from './recipe.ts'
import { classifyPage, toHostPage } from './page-outcome.ts'

const HEADING = 'Next.js'
const HELPER = join(PACKAGE_FOLDER, 'integrations/nextjs/vitrine.ts')

/** The return value of a component: the test renders it without React. */
type Element = Readonly<{ dangerouslySetInnerHTML: Readonly<{ __html: string }> }> | null
type Component = (props: Readonly<{ url: string }>) => Promise<Element>

/** Component and helper run without Next.js; each helper starts with an empty cache. */
describe('Next.js', () => {
  let fixture: IncludeFixture
  beforeAll(async () => {
    fixture = await createIncludeFixture()
  })
  afterAll(() => fixture.dispose())

  /** Load the component of the recipe with a helper whose cache is empty. */
  async function loadComponent(name = fixture.nextName()): Promise<Component> {
    const folder = join(fixture.folder, name)
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

  const render = async (component: Component, query = '', path = fixture.path): Promise<string> => {
    const element = await component({ url: fixture.faultProxy.origin + path + query })
    return element?.dangerouslySetInnerHTML.__html ?? ''
  }
  async function addPage(route?: PageRoute): Promise<Reload> {
    const component = await loadComponent(route?.name)
    const query = route === undefined ? '' : `?page=${route.name}`
    return async () => classifyPage(Buffer.from(toHostPage(await render(component, query))))
  }
  const cachingConsumer = { fixture: () => fixture, open: addPage }

  itMatchesColdTable('Next.js, recommended', {
    fixture: () => fixture,
    open: async (route) => (await addPage(route))(),
  })
  itMatchesCachedTable('Next.js', cachingConsumer)
  itExpiresAfterStaleIfError('Next.js', cachingConsumer, 'nothing')

  it.each(['text', 'drip', 'large'] as const)(
    'vitrine.ts - the server responds with %s - shows nothing',
    async (mode) => {
      await fixture.faultProxy.setMode(mode)
      expect(await (await addPage())()).toBe('nothing')
    },
  )

  it('vitrine.ts - a round-up with labels - is shown, and its address is unchanged', async () => {
    await fixture.faultProxy.setMode('shown')
    const query = '?label=Best%20overall&label=&sub=p1'
    const html = await render(await loadComponent(), query, fixture.roundUpPath)
    expect(html).toContain('data-sub="p1"')
    expect(fixture.faultProxy.requests.at(-1)?.url).toBe(fixture.roundUpPath + query)
  })

  it('vitrine.ts - concurrent calls - share one request', async () => {
    await fixture.faultProxy.setMode('shown')
    const reload = await addPage()
    const before = fixture.faultProxy.requests.length
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => reload())))).toEqual(new Set(['box']))
    expect(fixture.faultProxy.requests.length - before).toBe(1)
  })

  it('vitrine.ts - a fresh box - is not requested again', async () => {
    fixture.faultProxy.setMaxAge(null)
    await fixture.faultProxy.setMode('shown')
    const reload = await openShown({ open: () => cachingConsumer.open() })
    const before = fixture.faultProxy.requests.length
    expect(await reload()).toBe('box')
    expect(fixture.faultProxy.requests.length).toBe(before)
  })

  it('vitrine.ts - the server failed for one box - sends no request for another', async () => {
    await fixture.faultProxy.setMode('500')
    const component = await loadComponent()
    expect(await render(component)).toBe('')
    const before = fixture.faultProxy.requests.length
    expect(await render(component, '?limit=2')).toBe('')
    expect(fixture.faultProxy.requests.length).toBe(before)
  })

  it('vitrine.ts - an error in one address - other boxes still appear', async () => {
    await fixture.faultProxy.setMode('shown')
    const component = await loadComponent()
    expect(await render(component, '?limit=0')).toBe('')
    expect(await render(component)).toContain('class="vitrine ')
  })

  it('vitrine.ts - an invalid address - shows nothing', async () => {
    const component = await loadComponent()
    expect(await component({ url: '/fragments/x' })).toBeNull()
    expect(await component({ url: '' })).toBeNull()
  })
})
