import { STORE_THREADS } from '../../../src/storage/threads.ts'
import { makeCopyFile } from '../../helpers/copy-file.ts'
import { describeLookups } from '../../storage/conformance/lookups.ts'
import { describeObservedDeals } from '../../storage/conformance/observed-deals.ts'
import { describePriceHistory } from '../../storage/conformance/price-history.ts'
import { makeCopyFixture } from '../../storage/conformance/sql-fixture.ts'
import type { Subject } from '../../storage/conformance/subject.ts'
import { describeWalks } from '../../storage/conformance/walks.ts'

/** The parts of the contract that write look-ups, and do not set the clock of the threads. */
const subject: Subject = {
  name: 'SQLite file with threads',
  isShared: true,
  async start() {
    const { path, remove } = await makeCopyFile()
    const address = { kind: 'sqlite', path } as const
    return makeCopyFixture({ address, isShared: true, threads: STORE_THREADS }, remove)
  },
}

describeLookups(subject)
describeWalks(subject)
describePriceHistory(subject)
describeObservedDeals(subject)
