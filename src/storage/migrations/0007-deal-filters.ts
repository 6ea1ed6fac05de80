import type { Migration } from 'kysely'
import { createDealIndexes } from '../sqlite-deal-indexes.ts'

/** Indexes for the filters of grids (ADR 0029). An existing copy gets them at the start that brings this version. */
export const dealFiltersMigration: Migration = { up: createDealIndexes }
