import { beforeEach, expect, test } from 'vitest'
import { isFeedDue } from '../../../../src/catalog-service/feeds/scheduler.ts'
import { openCatalogStore } from '../../../../src/catalog-service/store/open-store.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../src/clock.ts'
import { addFeed, createTable, runTestFeed } from '../../../catalog-service/feeds/feed-fixture.ts'
import { send, startFeedServer } from '../../../catalog-service/feeds/feed-server.ts'
import { type StoreUnderTest, createFolder } from '../../../catalog-service/harness.ts'
import { addCleanup } from '../../../helpers/cleanup.ts'
import { createFakeClock } from '../../../helpers/fake-clock.ts'
import { useDatabase } from '../../use-database.ts'

const database = useDatabase()
beforeEach(() => database.truncate())

/** Open a machine whose clock is ahead of the server's clock. */
async function openMachine(aheadMs: number): Promise<StoreUnderTest> {
  const clock = createFakeClock(Date.now() + aheadMs)
  const { address } = database
  const store = await openCatalogStore({ database: address, clock })
  addCleanup(() => store.close())
  return { store, clock, database: address, folder: createFolder() }
}

test.each([
  ['two minutes ahead', 2 * MINUTE_MS],
  ['two hours ahead', 2 * HOUR_MS],
  ['a day behind', -DAY_MS],
])('machine with a clock %s - each feed is fetched once an interval', async (_, aheadMs) => {
  const server = await startFeedServer(send(createTable(3)))
  const [correct, wrong] = [await openMachine(0), await openMachine(aheadMs)]
  const feedId = await addFeed(correct, { url: server.url })
  const runIfDue = (machine: StoreUnderTest) =>
    runTestFeed(machine, feedId, { isDue: (previous) => isFeedDue(machine.store, previous, feedId) })
  expect(await runIfDue(wrong)).toMatchObject({ kind: 'imported' })
  for (const machine of [correct, wrong, correct, wrong])
    expect(await runIfDue(machine)).toEqual({ kind: 'skipped' })
  // An interval later.
  await database.run(
    `update vitrine_catalog.feed_attempts set attempted_at_ms = attempted_at_ms - ${HOUR_MS}`,
  )
  expect(await runIfDue(correct)).toMatchObject({ kind: 'unchanged' })
  for (const machine of [wrong, correct]) expect(await runIfDue(machine)).toEqual({ kind: 'skipped' })
  expect(server.requests).toHaveLength(2)
})
