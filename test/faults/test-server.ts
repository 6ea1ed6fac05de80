import { once } from 'node:events'
import { Agent, type IncomingMessage, type RequestListener, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { TestResponse } from '../app/app-client.ts'

/** A real listener with keep-alive connections, so that thousands of visits share one server. */
export type TestServer = Readonly<{
  port: number
  visit(path: string, headers?: Readonly<Record<string, string>>): Promise<TestResponse>
  /** Number of pending requests. */
  countWaiting(): number
  close(): Promise<void>
}>

/**
 * Concurrent connections; further visits wait for one of them. A busy kernel resets connections beyond the backlog
 * of a listener (511), which is not a fault of the server.
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
  // On a busy machine, a connection could otherwise be closed at the moment of its next use.
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
