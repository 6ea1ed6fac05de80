import { setTimeout as wait } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { CopyTables } from './schema.ts'

/** The free part of a file that stays: a walk in which every product changes needs as many pages again. */
const MAX_FREE_SHARE = 1 / 2

/** A file that would get smaller by less stays as it is; in pages. */
const MIN_EXCESS_PAGES = 256

/** Pages that one transaction gives back, and the rest after it, in which others may write. */
const STEP_PAGES = 64
const STEP_PAUSE_MS = 1

/** Transactions after one walk, or a gigabyte; the next walk goes on from there. */
const MAX_STEPS = 4_096

/**
 * Give free pages of a SQLite file back to the disk, in small transactions, until at most half of the file is free. A file
 * that was made without `canShrink` stays as it is.
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

/** Return how many pages the file can give back. */
async function countExcess(database: Kysely<CopyTables>): Promise<number> {
  const { rows } = await sql<{ pages: number; free: number; mode: number }>`
    select page_count as pages, freelist_count as free, auto_vacuum as mode
    from pragma_page_count, pragma_freelist_count, pragma_auto_vacuum`.execute(database)
  const { pages, free, mode } = rows[0] ?? { pages: 0, free: 0, mode: 0 }
  // Giving x pages back leaves free - x of pages - x.
  const excess = Math.floor((free - MAX_FREE_SHARE * pages) / (1 - MAX_FREE_SHARE))
  return mode === 0 || excess < MIN_EXCESS_PAGES ? 0 : excess
}
