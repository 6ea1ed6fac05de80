import { once } from 'node:events'
import { Agent, type IncomingMessage, type ServerResponse, createServer, get, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** How often the balancer asks its servers whether they are ready. */
const LOOK_MS = 50

/** A server behind the balancer. */
type Backend = { readonly port: number; isReady: boolean }

/** A balancer as simple as they come: it asks `/readyz`, keeps connections alive, and tries nothing twice. */
export type Balancer = Readonly<{ url: string; isReady(port: number): boolean; lost(): readonly string[] }>

/** Starts a balancer in front of servers on this machine; it ends with the test. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true })
  const backends: Backend[] = ports.map((port) => ({ port, isReady: false }))
  const lost: string[] = []
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    const ready = backends.filter(({ isReady }) => isReady)
    const backend = ready[turn++ % Math.max(1, ready.length)]
    if (backend === undefined) return lose(outgoing, lost, 'nobody is ready')
    forward(incoming, { agent, port: backend.port })
      .then((answer) => void answer.pipe(outgoing.writeHead(answer.statusCode ?? 500, answer.headers)))
      .catch((error: unknown) => lose(outgoing, lost, String(error)))
  })
  const looking = setInterval(() => {
    for (const backend of backends) void look(backend)
  }, LOOK_MS)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    clearInterval(looking)
    agent.destroy()
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    isReady: (port) => backends.some((backend) => backend.port === port && backend.isReady),
    lost: () => lost,
  }
}

function lose(outgoing: ServerResponse, lost: string[], reason: string): void {
  lost.push(reason)
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

function look(backend: Backend): Promise<void> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port: backend.port, path: '/readyz', agent: false }, (answer) => {
      backend.isReady = answer.statusCode === 200
      answer.resume()
      resolve()
    }).on('error', () => {
      backend.isReady = false
      resolve()
    })
  })
}
