import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { MINUTE_MS, SECOND_MS } from '../../src/clock.ts'
import { createCopyChanges } from '../../src/freshness/copy-changes.ts'
import type { CopyState } from '../../src/storage/store.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'
import { WALKED_COPY } from '../helpers/studio-view.ts'

function createFixture() {
  const clock = createFakeClock(1_000_000)
  const copy = { walk: 5, isBroken: false, reads: 0 }
  const getCopyState = async (): Promise<CopyState> => {
    copy.reads += 1
    await setImmediate()
    if (copy.isBroken) throw new Error('cannot be read')
    return { ...WALKED_COPY, currentWalk: copy.walk }
  }
  const changes = createCopyChanges({ getCopyState }, clock)
  return { clock, copy, watch: () => changes.watch('channel') }
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) await setImmediate()
}

/** Ask for the channel often, for a while. */
async function pass(
  { clock, watch }: Pick<ReturnType<typeof createFixture>, 'clock' | 'watch'>,
  forMs: number,
) {
  for (let passedMs = 0; passedMs < forMs; passedMs += 100) {
    clock.advance(100)
    watch()
    await settle()
  }
}

test('channel that nobody asked for - may have changed', async () => {
  const { watch } = createFixture()
  const isOutdated = watch()
  await settle()
  expect([isOutdated(), watch()()]).toEqual([true, false])
})

test('same walk - has not changed, and two reads a second are enough', async () => {
  const fixture = createFixture()
  await pass(fixture, 100)
  const isOutdated = fixture.watch()
  await pass(fixture, 10 * SECOND_MS)
  expect([isOutdated(), fixture.copy.reads]).toEqual([false, 21])
})

test('another walk - has changed within a second, for good', async () => {
  const fixture = createFixture()
  await pass(fixture, 100)
  const isOutdated = fixture.watch()
  fixture.copy.walk = 6
  await pass(fixture, SECOND_MS)
  expect([isOutdated(), fixture.watch()()]).toEqual([true, false])
  await pass(fixture, SECOND_MS)
  expect(isOutdated()).toBe(true)
})

test('store that fails - nothing has changed, and the reads stay as many', async () => {
  const fixture = createFixture()
  await pass(fixture, 100)
  const isOutdated = fixture.watch()
  fixture.copy.isBroken = true
  await pass(fixture, 10 * SECOND_MS)
  expect([isOutdated(), fixture.copy.reads]).toEqual([false, 21])
})

test('clock that is set back - the next walk is seen within a second', async () => {
  const fixture = createFixture()
  await pass(fixture, 100)
  const isOutdated = fixture.watch()
  fixture.clock.step(-MINUTE_MS / 2)
  fixture.copy.walk = 6
  await pass(fixture, SECOND_MS)
  expect(isOutdated()).toBe(true)
})
