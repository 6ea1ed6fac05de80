import type { Clock } from '../clock.ts'

/** Return the remaining wait of a visitor: at least `minMs`, at most the visitor timeout (a clock may be set back). */
export function computeRemainingWaitMs(
  { clock, config }: Readonly<{ clock: Clock; config: Readonly<{ visitorTimeoutMs: number }> }>,
  deadlineMs: number,
  minMs: number,
): number {
  return Math.max(minMs, Math.min(config.visitorTimeoutMs, deadlineMs - clock.nowMs()))
}

/** Return the result of a call; `undefined` on failure or timeout. The call itself continues. */
export function tryWithTimeout<T>(clock: Clock, timeoutMs: number, call: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const cancel = clock.startTimer(timeoutMs, () => resolve(undefined))
    const finish = (value: T | undefined): void => {
      cancel()
      resolve(value)
    }
    void call.then(finish, () => finish(undefined))
  })
}

/** Time for a read after the deadline: stored data are usually available at once. */
const MIN_READ_TIMEOUT_MS = 100

/** Return the result of a read; `undefined` when it fails or the deadline of the visitor passes. */
export function tryReadBeforeDeadline<T>(
  options: Parameters<typeof computeRemainingWaitMs>[0],
  deadlineMs: number,
  read: Promise<T>,
): Promise<T | undefined> {
  return tryWithTimeout(options.clock, computeRemainingWaitMs(options, deadlineMs, MIN_READ_TIMEOUT_MS), read)
}

/** Return the result of a call, or reject with `createError()` after the timeout. The call itself continues. */
export async function failAfter<T>(
  { clock, timeoutMs }: Readonly<{ clock: Clock; timeoutMs: number }>,
  createError: () => Error,
  call: Promise<T>,
): Promise<T> {
  let cancel: (() => void) | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    cancel = clock.startTimer(timeoutMs, () => reject(createError()))
  })
  try {
    return await Promise.race([call, timeout])
  } finally {
    cancel?.()
  }
}
