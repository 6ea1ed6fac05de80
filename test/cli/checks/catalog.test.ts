import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/clock.ts'
import { checkClocks } from '../../../src/cli/checks/catalog.ts'
import { CheckReport } from '../../../src/cli/checks/report.ts'
import { parseConfig } from '../../../src/config/config.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { NOON_MS } from '../../helpers/harness.ts'

/** Run the check of the clocks. `databaseSkewMs` is `null` for an SQLite file, which has no clock. */
const runClockCheck = async (
  catalogSkewMs: number | undefined,
  databaseSkewMs: number | null,
): Promise<string[]> => {
  const readTime = (): Promise<number | null> =>
    Promise.resolve(databaseSkewMs === null ? null : NOON_MS + databaseSkewMs)
  const report = new CheckReport(parseConfig({}).config)
  await checkClocks(report, {
    clock: createFakeClock(NOON_MS),
    store: { readDatabaseTime: readTime },
    catalogSkewMs,
  })
  return report.findings.map(
    ({ isGood, message, remedy }) => `${isGood ? 'good' : 'WRONG'}: ${message}: ${remedy?.slice(0, 32)}`,
  )
}

describe('clocks', () => {
  test.each([
    ['no other clock is known', undefined, null, []],
    ['catalog agrees', 500, null, ['good: this machine and the catalog agree within a minute: undefined']],
    [
      'both agree',
      -MINUTE_MS,
      3,
      ['good: this machine and the catalog and the database agree within a minute: undefined'],
    ],
    [
      'this machine a day ahead of both',
      -DAY_MS,
      -DAY_MS + 400,
      [
        'WRONG: the clock of the catalog is 86,400 s behind the clock of this machine, the clock of the database is 86,400 s behind the clock of this machine: The clock of this machine is wro',
      ],
    ],
    [
      'only the database is wrong',
      400,
      HOUR_MS,
      [
        'WRONG: the clock of the database is 3,600 s ahead of the clock of this machine: The clock of the database is wro',
      ],
    ],
    [
      'catalog is wrong, SQLite file',
      HOUR_MS,
      null,
      [
        'WRONG: the clock of the catalog is 3,600 s ahead of the clock of this machine: Compare "date -u" on each machin',
      ],
    ],
  ])('%s', async (...[, catalogAheadMs, databaseAheadMs, expected]) => {
    expect(await runClockCheck(catalogAheadMs, databaseAheadMs)).toEqual(expected)
  })
})
