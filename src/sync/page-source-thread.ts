import { Worker } from 'node:worker_threads'
import { describeBug } from '../lib/bugs.ts'
import { type CatalogClientOptions, callThroughGate } from '../catalog/client.ts'
import * as errors from '../errors.ts'
import { unpackPage } from './page-pack.ts'
import { type PageSource, type ReadPage, findBug, toPageAnswer } from './page-source.ts'
import type { FailureParts, PageAnswer, PageOrder, PageReply } from './page-thread.ts'
import type { WalkOrder } from './walk-runner.ts'
import { createStopped } from './walk-retries.ts'

/** Memory of the thread for what lives for a page only; in mebibytes. */
const LIMITS = { maxYoungGenerationSizeMb: 24 } as const

/**
 * Fetches and reads in a thread of its own, a page at a time: while one page is written into the copy, which holds the thread
 * of the walk, the next one arrives, is parsed and shaped on another core. Calls pass the walk's own gate before.
 */
export function startPageSource(
  order: WalkOrder,
  gated: Pick<CatalogClientOptions, 'gate' | 'onCall'>,
): PageSource {
  const thread = startPageThread(order)
  const ask = async (asked: PageOrder): Promise<Answered & Readonly<{ isNotFound: boolean }>> => {
    const answer = await thread.ask(asked)
    if ('error' in answer) throw toError(answer.error)
    return { ...answer, isNotFound: false }
  }
  return {
    async fetch(query, options) {
      // A call that nobody makes passes no gate, and counts nowhere.
      thread.mustLive()
      try {
        const call = { operation: 'products', purpose: 'walk', read: toPage } as const
        return toPageAnswer(await callThroughGate(gated, () => ask({ query, options }), call))
      } catch (error) {
        throw toOwnFault(error) ?? error
      }
    },
    close: thread.close,
  }
}

type Answered = Exclude<PageAnswer, Readonly<{ error: FailureParts }>>

type PageThread = Readonly<{
  /** @throws CallNotMadeError whose cause says how the thread ended. */
  ask(asked: PageOrder): Promise<PageAnswer>
  /** @throws WalkError that says how the thread ended. */
  mustLive(): void
  close(): Promise<void>
}>

type Waiter = Readonly<{ resolve(answer: PageAnswer): void; reject(error: errors.CallNotMadeError): void }>

/** Orders are numbered: an answer goes to the one who gave its order, also when nobody waits for the one before any more. */
function startPageThread(order: WalkOrder): PageThread {
  const worker = new Worker(new URL('./page-thread.js', import.meta.url), {
    workerData: order,
    resourceLimits: LIMITS,
  })
  const waiting = new Map<number, Waiter>()
  let lastId = 0
  let end: errors.WalkError | undefined
  const noteEnd = (how: errors.WalkError): void => {
    end ??= how
    for (const { reject } of waiting.values()) reject(hideFault(end))
    waiting.clear()
  }
  worker.on('message', ({ id, answer }: PageReply) => {
    waiting.get(id)?.resolve(answer)
    waiting.delete(id)
  })
  worker.on('error', (error) => noteEnd(createEnded(describeBug(error))))
  worker.on('exit', (code) => noteEnd(createEnded(`exit code ${code}`)))
  return {
    ask: (asked) =>
      new Promise((resolve, reject) => {
        if (end !== undefined) return reject(hideFault(end))
        const id = (lastId += 1)
        waiting.set(id, { resolve, reject })
        worker.postMessage({ ...asked, id })
      }),
    mustLive() {
      if (end !== undefined) throw end
    },
    async close() {
      noteEnd(createStopped())
      await worker.terminate()
    },
  }
}

function createEnded(how: string): errors.WalkError {
  return new errors.WalkError(`the thread that fetches pages ended: ${how}`)
}

/** A fault of ours on its way through the gate, which takes whatever it does not know for an unreachable catalog. */
function hideFault(fault: errors.WalkError): errors.CallNotMadeError {
  return new errors.CallNotMadeError(fault.message, { cause: fault })
}

function toOwnFault(error: unknown): errors.WalkError | undefined {
  return error instanceof errors.CallNotMadeError && error.cause instanceof errors.WalkError
    ? error.cause
    : undefined
}

function toPage(answer: Answered): ReadPage | errors.WalkError {
  if ('invalid' in answer) throw new errors.CatalogInvalidError(answer.invalid)
  return 'bug' in answer ? new errors.WalkError(answer.bug) : findBug(() => unpackPage(answer.page))
}

/** The error again, in its class: gate and retries judge by it. */
function toError({ name, message, retryAfterMs, upstreamStatus }: FailureParts): errors.CatalogError {
  if (name === 'CatalogRateLimitedError') return new errors.CatalogRateLimitedError(message, retryAfterMs)
  if (name === 'CatalogStatusError') return new errors.CatalogStatusError(message, upstreamStatus)
  const PlainError = PLAIN_ERRORS[name]
  return PlainError === undefined
    ? hideFault(new errors.WalkError(`the thread that fetches pages failed: ${describeBug({ name })}`))
    : new PlainError(message)
}

const PLAIN_ERRORS: Readonly<Record<string, new (message: string) => errors.CatalogError>> = {
  CatalogUnreachableError: errors.CatalogUnreachableError,
  CatalogDeadlineError: errors.CatalogDeadlineError,
  CatalogKeyRefusedError: errors.CatalogKeyRefusedError,
  CatalogRedirectError: errors.CatalogRedirectError,
  CatalogTooLargeError: errors.CatalogTooLargeError,
  CatalogInvalidError: errors.CatalogInvalidError,
}
