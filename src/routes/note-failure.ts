import type { Context } from '../context.ts'
import { VitrineError } from '../errors.ts'

/** A failed answer, as it is counted and logged. `path` has no query: people put secrets there. */
export type Failure = Readonly<{ error: unknown; surface: string; state: string; path: string }>

/** Counts a failure; what has no code of ours is a bug and is logged with its stack. */
export function noteFailure(context: Context, failure: Failure): void {
  const { error, surface, state, path } = failure
  context.metrics.countAnswer({ surface, state, cache: 'none' })
  if (error instanceof VitrineError) context.logger.debug({ code: error.code, surface, path }, error.message)
  else context.logger.error({ err: error, surface, path }, 'an error without a code: a bug')
}
