import { describeCopy } from '../../storage/conformance/copy.ts'
import { makeCopyFixture } from '../../storage/conformance/sql-fixture.ts'
import { useDatabase } from '../use-database.ts'

const database = useDatabase()

describeCopy({
  name: 'PostgreSQL',
  isShared: true,
  async start() {
    await database.truncate()
    return {
      ...makeCopyFixture({ address: database.address, isShared: true }, () => Promise.resolve()),
      async passTime(byMs) {
        await database.run(`update vitrine_copy.copies set lease_until_ms = lease_until_ms - ${byMs}`)
        await database.run(
          `update vitrine_copy.event_deliveries set lease_until_ms = lease_until_ms - ${byMs}`,
        )
        await database.run(`update vitrine_copy.lookup_leases set lease_until_ms = lease_until_ms - ${byMs}`)
      },
    }
  },
})
