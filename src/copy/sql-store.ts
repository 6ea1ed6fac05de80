import { sql } from 'kysely'
import type { DatabaseAddress } from '../config/config.ts'
import { StoreError, VitrineError } from '../errors.ts'
import { openCopyDatabase } from './dialects.ts'
import { findChannelList, putChannelList } from './sql-channels.ts'
import { findCopy, readCopyState } from './sql-copies.ts'
import { findDealCurrency, findDeals } from './sql-deals.ts'
import { findProduct, putLookup, searchProducts } from './sql-lookups.ts'
import { createSqlWalkStore } from './sql-walk-store.ts'
import type { CopyStore, WalkStore } from './store.ts'

/** Which database, and which catalog's copy in it: another catalog address starts a new one. */
export type SqlStoreOptions = Readonly<{ database: DatabaseAddress; catalog: string }>

/**
 * Opens the stored copy of one catalog.
 * @throws StoreError, StoreNewerError
 */
export async function openSqlStore(options: SqlStoreOptions): Promise<CopyStore & WalkStore> {
  const { catalog } = options
  const { reader, writer, close } = await openCopyDatabase(options.database)
  const withCopy = async <T>(channelId: string, empty: T, read: (copy: Copy) => Promise<T>): Promise<T> => {
    const copy = await findCopy(reader, catalog, channelId)
    return copy === undefined ? empty : read(copy)
  }
  return wrapErrors({
    ...createSqlWalkStore(writer, catalog),
    findProduct: (channelId, gtin) => findProduct(reader, { catalog, channelId, gtin }),
    putLookup: (channelId, gtin, entry) => putLookup(writer, { catalog, channelId, gtin }, entry),
    findChannelList: () => findChannelList(reader, catalog),
    putChannelList: (channels, asOfMs) => putChannelList(writer, catalog, { channels, asOfMs }),
    getCopyState: (channelId) => readCopyState(reader, catalog, channelId),
    findDeals: (query) => withCopy(query.channelId, [], (copy) => findDeals(reader, copy, query)),
    findDealCurrency: (channelId) => withCopy(channelId, undefined, (copy) => findDealCurrency(reader, copy)),
    searchProducts: (channelId, text, limit) =>
      withCopy(channelId, [], (copy) => searchProducts(reader, copy, { text, limit })),
    async ping() {
      await sql`select 1`.execute(reader)
    },
    close,
  })
}

type Copy = NonNullable<Awaited<ReturnType<typeof findCopy>>>

/** Gives every method the promise of the interface: a `StoreError` and nothing else. */
function wrapErrors<T extends CopyStore & WalkStore>(store: T): T {
  const entries = Object.entries(store).map(
    ([name, method]: [string, (...parameters: never[]) => Promise<unknown>]) => [
      name,
      async (...parameters: never[]): Promise<unknown> => {
        try {
          return await method(...parameters)
        } catch (error) {
          if (error instanceof VitrineError) throw error
          throw new StoreError(`the stored copy failed at ${name}`, { cause: error })
        }
      },
    ],
  )
  return Object.fromEntries(entries) as T
}
