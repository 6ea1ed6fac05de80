import { once } from 'node:events'
import { Agent, type IncomingMessage, type RequestListener, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { TestResponse } from '../app/app-client.ts'

/** The server over HTTP with keep-alive connections, so that ten thousand visits share one server. */
export type TestServer = Readonly<{
  port: number
  visit(path: string, headers?: Readonly<Record<string, string>>): Promise<TestResponse>
  /** Number of requests without a complete response. */
  countWaiting(): number
  close(): Promise<void>
}>

/**
 * Simultaneous connections; further visits wait. On a busy machine the kernel resets connections beyond the listener's
 * backlog (511), which is not an error of the server.
 */
const MAX_CONNECTIONS = 256

/** Listen on a free loopback port until `close` or the end of the test. */
export async function startTestServer(app: RequestListener): Promise<TestServer> {
  let waitingCount = 0
  const server = createServer((request, response) => {
    waitingCount += 1
    response.once('close', () => {
      waitingCount -= 1
    })
    app(request, response)
  }).listen(0, '127.0.0.1')
  // Otherwise, on a busy machine, the server may close an idle connection just as the client reuses it.
  server.keepAliveTimeout = 0
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS, maxFreeSockets: MAX_CONNECTIONS })
  let isClosed = false
  const testServer: TestServer = {
    port,
    async visit(path, headers = {}) {
      const request = get({ host: '127.0.0.1', port, path, agent, headers })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      const chunks = (await response.toArray()) as Buffer[]
      const body = Buffer.concat(chunks)
      return {
        status: response.statusCode ?? 0,
        headers: response.headers as TestResponse['headers'],
        body,
        text: body.toString('utf8'),
      }
    },
    countWaiting: () => waitingCount,
    async close() {
      if (isClosed) return
      isClosed = true
      agent.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  onTestFinished(testServer.close)
  return testServer
}
