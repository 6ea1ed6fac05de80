import { once } from 'node:events'
import { Agent, type IncomingMessage, type ServerResponse, get as httpGet } from 'node:http'
import { type Socket, connect } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { type HttpServer, listenHttp } from '../../src/http/server.ts'
import { type FakeClock, advanceUntilSettled, createFakeClock } from '../helpers/fake-clock.ts'

async function startServer(): Promise<{ server: HttpServer; clock: FakeClock; agent: Agent }> {
  const clock = createFakeClock(0)
  const server = await listenHttp('127.0.0.1', 0, clock)
  const agent = new Agent({ keepAlive: true })
  onTestFinished(async () => {
    agent.destroy()
    const stopped = server.stop()
    clock.advance(60 * SECOND_MS)
    await stopped
  })
  return { server, clock, agent }
}

async function get({ port }: HttpServer, agent: Agent): Promise<IncomingMessage & { text: string }> {
  const [response] = (await once(httpGet({ host: '127.0.0.1', port, agent }), 'response')) as [
    IncomingMessage,
  ]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return Object.assign(response, { text })
}

const respondOk = (_request: IncomingMessage, response: ServerResponse): void => void response.end('ok')

/** Advance the clock second by second and run due timers. */
async function passTime(clock: FakeClock, ms: number): Promise<void> {
  const untilMs = clock.nowMs() + ms
  await vi.waitFor(() => {
    clock.advance(SECOND_MS / 4)
    expect(clock.nowMs()).toBeGreaterThanOrEqual(untilMs)
  })
}

/** Wait until connections are refused: a child process that is just starting may still have the listening socket. */
async function expectToBeRefused(port: number): Promise<void> {
  await vi.waitFor(async () => {
    const socket = connect(port, '127.0.0.1')
    const outcome = await once(socket, 'connect').catch((error: unknown) => error)
    socket.destroy()
    expect(outcome).toMatchObject({ code: 'ECONNREFUSED' })
  })
}

/** More than the kernel buffers for a client that does not read. */
const LARGE = `${'x'.repeat(32 * 1024 * 1024)}!`
const LAST_BYTE = 0x21

/** Send a request and read nothing. Resolves when the response has ended and a part of it waits in the server. */
async function requestWithoutReading(
  server: HttpServer,
  give: (response: ServerResponse) => unknown,
): Promise<Readonly<{ readAll(): Promise<string> }>> {
  const given: ServerResponse[] = []
  server.setHandler((_request, response) => {
    given.push(response)
    give(response)
  })
  const socket = connect(server.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await vi.waitFor(() =>
    expect(given).toMatchObject([{ writableEnded: true, writableFinished: false, headersSent: true }]),
  )
  return {
    async readAll() {
      const chunks: Buffer[] = []
      await new Promise<void>((resolve) => {
        socket.once('close', resolve)
        socket.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          if (chunk.at(-1) === LAST_BYTE) resolve()
        })
      })
      const text = Buffer.concat(chunks).toString('latin1')
      return text.slice(text.indexOf('\r\n\r\n') + 4)
    },
  }
}

