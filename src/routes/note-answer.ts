import { randomBytes } from 'node:crypto'
import type { Context } from '../context.ts'
import { VitrineError } from '../errors.ts'
import type { CacheStatus } from '../freshness/age.ts'
import type { AskedRequest, NotedResponse } from '../http/answer.ts'

/** Bytes of a request id: enough to find one line among a day's. */
const REQUEST_ID_BYTES = 8

/** An address of ours is shorter; the rest of a longer one tells nothing. */
const MAX_PATH_CHARACTERS = 200

/** What is counted of an answer, and the exchange that it belongs to. */
export type NotedAnswer = Readonly<{
  surface: string
  state: string
  request: AskedRequest
  response: NotedResponse
}>

/** Remembers when a request came, for the line that may be written about it. */
export function noteArrival(context: Context, response: NotedResponse): void {
  response.locals['arrivedAtMs'] ??= context.clock.nowMs()
}

/** The id of a request in the log and in `Vitrine-Request-Id`, made when it is first asked for. */
export function getRequestId(response: NotedResponse): string {
  response.locals['requestId'] ??= randomBytes(REQUEST_ID_BYTES).toString('hex')
  return String(response.locals['requestId'])
}

/**
 * Counts an answer. A warm one (`hit`) is not logged; one that came of a call, or of a copy because no call came about,
 * is one line.
 */
export function noteAnswer(context: Context, answer: NotedAnswer & Readonly<{ cache: CacheStatus }>): void {
  const { surface, state, cache } = answer
  context.metrics.countAnswer({ surface, state, cache })
  if (cache === 'hit') return
  const level = cache === 'stale' ? 'debug' : 'info'
  writeLine(context, { answer, cache, level, words: 'answered' })
}

/**
 * Counts and logs a failed answer; what has no code of ours is a bug and is logged with its stack, unless the visitor had
 * gone: then it is most often the broken connection.
 */
export function noteFailure(context: Context, failure: NotedAnswer & Readonly<{ error: unknown }>): void {
  const { error, surface, state } = failure
  context.metrics.countAnswer({ surface, state, cache: 'none' })
  if (error instanceof VitrineError) {
    const level = state === 'unavailable' ? 'warn' : 'info'
    const fields = { code: error.code }
    writeLine(context, { answer: failure, cache: 'none', level, words: error.message, fields })
  } else {
    const [level, words] = isGone(failure) ? (['debug', GONE] as const) : (['error', BUG] as const)
    writeLine(context, { answer: failure, cache: 'none', level, words, fields: { err: error } })
  }
}

/** A reset is first seen in the lost address of the peer: the socket says that it is closed a moment later. */
function isGone({ request, response }: NotedAnswer): boolean {
  return response.destroyed || request.socket.destroyed || request.socket.remoteAddress === undefined
}

const GONE = 'an error after the visitor had closed the connection'
const BUG = 'an error without a code: a bug'

type Line = Readonly<{
  answer: NotedAnswer
  cache: string
  level: 'debug' | 'info' | 'warn' | 'error'
  words: string
  fields?: Readonly<Record<string, unknown>>
}>

/**
 * One line of bounded length: no query (people put secrets there), no address of a visitor. A flood of visits is no
 * flood of lines; how many were left out stands in the next one.
 */
function writeLine(context: Context, { answer, cache, level, words, fields }: Line): void {
  if (!context.logger.isLevelEnabled(level)) return
  const leftOut = context.lines[level === 'error' ? 'bugs' : 'answers'].take()
  if (leftOut === undefined) return
  const { surface, state, request, response } = answer
  const arrivedAtMs = Number(response.locals['arrivedAtMs'] ?? context.clock.nowMs())
  context.logger[level](
    {
      requestId: getRequestId(response),
      surface,
      state,
      cache,
      durationMs: context.clock.nowMs() - arrivedAtMs,
      path: request.originalUrl.split('?', 1)[0]?.slice(0, MAX_PATH_CHARACTERS),
      ...fields,
      ...(leftOut > 0 && { leftOut }),
    },
    words,
  )
}
