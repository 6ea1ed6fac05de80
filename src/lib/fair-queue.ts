import type { Clock } from '../clock.ts'
import { UnavailableError } from '../errors.ts'

/**
 * `maxWaiting`: when so many tasks wait, the visitor with most of them loses the newest. `maxWaitingPerVisitor`: further tasks of a
 * visitor are rejected at once.
 */
export type FairQueueLimits = Readonly<{
  parallelTasks: number
  maxWaiting: number
  maxWaitingPerVisitor: number
}>

/** Tasks that use the same thing, such as a host: at most `parallelTasks` of them run at once. */
export type QueueGroup = Readonly<{ name: string; parallelTasks: number }>

/** `visitor`: identifies the client, for example by IP address. `isGone`: whether it does not wait any more; by default never. */
export type Visitor = Readonly<{ visitor: string; isGone?: () => boolean }>

/**
 * `getGroups`: called whenever a place is free, because groups of a task can change. `key`: callers with the same key share a waiting
 * or running task, which starts at the first turn of any of them.
 */
export type FairQueuePlace = Visitor &
  Readonly<{ timeoutMs: number; getGroups?: () => readonly QueueGroup[]; key?: string }>

export type FairQueue = ReturnType<typeof createFairQueue>

/** A caller that waits for a task until `deadlineMs`. */
type Caller = Readonly<{ deadlineMs: number; timeoutMs: number; isGone: () => boolean }>

type Task = {
  readonly getGroups: () => readonly QueueGroup[]
  readonly key: string | undefined
  readonly callers: Set<Caller>
  /** Visitors in whose line the task stands. */
  readonly visitors: Set<string>
  readonly result: Promise<unknown>
  readonly start: (remainingMs: number) => void
  readonly reject: (error: Error) => void
  isStarted: boolean
}

type TaskFunction<T> = (remainingMs: number) => T | Promise<T>

/** For reads of grids. */
const DEFAULT_LIMITS: FairQueueLimits = { parallelTasks: 1, maxWaiting: 128, maxWaitingPerVisitor: 32 }

/** Create a queue that runs a few tasks at a time and alternates between visitors. */
export function createFairQueue(clock: Clock, limits: FairQueueLimits = DEFAULT_LIMITS) {
  const { parallelTasks, maxWaiting, maxWaitingPerVisitor } = limits
  const waiting = createLines()
  /** Waiting and running tasks by key. */
  const tasksByKey = new Map<string, Task>()
  /** Running tasks of each group. */
  const running = new Map<string, number>()
  const isFree = ({ getGroups }: Task): boolean =>
    getGroups().every((group) => (running.get(group.name) ?? 0) < group.parallelTasks)
  const changeRunning = (groups: readonly QueueGroup[], by: number): void => {
    for (const { name } of groups) {
      const changed = (running.get(name) ?? 0) + by
      if (changed === 0) running.delete(name)
      else running.set(name, changed)
    }
  }
  let runningCount = 0
  const start = async (task: Task): Promise<void> => {
    const groups = task.getGroups()
    changeRunning(groups, 1)
    await runTask(task, clock)
    changeRunning(groups, -1)
    runningCount -= 1
    startFree()
  }
  const startFree = (): void => {
    while (runningCount < parallelTasks) {
      const next = waiting.take(isFree)
      if (next === undefined) return
      runningCount += 1
      void start(next)
    }
  }
  /** Find the task of a key, or create one. */
  const openTask = <T>({ getGroups = listNone, key }: FairQueuePlace, task: TaskFunction<T>): Task => {
    const known = key === undefined ? undefined : tasksByKey.get(key)
    if (known !== undefined) return known
    const created = createTask({ getGroups, key }, task)
    if (key === undefined) return created
    tasksByKey.set(key, created)
    const forget = (): void => void tasksByKey.delete(key)
    created.result.then(forget, forget)
    return created
  }
  /** Add a task to the line of a visitor. A task that is in another line already needs no more room. */
  const enqueue = (task: Task, visitor: string): void => {
    if (task.isStarted || task.visitors.has(visitor)) return
    const isNew = task.visitors.size === 0
    const isLineFull = waiting.count(visitor) >= maxWaitingPerVisitor
    const isFull = isNew && waiting.taskCount() >= maxWaiting
    if (!isLineFull && (!isFull || waiting.dropNewestOfLongest(visitor))) waiting.add(task, visitor)
    else if (isNew) task.reject(createFullError())
  }
  return {
    /**
     * Run `task` with the remaining milliseconds, unless all its callers are gone by then.
     * @throws UnavailableError if the queue is full or `timeoutMs` passes.
     */
    run<T>(place: FairQueuePlace, task: TaskFunction<T>): Promise<T> {
      const { visitor, isGone = isNever, timeoutMs } = place
      const opened = openTask(place, task)
      const caller: Caller = { deadlineMs: clock.nowMs() + timeoutMs, timeoutMs, isGone }
      opened.callers.add(caller)
      enqueue(opened, visitor)
      startFree()
      return settleInTime(clock, opened, caller) as Promise<T>
    },
  }
}

