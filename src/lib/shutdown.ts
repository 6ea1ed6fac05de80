import { SECOND_MS } from '../clock.ts'

/** EX_SOFTWARE of sysexits.h: a bug. */
const EXIT_SOFTWARE = 70

/** Default limit of a shutdown, after which the process exits. */
const SHUTDOWN_TIMEOUT_MS: number = 9.5 * SECOND_MS

/** Exit codes of an interrupted command: 128 plus the number of the signal. */
const FORCED_EXIT_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143, npm: 143 }

/** Shut down on request or after an uncaught error: pending responses end first. A second error ends the process. */
export function createShutdown(logFatal: (fields: object, message: string) => void) {
  const controller = new AbortController()
  let hasUncaughtError = false
  /** Return `code`, or 70 after an uncaught error. */
  const toExitCode = (code: number): number => (hasUncaughtError ? EXIT_SOFTWARE : code)
  /** Abort `signal`, and exit after `timeoutMs` at the latest. An interrupted command then exits with 130 or 143. */
  const begin = (reason: string, timeoutMs = SHUTDOWN_TIMEOUT_MS): void => {
    controller.abort(reason)
    // A command that finished has set `process.exitCode`.
    const forceExit = (): never =>
      process.exit(toExitCode(Number(process.exitCode ?? FORCED_EXIT_CODES[reason] ?? 0)))
    setTimeout(forceExit, timeoutMs).unref()
  }
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      logFatal({ err: error, event }, 'uncaught error; this is a bug, the process ends')
      if (hasUncaughtError) process.exit(EXIT_SOFTWARE)
      hasUncaughtError = true
      process.exitCode = EXIT_SOFTWARE
      begin(event)
    })
  }
  /** `signal` aborts when the shutdown begins. Its reason names the cause. */
  return { signal: controller.signal, begin, toExitCode }
}
