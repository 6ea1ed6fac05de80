import { type DestinationStream, type Logger as PinoLogger, destination, pino } from 'pino'
import { redactSecrets } from '../config/secrets.ts'
import type { LogLevel } from '../config/settings.ts'

/** JSON lines on standard error. One line an event; warm answers are counted in metrics, not logged. */
export type Logger = PinoLogger

/** Create the logger of a process; no line holds a secret. `stream` is where tests listen. */
export function createLogger({
  level,
  stream = destination({ dest: 2, sync: true }),
}: Readonly<{ level: LogLevel; stream?: DestinationStream }>): Logger {
  const timestamp = pino.stdTimeFunctions.isoTime
  return pino({ level, base: null, timestamp, hooks: { streamWrite: redactSecrets } }, stream)
}
