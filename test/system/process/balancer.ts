import { once } from 'node:events'
import { Agent, type IncomingMessage, type ServerResponse, createServer, get, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** Interval of the readiness checks. */
const POLL_INTERVAL_MS = 50

/** A server behind the balancer. */
type Backend = { readonly port: number; isReady: boolean }

/** A minimal load balancer: it polls `/readyz`, keeps connections alive and never retries. */
export type Balancer = Readonly<{
  url: string
  isReady(port: number): boolean
  failures(): readonly string[]
}>

/** Start a load balancer for servers on this machine; it stops with the test. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true })
  const backends: Backend[] = ports.map((port) => ({ port, isReady: false }))
  const failures: string[] = []
  let nextIndex = 0
  const server = createServer((incoming, outgoing) => {
    const ready = backends.filter(({ isReady }) => isReady)
    const backend = ready[nextIndex++ % Math.max(1, ready.length)]
    if (backend === undefined) return recordFailure(outgoing, failures, 'no server is ready')
    forward(incoming, { agent, port: backend.port })
      .then(
        (response) => void response.pipe(outgoing.writeHead(response.statusCode ?? 500, response.headers)),
      )
      .catch((error: unknown) => recordFailure(outgoing, failures, String(error)))
  })
  const pollTimer = setInterval(() => {
    for (const backend of backends) void checkReadiness(backend)
  }, POLL_INTERVAL_MS)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    clearInterval(pollTimer)
    agent.destroy()
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isReady: (port) => backends.some((backend) => backend.port === port && backend.isReady),
    failures: () => failures,
  }
}

function recordFailure(outgoing: ServerResponse, failures: string[], reason: string): void {
  failures.push(reason)
  outgoing.writeHead(502).end()
}

function forward(
  incoming: IncomingMessage,
  to: Readonly<{ agent: Agent; port: number }>,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const path = incoming.url ?? '/'
    request({ ...to, host: '127.0.0.1', path }, resolve)
      .on('error', reject)
      .end()
  })
}

function checkReadiness(backend: Backend): Promise<void> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port: backend.port, path: '/readyz', agent: false }, (response) => {
      backend.isReady = response.statusCode === 200
      response.resume()
      resolve()
    }).on('error', () => {
      backend.isReady = false
      resolve()
    })
  })
}
