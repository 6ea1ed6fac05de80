import type { Kysely } from 'kysely'
import type { Drops } from '../catalog/parse.ts'
import { transact } from '../database/transact.ts'
import { type HoldRules, countMalformedOffers, isMostlyMalformed, judgeWalk } from './held-walk.ts'
import type { CopyTables } from './schema.ts'
import { readCopyState } from './sql-copies.ts'
import { countOffers } from './sql-offer-count.ts'
import type { Guard } from './sql-pages.ts'
import { sumPages } from './sql-walk.ts'
import type { HeldWalk } from './store.ts'

/** A walk whose pages are all in the copy. */
type EndedWalk = Readonly<{
  catalog: string
  channelId: string
  copyId: number
  walk: number
  rules: HoldRules
  guard: Guard
}>

/** See `WalkStore.holdSuspiciousWalk`. What the walk wrote stays, unseen, and is compared again by the next one. */
export async function holdSuspiciousWalk(
  database: Kysely<CopyTables>,
  { catalog, channelId, copyId, walk, rules, guard }: EndedWalk,
): Promise<HeldWalk | null> {
  const state = await readCopyState(database, catalog, channelId)
  if (state.currentWalk === 0) return null
  const { productCount, drops } = await sumPages(database, copyId, walk)
  const isMalformed = await isWalkMalformed(database, copyId, { walk, drops, productCount })
  const { started_at_ms: startedAtMs } = await database
    .selectFrom('copies')
    .select('started_at_ms')
    .where('id', '=', copyId)
    .executeTakeFirstOrThrow()
  const held = judgeWalk(state, { startedAtMs: startedAtMs ?? 0, productCount, isMalformed }, rules)
  if (held === null) return null
  await transact(database, async (transaction) => {
    await guard(transaction)
    await transaction
      .updateTable('copies')
      .set({
        running_walk: state.currentWalk,
        held_reason: held.reason,
        held_since_ms: held.sinceMs,
        held_started_at_ms: held.startedAtMs,
        held_product_count: held.productCount,
      })
      .where('id', '=', copyId)
      .execute()
    await transaction
      .deleteFrom('walk_pages')
      .where('copy_id', '=', copyId)
      .where('walk', '=', walk)
      .execute()
  })
  return held
}

/** What `copies` says where no walk is held. */
export const NOTHING_HELD = {
  held_reason: null,
  held_since_ms: null,
  held_started_at_ms: null,
  held_product_count: null,
} as const

/** Was most of a walk malformed? Its usable offers are counted only where some were not. */
export async function isWalkMalformed(
  database: Kysely<CopyTables>,
  copyId: number,
  { walk, drops, productCount }: Readonly<{ walk: number; drops: Drops; productCount: number }>,
): Promise<boolean> {
  const isCounted = countMalformedOffers(drops) > 0
  const offerCount = isCounted ? await countOffers(database, copyId, walk) : 0
  return isMostlyMalformed(drops, { offerCount, productCount })
}
