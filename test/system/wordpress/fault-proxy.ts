import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

/** How the proxy responds: like the server behind it, with a fault, or with a given body. */
export type FaultMode =
  | 'pass'
  | 'failing'
  | 'hanging'
  | 'reset'
  | 'cut'
  | 'stalled'
  | 'redirect'
  | 'gzip'
  | 'huge'
  | 'text'
  | 'limited'
  | Readonly<{
      body: string | Buffer
      status?: number
      caching?: string
      headers?: Readonly<Record<string, string>>
      /** Delay before the response. */
      afterMs?: number
    }>

/** A proxy between WordPress and a real server that injects faults and records requests. */
export type FaultProxy = Readonly<{
  origin: string
  setMode(mode: FaultMode): void
  /** Return and clear the requested paths, with their queries. */
  takeCalls(): string[]
  countHanging(): number
  /** Respond to the hanging requests. */
  releaseHanging(): void
  /** Refuse connections until `up`. */
  down(): Promise<void>
  up(): Promise<void>
  close(): Promise<void>
}>

/** The server's response when the catalog fails and it has no copy. */
export const UNAVAILABLE: FaultMode = { body: '', caching: 'no-store' }

/** Start the proxy; it removes the path `prefix`, like a reverse proxy. */
export async function startFaultProxy(target: string, prefix = ''): Promise<FaultProxy> {
  let mode: FaultMode = 'pass'
  let calls: string[] = []
  const hanging = new Set<() => void>()
  const server = createServer((request, response) => {
    const path = request.url ?? '/'
    calls.push(path)
    const pass = (): void => void forward(target + path.slice(prefix.length), response)
    if (!path.startsWith(prefix)) response.writeHead(404).end()
    else if (mode === 'pass') pass()
    else if (mode === 'hanging') hanging.add(pass)
    else respondFaulty(mode, { request, response, pass: target + path })
  })
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  const port = await listen(0)
  return {
    origin: `http://127.0.0.1:${port}${prefix}`,
    setMode(next) {
      mode = next
      hanging.clear()
    },
    takeCalls() {
      const recordedCalls = calls
      calls = []
      return recordedCalls
    },
    countHanging: () => hanging.size,
    releaseHanging() {
      for (const go of hanging) go()
      hanging.clear()
    },
    down: close,
    up: async () => void (await listen(port)),
    close: async () => (server.listening ? close() : undefined),
  }
}

async function forward(url: string, response: ServerResponse): Promise<void> {
  const seen = await fetch(url, { redirect: 'manual' })
  const body = Buffer.from(await seen.arrayBuffer())
  seen.headers.forEach((value, name) => {
    if (!['connection', 'keep-alive', 'transfer-encoding', 'content-encoding'].includes(name))
      response.setHeader(name, value)
  })
  response.writeHead(seen.status, { 'content-length': body.length }).end(body)
}

type FaultyExchange = Readonly<{ request: IncomingMessage; response: ServerResponse; pass: string }>

const HTML = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'public, max-age=300' }
const ERROR_PAGE = '<h1>Internal error</h1> at /srv/app.js'

async function respondWith(mode: Exclude<FaultMode, string>, response: ServerResponse): Promise<void> {
  if (mode.afterMs !== undefined) await wait(mode.afterMs)
  const caching = mode.caching ?? HTML['cache-control']
  response
    .writeHead(mode.status ?? 200, {
      ...HTML,
      'content-length': Buffer.byteLength(mode.body),
      'cache-control': caching,
      ...mode.headers,
    })
    .end(mode.body)
}

function respondFaulty(
  mode: Exclude<FaultMode, 'pass' | 'hanging'>,
  { request, response, pass }: FaultyExchange,
): void {
  if (typeof mode === 'object') {
    void respondWith(mode, response)
    return
  }
  const responses: Record<typeof mode, () => void> = {
    failing: () => void response.writeHead(500, HTML).end(ERROR_PAGE),
    limited: () => void response.writeHead(429, HTML).end(ERROR_PAGE),
    reset: () => void request.socket.resetAndDestroy(),
    cut: () => {
      response.writeHead(200, { ...HTML, 'content-length': '9000' })
      response.write('<p>the first half', () => request.socket.destroy())
    },
    stalled: () => void response.writeHead(200, HTML).write('<p>the first half'),
    redirect: () => void response.writeHead(302, { location: pass }).end(),
    gzip: () =>
      void response
        .writeHead(200, { ...HTML, 'content-encoding': 'gzip' })
        .end(gzipSync('<p>Packed – 9,99 €</p>')),
    huge: () => void response.writeHead(200, HTML).end(`<p>${'large '.repeat(200_000)}</p>`),
    text: () => void response.writeHead(200, HTML).end('It works!'),
  }
  responses[mode]()
}
