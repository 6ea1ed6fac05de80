import { isatty } from 'node:tty'
import { type DestinationStream, type Logger as PinoLogger, destination, pino } from 'pino'
import { redactSecrets } from '../config/secrets.ts'
import type { LogLevel } from '../config/settings.ts'

/** Lines on standard error: JSON, or text on a terminal. Cached responses are counted in metrics, not logged. */
export type Logger = PinoLogger

const STANDARD_ERROR = 2

/** Create the logger of a process. Secrets are redacted. Tests pass a `stream`. */
export function createLogger({
  level,
  stream = openStandardError(),
}: Readonly<{ level: LogLevel; stream?: DestinationStream }>): Logger {
  const timestamp = pino.stdTimeFunctions.isoTime
  return pino({ level, base: null, timestamp, hooks: { streamWrite: redactSecrets } }, stream)
}

function openStandardError(): DestinationStream {
  const stream = destination({ dest: STANDARD_ERROR, sync: true })
  return isatty(STANDARD_ERROR) ? { write: (line) => void stream.write(toTextLine(line)) } : stream
}

/** Convert a line of JSON to text for people: `21:04:05 warn  feed run failed  feed=kopje reason="status 404"`. The date and empty values are left out; the time is in UTC. */
export function toTextLine(line: string): string {
  const record = parseRecord(line)
  if (record === undefined) return line
  const { level, time, msg, ...fields } = record
  const parts = listFields(fields)
  const label = pino.levels.labels[Number(level)] ?? String(level)
  const clockTime = String(time).slice(11, 19)
  return `${clockTime} ${label.padEnd(5)} ${[msg, ...parts].join('  ')}\n`
}

/** Return `undefined` when a redacted number is not JSON any more. */
function parseRecord(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** Fields of objects are named by their path: `walk.products=12`. */
function listFields(fields: object, prefix: string = ''): readonly string[] {
  return Object.entries(fields).flatMap(([name, value]: [string, unknown]) => {
    if (value === null || value === '' || (Array.isArray(value) && value.length === 0)) return []
    if (typeof value === 'object' && !Array.isArray(value)) return listFields(value, `${prefix}${name}.`)
    return [`${prefix}${name}=${toFieldText(value)}`]
  })
}

function toFieldText(value: unknown): string {
  return typeof value === 'string' && /^[^\s"\p{Cc}]+$/u.test(value) ? value : JSON.stringify(value)
}
