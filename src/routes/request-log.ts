import { randomBytes } from 'node:crypto'
import type { Request, Response } from 'express'
import type { Context } from '../context.ts'
import { VitrineError } from '../errors.ts'
import type { CacheStatus } from '../freshness/age.ts'

/** Bytes of a request id: enough to find one line among a day's. */
const REQUEST_ID_BYTES = 8

/** An address of ours is shorter; the rest of a longer one tells nothing. */
const MAX_PATH_CHARACTERS = 200

/** What is counted of an answer, and the exchange that it belongs to. */
type LoggedAnswer = Readonly<{ surface: string; state: string; request: Request; response: Response }>

/** Remember when a request came, for the line that may be written about it. */
export function noteArrival({ clock }: Context, { locals }: Response): void {
  locals['arrivedAtMs'] = clock.nowMs()
}

/** The id of a request in the log and in `Vitrine-Request-Id`, made when it is first asked for. */
export function getRequestId({ locals }: Response): string {
  locals['requestId'] ??= randomBytes(REQUEST_ID_BYTES).toString('hex')
  return String(locals['requestId'])
}

/** Count an answer. One that came of a call, or of a copy because no call came about, is one line; a warm one (`hit`) is none. */
export function logAnswer(context: Context, answer: LoggedAnswer & Readonly<{ cache: CacheStatus }>): void {
  const { surface, state, cache } = answer
  context.metrics.countAnswer({ surface, state, cache })
  if (cache === 'hit') return
  writeLine(context, answer, { cache, level: cache === 'stale' ? 'debug' : 'info', message: 'answered' })
}

/**
 * Count and log a failed answer. What has no code of ours is a bug and is logged with its stack, unless the visitor had gone:
 * then it is most often the broken connection.
 */
export function logFailure(context: Context, failure: LoggedAnswer & Readonly<{ error: unknown }>): void {
  const { error, surface, state } = failure
  context.metrics.countAnswer({ surface, state, cache: 'none' })
  if (error instanceof VitrineError) {
    const level = state === 'unavailable' ? 'warn' : 'info'
    writeLine(context, failure, {
      cache: 'none',
      level,
      message: error.message,
      fields: { code: error.code },
    })
    return
  }
  const told = isGone(failure)
    ? ({ level: 'debug', message: 'an error after the visitor had closed the connection' } as const)
    : ({ level: 'error', message: 'an error without a code: a bug' } as const)
  writeLine(context, failure, { cache: 'none', ...told, fields: { err: error } })
}

/** A reset is first seen in the lost address of the peer: the socket says that it is closed a moment later. */
function isGone({ request, response }: LoggedAnswer): boolean {
  return response.destroyed || request.socket.destroyed || request.socket.remoteAddress === undefined
}

type Line = Readonly<{
  cache: string
  level: 'debug' | 'info' | 'warn' | 'error'
  message: string
  fields?: Readonly<Record<string, unknown>>
}>

/**
 * One line of bounded length: no query (people put secrets there), no address of a visitor. A flood of visits is no
 * flood of lines; how many were left out stands in the next one.
 */
function writeLine(context: Context, answer: LoggedAnswer, { cache, level, message, fields }: Line): void {
  const { clock, lines, logger } = context
  if (!logger.isLevelEnabled(level)) return
  const leftOut = lines[level === 'error' ? 'bugs' : 'answers'].take()
  if (leftOut === undefined) return
  const { surface, state, request, response } = answer
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
