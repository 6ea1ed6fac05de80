import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { runSync } from '../../src/cli/sync.ts'
import { SECOND_MS } from '../../src/clock.ts'
import { parseConfig } from '../../src/config/config.ts'
import { type StoredCopy, openStoredCopy } from '../../src/storage/stored-copy.ts'
import { LEASE_MS } from '../../src/storage/walk-leases.ts'
import type { ChannelWalkResult } from '../../src/sync/walk-runner.ts'
import { startHarness } from '../app/app-client.ts'
import { makeWireProducts, setProducts } from '../sync/walk-fixture.ts'
import { CHANNEL_ID, FAKE_KEY } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { createTestCommand } from '../catalog-service/commands/test-command.ts'

const OTHER_ID = '00000000-0000-4000-8000-000000000001'

/** Poll interval for the walk of another process. */
const POLL_INTERVAL_MS = 5 * SECOND_MS

type SyncFixture = Readonly<{
  harness: Harness
  /** The store of another process that walks one of the two channels. */
  otherStore: StoredCopy
  /** Standard error so far. */
  err: readonly string[]
  stopping: AbortController
  /** Run `vitrine sync --json`. */
  walk(options?: Readonly<{ accept: boolean }>): Promise<readonly ChannelWalkResult[]>
}>

/** Two channels of 120 products each; another process walks the second one for the first time. */
async function createSyncFixture(): Promise<SyncFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-now-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'copy.db')
  const settings = {
    VITRINE_DATABASE_URL: `sqlite:${path}`,
    // The deadline of a call must differ from the poll interval, which the tests wait for.
    VITRINE_CATALOG_TIMEOUT_MS: '4000',
  }
  const harness = await startHarness({ settings })
  const { catalog, clock, context } = harness
  catalog.channels = [{ id: OTHER_ID, name: 'Other', kind: 'app', url: null }, ...catalog.channels]
  setProducts(catalog, makeWireProducts(120))
  catalog.products.set(OTHER_ID, makeWireProducts(120))
  await context.walks.runNow()
  const otherStore = await openStoredCopy({ database: { kind: 'sqlite', path }, catalog: catalog.url, clock })
  onTestFinished(() => otherStore.close())
  await otherStore.acquireWalkLease(CHANNEL_ID, { owner: 'server', forMs: LEASE_MS })
  await otherStore.beginWalk(CHANNEL_ID, { nowMs: clock.nowMs(), resumableSinceMs: Infinity })
  const testCommand = createTestCommand({ json: true })
  const remote = { VITRINE_CATALOG_URL: catalog.url, VITRINE_CATALOG_KEY: FAKE_KEY }
  const command = { ...testCommand.context, ...parseConfig({ ...settings, ...remote }), clock }
  const walk: SyncFixture['walk'] = async (options = { accept: true }) => {
    await runSync(command, options)
    return JSON.parse(testCommand.out.at(-1) ?? '') as ChannelWalkResult[]
  }
  return { harness, otherStore, err: testCommand.err, stopping: testCommand.stopController, walk }
}

/** Resolve when the command waits for its next poll. */
const waitForPoll = ({ clock }: Harness): Promise<void> =>
  vi.waitFor(() => expect(clock.pendingDelaysMs).toContain(POLL_INTERVAL_MS))

const listOutcomes = (walks: readonly ChannelWalkResult[]): string[] =>
  walks.map(({ channelName, outcome, productCount }) => `${channelName} ${outcome} ${productCount}`)

const countWalks = ({ catalog }: Harness, id: string): number =>
  catalog.countCalls(new RegExp(`${id}/products`))

test('--accept, another process walks one channel - waits for it, and walks only that channel again', async () => {
  const { harness, otherStore, err, walk } = await createSyncFixture()
  setProducts(harness.catalog, makeWireProducts(7))
  const walksPromise = walk()
  await waitForPoll(harness)
  const callCounts = [OTHER_ID, CHANNEL_ID].map((id) => countWalks(harness, id))
  const lists = harness.catalog.countCalls(/channels$/)
  for (let poll = 0; poll < 3; poll += 1) {
    harness.clock.advance(POLL_INTERVAL_MS)
    await waitForPoll(harness)
  }
  expect(harness.catalog.countCalls(/channels$/)).toBe(lists)
  await otherStore.failWalk(
    CHANNEL_ID,
    { code: 'VITRINE_WALK_FAILED', reason: 'a reason' },
    harness.clock.nowMs(),
  )
  await otherStore.releaseWalkLease(CHANNEL_ID, 'server')
  harness.clock.advance(POLL_INTERVAL_MS)
  const walked = await walksPromise
  expect(listOutcomes(walked)).toEqual(['Other complete 120', 'Test magazine complete 7'])
  expect(walked.map(({ channelId, replaced }) => [channelId, replaced])).toEqual([
    [OTHER_ID, null],
    [CHANNEL_ID, { reason: 'few_products', productCount: 120 }],
  ])
  expect(err.filter((line) => line.includes('waiting'))).toEqual([
    'Another process is walking Test magazine; waiting for it to end before walking again.\n',
  ])
  expect([OTHER_ID, CHANNEL_ID].map((id) => countWalks(harness, id))).toEqual([
    callCounts[0],
    (callCounts[1] ?? 0) + 1,
  ])
})

test('--accept, the other process stops responding - takes over its walk when the lease expires', async () => {
  const { harness, walk } = await createSyncFixture()
  const walksPromise = walk()
  await waitForPoll(harness)
  harness.clock.advance(LEASE_MS)
  expect(listOutcomes(await walksPromise)).toEqual(['Other complete 120', 'Test magazine complete 120'])
})

test('stopped while waiting - ends at once', async () => {
  const { harness, stopping, walk } = await createSyncFixture()
  const walksPromise = walk()
  await waitForPoll(harness)
  stopping.abort()
  expect(listOutcomes(await walksPromise)).toEqual(['Other complete 120', 'Test magazine busy 0'])
})

test('without --accept - the other walk is equivalent, and is not waited for', async () => {
  const { err, walk } = await createSyncFixture()
  const walked = await walk({ accept: false })
  expect(listOutcomes(walked)).toEqual(['Other complete 120', 'Test magazine busy 0'])
  expect(err.join('')).not.toContain('waiting')
})
