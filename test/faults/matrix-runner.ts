import { describe, expect, it, vi } from 'vitest'
import { BOX, BOX_EMBED } from '../app/visit.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { toGtin } from '../helpers/products.ts'
import { IS_FULL } from '../helpers/property-runs.ts'
import { FAULT_TITLE, type FaultRow } from './matrix.ts'
import {
  BEGINNINGS,
  type Beginning,
  type Expected,
  type Trial,
  expectAnswer,
  expectCleanProcess,
  expectKnown,
  expectRecovery,
  readAnswer,
  startTrial,
} from './trial.ts'

const VISITS_IN_WINDOW = 5
/** A product of which nothing is known. */
const OTHER_BOX = `/fragments/${CHANNEL_ID}/where-to-buy/${toGtin(1)}`

/** The first visitor waits for the call, unless the copy is young enough to be shown at once. */
function expectFirst(trial: Trial): Expected {
  const { row, beginning } = trial
  if (row.meaning === 'failure' || beginning.known === 'stale') return expectKnown(trial)
  return expectAnswer(row.meaning === 'product' ? FAULT_TITLE : null, 0, 'miss')
}

/** Those who come after a call that ended `agoMs` ago. */
function expectLater(trial: Trial, agoMs: number): Expected {
  if (trial.row.meaning === 'failure') return expectKnown(trial)
  return expectAnswer(trial.row.meaning === 'product' ? FAULT_TITLE : null, agoMs, 'hit')
}

/** The first visit after a window: a known answer of the catalog is then `windowMs` old, and an absence is forgotten. */
function expectAgain(trial: Trial, windowMs: number): Expected {
  if (trial.row.meaning === 'failure') return expectKnown(trial)
  return trial.row.meaning === 'product'
    ? expectAnswer(FAULT_TITLE, windowMs, 'stale')
    : expectAnswer(null, 0, 'miss')
}

/** The call has ended, and what came of it can be seen; a refresh behind is nobody's visit. */
async function waitForOutcome(trial: Trial, outcomes: Readonly<Record<string, number>>): Promise<void> {
  await vi.waitFor(async () => expect(await trial.readOutcomes()).toEqual(outcomes))
  if (trial.row.meaning === 'failure') return
  await vi.waitFor(async () => {
    const seen = await trial.look(BOX)
    expect(seen.headers['cache-status']).toBe('vitrine; hit')
  })
}

/** Visits on both surfaces, the last one in the last millisecond in which nobody asks again. */
async function visitWithinWindow(trial: Trial, windowMs: number): Promise<void> {
  const stepMs = Math.floor((windowMs - 1) / VISITS_IN_WINDOW)
  for (let count = 1; count <= VISITS_IN_WINDOW; count++) {
    const isLast = count === VISITS_IN_WINDOW
    trial.advance(isLast ? windowMs - 1 - stepMs * (count - 1) : stepMs)
    const agoMs = isLast ? windowMs - 1 : stepMs * count
    const path = count % 2 === 0 ? BOX : BOX_EMBED
    expect(readAnswer(path, await trial.look(path))).toEqual(expectLater(trial, agoMs))
    if (trial.row.isForAll) {
      expect((await trial.look(OTHER_BOX)).headers['vitrine-state']).toBe('unavailable')
    }
    await trial.settleCalls()
    expect(trial.countLookUps()).toBe(1)
  }
}

/** Answers how many look-ups there were: one in each of two windows, and one two days later. */
async function runTrial(row: FaultRow, beginning: Beginning): Promise<number> {
  const trial = await startTrial(row, beginning)
  const { clock } = trial.harness
  expect(readAnswer(beginning.path, await trial.look())).toEqual(expectFirst(trial))
  await waitForOutcome(trial, { [row.outcome]: 1 })
  expect(trial.countLookUps()).toBe(1)
  const windowMs = row.toWindowMs(clock.nowMs())
  await visitWithinWindow(trial, windowMs)

  trial.advance(1)
  const again = readAnswer(beginning.path, await trial.look())
  expect(again).toEqual(expectAgain(trial, windowMs))
  await waitForOutcome(trial, { [row.outcome]: 2 })
  expect(trial.countLookUps()).toBe(2)

  await expectRecovery(trial, 2)
  await expectCleanProcess(trial)
  return trial.countLookUps()
}

/** One look-up by each fault, with everything that product.md promises before, meanwhile and after. */
export function describeFaults(part: string, rows: readonly FaultRow[]): void {
  const trials = rows.flatMap((row) =>
    listBeginnings(rows, row).map((beginning) => [row.name, beginning.known, row, beginning] as const),
  )
  describe(`fault of the ${part}`, () => {
    it.each(trials)(
      '%s - %s - answered as product.md says, one call a window, and well again',
      async (...[, , row, beginning]) => expect(await runTrial(row, beginning)).toBe(3),
    )

    it('its rows - have names of their own', () => {
      const names = rows.map(({ name }) => name)
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
    })
  })
}

/**
 * Frames come second in every trial; that they may come first, too, is tried once for each outcome. `npm test` tries such a row
 * from every beginning, and any other from one, each from the next.
 */
function listBeginnings(rows: readonly FaultRow[], row: FaultRow): readonly Beginning[] {
  const isFirst = rows.find(({ outcome }) => outcome === row.outcome) === row
  if (isFirst) return BEGINNINGS
  const beginnings = BEGINNINGS.filter(({ known }) => known !== 'cold, in a frame')
  const at = rows.indexOf(row) % beginnings.length
  return IS_FULL ? beginnings : beginnings.slice(at, at + 1)
}
