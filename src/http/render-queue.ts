import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { type Visitor, createFairQueue } from '../lib/fair-queue.ts'
import type { ResponseCache } from './response-cache.ts'
import type { BodyForm, WidgetBodies } from './widget-bodies.ts'

/** Two, so that one can be rendered while the other is compressed. Waiting ones hold their data: a grid of 60 deals has 100 kB. */
const RENDER_LIMITS = { parallelTasks: 2, maxWaiting: 512, maxWaitingPerVisitor: 384 }

/** Runs the work of responses that are not cached: rendering and compression. */
export type RenderQueue = Readonly<{
  /**
   * Run a task in the visitor's turn, unless the visitor is gone by then. Visitors who wait for the same key share it.
   * @throws UnavailableError if too many wait, or for too long.
   */
  run<T>(place: Visitor & Readonly<{ key?: string }>, task: () => T | Promise<T>): Promise<T>
}>

/** Create the queue of a process. `timeoutMs`: how long a visitor waits. */
export function createRenderQueue(clock: Clock, timeoutMs: number): RenderQueue {
  const queue = createFairQueue(clock, RENDER_LIMITS)
  return {
    run: (place, task) =>
      queue.run({ ...place, timeoutMs }, async () => {
        // Rendering holds the thread: cached responses and health checks are sent in between.
        await yieldToEventLoop()
        return task()
      }),
  }
}

/** Bodies by their digest. */
export type BodyStore = Pick<ResponseCache, 'findBodies' | 'setBodies'>

/** Bodies that are in the store or can be made. */
export type BodySource = Readonly<{ digest: string; makeBodies(): WidgetBodies }>

/**
 * Return the body that a client needs. What has yet to be rendered or compressed waits its turn: rendered once for all clients,
 * compressed once for each encoding. @throws UnavailableError
 */
export async function openBody(
  { queue, store }: Readonly<{ queue: RenderQueue; store: BodyStore }>,
  { digest, makeBodies }: BodySource,
  { visitor, ...form }: BodyForm & Readonly<{ visitor: Visitor }>,
): Promise<string> {
  const { sub, encoding } = form
  const getBodies = (): WidgetBodies => {
    const known = store.findBodies(digest)
    if (known !== undefined) return known
    const made = makeBodies()
    store.setBodies(digest, made)
    return made
  }
  const bodies = store.findBodies(digest) ?? (await queue.run({ ...visitor, key: digest }, getBodies))
  const make = async (): Promise<string> => {
    const body = await bodies.make(form)
    store.setBodies(digest, bodies)
    return body
  }
  return bodies.find(form) ?? queue.run({ ...visitor, key: `${digest} ${encoding} ${sub}` }, make)
}
