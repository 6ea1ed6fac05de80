import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { runSync } from '../../src/cli/sync.ts'
import { SECOND_MS } from '../../src/clock.ts'
import { parseConfig } from '../../src/config/config.ts'
import { type SqlStore, openSqlStore } from '../../src/storage/sql-store.ts'
import { LEASE_MS } from '../../src/storage/sql-leases.ts'
import type { ChannelWalk } from '../../src/sync/walk-runner.ts'
import { startHarness } from '../app/visit.ts'
import { makeWireProducts, stock } from '../sync/walk-place.ts'
import { CHANNEL_ID, FAKE_KEY } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'
import { makeCommandContext } from './catalog/harness.ts'

const OTHER_ID = '00000000-0000-4000-8000-000000000001'

/** How often a walk of another process is looked at. */
const LOOK_EVERY_MS = 5 * SECOND_MS

type Place = Readonly<{
  harness: Harness
  /** The store of another process, which walks one of the two channels. */
  other: SqlStore
  /** What was said on standard error. */
  err: readonly string[]
  stopping: AbortController
  /** `vitrine sync --json`, and what it prints. */
  walk(options?: Readonly<{ accept: boolean }>): Promise<readonly ChannelWalk[]>
}>

/** Two channels of 120 products each; a server walks the second one for the first time. */
async function makePlace(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'vitrine-now-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'copy.db')
  const settings = {
    VITRINE_DATABASE_URL: `sqlite:${path}`,
    // The deadline of a call must not look like the wait that `waitForLook` waits for.
    VITRINE_CATALOG_TIMEOUT_MS: '4000',
  }
  const harness = await startHarness({ settings })
  const { catalog, clock, context } = harness
  catalog.channels = [{ id: OTHER_ID, name: 'Other', kind: 'app', url: null }, ...catalog.channels]
  stock(catalog, makeWireProducts(120))
  catalog.products.set(OTHER_ID, makeWireProducts(120))
  await context.walks.runNow()
  const other = await openSqlStore({ database: { kind: 'sqlite', path }, catalog: catalog.url, clock })
  onTestFinished(() => other.close())
  await other.takeLease(CHANNEL_ID, { owner: 'server', forMs: LEASE_MS })
  await other.beginWalk(CHANNEL_ID, { nowMs: clock.nowMs(), resumableSinceMs: Infinity })
  const under = makeCommandContext({ json: true })
  const remote = { VITRINE_CATALOG_URL: catalog.url, VITRINE_CATALOG_KEY: FAKE_KEY }
  const command = { ...under.context, ...parseConfig({ ...settings, ...remote }), clock }
  const walk: Place['walk'] = async (options = { accept: true }) => {
    await runSync(command, options)
    return JSON.parse(under.out.at(-1) ?? '') as ChannelWalk[]
  }
  return { harness, other, err: under.err, stopping: under.stop, walk }
}

/** Resolves when it waits before it looks at the other walk again. */
const waitForLook = ({ clock }: Harness): Promise<void> =>
  vi.waitFor(() => expect(clock.pendingDelaysMs).toContain(LOOK_EVERY_MS))

const listOutcomes = (walks: readonly ChannelWalk[]): string[] =>
  walks.map(({ channelName, outcome, productCount }) => `${channelName} ${outcome} ${productCount}`)

const countWalks = ({ catalog }: Harness, id: string): number =>
  catalog.countCalls(new RegExp(`${id}/products`))

test('accepted, another process walks one channel - it is waited for, and only that channel is walked again', async () => {
  const { harness, other, err, walk } = await makePlace()
  stock(harness.catalog, makeWireProducts(7))
  const walking = walk()
  await waitForLook(harness)
  const before = [OTHER_ID, CHANNEL_ID].map((id) => countWalks(harness, id))
  const lists = harness.catalog.countCalls(/channels$/)
  for (let look = 0; look < 3; look += 1) {
    harness.clock.advance(LOOK_EVERY_MS)
    await waitForLook(harness)
  }
  expect(harness.catalog.countCalls(/channels$/)).toBe(lists)
  await other.failWalk(CHANNEL_ID, 'VITRINE_WALK_FAILED', harness.clock.nowMs())
  await other.releaseLease(CHANNEL_ID, 'server')
  harness.clock.advance(LOOK_EVERY_MS)
  const walked = await walking
  expect(listOutcomes(walked)).toEqual(['Other complete 120', 'Test magazine complete 7'])
  expect(walked.map(({ channelId, replaced }) => [channelId, replaced])).toEqual([
    [OTHER_ID, null],
    [CHANNEL_ID, { reason: 'few_products', productCount: 120 }],
  ])
  expect(err.filter((line) => line.includes('waiting'))).toEqual([
    'Another process is walking Test magazine; waiting until it has ended, to walk then.\n',
  ])
  expect([OTHER_ID, CHANNEL_ID].map((id) => countWalks(harness, id))).toEqual([
    before[0],
    (before[1] ?? 0) + 1,
  ])
})

test('accepted, the other process stops answering - its walk is taken over when its lease is over', async () => {
  const { harness, walk } = await makePlace()
  const walking = walk()
  await waitForLook(harness)
  harness.clock.advance(LEASE_MS)
  expect(listOutcomes(await walking)).toEqual(['Other complete 120', 'Test magazine complete 120'])
})

test('told to stop while it waits - ends at once', async () => {
  const { harness, stopping, walk } = await makePlace()
  const walking = walk()
  await waitForLook(harness)
  stopping.abort()
  expect(listOutcomes(await walking)).toEqual(['Other complete 120', 'Test magazine busy 0'])
})

test('not accepted - the other walk is as good, and is not waited for', async () => {
  const { err, walk } = await makePlace()
  const walked = await walk({ accept: false })
  expect(listOutcomes(walked)).toEqual(['Other complete 120', 'Test magazine busy 0'])
  expect(err.join('')).not.toContain('waiting')
})
