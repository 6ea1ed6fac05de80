import { once } from 'node:events'
import { type AddressInfo, type Socket, createServer } from 'node:net'
import type { ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { MINUTE_MS } from '../../src/clock.ts'
import {
  OPERATIONS,
  isNextCallAnswered,
  makeClient,
  startCatalog,
  watchFailure,
} from '../catalog/client-harness.ts'
import { startRawServer, toGoodAnswer } from './raw-server.ts'

const UNREACHABLE = 'VITRINE_CATALOG_UNREACHABLE'
const DEADLINE = 'VITRINE_CATALOG_DEADLINE'

/** A deadline of the fake clock that no limit of the connection itself, by the machine's clock, comes before. */
const LONG_MS: number = 10 * MINUTE_MS

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'

/** A way to break HTTP, and whether the server then hangs up. */
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
  ['no HTTP at all', (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n')],
  [
    'length and chunks at once',
    (socket) =>
      socket.end(`${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`),
  ],
  ['two lengths', (socket) => socket.end(`${HEAD}Content-Length: 2\r\nContent-Length: 30\r\n\r\n{}`)],
  ['a status that is none', (socket) => socket.end('HTTP/1.1 20x OK\r\n\r\n')],
  ['200 kB of headers', (socket) => socket.end(`${HEAD}X-Much: ${'x'.repeat(200_000)}\r\n\r\n{}`)],
]

describe('broken connections', () => {
  it.each(BREAKAGES)(
    '%s - every operation - unreachable, one try, and the next call works',
    async (_name, breakIt) => {
      let isBroken = true
      const server = await startRawServer((socket) => {
        if (isBroken) breakIt(socket)
        else socket.write(toGoodAnswer())
      })
      const under = makeClient(server.url)
      for (const call of Object.values(OPERATIONS)) {
        await expect(call(under.client)).rejects.toMatchObject({ code: UNREACHABLE })
      }
      expect(server.requests).toHaveLength(3)
      expect(under.outcomes).toEqual(Object.keys(OPERATIONS).map((name) => `${name} ${UNREACHABLE}`))
      isBroken = false
      expect(await isNextCallAnswered(under)).toBe(true)
    },
  )

  it('nobody listens - unreachable', async () => {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const { client } = makeClient(`http://127.0.0.1:${port}`)
    await expect(client.fetchChannels()).rejects.toMatchObject({
      code: UNREACHABLE,
      message: expect.stringContaining('ECONNREFUSED'),
    })
  })

  it('TLS asked of a plain server - unreachable', async () => {
    const server = createServer((socket) =>
      socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    )
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { client } = makeClient(`https://127.0.0.1:${(server.address() as AddressInfo).port}`)
    await expect(client.fetchChannels()).rejects.toMatchObject({ code: UNREACHABLE })
  })

  it('answer after the answer - the second is not read as that of the next call', async () => {
    const evil = toGoodAnswer('{"items":[]}')
    const server = await startRawServer((socket) => socket.write(toGoodAnswer() + evil))
    const { client } = makeClient(server.url)
    expect((await client.fetchChannels()).value).toHaveLength(1)
    const next = await client.fetchChannels().then(
      ({ value }) => value.length,
      () => 'failed',
    )
    expect(next).not.toBe(0)
  })
})

describe('one deadline', () => {
  it('hang - before the headers - ends with it, and the connection with it', async () => {
    const server = await startRawServer(() => {})
    const under = makeClient(server.url, { timeoutMs: LONG_MS })
    const call = under.client.fetchChannels()
    const late = watchFailure(call)
    await vi.waitFor(() => expect(server.requests).toHaveLength(1))
    under.clock.advance(LONG_MS - 1)
    expect(under.outcomes).toEqual([])
    under.clock.advance(1)
    expect(await late).toBe(DEADLINE)
    expect(under.outcomes).toEqual([`channels ${DEADLINE}`])
    await vi.waitFor(() => expect(server.closed()).toBe(1))
    expect(under.clock.pendingWaits).toBe(0)
  })

  it('hang - while connecting - ends with it', async () => {
    const server = await startRawServer(() => {})
    const under = makeClient(server.url.replace('http:', 'https:'), { timeoutMs: LONG_MS })
    const late = watchFailure(under.client.fetchChannels())
    await vi.waitFor(() => expect(server.opened()).toBe(1))
    under.clock.advance(LONG_MS)
    expect(await late).toBe(DEADLINE)
  })

  it('hang - within the body - ends with it, and the next call works', async () => {
    const catalog = await startCatalog()
    const under = makeClient(catalog.url, { timeoutMs: LONG_MS })
    const nowMs = vi.spyOn(under.clock, 'nowMs')
    let looksBefore = Infinity
    catalog.fault = {
      matches: /./,
      does(_request, response) {
        looksBefore = nowMs.mock.calls.length
        response.writeHead(200).write('{"items":')
      },
    }
    const late = watchFailure(under.client.fetchChannels())
    // The client looks at the clock once more when the headers have arrived.
    await vi.waitFor(() => expect(nowMs.mock.calls.length).toBeGreaterThan(looksBefore))
    under.clock.advance(LONG_MS)
    expect(await late).toBe(DEADLINE)
    catalog.fault = null
    expect(await isNextCallAnswered(under)).toBe(true)
  })

  it('drip - a byte again and again - does not move the deadline', async () => {
    const catalog = await startCatalog()
    const under = makeClient(catalog.url, { timeoutMs: LONG_MS })
    const held: ServerResponse[] = []
    catalog.fault = {
      matches: /./,
      does(_request, response) {
        response.writeHead(200).write('{')
        held.push(response)
      },
    }
    const late = watchFailure(under.client.fetchChannels())
    await vi.waitFor(() => expect(held).toHaveLength(1))
    for (let step = 0; step < 10; step++) {
      await new Promise<void>((resolve) => void held[0]?.write(' ', () => resolve()))
      under.clock.advance(LONG_MS / 10)
    }
    expect(await late).toBe(DEADLINE)
  })

  it('error of the connection at the deadline - is the deadline', async () => {
    const server = await startRawServer(() => {})
    const { client, clock } = makeClient(server.url, { timeoutMs: 1 })
    const late = watchFailure(client.fetchChannels())
    await vi.waitFor(() => expect(server.requests).toHaveLength(1))
    clock.advance(1)
    expect(await late).toBe(DEADLINE)
  })

  it('time limits of the connection itself - come first - are the deadline, too', async () => {
    const server = await startRawServer(() => {})
    const { client } = makeClient(server.url, { timeoutMs: 20 })
    await expect(client.fetchChannels()).rejects.toMatchObject({ code: DEADLINE })
  })

  it('line behind busy connections - the deadline ends those that went, the others are not made', async () => {
    const server = await startRawServer(() => {})
    const under = makeClient(server.url, { timeoutMs: LONG_MS })
    const calls = Promise.allSettled(Array.from({ length: 80 }, () => under.client.fetchChannels()))
    await vi.waitFor(() => expect(server.requests).toHaveLength(64))
    under.clock.advance(LONG_MS)
    const codes = (await calls).map(
      (call) => call.status === 'rejected' && (call.reason as { code: string }).code,
    )
    expect(codes.filter((code) => code === DEADLINE)).toHaveLength(64)
    expect(codes.filter((code) => code === 'VITRINE_CATALOG_CALL_BLOCKED')).toHaveLength(16)
    expect(server.requests).toHaveLength(64)
  })

  it('close - while a call is under way - ends it', async () => {
    const server = await startRawServer(() => {})
    const { client, clock } = makeClient(server.url)
    const ended = watchFailure(client.fetchChannels())
    await vi.waitFor(() => expect(server.requests).toHaveLength(1))
    await client.close()
    expect(await ended).toBe(UNREACHABLE)
    expect(clock.pendingWaits).toBe(0)
  })
})
