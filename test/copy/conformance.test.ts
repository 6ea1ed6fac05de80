import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlStore } from '../../src/copy/sql-store.ts'
import { describeChannels } from './conformance/channels.ts'
import { describeClaims } from './conformance/claims.ts'
import { describeDealCounts } from './conformance/deal-counts.ts'
import { describeDealsProperty } from './conformance/deals-property.ts'
import { describeDeals } from './conformance/deals.ts'
import { describeLeases } from './conformance/leases.ts'
import { describeLookups } from './conformance/lookups.ts'
import { describeSearch } from './conformance/search.ts'
import type { Copy, Subject } from './conformance/subject.ts'
import { describeWalks } from './conformance/walks.ts'

const SUBJECTS: readonly Subject[] = [
  {
    name: 'SQLite file',
    async start() {
      const folder = await mkdtemp(join(tmpdir(), 'vitrine-copy-'))
      return makePlace({ path: join(folder, 'copy.db'), isShared: true }, () =>
        rm(folder, { recursive: true, force: true }),
      )
    },
  },
  {
    name: 'SQLite in memory',
    start: () => Promise.resolve(makePlace({ path: ':memory:', isShared: false }, () => Promise.resolve())),
  },
]

function makePlace(
  database: Readonly<{ path: string; isShared: boolean }>,
  remove: () => Promise<void>,
): Awaited<ReturnType<Subject['start']>> {
  const opened: Copy[] = []
  return {
    isShared: database.isShared,
    async open(catalog) {
      const copy = await openSqlStore({ database: { kind: 'sqlite', path: database.path }, catalog })
      opened.push(copy)
      return copy
    },
    async dispose() {
      for (const copy of opened) await copy.close()
      await remove()
    },
  }
}

for (const subject of SUBJECTS) {
  describeLookups(subject)
  describeChannels(subject)
  describeWalks(subject)
  describeLeases(subject)
  describeClaims(subject)
  describeDeals(subject)
  describeDealsProperty(subject)
  describeDealCounts(subject)
  describeSearch(subject)
}
