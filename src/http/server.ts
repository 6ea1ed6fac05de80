import type { RequestListener } from 'node:http'
import { type Clock, SECOND_MS } from '../clock.ts'
import { createGuardedServer } from './guarded-server.ts'
import { listen } from './listen.ts'
import { type Refusal, formatWidgetRefusal, sendRefusal } from './refusals.ts'

/** `Server` header of `/healthz`, by which `vitrine check` recognizes a running server. */
export const SERVER_NAME = 'vitrine'

/** Limit of all headers together. Includes forward the cookies of the host page. */
const MAX_HEADER_BYTES: number = 8 * 1024
/** Longer than proxies keep connections (nginx: 60 s), so that they never write to a closing one. */
const KEEP_ALIVE_MS: number = 65 * SECOND_MS
/** Limit for pending responses. The process must end within 10 s. */
const SHUTDOWN_TIMEOUT_MS: number = 8 * SECOND_MS

const EXPECTATION_FAILED: Refusal = {
  status: 417,
  message: 'This server supports no expectation other than "100-continue".',
}

export type HttpServer = Readonly<{
  host: string
  /** The port in use, also if a free one was requested with 0. */
  port: number
  /** Set the handler. Earlier requests have waited for it. */
  setHandler(listener: RequestListener): void
  isStopping(): boolean
  /** Accept requests for `drainMs` more, so that a load balancer sees `/readyz`. Then send pending responses and close. */
  stop(drainMs?: number): Promise<void>
}>

/** Listen now; requests wait for `setHandler`. @throws ListenError, or ConfigError when a restart cannot help. */
export async function listenHttp(host: string, port: number, clock: Clock): Promise<HttpServer> {
  const waitingRequests: (() => void)[] = []
  let handler: RequestListener | undefined
  let stopped: Promise<void> | undefined
  const guarded = createGuardedServer({
    options: { maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: KEEP_ALIVE_MS },
    handleRequest: (request, response) => {
      if (stopped !== undefined) response.setHeader('Connection', 'close')
      if (handler === undefined) waitingRequests.push(() => handler?.(request, response))
      else handler(request, response)
    },
    handleExpectation: (request, response) =>
      sendRefusal(request, response, { refusal: EXPECTATION_FAILED, format: formatWidgetRefusal }),
    formatRefusal: formatWidgetRefusal,
  })
  const assignedPort = await listen(guarded.server, host, port)
  const end = (): Promise<void> => guarded.end(clock, SHUTDOWN_TIMEOUT_MS)
  return {
    host,
    port: assignedPort,
    setHandler(listener) {
      handler = listener
      for (const run of waitingRequests.splice(0)) run()
    },
    isStopping: () => stopped !== undefined,
    stop: (drainMs = 0) => (stopped ??= drainMs === 0 ? end() : clock.wait(drainMs).then(end)),
  }
}
