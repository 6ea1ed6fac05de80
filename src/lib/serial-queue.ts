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
