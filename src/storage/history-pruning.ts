import { type Kysely, type RawBuilder, sql } from 'kysely'
import { toDay } from '../offers/price-history.ts'
import { pruneChanges } from '../offers/price-pruning.ts'
import type { CopyConnection } from './copy-database.ts'
import { deleteHistories } from './observed-deals.ts'
import { type HistoryRules, type ProductHistory, putHistories, readHistories } from './price-history.ts'
import type { CopyTables } from './schema.ts'

/** Products per transaction. */
const PRUNED_PRODUCTS = 100

/** `null`: no days are kept. */
type KeptDays = Readonly<{ firstDay: number; today: number }> | null

/** Delete the days that are no longer kept, once a day, in small transactions: without kept days everything (`pruneChanges`). */
export async function pruneHistory(
  connection: CopyConnection,
  copyId: number,
  { nowMs, keptDays }: Pick<HistoryRules, 'keptDays'> & Readonly<{ nowMs: number }>,
): Promise<void> {
  const today = toDay(nowMs)
  const kept = keptDays === 0 ? null : { firstDay: today - keptDays + 1, today }
  const isPruned = kept === null ? sql`1 = 1` : sql`(day < ${kept.firstDay} or day > ${today + 1})`
  const select = sql`select day from observed_days where copy_id = ${copyId} and ${isPruned} limit 1`
  const { rows } = await connection.write(({ writer }) => select.execute(writer))
  // Look-ups delete all days at once while none are kept, so prices may be left.
  if (rows.length === 0 && kept !== null) return
  await pruneProducts(connection, copyId, kept)
  // Last, so that a killed process starts again.
  const deletion = sql`delete from observed_days where copy_id = ${copyId} and ${isPruned}`
  await connection.write(({ writer }) => deletion.execute(writer))
}

async function pruneProducts(connection: CopyConnection, copyId: number, kept: KeptDays): Promise<void> {
  const isDue =
    kept === null ? sql`1 = 1` : sql`(due_day <= ${kept.firstDay} or last_day > ${kept.today + 1})`
  let afterGtin = ''
  for (;;) {
    const after = afterGtin
    const gtins = await connection.write(({ writer }) =>
      readDueGtins(writer, copyId, { afterGtin: after, isDue }),
    )
    if (gtins.length === 0) return
    await connection.transact(async (transaction) => {
      if (kept === null) return deleteHistories(transaction, copyId, gtins)
      const histories = await readHistories(transaction, copyId, gtins)
      const pruned = [...histories].map(([gtin, history]) => [gtin, prune(history, kept)] as const)
      return putHistories(transaction, copyId, new Map(pruned))
    })
    afterGtin = gtins.at(-1) ?? ''
  }
}

function prune(history: ProductHistory, kept: NonNullable<KeptDays>): ProductHistory {
  return new Map(
    [...history].map(([key, series]) => [key, { ...series, changes: pruneChanges(series.changes, kept) }]),
  )
}

async function readDueGtins(
  database: Kysely<CopyTables>,
  copyId: number,
  { afterGtin, isDue }: Readonly<{ afterGtin: string; isDue: RawBuilder<unknown> }>,
): Promise<readonly string[]> {
  const { rows } = await sql<{ gtin: string }>`select gtin from price_histories
    where copy_id = ${copyId} and gtin > ${afterGtin} and ${isDue}
    order by gtin limit ${PRUNED_PRODUCTS}`.execute(database)
  return rows.map(({ gtin }) => gtin)
}
