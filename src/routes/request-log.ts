import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from '../context.ts'
import { VitrineError } from '../errors.ts'
import type { CacheStatus } from '../freshness/age.ts'

const REQUEST_ID_BYTES = 8

/** Own paths are shorter. */
const MAX_PATH_CHARACTERS = 200

/** A response with what its log line needs. Express uses the same object. */
export type LoggedResponse = ServerResponse & { locals: { arrivedAtMs?: number; requestId?: string } }

type LogEntry = Readonly<{
  surface: string
  state: string
  cache: CacheStatus | 'none'
  request: IncomingMessage & Readonly<{ originalUrl: string }>
  response: LoggedResponse
}>

/** Record the arrival time for the log line. */
export function recordArrivalTime({ clock }: Context, response: ServerResponse): LoggedResponse {
  return Object.assign(response, { locals: { arrivedAtMs: clock.nowMs() } })
}

/** Return the id of a request for the log and `Vitrine-Request-Id`. It is created on first use. */
export function getRequestId({ locals }: Pick<LoggedResponse, 'locals'>): string {
  locals.requestId ??= randomBytes(REQUEST_ID_BYTES).toString('hex')
  return locals.requestId
}

/** Count a response and log it, unless it is a `hit`. */
export function logResponse(context: Context, logged: LogEntry): void {
  context.metrics.countResponse(logged)
  if (logged.cache === 'hit') return
  writeLine(context, logged, { level: logged.cache === 'stale' ? 'debug' : 'info', message: 'response sent' })
}

/** Count and log a failed response. An error without a code is a bug, unless the client disconnected. */
export function logFailure(
  context: Context,
  { error, ...failure }: Omit<LogEntry, 'cache'> & Readonly<{ error: unknown }>,
): void {
  const logged = { ...failure, cache: 'none' } as const
  context.metrics.countResponse(logged)
  if (error instanceof VitrineError) {
    const level = logged.state === 'unavailable' ? 'warn' : 'info'
    writeLine(context, logged, { level, message: error.message, fields: { code: error.code } })
    return
  }
  const line = isDisconnected(logged)
    ? ({ level: 'debug', message: 'request failed after the client disconnected' } as const)
    : ({ level: 'error', message: 'unexpected error; this is a bug' } as const)
  writeLine(context, logged, { ...line, fields: { err: error } })
}

/** After a reset, the peer address is missing before the socket reports that it is closed. */
function isDisconnected({ request, response }: LogEntry): boolean {
  return response.destroyed || request.socket.destroyed || request.socket.remoteAddress === undefined
}

/** Write a line without the query, which may contain secrets, and without the address of the visitor. */
function writeLine(
  { clock, logLimiters, logger }: Context,
  { surface, state, cache, request, response }: LogEntry,
  line: Readonly<{ level: 'debug' | 'info' | 'warn' | 'error'; message: string; fields?: object }>,
): void {
  const { level, message, fields } = line
  if (!logger.isLevelEnabled(level)) return
  const leftOut = logLimiters[level === 'error' ? 'bugs' : 'responses'].tryAcquire()
  if (leftOut === undefined) return
  const nowMs = clock.nowMs()
  logger[level](
    {
      requestId: getRequestId(response),
      surface,
      state,
      cache,
      durationMs: nowMs - (response.locals.arrivedAtMs ?? nowMs),
      path: request.originalUrl.split('?', 1)[0]?.slice(0, MAX_PATH_CHARACTERS),
      ...fields,
      ...(leftOut > 0 && { leftOut }),
    },
    message,
  )
}
