import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { systemClock } from '../clock.ts'
import { StoreError, VitrineError } from '../errors.ts'

/** A condition whose begin and end are each reported once; its begin again when a remedy becomes known. */
export type Problem = {
  /** `undefined` while there is no problem. */
  error: unknown
  begin(error: unknown): void
  /** Return whether the problem existed until now. */
  end(): boolean
}

export function createProblem(onBegin?: (error: unknown) => void, onEnd?: () => void): Problem {
  return {
    error: undefined,
    begin(error) {
      // A server that was unavailable may turn out to have a lasting problem.
      const isNews = this.error === undefined || (hasRemedy(error) && !hasRemedy(this.error))
      this.error = error
      if (isNews) onBegin?.(error)
    },
    end() {
      const wasActive = this.error !== undefined
      this.error = undefined
      if (wasActive) onEnd?.()
      return wasActive
    },
  }
}

function hasRemedy(error: unknown): boolean {
  return error instanceof VitrineError && error.remedy !== null
}

/** Fails a call after `maxSilenceMs` without a response of the database. */
export type SilenceLimit = <T>(call: Promise<T>, maxSilenceMs: number) => Promise<T>

/** Create a limit on how long a visitor's read waits for a silent database. A slow one that responds to other reads is not silent. */
export function createSilenceLimit(): SilenceLimit {
  let respondedMs = -Infinity
  return <T>(call: Promise<T>, maxSilenceMs: number) => {
    const sinceMs = performance.now()
    return new Promise<T>((resolve, reject) => {
      let isSettled = false
      let cancel = startTimer(maxSilenceMs)
      function startTimer(waitMs: number): () => void {
        return systemClock.startTimer(waitMs, () => void failIfSilent())
      }
      async function failIfSilent(): Promise<void> {
        // First process responses that arrived while this process was busy.
        await yieldToEventLoop()
        if (isSettled) return
        const restMs = Math.max(respondedMs, sinceMs) + maxSilenceMs - performance.now()
        if (restMs > 0) cancel = startTimer(restMs)
        else reject(new StoreError(`the database did not respond for ${maxSilenceMs} ms`))
      }
      const end = (result: T): void => {
        respondedMs = performance.now()
        resolve(result)
      }
      const settle = (): void => {
        isSettled = true
        cancel()
      }
      void call.then(end, reject).finally(settle)
    })
  }
}
