import { type MessagePort, parentPort } from 'node:worker_threads'
import { SECOND_MS } from '../clock.ts'
import { StoreError } from '../errors.ts'
import { createSerialQueue } from './concurrency.ts'
import { type SerializedError, type Thread, deserializeError, openThread, serializeError } from './thread.ts'

/** A thread that runs one request at a time, in order. The first one starts it, also after it crashed. */
export type RequestThread = Readonly<{
  /**
   * Send a request and wait for its result. It keeps the process alive.
   * @throws the VitrineError of the thread; StoreError after `close`; AbortError when the thread crashed
   */
  request(request: unknown): Promise<unknown>
  /** End the thread after its pending requests, but do not wait for long. */
  close(): Promise<void>
}>

/** A request in an object, so that no request is taken for the end. */
type Message = Readonly<{ request: unknown }> | 'close'

type Response = Readonly<{ value: unknown }> | Readonly<{ error: SerializedError }>

/** How long a closing thread may take to finish its request before it is terminated. */
const CLOSE_TIMEOUT_MS: number = 2 * SECOND_MS

/** Create a thread for requests, which `file` in `dist/` serves with `serveRequests`. `data`: of the thread. */
export function createRequestThread(file: string, data: unknown): RequestThread {
  const queue = createSerialQueue()
  let running: Thread | undefined
  let isClosed = false
  const start = (): Thread => {
    const thread = openThread(file, { data })
    thread.ended.addEventListener('abort', () => (running = undefined))
    return thread
  }
  const run = async (message: Message): Promise<unknown> => {
    // It may have crashed since.
    const thread = (running ??= start())
    thread.ref()
    thread.send(message)
    try {
      const response = (await thread.receive()) as Response
      if ('value' in response) return response.value
      throw deserializeError(response.error)
    } finally {
      thread.unref()
    }
  }
  return {
    async request(request) {
      if (isClosed) throw new StoreError('the stored copy is closed')
      return queue.run(() => run({ request }))
    },
    async close() {
      isClosed = true
      const thread = running
      if (thread === undefined) return
      void queue.run(async () => running?.send('close' satisfies Message))
      await thread.waitForEnd(CLOSE_TIMEOUT_MS)
    },
  }
}

/** In a thread of `createRequestThread`: run its requests with `handle`. `close`: release what they use. */
export function serveRequests(
  handle: (request: unknown) => Promise<unknown>,
  close: () => Promise<void>,
): void {
  const port = parentPort as MessagePort
  const respond = async (message: Message): Promise<void> => {
    if (message === 'close') {
      await close()
      return port.close()
    }
    const response: Response = await handle(message.request).then(
      (value) => ({ value }),
      (error: unknown) => ({ error: serializeError(error) }),
    )
    port.postMessage(response)
  }
  port.on('message', (message: Message) => void respond(message))
}