const isNever = (): boolean => false
const listNone = (): readonly QueueGroup[] => []

function createFullError(): UnavailableError {
  return new UnavailableError('too many requests are waiting')
}

function createTask<T>({ getGroups, key }: Pick<Task, 'getGroups' | 'key'>, task: TaskFunction<T>): Task {
  const turn = {} as Pick<Task, 'start' | 'reject'>
  const result = new Promise<number>((start, reject) => Object.assign(turn, { start, reject })).then(task)
  // Each caller handles the failure.
  result.catch(() => {})
  return { getGroups, key, callers: new Set(), visitors: new Set(), result, ...turn, isStarted: false }
}

/** Run a task for the caller with the most time left. A task without callers is dropped. */
async function runTask({ callers, result, start, reject }: Task, clock: Clock): Promise<void> {
  const nowMs = clock.nowMs()
  const remainingMs = [...callers]
    .filter(({ isGone }) => !isGone())
    // A clock may be set back.
    .map(({ deadlineMs, timeoutMs }) => Math.min(timeoutMs, deadlineMs - nowMs))
  const longestMs = Math.max(0, ...remainingMs)
  if (longestMs > 0) start(longestMs)
  else reject(new UnavailableError('the client is gone'))
  await result.catch(() => {})
}

/** Return the result of a task; reject when the caller's time is over. The task then continues for other callers. */
function settleInTime(clock: Clock, { result, callers }: Task, caller: Caller): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const cancel = clock.startTimer(caller.timeoutMs, () => {
      callers.delete(caller)
      reject(new UnavailableError('the request timed out in the queue'))
    })
    result.then(resolve, reject).finally(cancel)
  })
}

/** Create the lines of waiting tasks: one for each visitor, in the order of their turns. A task can stand in several lines. */
function createLines() {
  const lines = new Map<string, Task[]>()
  let count = 0
  const leave = (task: Task, visitor: string): void => {
    const line = lines.get(visitor) ?? []
    line.splice(line.indexOf(task), 1)
    if (line.length === 0) lines.delete(visitor)
    task.visitors.delete(visitor)
    if (task.visitors.size === 0) count -= 1
  }
  return {
    taskCount: (): number => count,
    count: (visitor: string): number => lines.get(visitor)?.length ?? 0,
    add(task: Task, visitor: string): void {
      if (task.visitors.size === 0) count += 1
      task.visitors.add(visitor)
      const line = lines.get(visitor)
      if (line === undefined) lines.set(visitor, [task])
      else line.push(task)
    },
    /** Return the first free task of the next visitor who has one, and move the visitor to the end. */
    take(isFree: (task: Task) => boolean): Task | undefined {
      for (const [visitor, line] of lines) {
        const task = line.find(isFree)
        if (task === undefined) continue
        task.isStarted = true
        for (const one of task.visitors) leave(task, one)
        const rest = lines.get(visitor)
        if (rest === undefined) return task
        lines.delete(visitor)
        lines.set(visitor, rest)
        return task
      }
      return undefined
    },
    /**
     * Make room for `visitor`: reject the newest task of the longest line. A task is kept if any of its visitors has a short line,
     * which means at most one task more than `visitor`. `false`: all tasks are kept.
     */
    dropNewestOfLongest(visitor: string): boolean {
      const minimum = length(lines, visitor) + 2
      const isDroppable = ({ visitors }: Task): boolean =>
        [...visitors].every((one) => length(lines, one) >= minimum)
      const longestFirst = [...lines.values()].sort((one, other) => other.length - one.length)
      for (const line of longestFirst) {
        if (line.length < minimum) return false
        const task = line.findLast(isDroppable)
        if (task === undefined) continue
        for (const one of task.visitors) leave(task, one)
        task.reject(createFullError())
        return true
      }
      return false
    },
  }
}

function length(lines: ReadonlyMap<string, readonly Task[]>, visitor: string): number {
  return lines.get(visitor)?.length ?? 0
}
