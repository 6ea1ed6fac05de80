import { syncBuiltinESMExports } from 'node:module'
import timersPromises, { setImmediate as yieldToEventLoop } from 'node:timers/promises'

/** Consecutive turns of the event loop without activity after which this process has nothing more to do. */
const QUIET_TURNS = 5

/** File and network requests of this process that have not ended. */
const ACTIVE_REQUEST = /^(?:FSReq|FileHandleCloseReq|Zlib|TCPConnect|GetAddrInfo|Write|Shutdown)/

/** Virtual start time: the clock of the databases' rows. */
export const START_MS: number = Date.UTC(2026, 0, 15, 12)

/** Wait in real time for another process or thread. */
export const waitForOthers: (forMs: number) => Promise<void> = timersPromises.setTimeout

/** The time of all timers and clocks of this thread. It passes only while nothing else happens. */
export type VirtualTime = Readonly<{
  /** Milliseconds since the start. */
  passedMs(): number
  /** Let time pass on a blocked thread: timers that become due wait. */
  block(forMs: number): void
  /** Let time pass, timer by timer, until the promise settles, then finish what happens at that moment. */
  settle<T>(promise: Promise<T>): Promise<T>
  /** Let this much time pass. */
  pass(forMs: number): Promise<void>
  uninstall(): void
}>

export type VirtualTimeOptions = Readonly<{
  /** Whether work outside of this process, such as a statement of a server, is running. */
  isBusy?: () => boolean | Promise<boolean>
}>

type VirtualTimer = { dueMs: number; run: () => void }

/**
 * Replace timers, `Date.now`, `performance.now` and `Math.random` of this thread until `uninstall`. Every wait of the program then
 * takes no real time and has an exact length. Random waits have half of their greatest length.
 */
export function installVirtualTime({ isBusy = () => false }: VirtualTimeOptions = {}): VirtualTime {
  let nowMs = 0
  const timers = new Set<VirtualTimer>()
  const addTimer = (delayMs: number, run: () => void): VirtualTimer => {
    const timer = { dueMs: nowMs + Math.max(0, delayMs), run }
    timers.add(timer)
    return timer
  }
  const restore = replaceGlobals({ addTimer, timers, getNowMs: () => nowMs })
  /** Run the next timer that is due by `untilMs`; `false` when there is none. */
  const runNext = (untilMs = Infinity): boolean => {
    const [next] = [...timers].toSorted((a, b) => a.dueMs - b.dueMs)
    if (next === undefined || next.dueMs > untilMs) return false
    timers.delete(next)
    nowMs = Math.max(nowMs, next.dueMs)
    next.run()
    return true
  }
  const waitUntilQuiet = async (): Promise<void> => {
    for (let turns = 0; turns < QUIET_TURNS; turns += 1) {
      await yieldToEventLoop()
      const isActive = process.getActiveResourcesInfo().some((name) => ACTIVE_REQUEST.test(name))
      if (isActive || (await isBusy())) turns = -1
    }
  }
  return {
    passedMs: () => nowMs,
    block(forMs) {
      nowMs += forMs
    },
    async settle(promise) {
      const state = { isSettled: false }
      const end = (): void => void (state.isSettled = true)
      promise.then(end, end)
      await waitUntilQuiet()
      while (!state.isSettled) {
        if (!runNext()) await waitForOthers(1)
        await waitUntilQuiet()
      }
      return promise
    },
    async pass(forMs) {
      const endMs = nowMs + forMs
      do await waitUntilQuiet()
      while (runNext(endMs))
      nowMs = Math.max(nowMs, endMs)
    },
    uninstall: restore,
  }
}

type Replacement = Readonly<{
  addTimer(delayMs: number, run: () => void): VirtualTimer
  timers: Set<VirtualTimer>
  getNowMs(): number
}>

/** Return the function that restores the originals. */
function replaceGlobals({ addTimer, timers, getNowMs }: Replacement): () => void {
  const original = {
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    wait: timersPromises.setTimeout,
    dateNow: Date.now,
    random: Math.random,
  }
  const handles = new WeakMap<object, VirtualTimer>()
  const startTimer = (run: (...values: unknown[]) => void, delayMs = 0, ...values: unknown[]): object => {
    const handle = { ref: () => handle, unref: () => handle, hasRef: () => false }
    handles.set(
      handle,
      addTimer(delayMs, () => run(...values)),
    )
    return handle
  }
  globalThis.setTimeout = startTimer as unknown as typeof original.setTimeout
  globalThis.clearTimeout = (handle: unknown) => {
    const timer = typeof handle === 'object' && handle !== null ? handles.get(handle) : undefined
    if (timer === undefined) original.clearTimeout(handle as NodeJS.Timeout | undefined)
    else timers.delete(timer)
  }
  timersPromises.setTimeout = <T>(delayMs = 0, value?: T) =>
    new Promise<T>((resolve) => void addTimer(delayMs, () => resolve(value as T)))
  syncBuiltinESMExports()
  Date.now = () => START_MS + getNowMs()
  Math.random = () => 1 / 2
  Object.defineProperty(performance, 'now', { value: getNowMs, configurable: true, writable: true })
  return () => {
    globalThis.setTimeout = original.setTimeout
    globalThis.clearTimeout = original.clearTimeout
    timersPromises.setTimeout = original.wait
    syncBuiltinESMExports()
    Date.now = original.dateNow
    Math.random = original.random
    Reflect.deleteProperty(performance, 'now')
  }
}
