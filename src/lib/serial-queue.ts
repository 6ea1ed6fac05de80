/** Runs tasks one after the other, in the order in which they came. */
export type SerialQueue = Readonly<{
  /** Run `task` after all earlier ones. @throws what `task` throws; the tasks after it run all the same. */
  run<T>(task: () => Promise<T>): Promise<T>
}>

/** Create an empty queue. */
export function createSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(task) {
      const result = last.then(task)
      last = result.catch(() => {})
      return result
    },
  }
}
