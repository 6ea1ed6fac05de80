import { hideSecrets } from '../config/secrets.ts'
import type { LogLevel } from '../config/settings.ts'
import { type DestinationStream, type Logger as PinoLogger, destination, pino } from 'pino'

/** JSON lines on standard error. One line an event; warm answers are counted in metrics, not logged. */
export type Logger = PinoLogger

/** How a logger is made; `stream` is where tests listen. */
type LoggerOptions = Readonly<{ level: LogLevel; stream?: DestinationStream }>

/** Makes the process's logger. It writes to standard error unless a stream is given; no line holds a secret. */
export function createLogger(options: LoggerOptions): Logger {
  const stream = options.stream ?? destination({ dest: 2, sync: true })
  const timestamp = pino.stdTimeFunctions.isoTime
  return pino({ level: options.level, base: null, timestamp, hooks: { streamWrite: hideSecrets } }, stream)
}
