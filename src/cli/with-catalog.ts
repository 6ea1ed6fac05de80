import type { Kysely } from 'kysely'
import { type CatalogStore, CATALOG_HELD } from '../catalog-service/store/catalog-store.ts'
import { openCatalogStore } from '../catalog-service/store/open-store.ts'
import { isSampleOnly, removeSampleData } from '../catalog-service/store/meta.ts'
import type { CatalogTables } from '../catalog-service/store/schema.ts'
import { describeStoreFailure } from '../storage/reconnecting-store.ts'
import { findPostgresFailure } from '../database/postgres-failure.ts'
import { StoreError, VitrineError } from '../errors.ts'
import type { CommandContext } from './command.ts'

/** The catalog as a command reads or changes it. */
export type Catalog = Kysely<CatalogTables>

/** SQLITE_BUSY and SQLITE_LOCKED, with the extended codes that have these in their lowest byte. */
const LOCKED_CODES: ReadonlySet<number> = new Set([5, 6])
const PRIMARY_CODE_BITS = 0xff

/**
 * Opens the catalog for one command, and closes it whatever happens.
 * @throws StoreError when it cannot be opened, read or written, for example while an import runs.
 */
export async function withCatalog<T>(
  { clock, config }: CommandContext,
  work: (store: CatalogStore) => Promise<T>,
): Promise<T> {
  try {
    const store = await openCatalogStore({ database: config.catalogDatabase, clock })
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  } catch (error) {
    throw toStoreError(error)
  }
}

/** Changes the catalog in one transaction: all of it, or nothing when anything throws. */
export async function changeCatalog<T>(
  context: CommandContext,
  change: (database: Catalog, nowMs: number) => Promise<T>,
): Promise<T> {
  return withCatalog(context, (store) => store.write((database) => change(database, store.clock.nowMs())))
}

/**
 * Makes room for the first thing of the owner's own: sample data go, as they do at the first import, or they would stay
 * beside it for ever. Answers whether there were any.
 */
export async function makeRoom(database: Catalog): Promise<boolean> {
  if (!(await isSampleOnly(database))) return false
  await removeSampleData(database)
  return true
}

/** The failure of a catalog in plain words: that another holds it, or what its database said. */
export function toStoreError(error: unknown): unknown {
  const code = findSqliteCode(error)
  if (code === undefined) return toServerError(error)
  if (LOCKED_CODES.has(code & PRIMARY_CODE_BITS)) {
    return new StoreError(CATALOG_HELD, { cause: error })
  }
  if (error instanceof VitrineError) return error
  return new StoreError(`the catalog cannot be read or written: ${describeStoreFailure(error)}`, {
    cause: error,
  })
}

/** What a server said is in the failure's own words. */
function toServerError(error: unknown): unknown {
  const failure = findPostgresFailure(error)
  if (failure === undefined || error instanceof VitrineError) return error
  return new StoreError(`the catalog cannot be read or written: ${failure.message}`)
}

/** What SQLite said at the bottom of an error; `undefined` when it was not SQLite that failed. */
function findSqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode
  return findSqliteCode(error.cause)
}
