import { type Kysely, sql } from 'kysely'
import { expect } from 'vitest'
import { insertRows } from '../../src/database/dialect.ts'
import type { Migrations } from '../../src/database/migrate.ts'
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

/** Test the migration of observed prices from version 1.0 on one engine. */
export async function testHistoryMigration(
  database: Kysely<CopyTables>,
  migrate: (migrations: Migrations) => Promise<void>,
): Promise<void> {
  const [[first, tables] = ['', undefined]] = Object.entries(COPY_MIGRATIONS)
  await migrate({ [first]: tables ?? {} } as Migrations)
  await insertRows(database, 'price_changes', CHANGES)
  await migrate(COPY_MIGRATIONS)

  const histories = await readHistories(database, 1, [ONE, TWO])
  const toObject = (gtin: string) =>
    Object.fromEntries(
      [...(histories.get(gtin) ?? [])].map(([key, { merchantKey, currency, changes }]) => [
        key,
        [merchantKey, currency, ...changes.map(({ day, untilDay, low, last }) => [day, untilDay, low, last])],
      ]),
    )
  expect(toObject(ONE)).toEqual({
    'EUR bol': [
      'bol',
      'EUR',
      [20_610, 20_650, 149_900, 149_900],
      [20_700, null, 129_900, 129_900],
      [20_800, null, null, null],
    ],
    'GBP bol': ['bol', 'GBP', [20_701, null, 1, 9_007_199_254_740_991]],
    [`EUR ${SHOP}`]: [SHOP, 'EUR', [20_702, null, 5, 6]],
  })
  expect(toObject(TWO)).toEqual({ 'EUR bol': ['bol', 'EUR', [20_703, null, 7, 7]] })
  expect((await readHistories(database, 2, [ONE])).get(ONE)?.get('EUR bol')?.changes).toHaveLength(1)

  const { rows } = await sql`select gtin, due_day, last_day from price_histories
    where copy_id = 1 order by gtin`.execute(database)
  expect(rows).toEqual([
    { gtin: ONE, due_day: 20_611, last_day: 20_800 },
    { gtin: TWO, due_day: 20_704, last_day: 20_703 },
  ])
  // Servers of version 1.0 that still run write there.
  await insertRows(database, 'price_changes', CHANGES)
}
