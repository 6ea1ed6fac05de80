import type { Clock } from '../clock.ts'

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
    acquire(timeoutMs) {
      if (free > 0) {
        free--
        return Promise.resolve(release)
      }
      return new Promise((resolve) => {
        const pass = (): void => {
          cancel()
          resolve(release)
        }
        const cancel = clock.startTimer(timeoutMs, () => {
          waiting.splice(waiting.indexOf(pass), 1)
          resolve(undefined)
        })
        waiting.push(pass)
      })
    },
  }
}
