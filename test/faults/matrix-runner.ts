import { describe, expect, it, vi } from 'vitest'
import { BOX, BOX_DATA, BOX_EMBED } from '../app/app-client.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import { IS_FULL, selectCases } from '../helpers/property-runs.ts'
import { FAULT_TITLE, type FaultRow } from './matrix.ts'
import {
  INITIAL_STATES,
  type InitialState,
  type BoxState,
  type Scenario,
  createShownState,
  expectCleanProcess,
  createFallbackState,
  expectRecovery,
  expectSameJson,
  readBoxState,
  startScenario,
} from './scenario.ts'

const VISITS_IN_WINDOW = 5
/** A product that is not stored. */
const OTHER_BOX = `/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(1)}`

/** The first visitor waits for the call, unless a young copy can be shown at once. */
function createFirstState(scenario: Scenario): BoxState {
  const { row, initialState } = scenario
  if (row.meaning === 'failure' || initialState.name === 'stale') return createFallbackState(scenario)
  return createShownState(row.meaning === 'product' ? FAULT_TITLE : null, 0, 'miss')
}

/** What visitors see when the call ended `agoMs` ago. */
function createLaterState(scenario: Scenario, agoMs: number): BoxState {
  if (scenario.row.meaning === 'failure') return createFallbackState(scenario)
  return createShownState(scenario.row.meaning === 'product' ? FAULT_TITLE : null, agoMs, 'hit')
}

/** What the first visitor after a window sees: the product is then `windowMs` old; a 404 has expired. */
function createNextState(scenario: Scenario, windowMs: number): BoxState {
  if (scenario.row.meaning === 'failure') return createFallbackState(scenario)
  return scenario.row.meaning === 'product'
    ? createShownState(FAULT_TITLE, windowMs, 'stale')
    : createShownState(null, 0, 'miss')
}

/** Wait until the call has ended and its result is visible; no visitor waits for a background refresh. */
async function waitForOutcome(scenario: Scenario, outcomes: Readonly<Record<string, number>>): Promise<void> {
  await vi.waitFor(async () => expect(await scenario.readOutcomes()).toEqual(outcomes))
  if (scenario.row.meaning === 'failure') return
  await vi.waitFor(async () => {
    const response = await scenario.visit(BOX)
    expect(response.headers['cache-status']).toBe('vitrine; hit')
  })
}

/** Visit fragment and embed in turn; the last visit is in the last millisecond of the window. */
async function visitWithinWindow(scenario: Scenario, windowMs: number): Promise<void> {
  const stepMs = Math.floor((windowMs - 1) / VISITS_IN_WINDOW)
  for (let count = 1; count <= VISITS_IN_WINDOW; count++) {
    const isLast = count === VISITS_IN_WINDOW
    scenario.advance(isLast ? windowMs - 1 - stepMs * (count - 1) : stepMs)
    const agoMs = isLast ? windowMs - 1 : stepMs * count
    const path = count % 2 === 0 ? BOX : BOX_EMBED
    const expected = createLaterState(scenario, agoMs)
    expect(readBoxState(path, await scenario.visit(path))).toEqual(expected)
    expectSameJson(await scenario.visit(BOX_DATA), expected)
    if (scenario.row.isCatalogWide) {
      expect((await scenario.visit(OTHER_BOX)).headers['vitrine-state']).toBe('unavailable')
    }
    await scenario.settleCalls()
    expect(scenario.countLookUps()).toBe(1)
  }
}

/** Return the number of look-ups: one in each of two windows, and one two days later. */
async function runScenario(row: FaultRow, initialState: InitialState): Promise<number> {
  const scenario = await startScenario(row, initialState)
  const { clock } = scenario.harness
  expect(readBoxState(initialState.path, await scenario.visit())).toEqual(createFirstState(scenario))
  await waitForOutcome(scenario, { [row.outcome]: 1 })
  expect(scenario.countLookUps()).toBe(1)
  const windowMs = row.toWindowMs(clock.nowMs())
  await visitWithinWindow(scenario, windowMs)

  scenario.advance(1)
  const nextState = readBoxState(initialState.path, await scenario.visit())
  expect(nextState).toEqual(createNextState(scenario, windowMs))
  await waitForOutcome(scenario, { [row.outcome]: 2 })
  expect(scenario.countLookUps()).toBe(2)

  await expectRecovery(scenario, 2)
  await expectCleanProcess(scenario)
  return scenario.countLookUps()
}

/** Test each fault: what visitors see before, during and after it, and the number of calls. */
export function describeFaults(part: string, rows: readonly FaultRow[]): void {
  const scenarios = rows.flatMap((row) =>
    listInitialStates(rows, row).map(
      (initialState) => [row.name, initialState.name, row, initialState] as const,
    ),
  )
  describe(`faulty ${part}`, () => {
    it.each(scenarios)(
      '%s - %s - visitors see the expected state, one call per window, and the server recovers',
      async (...[, , row, initialState]) => expect(await runScenario(row, initialState)).toBe(3),
    )

    it('rows - have unique names', () => {
      const names = rows.map(({ name }) => name)
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    })
  })
}

/**
 * Return the states that a row is tested in. The first row of each outcome is tested in all of them, also with the embed first.
 * A full run tests the other rows in all but that one; `npm test` tests some of them, in one state, in rotation.
 */
function listInitialStates(rows: readonly FaultRow[], row: FaultRow): readonly InitialState[] {
  const isFirst = rows.find(({ outcome }) => outcome === row.outcome) === row
  if (isFirst) return INITIAL_STATES
  const initialStates = INITIAL_STATES.filter(({ name }) => name !== 'cold, in a frame')
  if (IS_FULL) return initialStates
  const index = selectCases(rows).indexOf(row)
  const start = index % initialStates.length
  return index === -1 ? [] : initialStates.slice(start, start + 1)
}
