import { openCatalogStore } from '../../../src/catalog-service/store/open-store.ts'
import { openStoredCopy } from '../../../src/storage/stored-copy.ts'
import { describeLeases } from '../../database/lease-model.ts'
import { type FakeClock, createFakeClock } from '../../helpers/fake-clock.ts'
import { useDatabase } from '../use-database.ts'

const START_MS = Date.UTC(2026, 0, 1)
const database = useDatabase()

const TABLES = [
  'vitrine_copy.copies',
  'vitrine_copy.lookup_leases',
  'vitrine_copy.event_deliveries',
  'vitrine_catalog.feed_attempts',
]

/** The server's clock decides. A test cannot move it, and moves the ends of the leases instead. */
describeLeases('PostgreSQL', async () => {
  const clocks = new Map<string, FakeClock>()
  const getClock = (owner: string): FakeClock => {
    const clock = clocks.get(owner) ?? createFakeClock(START_MS)
    clocks.set(owner, clock)
    return clock
  }
  const { address } = database
  const clock = getClock('')
  await (await openStoredCopy({ database: address, catalog: '', clock })).close()
  await (await openCatalogStore({ database: address, clock })).close()
  return {
    copyAddress: address,
    catalogAddress: address,
    getClock,
    async passTime(byMs) {
      const updates = TABLES.map(
        (table) => `update ${table} set lease_until_ms = lease_until_ms - ${byMs} where lease_until_ms > 0`,
      )
      await database.run(updates.join('; '))
    },
    setMachineClock(owner, aheadMs) {
      const machineClock = getClock(owner)
      machineClock.step(START_MS + aheadMs - machineClock.nowMs())
    },
    // Far from each end: the server's clock goes on during a command.
    listRemainingMs: (forMs) => [-forMs / 2, forMs / 2, 1.5 * forMs, 2.5 * forMs],
  }
})
