import { configureGlobal } from 'fast-check'

/** `true` in `npm run test:all`. `npm test` runs only some of many similar cases. */
// oxlint-disable-next-line node/no-process-env -- selects tests, not a setting of the program
export const IS_FULL: boolean = process.env['FULL_PROPERTIES'] === '1'

/** Maximum runs of a property in `npm test`. */
const BOUNDED_RUNS = 25

/** Default number of runs of fast-check. */
const DEFAULT_RUNS = 100

/** Return the number of runs of a property that has `full` runs in `npm run test:all`. */
export function toRunCount(full: number): number {
  return IS_FULL ? full : Math.min(full, BOUNDED_RUNS)
}

configureGlobal({ numRuns: toRunCount(DEFAULT_RUNS) })
