import { hideSecrets } from '../config/secrets.ts'
import { type DestinationStream, type Logger as PinoLogger, destination, pino } from 'pino'

/** JSON lines on standard error. One line an event; warm answers are counted in metrics, not logged. */
export type Logger = PinoLogger

/** Log levels of pino, from quiet to loud. */
export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** How a logger is made; `stream` is where tests listen. */
export type LoggerOptions = Readonly<{ level: LogLevel; stream?: DestinationStream }>

/** Makes the process's logger. It writes to standard error unless a stream is given; no line holds a secret. */
export function createLogger(options: LoggerOptions): Logger {
  const stream = options.stream ?? destination({ dest: 2, sync: true })
  const timestamp = pino.stdTimeFunctions.isoTime
  return pino({ level: options.level, base: null, timestamp, hooks: { streamWrite: hideSecrets } }, stream)
}
