import type { DatabaseAddress } from '../../../src/config/database-address.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import type { StoreThreads } from '../../../src/storage/threads.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { NOON_MS } from '../../helpers/harness.ts'
import type { Copy, CopyFixture } from './subject.ts'

/** Create copies in one database, with a clock that the test controls. `remove` is called after they are closed. */
export function makeCopyFixture(
  {
    address,
    isShared,
    threads = {},
  }: Readonly<{ address: DatabaseAddress; isShared: boolean; threads?: Partial<StoreThreads> }>,
  remove: () => Promise<void>,
): CopyFixture {
  const opened: Copy[] = []
  const clock = createFakeClock(NOON_MS)
  return {
    isShared,
    clock,
    passTime: (byMs) => Promise.resolve(clock.advance(byMs)),
    async open(catalog, history = { keptDays: 400, priceMaxAgeSeconds: 86_400 }) {
      const copy = await openStoredCopy({
        database: address,
        catalog,
        clock,
        history,
        threads,
      })
      opened.push(copy)
      return copy
    },
    async dispose() {
      for (const copy of opened) await copy.close()
      await remove()
    },
  }
}
