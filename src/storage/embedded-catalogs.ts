import { existsSync } from 'node:fs'
import type { DatabaseAddress } from '../config/database-address.ts'
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
    const row = await reader
      .selectFrom('channels')
      .innerJoin('channel_lists', 'channel_lists.catalog', 'channels.catalog')
      .select('channels.catalog')
      .where('channels.catalog', 'like', `${EMBEDDED_PREFIX}%`)
      .where('channels.channel_id', 'not in', ignoredChannelIds)
      .orderBy('channel_lists.as_of_ms', 'desc')
      .limit(1)
      .executeTakeFirst()
    return row?.catalog.slice(EMBEDDED_PREFIX.length)
  } catch (error) {
    if (error instanceof VitrineError) throw error
    throw new StoreError('the stored copy cannot be read', { cause: error })
  } finally {
    await close()
  }
}
