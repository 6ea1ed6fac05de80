import { type Kysely, sql } from 'kysely'
import { insertRows } from '../../src/database/dialect.ts'
import type { Migrations } from '../../src/database/migrate.ts'
import { compareTexts } from '../../src/offers/ranking.ts'
import { readHistories } from '../../src/storage/price-history.ts'
import type { CopyTables } from '../../src/storage/schema.ts'
import { COPY_MIGRATIONS } from '../../src/storage/tables.ts'
import { toGtin } from '../helpers/products.ts'

const [ONE, TWO] = [toGtin(1), toGtin(2)]
const SHOP = `shop "é" 'b' \\`

/** Rows of version 1.0, in no order. */
const CHANGES = (
  [
    [1, ONE, 'bol', 'EUR', 20_700, null, 129_900, 129_900],
    [1, ONE, 'bol', 'EUR', 20_610, 20_650, 149_900, 149_900],
    [1, ONE, 'bol', 'EUR', 20_800, null, null, null],
    [1, ONE, 'bol', 'GBP', 20_701, null, 1, 9_007_199_254_740_991],
    [1, ONE, SHOP, 'EUR', 20_702, null, 5, 6],
    [1, TWO, 'bol', 'EUR', 20_703, null, 7, 7],
    [2, ONE, 'bol', 'EUR', 20_704, null, 8, 8],
  ] as const
).map(([copyId, gtin, merchantKey, currency, day, untilDay, low, last]) => ({
  copy_id: copyId,
  gtin,
  merchant_key: merchantKey,
  currency,
  day,
  until_day: untilDay,
  low,
  last,
}))

/** Migrate the observed prices of version 1.0 on one engine, and return what is stored afterwards. */
export async function migrateHistories(
  database: Kysely<CopyTables>,
  migrate: (migrations: Migrations) => Promise<void>,
): Promise<unknown> {
  const [[first, tables] = ['', undefined]] = Object.entries(COPY_MIGRATIONS)
  await migrate({ [first]: tables ?? {} } as Migrations)
  await insertRows(database, 'price_changes', CHANGES)
  await migrate(COPY_MIGRATIONS)

  // Servers of version 1.0 that still run write there.
  await insertRows(database, 'price_changes', CHANGES)
  const { rows } = await sql`select gtin, due_day, last_day from price_histories
    where copy_id = 1 order by gtin`.execute(database)
  const histories = await Promise.all([1, 2].map((copyId) => readHistories(database, copyId, [ONE, TWO])))
  return {
    rows,
    histories: histories.map((byGtin) =>
      [...byGtin]
        .toSorted(([a], [b]) => compareTexts(a, b))
        .map(([, history]) =>
          [...history].toSorted(([a], [b]) => compareTexts(a, b)).map(([, series]) => series),
        ),
    ),
  }
}

const toChange = (day: number, untilDay: number | null, low: number | null, last = low) => ({
  day,
  untilDay,
  low,
  last,
})

export const EXPECTED_HISTORIES: unknown = {
  rows: [
    { gtin: ONE, due_day: 20_611, last_day: 20_800 },
    { gtin: TWO, due_day: 20_704, last_day: 20_703 },
  ],
  histories: [
    [
      [
        {
          merchantKey: 'bol',
          currency: 'EUR',
          changes: [
            toChange(20_610, 20_650, 149_900),
            toChange(20_700, null, 129_900),
            toChange(20_800, null, null),
          ],
        },
        { merchantKey: SHOP, currency: 'EUR', changes: [toChange(20_702, null, 5, 6)] },
        { merchantKey: 'bol', currency: 'GBP', changes: [toChange(20_701, null, 1, 9_007_199_254_740_991)] },
      ],
      [{ merchantKey: 'bol', currency: 'EUR', changes: [toChange(20_703, null, 7)] }],
    ],
    [[{ merchantKey: 'bol', currency: 'EUR', changes: [toChange(20_704, null, 8)] }]],
  ],
}
