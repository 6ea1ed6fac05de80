/** What is said when another process writes the catalog, whatever its database. */
export const CATALOG_HELD =
  'another import is running, or another command: only one can write the catalog at a time. Nothing was changed; try again when it has ended'
