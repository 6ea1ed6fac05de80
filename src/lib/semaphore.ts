import { type Clock, ENOUGH } from '../clock.ts'

/** Limits how many calls run at the same time; the others wait in the order in which they came. */
export type Semaphore = Readonly<{
  /** Take a place within `timeoutMs`. Return the function that releases it, or `undefined` when none became free in time. */
  acquire(timeoutMs: number): Promise<(() => void) | undefined>
}>

/** Create a semaphore with `count` places. The caller bounds how many wait. */
export function createSemaphore(count: number, clock: Clock): Semaphore {
  const waiting: (() => void)[] = []
  let free = count
  const release = (): void => {
    const next = waiting.shift()
    if (next === undefined) free++
    else next()
  }
  return {
    async acquire(timeoutMs) {
      if (free > 0) {
        free--
        return release
      }
      const passed = new AbortController()
      const pass = (): void => passed.abort(ENOUGH)
      waiting.push(pass)
      await clock.wait(timeoutMs, passed.signal)
      if (passed.signal.aborted) return release
      waiting.splice(waiting.indexOf(pass), 1)
      return undefined
    },
  }
}
