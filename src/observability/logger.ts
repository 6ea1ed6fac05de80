import { type DestinationStream, type Logger as PinoLogger, destination, pino } from 'pino'
import { redactSecrets } from '../config/secrets.ts'
import type { LogLevel } from '../config/settings.ts'

/** JSON lines on standard error. Cached responses are counted in metrics, not logged. */
export type Logger = PinoLogger

/** Create the logger of a process. Secrets are redacted. Tests pass a `stream`. */
export function createLogger({
  level,
  stream = destination({ dest: 2, sync: true }),
}: Readonly<{ level: LogLevel; stream?: DestinationStream }>): Logger {
  const timestamp = pino.stdTimeFunctions.isoTime
  return pino({ level, base: null, timestamp, hooks: { streamWrite: redactSecrets } }, stream)
}
