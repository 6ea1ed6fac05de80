import { once } from 'node:events'
import {
  Agent,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  get as httpGet,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Socket, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { createGuardedServer } from '../../src/http/guarded-server.ts'
import { formatWidgetRefusal, sendRefusal } from '../../src/http/refusals.ts'

/** More than the kernel buffers for a client that does not read. */
const LARGE: Buffer = Buffer.alloc(64 * 1024 * 1024, 'x')
const REQUEST = 'GET /fragments/a HTTP/1.1\r\nHost: x\r\n\r\n'
const KEEP_ALIVE_MS: number = 65 * SECOND_MS

/** Start a guarded server and return its port. */
async function startGuarded(handler: RequestListener, stallTimeoutMs?: number): Promise<number> {
  const refusal = { status: 417, message: 'Expectation failed.' }
  const { server } = createGuardedServer({
    options: { maxHeaderSize: 8_192, keepAliveTimeout: KEEP_ALIVE_MS },
    handleRequest: handler,
    handleExpectation: (request, response) =>
      sendRefusal(request, response, { refusal, format: formatWidgetRefusal }),
    formatRefusal: formatWidgetRefusal,
    ...(stallTimeoutMs !== undefined && { stallTimeoutMs }),
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  return socket
}

/** Send a text and return everything that arrives until the server closes the connection. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = open(port)
  let received = ''
  socket.setEncoding('latin1').on('data', (chunk) => (received += String(chunk)))
  socket.write(text)
  await once(socket, 'close')
  return received
}

const respondOk: RequestListener = (_request, response) => void response.end('ok')
const countResponses = (text: string): number => text.match(/HTTP\/1\.1 \d/g)?.length ?? 0

describe('pipelined requests', () => {
  test('64 requests - are handled one after the other, and all get a response', async () => {
    const pending: ServerResponse[] = []
    const port = await startGuarded((_request, response) => void pending.push(response))
    const socket = open(port)
    let received = ''
    socket.on('data', (chunk) => (received += chunk.toString('latin1')))
    socket.write(REQUEST.repeat(64))
    for (let count = 1; count <= 64; count += 1) {
      await vi.waitFor(() => expect(pending).toHaveLength(count))
      pending.at(-1)?.end('ok')
    }
    await vi.waitFor(() => expect(countResponses(received)).toBe(64))
    socket.write(REQUEST)
    await vi.waitFor(() => expect(pending).toHaveLength(65))
  })

  test('65 pending requests end the connection, and other connections are served', async () => {
    const handler = vi.fn<RequestListener>()
    const port = await startGuarded(handler)
    expect(await exchange(port, REQUEST.repeat(700))).toBe('')
    expect(handler).toHaveBeenCalledTimes(1)
    handler.mockImplementation(respondOk)
    expect(await exchange(port, `${REQUEST.slice(0, -2)}Connection: close\r\n\r\n`)).toMatch(/ok$/)
  })

  test('client that leaves - its waiting requests are not handled', async () => {
    const handler = vi.fn<RequestListener>()
    const port = await startGuarded(handler)
    const socket = open(port)
    socket.write(REQUEST.repeat(64))
    await vi.waitFor(() => expect(handler).toHaveBeenCalledTimes(1))
    const [request, response] = handler.mock.calls[0] ?? []
    socket.destroy()
    await vi.waitFor(() => expect(request?.socket.destroyed).toBe(true))
    response?.end('too late')
    handler.mockImplementation(respondOk)
    expect(await exchange(port, `${REQUEST.slice(0, -2)}Connection: close\r\n\r\n`)).toMatch(/ok$/)
    expect(handler).toHaveBeenCalledTimes(2)
  })

  test('many connections with waiting requests - those over the common limit are ended, others are served', async () => {
    const handler = vi.fn<RequestListener>()
    const port = await startGuarded(handler)
    const sockets = Array.from({ length: 70 }, () => open(port))
    const closed = vi.fn<() => void>()
    for (const socket of sockets) socket.on('close', closed).write(REQUEST.repeat(64))
    // 65 connections with 63 waiting requests each fill the limit of 4,096.
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(5))
    handler.mockImplementation(respondOk)
    expect(await exchange(port, `${REQUEST.slice(0, -2)}Connection: close\r\n\r\n`)).toMatch(/ok$/)
    for (const socket of sockets) socket.destroy()
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(70))
    // The server notices the closed connections a little later.
    const requests = `${REQUEST.repeat(63)}${REQUEST.slice(0, -2)}Connection: close\r\n\r\n`
    await vi.waitFor(async () => expect(countResponses(await exchange(port, requests))).toBe(64))
  })

  test('requests with a response count until the client reads it', async () => {
    const handler = vi.fn<RequestListener>((_request, response) => void response.end(LARGE))
    const port = await startGuarded(handler)
    const socket = open(port)
    socket.pause()
    socket.write(REQUEST.repeat(700))
    await once(socket.resume(), 'close')
    expect(handler.mock.calls.length).toBeLessThanOrEqual(64)
  })

  test('many requests on one connection are served while the client reads', async () => {
    const port = await startGuarded(respondOk)
    const socket = open(port)
    let received = ''
    socket.on('data', (chunk) => (received += chunk.toString('latin1')))
    for (let round = 1; round <= 20; round += 1) {
      socket.write(REQUEST.repeat(60))
      await vi.waitFor(() => expect(countResponses(received)).toBe(60 * round))
    }
  })
})

describe('stalled connections', () => {
  test('a client that stops reading is cut off', async () => {
    const closed = vi.fn<() => void>()
    const port = await startGuarded((request, response) => {
      request.socket.once('close', closed)
      response.end(LARGE)
    }, SECOND_MS / 5)
    const socket = open(port)
    socket.pause()
    socket.write(REQUEST)
    await vi.waitFor(() => expect(closed).toHaveBeenCalled())
  })

  test('a request without a response is cut off', async () => {
    const port = await startGuarded(() => {}, SECOND_MS / 5)
    expect(await exchange(port, REQUEST)).toBe('')
  })

  test('a client that reads slowly, for longer than the timeout, gets everything', async () => {
    const timeoutMs = 3 * SECOND_MS
    const port = await startGuarded((_request, response) => void response.end(LARGE), timeoutMs)
    const startedAtMs = performance.now()
    const socket = open(port)
    socket.write(REQUEST)
    let bytes = 0
    let sinceRest = 0
    for await (const chunk of socket) {
      bytes += (chunk as Buffer).length
      sinceRest += (chunk as Buffer).length
      if (bytes > LARGE.length) break
      if (sinceRest < LARGE.length / 64) continue
      sinceRest = 0
      await sleep(60)
    }
    expect(performance.now() - startedAtMs).toBeGreaterThan(timeoutMs)
    expect(bytes).toBeGreaterThan(LARGE.length)
  })

  test('an idle connection between requests stays open longer', async () => {
    const port = await startGuarded(respondOk, SECOND_MS)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    const get = async (): Promise<boolean> => {
      const request = httpGet({ host: '127.0.0.1', port, agent })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      await response.resume().toArray()
      return request.reusedSocket
    }
    await get()
    await sleep(2 * SECOND_MS)
    expect(await get()).toBe(true)
  })
})

describe('requests that are rejected before routing', () => {
  const COMMENT = /^<!-- Vitrine: [^]* -->$/
  const LINE = /^[A-Z][^<]*\.\n$/
  test.each([
    {
      what: 'no Host in a request for a fragment',
      text: 'GET /fragments/a HTTP/1.1\r\n\r\n',
      status: 400,
      body: COMMENT,
    },
    {
      what: 'no Host in a request for a page',
      text: 'GET /studio HTTP/1.1\r\n\r\n',
      status: 400,
      body: LINE,
    },
    {
      what: 'an unknown expectation',
      text: 'GET /embeds/a HTTP/1.1\r\nHost: x\r\nExpect: b\r\n\r\n',
      status: 417,
      body: LINE,
    },
    {
      what: 'long headers',
      text: `GET / HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(9_000)}\r\n\r\n`,
      status: 431,
      body: COMMENT,
    },
    {
      what: 'a long address',
      text: `GET /${'x'.repeat(9_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      status: 431,
      body: COMMENT,
    },
    { what: 'no HTTP', text: 'SSH-2.0-x\r\n\r\n', status: 400, body: COMMENT },
    {
      what: 'a header without a name',
      text: 'GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n',
      status: 400,
      body: COMMENT,
    },
  ])('$what - is $status with a body, and the connection ends', async ({ text, status, body }) => {
    const handler = vi.fn<RequestListener>(respondOk)
    const received = await exchange(await startGuarded(handler), text)
    const [head = '', content = ''] = received.split('\r\n\r\n')
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [A-Z]`))
    expect(head).toMatch(/\r\nVitrine-State: invalid\r\n/)
    expect(head).toMatch(/\r\nVitrine-Error: [A-Z]/)
    expect(head).toMatch(/\r\nCache-Control: no-store\r\n/)
    expect(head).toMatch(/\r\nConnection: close/)
    expect(head).toMatch(new RegExp(`\r\nContent-Length: ${content.length}(?:\r\n|$)`))
    expect(content).toMatch(body)
    expect([countResponses(received), handler.mock.calls.length]).toEqual([1, 0])
  })

  test('HTTP/1.0 needs no Host', async () => {
    expect(await exchange(await startGuarded(respondOk), 'GET / HTTP/1.0\r\n\r\n')).toMatch(
      / 200 OK\r\n[^]*ok$/,
    )
  })

  test('the refusal of a malformed request is not sent as the response of an earlier one', async () => {
    const port = await startGuarded(() => {})
    expect(await exchange(port, `${REQUEST}no HTTP\r\n\r\n`)).toBe('')
  })
})

describe('GET that announces a body', () => {
  test.each(['Content-Length: 10', 'Transfer-Encoding: chunked'])(
    '%s without a body - one response, and the connection ends without a 408',
    async (header) => {
      const port = await startGuarded(respondOk)
      const received = await exchange(port, `GET / HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n`)
      expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n[^]*ok$/)
      expect(countResponses(received)).toBe(1)
    },
  )

  test('Content-Length: 0 - the connection stays open', async () => {
    const port = await startGuarded(respondOk)
    const bodiless = 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n'
    const received = await exchange(port, `${bodiless}GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(countResponses(received)).toBe(2)
  })
})
