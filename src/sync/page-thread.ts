import { parentPort, workerData } from 'node:worker_threads'
import { type CatalogClient, type ProductPageQuery, createCatalogClient } from '../catalog/client.ts'
import { createFixedKey } from '../catalog/key-source.ts'
import { systemClock } from '../clock.ts'
import { Secret } from '../config/secrets.ts'
import { CatalogInvalidError, WalkError } from '../errors.ts'
import { lowerThreadPriority } from '../lib/thread-priority.ts'
import { type PackedPage, packPage } from './page-pack.ts'
import { type ReadOptions, findBug, readPage } from './page-source.ts'
import type { WalkOrder } from './walk-runner.ts'

/** Body of the thread that fetches and reads pages for a walk: a numbered order in, a page or why there is none out. */
export type PageOrder = Readonly<{ query: ProductPageQuery; options: ReadOptions }>

/** An answer with the number of its order. */
export type PageReply = Readonly<{ id: number; answer: PageAnswer }>

/**
 * What the thread answers. `invalid`: an answer came and was no page. `bug`: it could not be read, by a fault of this server.
 * `error`: the call failed; what it threw, in parts.
 */
export type PageAnswer =
  | Readonly<{ page: PackedPage; asOfMs: number }>
  | Readonly<{ invalid: string; asOfMs: number }>
  | Readonly<{ bug: string; asOfMs: number }>
  | Readonly<{ error: FailureParts }>

/** An error of the catalog in values that travel; the last two where its class has them. */
export type FailureParts = Readonly<{
  name: string
  message: string
  retryAfterMs: number | null
  upstreamStatus: number
}>

const order = workerData as WalkOrder
const client: CatalogClient = createCatalogClient({
  ...order,
  key: createFixedKey(new Secret(order.key)),
  clock: systemClock,
  // The walk's own thread has passed the gate.
  gate: { pass: (_purpose, call) => call() },
})

const answer = async ({ query, options }: PageOrder): Promise<PageAnswer> => {
  try {
    const { value, asOfMs } = await client.fetchPageWith(query, (bytes) =>
      Promise.resolve(read(bytes, options)),
    )
    return { ...value, asOfMs }
  } catch (error) {
    return { error: toParts(error) }
  }
}

type Reading = Readonly<{ page: PackedPage }> | Readonly<{ invalid: string }> | Readonly<{ bug: string }>

function read(bytes: Uint8Array, options: ReadOptions): Reading {
  try {
    const page = findBug(() => packPage(readPage(bytes, order, options)))
    return page instanceof WalkError ? { bug: page.message } : { page }
  } catch (error) {
    if (!(error instanceof CatalogInvalidError)) throw error
    return { invalid: error.message }
  }
}

function toParts(error: unknown): FailureParts {
  const { name, message } = error as Error
  const { retryAfterMs = null, upstreamStatus = 0 } = error as Partial<FailureParts>
  return { name, message, retryAfterMs, upstreamStatus }
}

const reply = async ({ id, ...asked }: PageOrder & Readonly<{ id: number }>): Promise<void> => {
  const told: PageReply = { id, answer: await answer(asked) }
  parentPort?.postMessage(told)
}

lowerThreadPriority()
parentPort?.on('message', (asked: PageOrder & Readonly<{ id: number }>) => void reply(asked))
