import { SECOND_MS } from '../clock.ts'

/** A bug: sysexits.h calls it an internal software error. */
const EXIT_SOFTWARE = 70

/** A stop takes no longer than this, whatever hangs, unless its caller says how long it may take. */
const SHUTDOWN_TIMEOUT_MS: number = 9.5 * SECOND_MS

/** What a command ends with that was told to stop, and is not done when the time is over: 128 and the signal's number. */
const FORCED_EXIT_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143, npm: 143 }

/**
 * Bring the process to its end when it is told to, or after an error that nobody caught, after which nothing is certain any
 * more: such an error is logged, responses under way end, and so does the process. A second one ends it at once.
 */
export function createShutdown(logFatal: (fields: object, message: string) => void) {
  const controller = new AbortController()
  let hasUncaughtError = false
  /** The exit code: `code`, unless an error that nobody caught brought the end about. */
  const toExitCode = (code: number): number => (hasUncaughtError ? EXIT_SOFTWARE : code)
  /**
   * Tell everything to end, and end the process if that takes longer than `withinMs`: with 130 or 143 if a signal is the
   * reason and nothing has set the exit code, because what was asked for is not done.
   */
  const begin = (reason: string, timeoutMs = SHUTDOWN_TIMEOUT_MS): void => {
    controller.abort(reason)
    // A command that is done has set the code of the process; only what it left open is cut off then.
    const forceExit = (): never =>
      process.exit(toExitCode(Number(process.exitCode ?? FORCED_EXIT_CODES[reason] ?? 0)))
    setTimeout(forceExit, timeoutMs).unref()
  }
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      logFatal({ err: error, event }, 'an error that nobody caught: a bug; the process ends')
      if (hasUncaughtError) process.exit(EXIT_SOFTWARE)
      hasUncaughtError = true
      process.exitCode = EXIT_SOFTWARE
      begin(event)
    })
  }
  /** `signal` aborts when the process is to end; its reason says why. */
  return { signal: controller.signal, begin, toExitCode }
}
