import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { type CatalogClientOptions, callThroughGate } from '../catalog/client.ts'
import * as errors from '../errors.ts'
import { unpackPage } from './page-pack.ts'
import type { PageSource, ReadPage } from './page-source.ts'
import type { FailureParts, PageAnswer, PageOrder } from './page-thread.ts'
import type { WalkOrder } from './walk-runner.ts'

/** Memory of the thread for what lives for a page only; in mebibytes. */
const LIMITS = { maxYoungGenerationSizeMb: 24 } as const

type Answered = Exclude<PageAnswer, Readonly<{ error: FailureParts }>>

/**
 * Fetches and reads in a thread of its own, a page at a time: while one page is written into the copy, which holds the thread
 * of the walk, the next one arrives, is parsed and shaped on another core. Calls pass the walk's own gate before.
 */
export function startPageSource(
  order: WalkOrder,
  gated: Pick<CatalogClientOptions, 'gate' | 'onCall'>,
): PageSource {
  const worker = new Worker(new URL('./page-thread.js', import.meta.url), {
    workerData: order,
    resourceLimits: LIMITS,
  })
  const ended = new AbortController()
  // Whoever waits for an answer learns of it.
  worker.on('error', () => ended.abort())
  worker.on('exit', () => ended.abort())
  const ask = async (asked: PageOrder): Promise<Answered & Readonly<{ isNotFound: boolean }>> => {
    worker.postMessage(asked)
    const answered = once(worker, 'message', { signal: ended.signal }).catch(() => {
      throw new errors.CatalogUnreachableError('the thread that fetches pages ended')
    })
    const [answer] = (await answered) as [PageAnswer]
    if ('error' in answer) throw toError(answer.error)
    return { ...answer, isNotFound: false }
  }
  return {
    fetch: (query, options) =>
      callThroughGate(gated, () => ask({ query, options }), {
        operation: 'products',
        purpose: 'walk',
        parse: toPage,
      }),
    async close() {
      await worker.terminate()
    },
  }
}

function toPage(answer: Answered): ReadPage {
  if ('invalid' in answer) throw new errors.CatalogInvalidError(answer.invalid)
  return unpackPage(answer.page)
}

/** The error again, in its class: gate and retries judge by it. */
function toError({ name, message, retryAfterMs, upstreamStatus }: FailureParts): errors.CatalogError {
  if (name === 'CatalogRateLimitedError') return new errors.CatalogRateLimitedError(message, retryAfterMs)
  if (name === 'CatalogStatusError') return new errors.CatalogStatusError(message, upstreamStatus)
  const PlainError = PLAIN_ERRORS[name] ?? errors.CatalogUnreachableError
  return new PlainError(message)
}

const PLAIN_ERRORS: Readonly<Record<string, new (message: string) => errors.CatalogError>> = {
  CatalogDeadlineError: errors.CatalogDeadlineError,
  CatalogKeyRefusedError: errors.CatalogKeyRefusedError,
  CatalogRedirectError: errors.CatalogRedirectError,
  CatalogTooLargeError: errors.CatalogTooLargeError,
  CatalogInvalidError: errors.CatalogInvalidError,
}
