import { describe, expect, test } from 'vitest'
import { findProgram } from '../includes/program.ts'
import { clicksSuite } from './clicks.ts'
import { elementsSuite } from './elements.ts'
import { embedderPolicySuite } from './embedder-policy.ts'
import type { Engine } from './engine.ts'
import { frameworksSuite } from './frameworks.ts'
import { gallerySuite } from './gallery-fit.ts'
import { isolationSuite } from './isolation.ts'
import { keyboardSuite } from './keyboard.ts'
import { layoutShiftSuite } from './layout-shift.ts'
import { loaderSuite } from './loader.ts'
import { routersSuite } from './routers.ts'
import { frameThemesSuite, pageStylesSuite } from './page-styles.ts'
import { longPricesSuite } from './long-prices.ts'
import { pageChangesSuite, serversSuite } from './page-changes.ts'
import { picturesSuite } from './pictures.ts'
import { referrersSuite } from './referrers.ts'
import { studioSuite } from './studio.ts'
import { useEngine } from './use-engine.ts'

// oxlint-disable-next-line node/no-process-env -- a property of the machine, not a setting
const ARE_REQUIRED = process.env['REQUIRE_PROGRAMS'] === '1'

const SUITES = [
  clicksSuite,
  elementsSuite,
  embedderPolicySuite,
  frameworksSuite,
  gallerySuite,
  isolationSuite,
  keyboardSuite,
  layoutShiftSuite,
  loaderSuite,
  longPricesSuite,
  pageChangesSuite,
  pageStylesSuite,
  frameThemesSuite,
  serversSuite,
  routersSuite,
  picturesSuite,
  referrersSuite,
  studioSuite,
]

type EngineDetails = Readonly<{
  name: string
  /** Without them the tests are skipped, or fail with `REQUIRE_PROGRAMS=1`. */
  programs: readonly string[]
  connect(): Promise<Engine>
}>

/**
 * Run all suites in an engine. Each engine has one test file, because Firefox and WebKit accept one session at a time.
 */
export function testEngine({ name, programs, connect }: EngineDetails): void {
  const missing = programs.filter((program) => findProgram(program) === undefined)
  const isSkipped = missing.length > 0 && !ARE_REQUIRED
  test.skipIf(isSkipped)('programs - are installed', () => {
    expect(missing).toEqual([])
  })
  // oxlint-disable-next-line vitest/valid-title -- the caller passes it
  describe.skipIf(isSkipped)(name, () => {
    const engine = useEngine(name, connect)
    for (const suite of SUITES) suite(engine)
  })
}
