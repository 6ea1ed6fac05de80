import type { ServerResponse } from 'node:http'
import { describe, expect, it, vi } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { BOX, BOX_EMBED, type Seen } from '../app/visit.ts'
import { DEADLINE, type FaultRow } from './matrix.ts'
import { HANGING_FAULTS } from './matrix-connections.ts'
import {
  BEGINNINGS,
  type Beginning,
  type Expected,
  type Trial,
  expectCleanProcess,
  expectKnown,
  expectRecovery,
  readAnswer,
  startTrial,
} from './trial.ts'

const PATIENCE_MS = 800
const DEADLINE_MS: number = 5 * SECOND_MS
const WINDOW_MS: number = 5 * SECOND_MS
const STEP_MS = 100
const PATHS = [BOX, BOX_EMBED, BOX, BOX_EMBED, BOX]

/** Moves time on in steps, and has the catalog send its drip in each of them. */
async function pass(trial: Trial, byMs: number): Promise<void> {
  for (let leftMs = byMs; leftMs > 0; leftMs -= STEP_MS) {
    trial.advance(Math.min(leftMs, STEP_MS))
    for (const response of trial.held) await drip(response, trial.row)
  }
}

async function drip({ req: { socket } }: ServerResponse, { drip: bytes }: FaultRow): Promise<void> {
  if (bytes === undefined || socket.destroyed) return
  await new Promise<void>((resolve) => void socket.write(bytes, () => resolve()))
}

/** Whatever is ready to be answered is answered before these are. */
async function passBy(trial: Trial): Promise<void> {
  for (let count = 0; count < 3; count++) await trial.front.visit('/healthz')
}

async function waitForDelays(trial: Trial, delaysMs: readonly number[]): Promise<void> {
  const { clock } = trial.harness
  await vi.waitFor(() => expect(clock.pendingDelaysMs.toSorted((a, b) => a - b)).toEqual(delaysMs))
}

async function lookAll(
  trial: Trial,
  paths: readonly string[],
  look = trial.look,
): Promise<readonly Expected[]> {
  return Promise.all(paths.map(async (path) => readAnswer(path, await look(path))))
}

/** Visits that begin now; with nothing young enough at hand they are answered when patience ends, and not before. */
async function visitMeanwhile(trial: Trial, paths: readonly string[], deadlineInMs: number): Promise<void> {
  let answeredCount = 0
  const look = async (path?: string): Promise<Seen> => {
    const seen = await trial.look(path)
    answeredCount++
    return seen
  }
  const answers = lookAll(trial, paths, look)
  if (trial.beginning.known !== 'stale') {
    // Who came to an address at the same moment waits together.
    await waitForDelays(trial, [...Array.from(new Set(paths), () => PATIENCE_MS), deadlineInMs])
    await vi.waitFor(() => expect(trial.front.countWaiting()).toBe(paths.length))
    await vi.waitFor(() => expect(trial.held).toHaveLength(1))
    await pass(trial, PATIENCE_MS - 1)
    await passBy(trial)
    expect(answeredCount).toBe(0)
    trial.advance(1)
  }
  expect(await answers).toEqual(paths.map(() => expectKnown(trial)))
}

/** The call ends with its deadline and not before; connection and timers end with it. */
async function expectEndAtDeadline(trial: Trial, deadlineInMs: number): Promise<void> {
  await waitForDelays(trial, [deadlineInMs])
  await pass(trial, deadlineInMs - 1)
  await passBy(trial)
  expect(await trial.readOutcomes()).toEqual({})
  trial.advance(1)
  await vi.waitFor(async () => expect(await trial.readOutcomes()).toEqual({ [DEADLINE]: 1 }))
  await waitForDelays(trial, [])
  await vi.waitFor(() => expect(trial.held.map(({ req }) => req.socket.destroyed)).toEqual([true]))
}

/** Answers how many look-ups there were: the hanging one, the one after its window, and the one two days later. */
async function runTrial(row: FaultRow, beginning: Beginning): Promise<number> {
  const trial = await startTrial(row, beginning)
  const { clock, catalog } = trial.harness
  const deadlineMs = clock.nowMs() + DEADLINE_MS
  await visitMeanwhile(trial, [beginning.path], DEADLINE_MS)
  await visitMeanwhile(trial, PATHS, deadlineMs - clock.nowMs())
  await expectEndAtDeadline(trial, deadlineMs - clock.nowMs())
  expect(trial.countLookUps()).toBe(1)

  for (const advanceMs of [0, 1, WINDOW_MS - 2]) {
    trial.advance(advanceMs)
    expect(await lookAll(trial, PATHS)).toEqual(PATHS.map(() => expectKnown(trial)))
    await trial.settleCalls()
    expect(trial.countLookUps()).toBe(1)
  }

  catalog.fault = null
  trial.advance(1)
  await trial.look()
  await trial.settleCalls()
  expect(trial.countLookUps()).toBe(2)
  // A refresh behind a stale answer would be late two days later.
  await waitForDelays(trial, [])
  await expectRecovery(trial, 2)
  await expectCleanProcess(trial)
  return trial.countLookUps()
}

describe('fault that hangs', () => {
  const trials = HANGING_FAULTS.flatMap((row) =>
    BEGINNINGS.map((beginning) => [row.name, beginning.known, row, beginning] as const),
  )
  it.each(trials)(
    '%s - %s - visitors wait as long as they may, the call as long as it may',
    async (...[, , row, beginning]) => expect(await runTrial(row, beginning)).toBe(3),
  )
})
