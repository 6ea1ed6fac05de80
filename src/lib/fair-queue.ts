import type { Clock } from '../clock.ts'
import { UnavailableError } from '../errors.ts'

/**
 * `maxWaiting`, `maxWaitingPerVisitor`: further tasks are rejected at once. `parallelPerGroup`: tasks of a group that run at once;
 * by default `parallelTasks`.
 */
export type FairQueueLimits = Readonly<{
  parallelTasks: number
  parallelPerGroup?: number
  maxWaiting: number
  maxWaitingPerVisitor: number
}>

/** `visitor`: who takes turns with others. `group`: what the task uses, such as a host. */
export type FairQueuePlace = Readonly<{ visitor: string; timeoutMs: number; group?: string }>

type Task = Readonly<{ group: string; run: () => Promise<void> }>

/** For reads of grids. */
const DEFAULT_LIMITS: FairQueueLimits = { parallelTasks: 1, maxWaiting: 128, maxWaitingPerVisitor: 32 }

/** Create a queue that runs a few tasks at a time and alternates between visitors. */
export function createFairQueue(clock: Clock, limits: FairQueueLimits = DEFAULT_LIMITS) {
  /** Visitors in the order of their turns, each with tasks in order of arrival. */
  const waiting = new Map<string, Task[]>()
  const { parallelTasks, parallelPerGroup = parallelTasks } = limits
  /** Running tasks of each group. */
  const running = new Map<string, number>()
  const isFree = ({ group }: Task): boolean => (running.get(group) ?? 0) < parallelPerGroup
  const changeRunning = (group: string, by: number): void => {
    const changed = (running.get(group) ?? 0) + by
    if (changed === 0) running.delete(group)
    else running.set(group, changed)
  }
  let count = 0
  let runnerCount = 0
  const runAll = async (): Promise<void> => {
    runnerCount += 1
    for (let next = takeNext(waiting, isFree); next !== undefined; next = takeNext(waiting, isFree)) {
      count -= 1
      changeRunning(next.group, 1)
      await next.run()
      changeRunning(next.group, -1)
    }
    runnerCount -= 1
  }
  return {
    /** Run `task` with the remaining milliseconds. @throws UnavailableError if the queue is full or `timeoutMs` passes. */
    async run<T>(
      { visitor, timeoutMs, group = '' }: FairQueuePlace,
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
        const runTask = async (): Promise<void> => {
          const remainingMs = Math.min(timeoutMs, deadlineMs - clock.nowMs())
          if (remainingMs > 0) await task(remainingMs).then(resolve, reject)
          cancel()
        }
        ownTasks.push({ group, run: runTask })
        waiting.set(visitor, ownTasks)
        count += 1
        if (runnerCount < parallelTasks) void runAll()
      })
    },
  }
}

/** Return the first free task of the next visitor who has one, and move the visitor to the end. */
function takeNext(waiting: Map<string, Task[]>, isFree: (task: Task) => boolean): Task | undefined {
  for (const [visitor, tasks] of waiting) {
    const index = tasks.findIndex(isFree)
    if (index < 0) continue
    const [task] = tasks.splice(index, 1)
    waiting.delete(visitor)
    if (tasks.length > 0) waiting.set(visitor, tasks)
    return task
  }
  return undefined
}
