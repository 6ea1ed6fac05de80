import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import type { DatabaseAddress } from '../../src/config/config.ts'
import { openSqlStore } from '../../src/copy/sql-store.ts'
import { type GivenServer, type TestDatabase, openPostgresServer } from '../helpers/postgres.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'
import { describeChannels } from './conformance/channels.ts'
import { describeClaims } from './conformance/claims.ts'
import { describeDealCounts } from './conformance/deal-counts.ts'
import { describeDealsProperty } from './conformance/deals-property.ts'
import { describeDeals } from './conformance/deals.ts'
import { describeFuture } from './conformance/future.ts'
import { describeLeases } from './conformance/leases.ts'
import { describeLookups } from './conformance/lookups.ts'
import { describeSearch } from './conformance/search.ts'
import type { Copy, Subject } from './conformance/subject.ts'
import { describeWalks } from './conformance/walks.ts'

const IN_MEMORY = { kind: 'sqlite', path: ':memory:' } as const

const SUBJECTS: readonly Subject[] = [
  {
    name: 'SQLite file',
    async start() {
      const folder = await mkdtemp(join(tmpdir(), 'vitrine-copy-'))
      const address = { kind: 'sqlite', path: join(folder, 'copy.db') } as const
      return makePlace({ address, isShared: true }, () => rm(folder, { recursive: true, force: true }))
    },
  },
  {
    name: 'SQLite in memory',
    start: () => Promise.resolve(makePlace({ address: IN_MEMORY, isShared: false }, () => Promise.resolve())),
  },
  {
    name: 'PostgreSQL',
    async start() {
      await database.empty()
      return {
        ...makePlace({ address: database.address, isShared: true }, () => Promise.resolve()),
        async passTime(byMs) {
          await server.run(
            database.url,
            `update vitrine_copy.copies set lease_until_ms = lease_until_ms - ${byMs}`,
          )
          await server.run(
            database.url,
            `update vitrine_copy.lookup_claims set until_ms = until_ms - ${byMs}`,
          )
        },
      }
    },
  },
]

let server: GivenServer
let database: TestDatabase
beforeAll(async () => {
  server = await openPostgresServer()
  database = await server.makeDatabase()
})
afterAll(async () => {
  await database.drop()
  await server.dispose()
})

function makePlace(
  { address, isShared }: Readonly<{ address: DatabaseAddress; isShared: boolean }>,
  remove: () => Promise<void>,
): Awaited<ReturnType<Subject['start']>> {
  const opened: Copy[] = []
  const clock = createFakeClock(NOON_MS)
  return {
    isShared,
    clock,
    passTime: (byMs) => Promise.resolve(clock.advance(byMs)),
    async open(catalog) {
      const copy = await openSqlStore({ database: address, catalog, clock })
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
  describeFuture(subject)
  describeDeals(subject)
  describeDealsProperty(subject)
  describeDealCounts(subject)
  describeSearch(subject)
}
