import { once } from 'node:events'
import { type AddressInfo, type Socket, createServer } from 'node:net'
import type { ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { MINUTE_MS } from '../../src/clock.ts'
import {
  OPERATIONS,
  isNextCallSuccessful,
  createClient,
  startCatalog,
  getFailureCode,
} from '../catalog/client-harness.ts'
import { startRawServer, createValidResponse } from './raw-server.ts'

const UNREACHABLE = 'VITRINE_CATALOG_UNREACHABLE'
const DEADLINE = 'VITRINE_CATALOG_DEADLINE'

/** Deadline by the fake clock; so long that no socket timeout, which uses the real clock, fires before it. */
const LONG_MS: number = 10 * MINUTE_MS

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'

/** Ways to break HTTP: the title, and what the server does with the socket. */
const BREAKAGES: readonly (readonly [string, (socket: Socket) => void])[] = [
  ['reset before any byte', (socket) => socket.resetAndDestroy()],
  ['closed before any byte', (socket) => socket.end()],
  ['closed within the headers', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-')],
  [
    'reset within the body',
    (socket) => {
      socket.write(`${HEAD}Content-Length: 100\r\n\r\n{"items"`, () => socket.resetAndDestroy())
    },
  ],
  ['short body, then closed', (socket) => socket.end(`${HEAD}Content-Length: 100\r\n\r\n{"items":[]}`)],
  ['bad chunk', (socket) => socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n`)],
  [
    'chunks that never end, then closed',
    (socket) => socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`),
  ],
  ['not HTTP', (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n')],
  [
    'Content-Length and chunked encoding together',
    (socket) =>
      socket.end(`${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`),
  ],
  [
    'two different lengths',
    (socket) => socket.end(`${HEAD}Content-Length: 2\r\nContent-Length: 30\r\n\r\n{}`),
  ],
  ['an invalid status', (socket) => socket.end('HTTP/1.1 20x OK\r\n\r\n')],
  ['200 kB of headers', (socket) => socket.end(`${HEAD}X-Much: ${'x'.repeat(200_000)}\r\n\r\n{}`)],
]

describe('broken connections', () => {
  it.each(BREAKAGES)(
    '%s - every operation - fails as unreachable after one attempt; the next call works',
    async (_name, breakIt) => {
      let isBroken = true
      const server = await startRawServer((socket) => {
        if (isBroken) breakIt(socket)
        else socket.write(createValidResponse())
      })
      const fixture = createClient(server.url)
      for (const call of Object.values(OPERATIONS)) {
        await expect(call(fixture.client)).rejects.toMatchObject({ code: UNREACHABLE })
      }
      expect(server.requests).toHaveLength(3)
      expect(fixture.outcomes).toEqual(Object.keys(OPERATIONS).map((name) => `${name} ${UNREACHABLE}`))
      isBroken = false
      expect(await isNextCallSuccessful(fixture)).toBe(true)
    },
  )

  it('no server listens - unreachable', async () => {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const { client } = createClient(`http://127.0.0.1:${port}`)
    await expect(client.fetchChannels()).rejects.toMatchObject({
      code: UNREACHABLE,
      message: expect.stringContaining('ECONNREFUSED'),
    })
  })

  it('TLS connection to a server without TLS - unreachable', async () => {
    const server = createServer((socket) =>
      socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { client } = createClient(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)
    await expect(client.fetchChannels()).rejects.toMatchObject({ code: UNREACHABLE })
  })

  it('second response after the first - is not read as the response to the next call', async () => {
    const extraResponse = createValidResponse('{"items":[]}')
    const server = await startRawServer((socket) => socket.write(createValidResponse() + extraResponse))
    const { client } = createClient(server.url)
    expect((await client.fetchChannels()).value).toHaveLength(1)
    const next = await client.fetchChannels().then(
      ({ value }) => value.length,
      () => 'failed',
    )
    expect(next).not.toBe(0)
  })
})

describe('deadline of a call', () => {
  it('server hangs before the headers - the deadline ends the call and closes the connection', async () => {
    const server = await startRawServer(() => {})
    const fixture = createClient(server.url, { timeoutMs: LONG_MS })
    const call = fixture.client.fetchChannels()
    const failureCode = getFailureCode(call)
    await vi.waitFor(() => expect(server.requests).toHaveLength(1))
    fixture.clock.advance(LONG_MS - 1)
    expect(fixture.outcomes).toEqual([])
    fixture.clock.advance(1)
    expect(await failureCode).toBe(DEADLINE)
    expect(fixture.outcomes).toEqual([`channels ${DEADLINE}`])
    await vi.waitFor(() => expect(server.countClosed()).toBe(1))
    expect(fixture.clock.pendingWaits).toBe(0)
  })

  it('server hangs while connecting - the deadline ends the call', async () => {
    const server = await startRawServer(() => {})
    const fixture = createClient(server.url.replace('http:', 'https:'), { timeoutMs: LONG_MS })
    const failureCode = getFailureCode(fixture.client.fetchChannels())
    await vi.waitFor(() => expect(server.countOpened()).toBe(1))
    fixture.clock.advance(LONG_MS)
    expect(await failureCode).toBe(DEADLINE)
  })

  it('server hangs within the body - the deadline ends the call, and the next call works', async () => {
    const catalog = await startCatalog()
    const fixture = createClient(catalog.url, { timeoutMs: LONG_MS })
    const nowMs = vi.spyOn(fixture.clock, 'nowMs')
    let clockReadsBefore = Infinity
    catalog.fault = {
      pathPattern: /./,
      respond(_request, response) {
        clockReadsBefore = nowMs.mock.calls.length
        response.writeHead(200).write('{"items":')
      },
    }
    const failureCode = getFailureCode(fixture.client.fetchChannels())
    // The client reads the clock once more when the headers have arrived.
    await vi.waitFor(() => expect(nowMs.mock.calls.length).toBeGreaterThan(clockReadsBefore))
    fixture.clock.advance(LONG_MS)
    expect(await failureCode).toBe(DEADLINE)
    catalog.fault = null
    expect(await isNextCallSuccessful(fixture)).toBe(true)
  })

  it('server sends the body byte by byte - the deadline does not move', async () => {
    const catalog = await startCatalog()
    const fixture = createClient(catalog.url, { timeoutMs: LONG_MS })
    const pendingResponses: ServerResponse[] = []
    catalog.fault = {
      pathPattern: /./,
      respond(_request, response) {
        response.writeHead(200).write('{')
        pendingResponses.push(response)
      },
    }
    const failureCode = getFailureCode(fixture.client.fetchChannels())
    await vi.waitFor(() => expect(pendingResponses).toHaveLength(1))
    for (let step = 0; step < 10; step++) {
      await new Promise<void>((resolve) => void pendingResponses[0]?.write(' ', () => resolve()))
      fixture.clock.advance(LONG_MS / 10)
    }
    expect(await failureCode).toBe(DEADLINE)
  })

  it('connection error at the deadline - is reported as the deadline', async () => {
    const server = await startRawServer(() => {})
    const { client, clock } = createClient(server.url, { timeoutMs: 1 })
    const failureCode = getFailureCode(client.fetchChannels())
    await vi.waitFor(() => expect(server.requests).toHaveLength(1))
    clock.advance(1)
    expect(await failureCode).toBe(DEADLINE)
  })

  it('socket timeout before the deadline - is reported as the deadline', async () => {
    const server = await startRawServer(() => {})
    const { client } = createClient(server.url, { timeoutMs: 20 })
    await expect(client.fetchChannels()).rejects.toMatchObject({ code: DEADLINE })
  })

  it('calls queued behind busy connections - the deadline ends the sent calls, and the queued ones are never made', async () => {
    const server = await startRawServer(() => {})
    const fixture = createClient(server.url, { timeoutMs: LONG_MS })
    const calls = Promise.allSettled(Array.from({ length: 80 }, () => fixture.client.fetchChannels()))
    await vi.waitFor(() => expect(server.requests).toHaveLength(64))
    fixture.clock.advance(LONG_MS)
    const codes = (await calls).map(
      (call) => call.status === 'rejected' && (call.reason as { code: string }).code,
    )
    expect(codes.filter((code) => code === DEADLINE)).toHaveLength(64)
    expect(codes.filter((code) => code === 'VITRINE_CATALOG_CALL_BLOCKED')).toHaveLength(16)
    expect(server.requests).toHaveLength(64)
  })

  it('client closed during a call - the call ends', async () => {
    const server = await startRawServer(() => {})
    const { client, clock } = createClient(server.url)
    const ended = getFailureCode(client.fetchChannels())
    await vi.waitFor(() => expect(server.requests).toHaveLength(1))
    await client.close()
    expect(await ended).toBe(UNREACHABLE)
    expect(clock.pendingWaits).toBe(0)
  })
})
