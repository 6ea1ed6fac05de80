import type { Clock } from '../clock.ts'

/** Limit what runs at the same time to `count`; the others wait in the order in which they came. The caller bounds how many. */
export function createSemaphore(count: number, clock: Clock) {
  const waiting: (() => void)[] = []
  let freeCount = count
  const release = (): void => {
    const next = waiting.shift()
    if (next === undefined) freeCount++
    else next()
  }
  return {
    /** Take a place within `timeoutMs`. Return the function that releases it, or `undefined` when none became free in time. */
    acquire(timeoutMs: number): Promise<(() => void) | undefined> {
      if (freeCount > 0) {
        freeCount--
        return Promise.resolve(release)
      }
      return new Promise((resolve) => {
        const grant = (): void => {
          cancel()
          resolve(release)
        }
        const cancel = clock.startTimer(timeoutMs, () => {
          waiting.splice(waiting.indexOf(grant), 1)
          resolve(undefined)
        })
        waiting.push(grant)
      })
    },
  }
}
