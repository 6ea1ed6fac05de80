import { afterEach, describe, vi } from 'vitest'
import { addCleanup, setUpOnce } from '../../helpers/cleanup.ts'
import type { Engine, EnginePage, Viewport } from './engine.ts'

const VIEWPORT: Viewport = { width: 1_300, height: 900 }

/** A browser engine in a group of tests. It closes a page after the test, and before it opens another one. */
export type EngineInUse = Readonly<{ name: string; open(viewport?: Viewport): Promise<EnginePage> }>

/** Connect to an engine for the tests of a group. */
export function useEngine(name: string, connect: () => Promise<Engine>): EngineInUse {
  const getEngine = setUpOnce(async () => {
    const engine = await connect()
    addCleanup(() => engine.disconnect())
    return engine
  })
  let openPage: EnginePage | undefined
  const closePage = async (): Promise<void> => {
    await openPage?.close()
    openPage = undefined
  }
  afterEach(closePage)
  return {
    name,
    async open(viewport = VIEWPORT) {
      await closePage()
      openPage = await getEngine().open(viewport)
      return openPage
    },
  }
}

/** Tests of one subject in an engine. */
export type Suite = (engine: EngineInUse) => void

export function defineSuite(title: string, tests: Suite): Suite {
  return (engine) => {
    // oxlint-disable-next-line vitest/valid-title -- the caller passes it
    describe(title, () => {
      tests(engine)
    })
  }
}

/** Wait until an expression is true in the page, also while the page is replaced. */
export async function waitUntil(page: EnginePage, expression: string, frame?: string): Promise<void> {
  await vi.waitFor(
    async () => {
      if (!(await page.evaluate<boolean>(`Boolean(${expression})`, frame)))
        throw new Error(`not true: ${expression}`)
    },
    { interval: 20 },
  )
}

/** Run JavaScript statements in the page. */
export async function run(page: EnginePage, statements: string, frame?: string): Promise<void> {
  await page.evaluate(`(() => { ${statements} })()`, frame)
}
