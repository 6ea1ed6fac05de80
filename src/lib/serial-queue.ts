export type SerialQueue = ReturnType<typeof createSerialQueue>

/** Create a queue that runs tasks one after the other, in the order in which they came. */
export function createSerialQueue() {
  let last: Promise<unknown> = Promise.resolve()
  return {
    /** Run `task` after all earlier ones. @throws what `task` throws; the tasks after it run all the same. */
    run<T>(task: () => Promise<T>): Promise<T> {
      const result = last.then(task)
      last = result.catch(() => {})
      return result
    },
  }
}
