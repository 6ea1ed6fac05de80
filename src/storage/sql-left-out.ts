import { type Transaction, sql } from 'kysely'
import { inList } from '../database/dialect.ts'
import { compareTexts } from '../offers/ranking.ts'
import type { CopyTables } from './schema.ts'
import type { CopyRow } from './sql-copies.ts'
import { type RowTimes, selectPageTime, toAsOfMs } from './sql-lookups.ts'

// Products that a walk leaves out because they are too large. Their stored data stay and age (ADR 0007).

/** GTINs above `afterGtin`, up to `untilGtin`. */
export type GtinRange = Readonly<{ afterGtin: string; untilGtin: string }>

const GTIN_DIGITS = 14

/** Split a range into the parts without some of its GTINs, sorted; at least one. */
export function splitRange(
  { afterGtin, untilGtin }: GtinRange,
  gtins: readonly string[],
): readonly GtinRange[] {
  const starts = [afterGtin, ...gtins]
  return starts
    .map((start, index) => {
      const next = gtins[index]
      return { afterGtin: start, untilGtin: next === undefined ? untilGtin : findPrevious(next) }
    })
    .filter((range) => range.untilGtin > range.afterGtin)
}

/** Return the largest number below a GTIN; the empty text when there is none. */
function findPrevious(gtin: string): string {
  const number = BigInt(gtin)
  return number === 0n ? '' : String(number - 1n).padStart(GTIN_DIGITS, '0')
}

/** Give the stored versions the time that the current walk gives them: its pages are deleted when the next walk is complete. */
export async function keepTimes(
  transaction: Transaction<CopyTables>,
  copy: CopyRow,
  { gtins, nowMs }: Readonly<{ gtins: readonly string[]; nowMs: number }>,
): Promise<void> {
  if (gtins.length === 0) return
  const { rows } = await sql<RowTimes & { id: number }>`select p.id, p.as_of_ms, ${selectPageTime(copy)}
    from products p where p.copy_id = ${copy.id} and ${inList(transaction, 'p.gtin', gtins)}
      and p.until_walk is null`.execute(transaction)
  for (const { id, ...times } of rows) {
    const asOfMs = toAsOfMs(times, nowMs)
    if (asOfMs !== times.as_of_ms)
      await sql`update products set as_of_ms = ${asOfMs} where id = ${id}`.execute(transaction)
  }
}

/** Read the merchants of the stored offers: they still sell these products. */
export async function readLeftOutMerchants(
  transaction: Transaction<CopyTables>,
  copyId: number,
  gtins: readonly string[],
): Promise<readonly string[]> {
  if (gtins.length === 0) return []
  const { rows } = await sql<{ offers: string }>`select offers from products
    where copy_id = ${copyId} and ${inList(transaction, 'gtin', gtins)} and until_walk is null`.execute(
    transaction,
  )
  const merchants = rows.flatMap(
    ({ offers }) => JSON.parse(offers) as readonly Readonly<{ merchant: string }>[],
  )
  return [...new Set(merchants.map(({ merchant }) => merchant))].sort(compareTexts)
}
