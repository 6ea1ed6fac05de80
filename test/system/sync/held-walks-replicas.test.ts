import { beforeEach, expect, test } from 'vitest'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/clock.ts'
import type { CopyState } from '../../../src/storage/store.ts'
import { CHANNEL_ID } from '../../helpers/fake-catalog.ts'
import { type FakeClock, createFakeClock } from '../../helpers/fake-clock.ts'
import { NOON_MS } from '../../helpers/harness.ts'
import { useDatabase } from '../use-database.ts'
import { toGtin } from '../../helpers/products.ts'
import { readBox } from '../../storage/conformance/subject.ts'
import { type WalkFixture, makeWalkFixture, makeWireProducts, setProducts } from '../../sync/walk-fixture.ts'

/** A machine with its own clock. */
type Machine = Readonly<{ owner: string; clock: FakeClock }>

const database = useDatabase()
let fixture: WalkFixture
let machines: readonly Machine[]
beforeEach(async () => {
  await database.truncate()
  fixture = await makeWalkFixture(database.address)
  // The database server's clock differs from the test's; the catalog confirms the machines' clocks.
  fixture.catalog.nowMs = fixture.clock.nowMs
  machines = ['one', 'two', 'three'].map((name, index) => ({
    owner: `${name} 1 machine-${name}`,
    clock: createFakeClock(NOON_MS + index * 10 * SECOND_MS),
  }))
  setProducts(fixture.catalog, makeWireProducts(120))
  await fixture.walk()
})

function advance(byMs: number): void {
  fixture.clock.advance(byMs)
  for (const { clock } of machines) clock.advance(byMs)
}

/** Walk on one machine; `skipWalkedSinceMs`: `null` when an operator requests the walk. */
async function walk({ owner, clock }: Machine, skipWalkedSinceMs: number | null): Promise<string> {
  const { walks, failure } = await fixture.walk({ clock, job: { owner, skipWalkedSinceMs } })
  return walks.map(({ outcome, productCount }) => `${outcome} ${productCount}`).join() || String(failure)
}

/** Walk on all machines at once, in the same scheduled run. */
async function walkTogether(skipWalkedSinceMs: number): Promise<readonly string[]> {
  // Leases expire by the database server's clock, which the test cannot move.
  await database.run('update vitrine_copy.lookup_leases set lease_until_ms = 0')
  return (await Promise.all(machines.map((machine) => walk(machine, skipWalkedSinceMs)))).toSorted()
}

const readState = (): Promise<CopyState> => fixture.copy.getCopyState(CHANNEL_ID)
const countPages = (): number => fixture.catalog.countCalls(/products\?/)

test('three machines find no products at once - one hold, confirmed only a period later', async () => {
  setProducts(fixture.catalog, [])
  advance(HOUR_MS)
  const sinceMs = fixture.clock.nowMs() - 2 * MINUTE_MS
  const pagesBefore = countPages()
  expect(await walkTogether(sinceMs)).toEqual(['busy 0', 'busy 0', 'held 0'])
  expect(countPages() - pagesBefore).toBe(1)
  const { held } = await readState()
  expect(held).toMatchObject({ reason: 'few_products', productCount: 0 })
  expect(machines.map(({ clock }) => clock.nowMs())).toContain(held?.sinceMs)

  advance(MINUTE_MS)
  expect(await walkTogether(sinceMs)).toEqual(['busy 0', 'busy 0', 'busy 0'])
  expect(await readState()).toMatchObject({ productCount: 120, held })
  for (const machine of machines) expect(await walk(machine, null)).toBe('held 0')
  expect(await readState()).toMatchObject({ productCount: 120, held: { sinceMs: held?.sinceMs } })
  expect(await readBox(fixture.copy, toGtin(119))).toBe(`Lamp 119 @${NOON_MS}`)

  advance(HOUR_MS - MINUTE_MS)
  expect(await walkTogether(fixture.clock.nowMs() - 2 * MINUTE_MS)).toEqual([
    'busy 0',
    'busy 0',
    'complete 0',
  ])
  expect(await readState()).toMatchObject({ productCount: 0, dealCount: 0, held: null })
  expect(await readBox(fixture.copy, toGtin(119))).toBe('unknown')
})
