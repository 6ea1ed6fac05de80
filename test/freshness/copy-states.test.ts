import { describe, expect, test } from 'vitest'
import { type CopyStates, createCopyStates } from '../../src/freshness/copy-states.ts'
import { type FakeClock } from '../helpers/fake-clock.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { startHarness, stock } from '../app/visit.ts'

type Made = Readonly<{ states: CopyStates; clock: FakeClock; walk(): Promise<void> }>

async function make(): Promise<Made> {
  const harness = await startHarness()
  const { store } = harness.context
  return { states: createCopyStates(store, harness.clock), clock: harness.clock, walk: () => stock(harness) }
}

describe('walk of a copy', () => {
  test('never looked at - is not believed', async () => {
    const { states, walk } = await make()
    await walk()
    expect(states.isCurrent(CHANNEL_ID, 1)).toBe(false)
  })

  test('seen a moment ago - is believed for less than a second', async () => {
    const { states, clock, walk } = await make()
    await walk()
    expect((await states.read(CHANNEL_ID)).currentWalk).toBe(1)
    expect([states.isCurrent(CHANNEL_ID, 1), states.isCurrent(CHANNEL_ID, 2)]).toEqual([true, false])
    clock.advance(999)
    expect(states.isCurrent(CHANNEL_ID, 1)).toBe(true)
    clock.advance(1)
    expect(states.isCurrent(CHANNEL_ID, 1)).toBe(false)
  })

  test('clock set back - is not believed', async () => {
    const { states, clock, walk } = await make()
    await walk()
    await states.read(CHANNEL_ID)
    clock.advance(-1)
    expect(states.isCurrent(CHANNEL_ID, 1)).toBe(false)
  })

  test('next walk, once it was seen - is the current one', async () => {
    const { states, walk } = await make()
    await walk()
    await states.read(CHANNEL_ID)
    await walk()
    await states.read(CHANNEL_ID)
    expect([states.isCurrent(CHANNEL_ID, 1), states.isCurrent(CHANNEL_ID, 2)]).toEqual([false, true])
  })
})
