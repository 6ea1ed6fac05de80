import { configureGlobal } from 'fast-check'

/** `true` in `npm run test:all`. `npm test` runs only some of many similar cases. */
// oxlint-disable-next-line node/no-process-env -- selects tests, not a setting of the program
export const IS_FULL: boolean = process.env['FULL_PROPERTIES'] === '1'

/** Runs of a property in `npm test`: a share of all, but at least so many. Cheap properties have many runs. */
const SHARE = 1 / 20
const MIN_RUNS = 10

/** Default number of runs of fast-check. */
const DEFAULT_RUNS = 100

/** Return the number of runs of a property that has `full` runs in `npm run test:all`. */
export function toRunCount(full: number): number {
  return IS_FULL ? full : Math.min(full, Math.max(MIN_RUNS, Math.round(full * SHARE)))
}

/** Return every third of many similar cases in `npm test`, all in `npm run test:all`. */
export function selectCases<T>(cases: readonly T[]): readonly T[] {
  return IS_FULL ? cases : cases.filter((_, index) => index % 3 === 0)
}

configureGlobal({ numRuns: toRunCount(DEFAULT_RUNS) })
