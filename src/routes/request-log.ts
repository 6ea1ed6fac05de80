import { randomBytes } from 'node:crypto'
import type { Request, Response } from 'express'
import type { Context } from '../context.ts'
import { VitrineError } from '../errors.ts'
import type { CacheStatus } from '../freshness/age.ts'

/** Bytes of a request id: enough to find one line among a day's. */
const REQUEST_ID_BYTES = 8

/** An address of ours is shorter; the rest of a longer one tells nothing. */
const MAX_PATH_CHARACTERS = 200

/** What is counted of a response, and the exchange that it belongs to. */
type LoggedResponse = Readonly<{
  surface: string
  state: string
  cache: CacheStatus | 'none'
  request: Request
  response: Response
}>

/** Remember when a request came, for the line that may be written about it. */
export function recordArrivalTime({ clock }: Context, { locals }: Response): void {
  locals['arrivedAtMs'] = clock.nowMs()
}

/** The id of a request in the log and in `Vitrine-Request-Id`, made when it is first asked for. */
export function getRequestId({ locals }: Response): string {
  locals['requestId'] ??= randomBytes(REQUEST_ID_BYTES).toString('hex')
  return String(locals['requestId'])
}

/** Count a response. One that came of a call, or of a copy because no call came about, is one line; a `hit` is none. */
export function logResponse(context: Context, logged: LoggedResponse): void {
  context.metrics.countResponse(logged)
  if (logged.cache === 'hit') return
  writeLine(context, logged, { level: logged.cache === 'stale' ? 'debug' : 'info', message: 'answered' })
}

/**
 * Count and log a failed response. What has no code of ours is a bug and is logged with its stack, unless the visitor had gone:
 * then it is most often the broken connection.
 */
export function logFailure(
  context: Context,
  { error, ...failure }: Omit<LoggedResponse, 'cache'> & Readonly<{ error: unknown }>,
): void {
  const logged = { ...failure, cache: 'none' } as const
  context.metrics.countResponse(logged)
  if (error instanceof VitrineError) {
    const level = logged.state === 'unavailable' ? 'warn' : 'info'
    writeLine(context, logged, { level, message: error.message, fields: { code: error.code } })
    return
  }
  const line = isDisconnected(logged)
    ? ({ level: 'debug', message: 'an error after the visitor had closed the connection' } as const)
    : ({ level: 'error', message: 'an error without a code: a bug' } as const)
  writeLine(context, logged, { ...line, fields: { err: error } })
}

/** A reset is first seen in the lost address of the peer: the socket says that it is closed a moment later. */
function isDisconnected({ request, response }: LoggedResponse): boolean {
  return response.destroyed || request.socket.destroyed || request.socket.remoteAddress === undefined
}

/**
 * One line of bounded length: no query (people put secrets there), no address of a visitor. A flood of visits is no
 * flood of lines; how many were left out stands in the next one.
 */
function writeLine(
  { clock, logLimiters, logger }: Context,
  { surface, state, cache, request, response }: LoggedResponse,
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
      durationMs: nowMs - Number(response.locals['arrivedAtMs'] ?? nowMs),
      path: request.originalUrl.split('?', 1)[0]?.slice(0, MAX_PATH_CHARACTERS),
      ...fields,
      ...(leftOut > 0 && { leftOut }),
    },
    message,
  )
}
