import type { Clock } from '../clock.ts'
import { UnavailableError } from '../errors.ts'

/** Requests that may wait, all together and of one visitor: beyond, they are refused at once. */
const MAX_WAITING = 128
const MAX_WAITING_PER_VISITOR = 32

/** Create a queue that runs one task at a time, and takes turns between the visitors that wait. */
export function createFairQueue(clock: Clock) {
  /** Visitors in the order of their turns, each with tasks in the order of their coming. */
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
    /**
     * Run `task` when its turn comes. It gets the milliseconds that are left; no caller waits for it longer than that.
     * @throws UnavailableError when the queue is full, or `withinMs` passes first
     */
    async run<T>(
      { visitor, withinMs: timeoutMs }: Readonly<{ visitor: string; withinMs: number }>,
      task: (remainingMs: number) => Promise<T>,
    ): Promise<T> {
      const ownTasks = waiting.get(visitor) ?? []
      if (count >= MAX_WAITING || ownTasks.length >= MAX_WAITING_PER_VISITOR)
        throw new UnavailableError('too many grids wait to be read')
      const deadlineMs = clock.nowMs() + timeoutMs
      return new Promise((resolve, reject) => {
        const cancel = clock.startTimer(timeoutMs, () =>
          reject(new UnavailableError('the grid was not read in time')),
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

/** The first task of the visitor whose turn it is; his others come after everybody else's. */
function takeNext(waiting: Map<string, (() => Promise<void>)[]>): (() => Promise<void>) | undefined {
  const [first] = waiting
  if (first === undefined) return undefined
  const [visitor, tasks] = first
  const task = tasks.shift()
  waiting.delete(visitor)
  if (tasks.length > 0) waiting.set(visitor, tasks)
  return task
}
