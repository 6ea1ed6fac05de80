import { getSample } from '../catalog-service/sample/sample-data.ts'
import { type DatabaseAddress, labelDatabase } from '../config/database-address.ts'
import { findEmbeddedCatalog } from '../storage/embedded-catalogs.ts'

/** Find the id of the catalog, other than sample data, that the stored copy was made of. */
export async function findCopiedCatalog(database: DatabaseAddress): Promise<string | undefined> {
  const sampleIds = getSample().channels.map(({ id }) => id)
  return findEmbeddedCatalog(database, sampleIds)
}

/** What an empty catalog is called whose copy is not. */
export const LOST_CATALOG =
  'The embedded catalog is empty, but the stored copy has channels of a real one. Boxes are shown from the stored copy, and "vitrine serve" puts no sample data in.'

/** Return what to do about a catalog that was lost. */
export function toLostRemedy(catalogDatabase: DatabaseAddress, database: DatabaseAddress): string {
  return `Stop the server, restore the database ${labelDatabase(catalogDatabase)} (VITRINE_CATALOG_DATABASE_URL) from its backup, and start again; or import the feeds again with "vitrine catalog import FILE --channel ID", where ID is the channel's old id. To begin anew with sample data, remove the stored copy ${labelDatabase(database)} (VITRINE_DATABASE_URL), too.`
}
