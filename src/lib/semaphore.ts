import type { Clock } from '../clock.ts'

/** Create a first-in, first-out semaphore with `count` permits. The caller limits how many wait. */
export function createSemaphore(count: number, clock: Clock) {
  const waiting: (() => void)[] = []
  let freeCount = count
  const release = (): void => {
    const next = waiting.shift()
    if (next === undefined) freeCount++
    else next()
  }
  return {
    /** Acquire a permit. Resolves to its release function, or to `undefined` on timeout. */
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
