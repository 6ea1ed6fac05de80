import type { Clock } from '../../../clock.ts'
import type { PostgresAddress } from '../../../config/database-address.ts'
import type { VitrineError } from '../../../errors.ts'
import type { CatalogStore } from '../catalog-store.ts'
import type { CatalogRole } from '../open-store.ts'
import { createConnections } from './connections.ts'
import { createKeeper } from './kept.ts'
import { createOpening } from './opening.ts'
import { createPostgresReads } from './reads.ts'
import { createPostgresCounter } from './usage.ts'
import { createWrite } from './write.ts'

/** See `CatalogStoreOptions`. */
export type PostgresStoreOptions = Readonly<{ address: PostgresAddress; clock: Clock; role: CatalogRole }>

/**
 * Opens the catalog on a server that speaks PostgreSQL's protocol, which any number of processes may share. A service that
 * is `alone` opens without it, answers that the catalog is busy, and goes on when it is there.
 * @throws StoreError when it cannot be opened; StoreNewerError when a newer version made it.
 */
export async function openPostgresStore({
  address,
  clock,
  role,
}: PostgresStoreOptions): Promise<CatalogStore> {
  const connections = createConnections(address, role)
  const opening = createOpening(connections)
  const keeper = createKeeper()
  const { reader, usage, openWriter, close } = connections
  let failure: VitrineError | undefined
  try {
    if (role === 'alone') failure = await opening.openSoon()
    else await opening.open()
  } catch (error) {
    await close()
    throw error
  }
  return {
    reader,
    usage,
    write: createWrite(opening.open, openWriter),
    openReads: () => createPostgresReads({ reader, keeper, opening }),
    openUsageCounter: () => createPostgresCounter({ usage, keeper, opening, clock }),
    clock,
    ...(failure !== undefined && { failure }),
    close,
  }
}
