import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Clock, SECOND_MS } from '../clock.ts'
import { UsageError } from '../errors.ts'
import { createGuardedServer } from './guarded-server.ts'
import { type Refusal, formatWidgetRefusal, sendRefusal } from './refusals.ts'

/** `Server` header of `/healthz`: `vitrine check` recognises a running server by it. */
export const SERVER_NAME = 'vitrine'

/** Connections that may wait to be taken: beyond Node's own 511, a moment's rush is reset. The kernel has a limit, too. */
const BACKLOG = 4_096
/** Headers of a request, all together; visitors' cookies of a host page come along through includes. */
const MAX_HEADER_BYTES: number = 8 * 1024
/** Longer than the proxies' own (nginx keeps a connection for 60 s), so that they never write into a closing one. */
const KEEP_ALIVE_MS: number = 65 * SECOND_MS
/** Answers under way may end within this; then their connections are cut. The process may take 10 s in all. */
const SHUTDOWN_TIMEOUT_MS: number = 8 * SECOND_MS

const EXPECTATION_FAILED: Refusal = {
  status: 417,
  message: 'This server meets no expectation but "100-continue".',
}

/** The listening server of a process. */
export type HttpServer = Readonly<{
  host: string
  /** The port that was taken; with 0 asked for, the free one that was found. */
  port: number
  /** From now on requests go there; those that came before have waited. */
  setHandler(listener: RequestListener): void
  /** From the first call of `stop` on: what `/readyz` tells. */
  isStopping(): boolean
  /**
   * For `drainMs` still answers whoever comes, so that a balancer can see that this server is stopping; then takes no new
   * connection, lets answers under way end, and closes the rest. Twice is once.
   */
  stop(drainMs?: number): Promise<void>
}>

/**
 * Listens at once, so that the port is known, and answers when `answerWith` was called.
 * @throws UsageError when the address cannot be listened on.
 */
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
  const { server } = guarded
  await listen(server, host, port)
  const end = (): Promise<void> => guarded.end(clock, SHUTDOWN_TIMEOUT_MS)
  return {
    host,
    port: (server.address() as AddressInfo).port,
    setHandler(listener) {
      handler = listener
      for (const run of waitingRequests.splice(0)) run()
    },
    isStopping: () => stopped !== undefined,
    stop: (drainMs = 0) => (stopped ??= drainMs === 0 ? end() : clock.wait(drainMs).then(end)),
  }
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    server.listen({ port, host, backlog: BACKLOG })
    await once(server, 'listening')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason'
    const reason =
      code === 'EADDRINUSE'
        ? 'the port is in use; stop the program that uses it, or set VITRINE_PORT to a free port'
        : code
    throw new UsageError(`cannot listen on ${host}, port ${port}: ${reason}`)
  }
}
