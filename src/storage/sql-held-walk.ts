import type { Kysely } from 'kysely'
import { transact } from '../database/transact.ts'
import { countMalformedOffers, isMostlyMalformed } from '../sync/held-walk.ts'
import type { CopyTables } from './schema.ts'
import { type CopyRow, countOffers } from './sql-copies.ts'
import type { Guard } from './sql-pages.ts'
import { sumPages } from './sql-walk.ts'
import type { HeldWalk } from './store.ts'

/** See `WalkStore.holdWalk`. What the walk wrote stays, unseen, and is compared again by the next one. */
export async function holdWalk(
  database: Kysely<CopyTables>,
  copy: CopyRow,
  { walk, held, guard }: Readonly<{ walk: number; held: HeldWalk; guard: Guard }>,
): Promise<void> {
  await transact(database, async (transaction) => {
    await guard(transaction)
    await transaction
      .updateTable('copies')
      .set({
        running_walk: copy.currentWalk,
        held_reason: held.reason,
        held_since_ms: held.sinceMs,
        held_started_at_ms: held.startedAtMs,
        held_product_count: held.productCount,
      })
      .where('id', '=', copy.id)
      .execute()
    await transaction
      .deleteFrom('walk_pages')
      .where('copy_id', '=', copy.id)
      .where('walk', '=', walk)
      .execute()
  })
}

/** What `copies` says where no walk is held. */
export const NOTHING_HELD = {
  held_reason: null,
  held_since_ms: null,
  held_started_at_ms: null,
  held_product_count: null,
} as const

/** See `WalkStore.isWalkMalformed`. */
export async function isWalkMalformed(
  database: Kysely<CopyTables>,
  copyId: number,
  walk: number,
): Promise<boolean> {
  const { productCount, drops } = await sumPages(database, copyId, walk)
  const isCounted = countMalformedOffers(drops) > 0
  const offerCount = isCounted ? await countOffers(database, copyId, walk) : 0
  return isMostlyMalformed(drops, { offerCount, productCount })
}
