import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

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
