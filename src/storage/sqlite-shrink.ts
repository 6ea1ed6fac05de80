import { setTimeout as wait } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { CopyTables } from './schema.ts'

/** The part of a file that may stay free: a walk that changes every product needs as many pages again. */
const MAX_FREE_SHARE = 1 / 2

/** Do not shrink a file by less than this. */
const MIN_EXCESS_PAGES = 256

/** Pages per transaction, and the pause afterwards, in which other processes can write. */
const STEP_PAGES = 64
const STEP_PAUSE_MS = 1

/** Maximum number of transactions after one walk (1 GB); the next walk continues. */
const MAX_STEPS = 4_096

/**
 * Return free pages of a SQLite file to the disk, in small transactions, until at most half of the file is free. Has no effect
 * on a file that was created without `canShrink`.
 */
export async function shrinkFile(database: Kysely<CopyTables>, signal?: AbortSignal): Promise<void> {
  let excess = await countExcess(database)
  for (let step = 0; excess > 0 && step < MAX_STEPS; step += 1) {
    if (signal?.aborted === true) return
    await sql`pragma incremental_vacuum(${sql.lit(Math.min(excess, STEP_PAGES))})`.execute(database)
    excess -= STEP_PAGES
    await wait(STEP_PAUSE_MS)
  }
}

async function countExcess(database: Kysely<CopyTables>): Promise<number> {
  const { rows } = await sql<{ pages: number; free: number; mode: number }>`
    select page_count as pages, freelist_count as free, auto_vacuum as mode
    from pragma_page_count, pragma_freelist_count, pragma_auto_vacuum`.execute(database)
  const { pages, free, mode } = rows[0] ?? { pages: 0, free: 0, mode: 0 }
  // After returning x pages, free - x of pages - x are free.
  const excess = Math.floor((free - MAX_FREE_SHARE * pages) / (1 - MAX_FREE_SHARE))
  return mode === 0 || excess < MIN_EXCESS_PAGES ? 0 : excess
}
