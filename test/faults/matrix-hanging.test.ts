import type { ServerResponse } from 'node:http'
import { describe, expect, it, vi } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { BOX, BOX_EMBED, type TestResponse } from '../app/app-client.ts'
import { DEADLINE, type FaultRow } from './matrix.ts'
import { HANGING_FAULTS } from './matrix-connections.ts'
import {
  INITIAL_STATES,
  type InitialState,
  type BoxState,
  type Scenario,
  expectCleanProcess,
  createFallbackState,
  expectRecovery,
  readBoxState,
  startScenario,
} from './scenario.ts'

const VISITOR_TIMEOUT_MS = 800
const DEADLINE_MS: number = 5 * SECOND_MS
const WINDOW_MS: number = 5 * SECOND_MS
const STEP_MS = 100
const PATHS = [BOX, BOX_EMBED, BOX, BOX_EMBED, BOX]

/** Advance the clock in steps; in each step the catalog sends the row's `drip` bytes. */
async function advanceInSteps(scenario: Scenario, byMs: number): Promise<void> {
  for (let leftMs = byMs; leftMs > 0; leftMs -= STEP_MS) {
    scenario.advance(Math.min(leftMs, STEP_MS))
    for (const response of scenario.faultyResponses) await drip(response, scenario.row)
  }
}

async function drip({ req: { socket } }: ServerResponse, { drip: bytes }: FaultRow): Promise<void> {
  if (bytes === undefined || socket.destroyed) return
  await new Promise<void>((resolve) => void socket.write(bytes, () => resolve()))
}

/** Let pending responses reach their visitors: these requests are served after them. */
async function flushPendingVisits(scenario: Scenario): Promise<void> {
  for (let count = 0; count < 3; count++) await scenario.server.visit('/healthz')
}

async function waitForDelays(scenario: Scenario, delaysMs: readonly number[]): Promise<void> {
  const { clock } = scenario.harness
  await vi.waitFor(() => expect(clock.pendingDelaysMs.toSorted((a, b) => a - b)).toEqual(delaysMs))
}

async function visitAll(
  scenario: Scenario,
  paths: readonly string[],
  visitPath = scenario.visit,
): Promise<readonly BoxState[]> {
  return Promise.all(paths.map(async (path) => readBoxState(path, await visitPath(path))))
}

/** Start visits now. Without a copy that is young enough, they get a response at the visitor timeout, not earlier. */
async function visitMeanwhile(
  scenario: Scenario,
  paths: readonly string[],
  deadlineInMs: number,
): Promise<void> {
  let responseCount = 0
  const visitPath = async (path?: string): Promise<TestResponse> => {
    const response = await scenario.visit(path)
    responseCount++
    return response
  }
  const responses = visitAll(scenario, paths, visitPath)
  if (scenario.initialState.name !== 'stale') {
    // Simultaneous visits to one address share one timer.
    await waitForDelays(scenario, [...Array.from(new Set(paths), () => VISITOR_TIMEOUT_MS), deadlineInMs])
    await vi.waitFor(() => expect(scenario.server.countWaiting()).toBe(paths.length))
    await vi.waitFor(() => expect(scenario.faultyResponses).toHaveLength(1))
    await advanceInSteps(scenario, VISITOR_TIMEOUT_MS - 1)
    await flushPendingVisits(scenario)
    expect(responseCount).toBe(0)
    scenario.advance(1)
  }
  expect(await responses).toEqual(paths.map(() => createFallbackState(scenario)))
}

/** Expect the call to end exactly at its deadline, and the connection and timers with it. */
async function expectEndAtDeadline(scenario: Scenario, deadlineInMs: number): Promise<void> {
  await waitForDelays(scenario, [deadlineInMs])
  await advanceInSteps(scenario, deadlineInMs - 1)
  await flushPendingVisits(scenario)
  expect(await scenario.readOutcomes()).toEqual({})
  scenario.advance(1)
  await vi.waitFor(async () => expect(await scenario.readOutcomes()).toEqual({ [DEADLINE]: 1 }))
  await waitForDelays(scenario, [])
  await vi.waitFor(() =>
    expect(scenario.faultyResponses.map(({ req }) => req.socket.destroyed)).toEqual([true]),
  )
}

/** Return the number of look-ups: the hanging one, the one after its window, and the one two days later. */
async function runScenario(row: FaultRow, initialState: InitialState): Promise<number> {
  const scenario = await startScenario(row, initialState)
  const { clock, catalog } = scenario.harness
  const deadlineMs = clock.nowMs() + DEADLINE_MS
  await visitMeanwhile(scenario, [initialState.path], DEADLINE_MS)
  await visitMeanwhile(scenario, PATHS, deadlineMs - clock.nowMs())
  await expectEndAtDeadline(scenario, deadlineMs - clock.nowMs())
  expect(scenario.countLookUps()).toBe(1)

  for (const advanceMs of [0, 1, WINDOW_MS - 2]) {
    scenario.advance(advanceMs)
    expect(await visitAll(scenario, PATHS)).toEqual(PATHS.map(() => createFallbackState(scenario)))
    await scenario.settleCalls()
    expect(scenario.countLookUps()).toBe(1)
  }

  catalog.fault = null
  scenario.advance(1)
  await scenario.visit()
  await scenario.settleCalls()
  expect(scenario.countLookUps()).toBe(2)
  // Wait for the background refresh: it would time out when the clock jumps by two days.
  await waitForDelays(scenario, [])
  await expectRecovery(scenario, 2)
  await expectCleanProcess(scenario)
  return scenario.countLookUps()
}

describe('catalog that hangs', () => {
  const scenarios = HANGING_FAULTS.flatMap((row) =>
    INITIAL_STATES.map((initialState) => [row.name, initialState.name, row, initialState] as const),
  )
  it.each(scenarios)(
    '%s - %s - visitors wait until the visitor timeout, the call until its deadline',
    async (...[, , row, initialState]) => expect(await runScenario(row, initialState)).toBe(3),
  )
})
