import { configureGlobal } from 'fast-check'

/** Is everything tried, as in `npm run test:all`? `npm test` makes a choice where there is much of the same. */
// oxlint-disable-next-line node/no-process-env -- which tests are run, not a setting of the program
export const IS_FULL: boolean = process.env['FULL_PROPERTIES'] === '1'

/** Runs of a property in `npm test`, where it would have more in `npm run test:all`. */
const BOUNDED_RUNS = 25

/** How often fast-check runs a property that names no number. */
const DEFAULT_RUNS = 100

/** How often a property runs that runs `full` times in `npm run test:all`. */
export function toRunCount(full: number): number {
  return IS_FULL ? full : Math.min(full, BOUNDED_RUNS)
}

configureGlobal({ numRuns: toRunCount(DEFAULT_RUNS) })
