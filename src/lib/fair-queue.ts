import type { Clock } from '../clock.ts'
import { UnavailableError } from '../errors.ts'

/** Waiting tasks in total and of one visitor. Further ones are rejected at once. */
const MAX_WAITING = 128
const MAX_WAITING_PER_VISITOR = 32

/** Create a queue that runs one task at a time and alternates between visitors. */
export function createFairQueue(clock: Clock) {
  /** Visitors in the order of their turns, each with tasks in order of arrival. */
  const waiting = new Map<string, (() => Promise<void>)[]>()
  let count = 0
  let isRunning = false
  const runAll = async (): Promise<void> => {
    isRunning = true
    for (let next = takeNext(waiting); next !== undefined; next = takeNext(waiting)) {
      count -= 1
      await next()
    }
    isRunning = false
  }
  return {
    /** Run `task` with the remaining milliseconds. @throws UnavailableError if the queue is full or `timeoutMs` passes. */
    async run<T>(
      { visitor, timeoutMs }: Readonly<{ visitor: string; timeoutMs: number }>,
      task: (remainingMs: number) => Promise<T>,
    ): Promise<T> {
      const ownTasks = waiting.get(visitor) ?? []
      if (count >= MAX_WAITING || ownTasks.length >= MAX_WAITING_PER_VISITOR)
        throw new UnavailableError('too many grid requests are waiting')
      const deadlineMs = clock.nowMs() + timeoutMs
      return new Promise((resolve, reject) => {
        const cancel = clock.startTimer(timeoutMs, () =>
          reject(new UnavailableError('the grid request timed out')),
        )
        ownTasks.push(async () => {
          const remainingMs = Math.min(timeoutMs, deadlineMs - clock.nowMs())
          if (remainingMs > 0) await task(remainingMs).then(resolve, reject)
          cancel()
        })
        waiting.set(visitor, ownTasks)
        count += 1
        if (!isRunning) void runAll()
      })
    },
  }
}

/** Return the first task of the next visitor and move the visitor to the end. */
function takeNext(waiting: Map<string, (() => Promise<void>)[]>): (() => Promise<void>) | undefined {
  const [first] = waiting
  if (first === undefined) return undefined
  const [visitor, tasks] = first
  const task = tasks.shift()
  waiting.delete(visitor)
  if (tasks.length > 0) waiting.set(visitor, tasks)
  return task
}
