import { type Kysely, type RawBuilder, sql } from 'kysely'
import { transact } from '../database/transaction.ts'
import { toDay } from '../offers/price-history.ts'
import type { CopyTables } from './schema.ts'
import { deleteFalls, readFallen } from './sql-observed-deals.ts'
import type { GtinRange, HistoryRules } from './sql-price-history.ts'
import { execute } from './statements.ts'

/** Changes that one transaction checks, and those of the last of its products. */
const PRUNED_CHANGES = 400

/** `firstDay`, `today`: of the kept days; `null` when nothing is kept. */
type KeptDays = Readonly<{ firstDay: number; today: number }> | null

/**
 * Delete the days that are no longer kept, once a day, in small transactions: without kept days everything. The last change before
 * them stays, because its price still holds. Days after tomorrow come from a wrong clock: what it saw counts as not seen.
 */
export async function pruneHistory(
  database: Kysely<CopyTables>,
  copyId: number,
  { nowMs, keptDays }: Pick<HistoryRules, 'keptDays'> & Readonly<{ nowMs: number }>,
): Promise<void> {
  const today = toDay(nowMs)
  const kept = keptDays === 0 ? null : { firstDay: today - keptDays + 1, today }
  const isPruned = createPrunedCondition(kept)
  const { rows: pruned } = await sql`select 1 from observed_days
    where copy_id = ${copyId} and ${isPruned} limit 1`.execute(database)
  if (pruned.length === 0) return
  let afterGtin = ''
  for (;;) {
    const untilGtin = await findRangeEnd(database, copyId, afterGtin)
    if (untilGtin === null) break
    await pruneRange(database, copyId, { afterGtin, untilGtin, kept })
    afterGtin = untilGtin
  }
  // Last, so that a killed process starts again.
  await sql`delete from observed_days where copy_id = ${copyId} and ${isPruned}`.execute(database)
}

function createPrunedCondition(kept: KeptDays): RawBuilder<unknown> {
  return kept === null ? sql`1 = 1` : sql`(day < ${kept.firstDay} or day > ${kept.today + 1})`
}

async function findRangeEnd(
  database: Kysely<CopyTables>,
  copyId: number,
  afterGtin: string,
): Promise<string | null> {
  const text = `select max(gtin) as gtin from (select gtin from price_changes
    where copy_id = ? and gtin > ? order by gtin limit ?) as listed`
  const [row] = await execute<{ gtin: string | null }>(database, text, [copyId, afterGtin, PRUNED_CHANGES])
  return row?.gtin ?? null
}

async function pruneRange(
  database: Kysely<CopyTables>,
  copyId: number,
  { afterGtin, untilGtin, kept }: GtinRange & Readonly<{ kept: KeptDays }>,
): Promise<void> {
  const isInRange = sql`copy_id = ${copyId} and gtin > ${afterGtin} and gtin <= ${untilGtin}`
  await transact(database, async (transaction) => {
    if (kept === null) {
      const { productIds } = await readFallen(transaction, copyId, { afterGtin, untilGtin })
      await deleteFalls(transaction, productIds)
      await sql`delete from price_changes where ${isInRange}`.execute(transaction)
      return
    }
    const { firstDay, today } = kept
    await sql`insert into price_changes (copy_id, gtin, merchant_key, currency, day)
      select distinct copy_id, gtin, merchant_key, currency, cast(${today} as integer) from price_changes
      where ${isInRange} and day > ${today + 1}
      on conflict (copy_id, gtin, merchant_key, currency, day) do update set last = null, until_day = null`.execute(
      transaction,
    )
    // An old change is needed only if it is the last one before the kept days, and its price went on.
    await sql`delete from price_changes where ${isInRange} and (day > ${today + 1} or day < ${firstDay}
      and (until_day is null or until_day < ${firstDay})
      and not (until_day is null and last is not null and not exists (
        select 1 from price_changes as later where later.copy_id = price_changes.copy_id
        and later.gtin = price_changes.gtin and later.merchant_key = price_changes.merchant_key
        and later.currency = price_changes.currency and later.day > price_changes.day
        and later.day <= ${firstDay})))`.execute(transaction)
  })
}
