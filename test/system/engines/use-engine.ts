import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { addCleanup, setUpOnce } from '../../helpers/cleanup.ts'
import { findProgram } from '../includes/program.ts'
import { connectChromium } from './chromium.ts'
import type { Engine, EnginePage, Viewport } from './engine.ts'
import { connectFirefox } from './firefox.ts'
import { connectWebkit } from './webkit.ts'

// oxlint-disable-next-line node/no-process-env -- a property of the machine, not a setting
const ARE_REQUIRED = process.env['REQUIRE_PROGRAMS'] === '1'

const ENGINES: readonly Readonly<{
  name: string
  programs: readonly string[]
  connect: () => Promise<Engine>
}>[] = [
  { name: 'Chromium', programs: [], connect: connectChromium },
  { name: 'Firefox', programs: ['firefox-esr'], connect: connectFirefox },
  { name: 'WebKit', programs: ['WebKitWebDriver', 'Xvfb'], connect: connectWebkit },
]

const VIEWPORT: Viewport = { width: 1_300, height: 900 }

/** A browser engine in a group of tests. It closes a page after the test, and before it opens another one. */
export type EngineInUse = Readonly<{ name: string; open(viewport?: Viewport): Promise<EnginePage> }>

/**
 * Define the same tests for each browser engine. Without its programs they are skipped, or fail with `REQUIRE_PROGRAMS=1`. Test
 * files take turns with an engine.
 */
export function describeInEngines(title: string, tests: (engine: EngineInUse) => void): void {
  for (const { name, programs, connect } of ENGINES) {
    const missing = programs.filter((program) => findProgram(program) === undefined)
    const isSkipped = missing.length > 0 && !ARE_REQUIRED
    test.skipIf(isSkipped)(`${name}, ${title} - the programs - are installed`, () => {
      expect(missing).toEqual([])
    })
    // oxlint-disable-next-line vitest/valid-title -- the caller passes it
    describe.skipIf(isSkipped)(`${name}, ${title}`, () => {
      tests(useEngine(name, connect))
    })
  }
}

function useEngine(name: string, connect: () => Promise<Engine>): EngineInUse {
  const getEngine = setUpOnce(async () => {
    const engine = await waitForTurn(connect)
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

/** Wait until no other file uses the engine: Firefox and WebKit accept one session at a time. */
async function waitForTurn(connect: () => Promise<Engine>): Promise<Engine> {
  for (;;) {
    try {
      return await connect()
    } catch (error) {
      if (!/Maximum number of active sessions|EEXIST/.test(String(error))) throw error
    }
    await wait(100)
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