describe('listening', () => {
  it('port 0 - listens on a free port', async () => {
    const { server, agent } = await startServer()
    server.setHandler(respondOk)
    expect(server.port).toBeGreaterThan(0)
    expect((await get(server, agent)).text).toBe('ok')
  })

  it('address of another machine - ListenError', async () => {
    await expect(listenHttp('192.0.2.1', 0, createFakeClock(0))).rejects.toMatchObject({
      code: 'VITRINE_LISTEN_FAILED',
    })
  })

  it('requests before setHandler - wait for it', async () => {
    const { server, agent } = await startServer()
    const early = Promise.all([get(server, agent), get(server, agent), get(server, agent)])
    const late = vi.fn<typeof respondOk>(respondOk)
    const socket = connect(server.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.destroy()
    expect(late).not.toHaveBeenCalled()
    server.setHandler(late)
    expect((await early).map(({ text }) => text)).toEqual(['ok', 'ok', 'ok'])
    expect(late).toHaveBeenCalledTimes(3)
  })

  it('headers beyond 8 kB - 431; invalid HTTP - 400; the next request succeeds', async () => {
    const { server, agent } = await startServer()
    server.setHandler(respondOk)
    for (const [sent, status] of [
      [`GET / HTTP/1.1\r\nHost: x\r\nX-Much: ${'x'.repeat(9_000)}\r\n\r\n`, '431'],
      ['SSH-2.0-x\r\n\r\n', '400'],
    ]) {
      const socket = connect(server.port, '127.0.0.1')
      socket.write(sent ?? '')
      const [data] = (await once(socket, 'data')) as [Buffer]
      expect(data.toString()).toContain(` ${status} `)
      socket.destroy()
    }
    expect((await get(server, agent)).text).toBe('ok')
  })
})

describe('stopping', () => {
  it('no connection - stops at once, a second call has no effect, and the port is free again', async () => {
    const { server, clock } = await startServer()
    expect(server.isStopping()).toBe(false)
    const [first, second] = [server.stop(), server.stop()]
    expect(second).toBe(first)
    expect(server.isStopping()).toBe(true)
    await first
    const again = await listenHttp('127.0.0.1', server.port, clock)
    await again.stop()
    expect(clock.pendingWaits).toBe(0)
  })

  it('idle keep-alive connection - is closed and does not delay the stop', async () => {
    const { server, clock, agent } = await startServer()
    server.setHandler(respondOk)
    await get(server, agent)
    const [socket] = await vi.waitFor(() => {
      const [sockets = []] = Object.values(agent.freeSockets)
      expect(sockets).toHaveLength(1)
      return sockets as [Socket]
    })
    const closed = once(socket, 'close')
    await server.stop()
    await closed
    expect(clock.nowMs()).toBe(0)
  })

  it('preconnected socket of a browser - is closed within half a second', async () => {
    const { server, clock } = await startServer()
    server.setHandler(respondOk)
    const socket = connect(server.port, '127.0.0.1')
    await once(socket, 'connect')
    const closed = once(socket, 'close')
    await advanceUntilSettled(clock, server.stop())
    await closed
    expect(clock.nowMs()).toBeLessThanOrEqual(SECOND_MS)
  })

  it('connection with half a request - is closed within half a second', async () => {
    const { server, clock } = await startServer()
    server.setHandler(respondOk)
    const socket = connect(server.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nHost:')
    await once(socket, 'connect')
    const closed = once(socket, 'close')
    await advanceUntilSettled(clock, server.stop())
    await closed
    expect(clock.nowMs()).toBeLessThanOrEqual(SECOND_MS)
  })

  it('request on its way when the stop began - gets a response', async () => {
    const { server, clock } = await startServer()
    server.setHandler(respondOk)
    const socket = connect(server.port, '127.0.0.1')
    await once(socket, 'connect')
    const stopped = server.stop()
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    const [data] = (await once(socket, 'data')) as [Buffer]
    expect(data.toString()).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*ok$/)
    await advanceUntilSettled(clock, stopped)
  })

  it('pending response - completes, then its connection is closed', async () => {
    const { server, clock, agent } = await startServer()
    const pendingResponses: ServerResponse[] = []
    server.setHandler((_request, response) => {
      response.write('first ')
      pendingResponses.push(response)
    })
    const pending = get(server, agent)
    await vi.waitFor(() => expect(pendingResponses).toHaveLength(1))
    const stopped = server.stop()
    await expectToBeRefused(server.port)
    pendingResponses[0]?.end('last')
    expect((await pending).text).toBe('first last')
    await advanceUntilSettled(clock, stopped)
    expect(clock.nowMs()).toBeLessThan(2 * SECOND_MS)
  })

  it('request on an open connection while stopping - response has Connection: close', async () => {
    const { server, clock } = await startServer()
    const pendingResponses: ServerResponse[] = []
    server.setHandler((request, response) => {
      if (request.url === '/slow') pendingResponses.push(response)
      else response.end('ok')
    })
    const socket = connect(server.port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => (text += chunk.toString()))
    socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
    await vi.waitFor(() => expect(pendingResponses).toHaveLength(1))
    const stopped = server.stop()
    socket.write('GET /fast HTTP/1.1\r\nHost: x\r\n\r\n')
    const closed = once(socket, 'close')
    await vi.waitFor(() => {
      pendingResponses[0]?.end('slow')
      expect(text).toContain('ok')
    })
    expect(text).toMatch(/Connection: close\r\n[^]*ok$/)
    await closed
    await advanceUntilSettled(clock, stopped)
  })

  it.each([
    ['at once, like cached responses', (response: ServerResponse) => response.end(LARGE)],
    ['after a while', (response: ServerResponse) => setImmediate(() => response.end(LARGE))],
  ])('response sent %s to a slow reader - arrives complete', async (_when, give) => {
    const { server, clock } = await startServer()
    const reader = await requestWithoutReading(server, give)
    const stopped = server.stop()
    await expectToBeRefused(server.port)
    await passTime(clock, 3 * SECOND_MS)
    expect((await reader.readAll()).length).toBe(LARGE.length)
    await advanceUntilSettled(clock, stopped)
    expect(clock.nowMs()).toBeLessThan(8 * SECOND_MS)
  })

  it('slow reader of a large response - keeps no idle connection open beyond half a second', async () => {
    const { server, clock, agent } = await startServer()
    const reader = await requestWithoutReading(server, (response) => response.end(LARGE))
    server.setHandler(respondOk)
    await get(server, agent)
    const [socket] = await vi.waitFor(() => Object.values(agent.freeSockets)[0] as [Socket])
    const closed = once(socket, 'close')
    const stopped = server.stop()
    await advanceUntilSettled(clock, closed)
    expect(clock.nowMs()).toBeLessThanOrEqual(SECOND_MS)
    void reader.readAll()
    await advanceUntilSettled(clock, stopped)
  })

  it('client that never reads a large response - is cut off after eight seconds', async () => {
    const { server, clock } = await startServer()
    await requestWithoutReading(server, (response) => response.end(LARGE))
    await advanceUntilSettled(clock, server.stop(), SECOND_MS)
    expect(clock.nowMs()).toBeGreaterThanOrEqual(8 * SECOND_MS)
    expect(clock.nowMs()).toBeLessThan(10 * SECOND_MS)
  })

  it('response that never ends - is cut off after eight seconds', async () => {
    const { server, clock, agent } = await startServer()
    const pendingResponses: ServerResponse[] = []
    server.setHandler((_request, response) => {
      response.write('x')
      pendingResponses.push(response)
    })
    const cut = get(server, agent).catch((error: unknown) => (error as { code?: unknown }).code)
    await vi.waitFor(() => expect(pendingResponses).toHaveLength(1))
    const stopped = server.stop()
    await advanceUntilSettled(clock, stopped, SECOND_MS)
    expect(await cut).toBe('ECONNRESET')
    expect(clock.nowMs()).toBeGreaterThanOrEqual(8 * SECOND_MS)
    expect(clock.nowMs()).toBeLessThan(10 * SECOND_MS)
  })
})
