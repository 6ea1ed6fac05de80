import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
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

export type SerialQueue = ReturnType<typeof createSerialQueue>

/** Create a queue that runs tasks one at a time, in order of arrival. */
export function createSerialQueue() {
  let last: Promise<unknown> = Promise.resolve()
  return {
    /** Run `task` after all earlier ones. @throws what `task` throws; later tasks still run. */
    run<T>(task: () => Promise<T>): Promise<T> {
      const result = last.then(task)
      last = result.catch(() => {})
      return result
    },
  }
}

/** Create a group in which concurrent calls with the same key share one result. */
export function createSingleFlight<T>() {
  const calls = new Map<string, Promise<T>>()
  return {
    /** Return the pending call for `key`, or start one. All callers share its deadline. */
    run(key: string, start: () => Promise<T>): Promise<T> {
      const current = calls.get(key)
      if (current !== undefined) return current
      const call = start().finally(() => calls.delete(key))
      calls.set(key, call)
      return call
    },
    has: (key: string): boolean => calls.has(key),
  }
}

const MAX_ITEMS = 200

type PendingItem<Item, Result> = Readonly<{
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}>

/**
 * Process items in batches: items of one event loop turn, or that arrive during a batch. `process` returns one result per item
 * in order; its error rejects the whole batch. `pause`: wait before the next batch.
 */
export function createBatcher<Item, Result>(
  process: (items: readonly Item[]) => Promise<readonly Result[]>,
  pause: () => Promise<void> = () => Promise.resolve(),
): (item: Item) => Promise<Result> {
  const pendingItems: PendingItem<Item, Result>[] = []
  let isRunning = false
  const processAll = async (): Promise<void> => {
    while (pendingItems.length > 0) {
      // SQLite is synchronous: without this, each batch would hold one item.
      await yieldToEventLoop()
      const batch = pendingItems.splice(0, MAX_ITEMS)
      try {
        const results = await process(batch.map(({ item }) => item))
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      await pause()
    }
    isRunning = false
  }
  return (item) =>
    new Promise((resolve, reject) => {
      pendingItems.push({ item, resolve, reject })
      if (isRunning) return
      isRunning = true
      void processAll()
    })
}
