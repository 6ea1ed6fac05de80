import { once } from 'node:events'
import { Agent, type IncomingMessage, type RequestListener, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { TestResponse } from '../app/app-client.ts'

/** The server as its visitors see it, over connections that stay: ten thousand visits need no ten thousand servers. */
export type TestServer = Readonly<{
  port: number
  visit(path: string, headers?: Readonly<Record<string, string>>): Promise<TestResponse>
  /** Visits that have come and are not answered yet. */
  countWaiting(): number
  close(): Promise<void>
}>

/**
 * Connections at once; further visits wait for one of them. More than a listener's backlog (511) within one moment are
 * reset by the kernel when the machine is busy, which says nothing of the server.
 */
const MAX_CONNECTIONS = 256

/** Listens on a free port of loopback until `close`, or the end of the test. */
export async function startTestServer(app: RequestListener): Promise<TestServer> {
  let waitingCount = 0
  const server = createServer((request, response) => {
    waitingCount += 1
    response.once('close', () => {
      waitingCount -= 1
    })
    app(request, response)
  }).listen(0, '127.0.0.1')
  // On a busy machine a connection would else be closed in the moment in which it is used again.
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
