/** Most items that are done at once. */
const MAX_TOGETHER = 200

/**
 * Does many small things together: what comes while some are under way waits for them and is then done at once. One that comes
 * alone does not wait. `work` answers a result for each item, in their order.
 */
export function createBatches<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = []
  let isUnderWay = false
  const doAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const some = waiting.splice(0, MAX_TOGETHER)
      try {
        const results = await work(some.map(({ item }) => item))
        for (const [index, { resolve }] of some.entries()) resolve(results[index] as Result)
      } catch (error) {
        for (const { reject } of some) reject(error)
      }
    }
    isUnderWay = false
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (isUnderWay) return
      isUnderWay = true
      void doAll()
    })
}

type Waiting<Item, Result> = Readonly<{
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}>
