import type { Clock } from '../clock.ts'
import { UnavailableError } from '../errors.ts'

/** `maxWaiting`, `maxWaitingPerVisitor`: further tasks are rejected at once. */
export type FairQueueLimits = Readonly<{
  parallelTasks: number
  maxWaiting: number
  maxWaitingPerVisitor: number
}>

/** For reads of grids. */
const DEFAULT_LIMITS: FairQueueLimits = { parallelTasks: 1, maxWaiting: 128, maxWaitingPerVisitor: 32 }

/** Create a queue that runs a few tasks at a time and alternates between visitors. */
export function createFairQueue(clock: Clock, limits: FairQueueLimits = DEFAULT_LIMITS) {
  /** Visitors in the order of their turns, each with tasks in order of arrival. */
  const waiting = new Map<string, (() => Promise<void>)[]>()
  let count = 0
  let runnerCount = 0
  const runAll = async (): Promise<void> => {
    runnerCount += 1
    for (let next = takeNext(waiting); next !== undefined; next = takeNext(waiting)) {
      count -= 1
      await next()
    }
    runnerCount -= 1
  }
  return {
    /** Run `task` with the remaining milliseconds. @throws UnavailableError if the queue is full or `timeoutMs` passes. */
    async run<T>(
      { visitor, timeoutMs }: Readonly<{ visitor: string; timeoutMs: number }>,
      task: (remainingMs: number) => Promise<T>,
    ): Promise<T> {
      const ownTasks = waiting.get(visitor) ?? []
      if (count >= limits.maxWaiting || ownTasks.length >= limits.maxWaitingPerVisitor)
        throw new UnavailableError('too many requests are waiting')
      const deadlineMs = clock.nowMs() + timeoutMs
      return new Promise((resolve, reject) => {
        const cancel = clock.startTimer(timeoutMs, () =>
          reject(new UnavailableError('the request timed out in the queue')),
        )
        ownTasks.push(async () => {
          const remainingMs = Math.min(timeoutMs, deadlineMs - clock.nowMs())
          if (remainingMs > 0) await task(remainingMs).then(resolve, reject)
          cancel()
        })
        waiting.set(visitor, ownTasks)
        count += 1
        if (runnerCount < limits.parallelTasks) void runAll()
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
