import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

/** Items in one batch, at most. */
const MAX_ITEMS = 200

type PendingItem<Item, Result> = Readonly<{
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}>

/**
 * Process items in batches: items that come while a batch is under way form the next one, and so do items of one turn of the
 * event loop. `process` returns one result for each item, in their order; what it throws, each item of the batch throws.
 * `pause`: how long the next batch gathers items after one that has its results.
 */
export function createBatcher<Item, Result>(
  process: (items: readonly Item[]) => Promise<readonly Result[]>,
  pause: () => Promise<void> = () => Promise.resolve(),
): (item: Item) => Promise<Result> {
  const pendingItems: PendingItem<Item, Result>[] = []
  let isRunning = false
  const processAll = async (): Promise<void> => {
    while (pendingItems.length > 0) {
      // SQLite would end a batch before the next request is read.
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
