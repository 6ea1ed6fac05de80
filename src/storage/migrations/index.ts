import type { Migration } from 'kysely'
import { firstMigration } from './0001-first.ts'
import { quotaMigration } from './0002-quota.ts'
import { searchMigration } from './0003-search.ts'
import { wordsMigration } from './0004-words.ts'
import { claimsMigration } from './0005-claims.ts'
import { fleetsMigration } from './0006-fleets.ts'
import { dealFiltersMigration } from './0007-deal-filters.ts'
import { heldWalksMigration } from './0008-held-walks.ts'
import { droppedOffersMigration } from './0009-dropped-offers.ts'
import { postgresFirstMigration } from './postgres-0001-first.ts'
import { postgresDealFiltersMigration } from './postgres-0002-deal-filters.ts'
import { postgresHeldWalksMigration } from './postgres-0003-held-walks.ts'
import { postgresDroppedOffersMigration } from './postgres-0004-dropped-offers.ts'

/** Migrations of the stored copy by name, applied in the order of the names; a released one never changes. */
export const COPY_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-first': firstMigration,
  '0002-quota': quotaMigration,
  '0003-search': searchMigration,
  '0004-words': wordsMigration,
  '0005-claims': claimsMigration,
  '0006-fleets': fleetsMigration,
  '0007-deal-filters': dealFiltersMigration,
  '0008-held-walks': heldWalksMigration,
  '0009-dropped-offers': droppedOffersMigration,
}

/** The same on a server that speaks PostgreSQL's protocol. */
export const POSTGRES_COPY_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-first': postgresFirstMigration,
  '0002-deal-filters': postgresDealFiltersMigration,
  '0003-held-walks': postgresHeldWalksMigration,
  '0004-dropped-offers': postgresDroppedOffersMigration,
}
