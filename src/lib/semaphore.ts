import { type Clock, ENOUGH } from '../clock.ts'

/** Places for calls that go at the same time; who finds none waits in a line. */
export type Slots = Readonly<{
  /** Takes a place, within `patienceMs`; answers how to give it back, or `undefined` when the wait was too long. */
  take(patienceMs: number): Promise<(() => void) | undefined>
}>

/** Makes a number of places. The line is kept by the caller: it is as long as the number of those who wait. */
export function createSlots(count: number, clock: Clock): Slots {
  const line: (() => void)[] = []
  let free = count
  const giveBack = (): void => {
    const next = line.shift()
    if (next === undefined) free++
    else next()
  }
  return {
    async take(patienceMs) {
      if (free > 0) {
        free--
        return giveBack
      }
      const called = new AbortController()
      const call = (): void => called.abort(ENOUGH)
      line.push(call)
      await clock.wait(patienceMs, called.signal)
      if (called.signal.aborted) return giveBack
      line.splice(line.indexOf(call), 1)
      return undefined
    },
  }
}
