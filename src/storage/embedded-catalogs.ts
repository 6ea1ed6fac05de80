import { existsSync } from 'node:fs'
import { sql } from 'kysely'
import type { DatabaseAddress } from '../config/database-address.ts'
import { inList } from '../database/dialect.ts'
import { StoreError, VitrineError } from '../errors.ts'
import { openCopyDatabase } from './copy-database.ts'

/** The catalog id follows it in the name of the copy. */
const EMBEDDED_PREFIX = 'embedded:'

export function toEmbeddedCopyName(catalogId: string): string {
  return `${EMBEDDED_PREFIX}${catalogId}`
}

/**
 * Find the id of the embedded catalog whose channel list was stored last; `undefined` when there is none or no copy. Catalogs
 * that have only channels of `ignoredChannelIds` do not count.
 * @throws StoreError, StoreVersionError
 */
export async function findEmbeddedCatalog(
  address: DatabaseAddress,
  ignoredChannelIds: readonly string[],
): Promise<string | undefined> {
  if (address.kind === 'sqlite' && !existsSync(address.path)) return undefined
  const { reader, close } = await openCopyDatabase(address, { access: 'check' })
  try {
    const { rows } = await sql<{ catalog: string }>`
      select c.catalog from channels c join channel_lists l on l.catalog = c.catalog
      where c.catalog like ${`${EMBEDDED_PREFIX}%`} and not ${inList(reader, 'c.channel_id', ignoredChannelIds)}
      order by l.as_of_ms desc limit 1`.execute(reader)
    return rows[0]?.catalog.slice(EMBEDDED_PREFIX.length)
  } catch (error) {
    if (error instanceof VitrineError) throw error
    throw new StoreError('the stored copy cannot be read', { cause: error })
  } finally {
    await close()
  }
}
