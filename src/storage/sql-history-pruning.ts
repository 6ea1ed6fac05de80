import { type Kysely, type RawBuilder, type Transaction, sql } from 'kysely'
import { inList } from '../database/dialect.ts'
import { toDay } from '../offers/price-history.ts'
import type { CopyConnection } from './copy-database.ts'
import type { CopyTables } from './schema.ts'
import { deleteHistories } from './sql-observed-deals.ts'
import type { HistoryRules } from './sql-price-history.ts'

/** Changes of the pruned days per transaction, and those of the last of its products. Each lets about one row go. */
const PRUNED_CHANGES = 200

/** `isDue`: of changes that were needed until now. */
type Pruning = Readonly<{
  kept: Readonly<{ firstDay: number; today: number }> | null
  isDue: RawBuilder<unknown>
}>

/**
 * Delete the days that are no longer kept, once a day, in small transactions: without kept days everything. The last change before
 * them stays, because its price still holds. Days after tomorrow come from a wrong clock: what it saw counts as not seen.
 */
export async function pruneHistory(
  connection: CopyConnection,
  copyId: number,
  { nowMs, keptDays }: Pick<HistoryRules, 'keptDays'> & Readonly<{ nowMs: number }>,
): Promise<void> {
  const today = toDay(nowMs)
  const kept = keptDays === 0 ? null : { firstDay: today - keptDays + 1, today }
  const isPruned = kept === null ? sql`1 = 1` : sql`(day < ${kept.firstDay} or day > ${today + 1})`
  const select = sql<{ day: number | null }>`select min(day) as day from observed_days
    where copy_id = ${copyId} and ${isPruned}`
  const { rows } = await connection.write(({ writer }) => select.execute(writer))
  const oldestDay = rows[0]?.day ?? null
  if (oldestDay === null) return
  // Only a change or run that ends on a pruned day, or a change of the first kept one, lets changes go: itself, or the one before.
  const isDue =
    kept === null
      ? isPruned
      : sql`(day between ${oldestDay} and ${kept.firstDay} or until_day between ${oldestDay} and ${kept.firstDay}
        or day > ${today + 1})`
  let afterGtin = ''
  for (;;) {
    const after = afterGtin
    const gtins = await connection.write(({ writer }) =>
      readDueGtins(writer, copyId, { afterGtin: after, isDue }),
    )
    if (gtins.length === 0) break
    await connection.transact((transaction) => pruneProducts(transaction, copyId, { gtins, kept }))
    afterGtin = gtins.at(-1) ?? ''
  }
  // Last, so that a killed process starts again.
  const deletion = sql`delete from observed_days where copy_id = ${copyId} and ${isPruned}`
  await connection.write(({ writer }) => deletion.execute(writer))
}

async function readDueGtins(
  database: Kysely<CopyTables>,
  copyId: number,
  { afterGtin, isDue }: Pick<Pruning, 'isDue'> & Readonly<{ afterGtin: string }>,
): Promise<readonly string[]> {
  const { rows } = await sql<{ gtin: string }>`select gtin from price_changes
    where copy_id = ${copyId} and gtin > ${afterGtin} and ${isDue}
    order by gtin limit ${PRUNED_CHANGES}`.execute(database)
  return [...new Set(rows.map(({ gtin }) => gtin))]
}

async function pruneProducts(
  transaction: Transaction<CopyTables>,
  copyId: number,
  { gtins, kept }: Pick<Pruning, 'kept'> & Readonly<{ gtins: readonly string[] }>,
): Promise<void> {
  if (kept === null) return deleteHistories(transaction, copyId, gtins)
  const isOfProduct = sql`copy_id = ${copyId} and ${inList(transaction, 'gtin', gtins)}`
  const { firstDay, today } = kept
  await sql`insert into price_changes (copy_id, gtin, merchant_key, currency, day)
    select distinct copy_id, gtin, merchant_key, currency, cast(${today} as integer) from price_changes
    where ${isOfProduct} and day > ${today + 1}
    on conflict (copy_id, gtin, merchant_key, currency, day) do update set last = null, until_day = null`.execute(
    transaction,
  )
  // An old change is needed only if it is the last one before the kept days, and its price went on.
  await sql`delete from price_changes where ${isOfProduct} and (day > ${today + 1} or day < ${firstDay}
    and (until_day is null or until_day < ${firstDay})
    and not (until_day is null and last is not null and not exists (
      select 1 from price_changes as later where later.copy_id = price_changes.copy_id
      and later.gtin = price_changes.gtin and later.merchant_key = price_changes.merchant_key
      and later.currency = price_changes.currency and later.day > price_changes.day
      and later.day <= ${firstDay})))`.execute(transaction)
}
