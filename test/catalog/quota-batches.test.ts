import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Governor, createGovernor } from '../../src/catalog/governor.ts'
import { type QuotaLedger, createSharedLedger } from '../../src/catalog/quota-ledger.ts'
import { DAY_MS, HOUR_MS } from '../../src/clock.ts'
import { openSqlStore } from '../../src/storage/sql-store.ts'
import { defer } from '../helpers/defer.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NOON_MS } from '../helpers/harness.ts'

const MIDNIGHT_MS = NOON_MS + DAY_MS / 2

type Sharing = Readonly<{
  clock: FakeClock
  governor: Governor
  /** Of another process on the same file. */
  other: Governor
  /** Counts of the day of a time, as they stand in the store. */
  readCalls(nowMs: number): Promise<unknown>
  /** The store of the first takes no change until what comes back is called. */
  hold(): () => void
}>

async function share(lookupsPerHour = 100): Promise<Sharing> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrine-batches-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const database = { kind: 'sqlite', path: join(folder, 'copy.db') } as const
  const clock = createFakeClock(MIDNIGHT_MS - HOUR_MS)
  let held: Promise<void> = Promise.resolve()
  const open = async (isHeld: boolean): Promise<Readonly<{ store: QuotaLedger; governor: Governor }>> => {
    const store = await openSqlStore({ database, catalog: 'https://one.example' })
    onTestFinished(() => store.close())
    const ledger = createSharedLedger(
      {
        async updateQuota(nowMs, change) {
          if (isHeld) await held
          return store.updateQuota(nowMs, change)
        },
      },
      {
        clock,
        onFailure: (error) => {
          throw error
        },
      },
    )
    const governor = createGovernor({ clock, unknownLookupsPerHour: lookupsPerHour, ledger })
    return { store, governor }
  }
  const { store, governor } = await open(true)
  const { governor: other } = await open(false)
  return {
    clock,
    governor,
    other,
    readCalls: async (nowMs) => (await store.updateQuota(nowMs, (state) => state)).calls,
    hold() {
      const gate = defer<void>()
      held = gate.promise
      return () => gate.resolve()
    },
  }
}

describe('calls that wait for the store over midnight', () => {
  test.each([
    ['refreshes alone', 'refresh'],
    ['a look-up among them', 'lookup'],
  ] as const)('%s - each counts on its own day, also beside another process', async (_name, purpose) => {
    const { clock, governor, other, readCalls, hold } = await share()
    for (let count = 0; count < 7; count += 1) await governor.take('refresh')
    const release = hold()
    const first = governor.take('refresh')
    clock.advance(HOUR_MS - 10)
    const waiting = [first, governor.take(purpose), governor.take('refresh')]
    clock.advance(20)
    waiting.push(governor.take('refresh'), governor.take(purpose))
    await Promise.all([other.take('refresh'), other.take('refresh')])
    release()
    await Promise.all(waiting)
    const isLookup = purpose === 'lookup'
    expect(await readCalls(MIDNIGHT_MS - 1)).toEqual({
      walk: 0,
      refresh: isLookup ? 9 : 10,
      lookup: isLookup ? 1 : 0,
    })
    expect(await readCalls(MIDNIGHT_MS)).toEqual({
      walk: 0,
      refresh: isLookup ? 3 : 4,
      lookup: isLookup ? 1 : 0,
    })
  })
})

describe('calls that are counted together', () => {
  test('a refresh and a look-up, the last look-ups long ago - nothing is refused for what is over', async () => {
    const { clock, governor } = await share(1)
    await governor.take('lookup')
    await expect(governor.take('lookup')).rejects.toThrow('look-ups')
    await governor.take('refresh')
    clock.advance(3 * HOUR_MS)
    await governor.take('refresh')
    clock.advance(3 * HOUR_MS)
    await expect(Promise.all([governor.take('refresh'), governor.take('lookup')])).resolves.toBeDefined()
    await expect(Promise.all([governor.take('refresh'), governor.take('lookup')])).rejects.toThrow('look-ups')
  })
})
