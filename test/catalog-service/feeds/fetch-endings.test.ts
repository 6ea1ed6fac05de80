import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { fetchFeed } from '../../../src/catalog-service/feeds/fetch-feed.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { createFolder } from '../harness.ts'
import { startFeedServer } from './feed-server.ts'
import { NO_PROXIES } from '../../helpers/proxies.ts'

const LINE = `9520001001024,${'x'.repeat(83)}\n`

const makeBody = (bytes: number): Buffer =>
  Buffer.from(
    LINE.repeat(Math.ceil(bytes / LINE.length)).slice(0, Math.max(0, bytes - 1)) + (bytes > 0 ? '\n' : ''),
  )

type Ending = (socket: Socket, body: Buffer) => void

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/csv\r\n'

function toChunks(body: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; at += 10_000) {
    const piece = body.subarray(at, at + 10_000)
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
  }
  return Buffer.concat(pieces)
}

const COMPLETE: Readonly<Record<string, Ending>> = {
  'length, connection stays open': (socket, body) =>
    void socket.write(Buffer.concat([Buffer.from(`${HEAD}content-length: ${body.length}\r\n\r\n`), body])),
  'length, connection closes': (socket, body) =>
    void socket.end(
      Buffer.concat([
        Buffer.from(`${HEAD}connection: close\r\ncontent-length: ${body.length}\r\n\r\n`),
        body,
      ]),
    ),
  chunked: (socket, body) =>
    void socket.end(
      Buffer.concat([
        Buffer.from(`${HEAD}transfer-encoding: chunked\r\n\r\n`),
        toChunks(body),
        Buffer.from('0\r\n\r\n'),
      ]),
    ),
  'close without a length': (socket, body) =>
    void socket.end(Buffer.concat([Buffer.from(`${HEAD}connection: close\r\n\r\n`), body])),
  'HTTP/1.0': (socket, body) =>
    void socket.end(Buffer.concat([Buffer.from(`${HEAD.replace('1.1', '1.0')}\r\n`), body])),
  'more than its length': (socket, body) =>
    void socket.end(
      Buffer.concat([
        Buffer.from(`${HEAD}content-length: ${body.length}\r\n\r\n`),
        body,
        Buffer.from('more'),
      ]),
    ),
}

const CUT: Readonly<Record<string, Ending>> = {
  'less than its length': (socket, body) =>
    void socket.end(Buffer.concat([Buffer.from(`${HEAD}content-length: ${body.length + 1}\r\n\r\n`), body])),
  'chunks without an end': (socket, body) =>
    void socket.end(
      Buffer.concat([Buffer.from(`${HEAD}transfer-encoding: chunked\r\n\r\n`), toChunks(body)]),
    ),
}

const SIZES = [0, 1, 1_000, 16_000, 65_536, 80_000, 120_000, 400_000, 3_000_000]

async function fetchRaw(respond: (socket: Socket) => void) {
  const server = await startFeedServer(({ socket }) => respond(socket))
  const path = join(createFolder(), 'feed.download')
  const fetched = fetchFeed({
    url: server.url,
    headerFile: null,
    secrets: new Map(),
    proxies: NO_PROXIES,
    validators: null,
    path,
    clock: createFakeClock(0),
  })
  return { fetched, read: () => readFileSync(path) }
}

describe('end of a response', () => {
  it.each(Object.entries(COMPLETE))('%s - of any size - is stored completely', async (_, end) => {
    for (const size of SIZES) {
      const body = makeBody(size)
      const { fetched, read } = await fetchRaw((socket) => end(socket, body))
      await fetched
      expect([size, read().equals(body)]).toEqual([size, true])
    }
  })

  it.each(Object.entries(CUT))('%s - of any size - FeedFetchError', async (_, end) => {
    for (const size of SIZES) {
      const { fetched } = await fetchRaw((socket) => end(socket, makeBody(size)))
      await expect(fetched).rejects.toMatchObject({ code: 'VITRINE_FEED_FETCH_FAILED' })
    }
  })

  it('reset after each kilobyte - FeedFetchError', async () => {
    const body = makeBody(20_000)
    for (let bytes = 0; bytes < body.length; bytes += 1_000) {
      const { fetched } = await fetchRaw((socket) => {
        const head = Buffer.from(`${HEAD}content-length: ${body.length}\r\n\r\n`)
        socket.write(Buffer.concat([head, body.subarray(0, bytes)]), () => socket.resetAndDestroy())
      })
      await expect(fetched).rejects.toMatchObject({ code: 'VITRINE_FEED_FETCH_FAILED' })
    }
  })

  it('gzip, closed without a length - is stored as it is', async () => {
    const body = gzipSync(makeBody(100_000))
    const { fetched, read } = await fetchRaw(
      (socket) =>
        void socket.end(
          Buffer.concat([Buffer.from(`${HEAD}content-encoding: gzip\r\nconnection: close\r\n\r\n`), body]),
        ),
    )
    await fetched
    expect(read().equals(body)).toBe(true)
  })

  it.each(['identity', 'gzip'])(
    'transfer encoding %s, closed in the middle of a row - FeedFetchError: it is no length',
    async (encoding) => {
      const { fetched } = await fetchRaw(
        (socket) =>
          void socket.end(`${HEAD}transfer-encoding: ${encoding}\r\n\r\n${LINE}${LINE.slice(0, 30)}`),
      )
      await expect(fetched).rejects.toThrow('ended in the middle of a row')
    },
  )

  it('another protocol - FeedFetchError at once', async () => {
    const { fetched } = await fetchRaw(
      (socket) =>
        void socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
        ),
    )
    await expect(fetched).rejects.toThrow('responded with status 101')
  })

  it('headers of 20 kB - FeedFetchError that says so', async () => {
    const { fetched } = await fetchRaw(
      (socket) => void socket.write(`${HEAD}x-long: ${'x'.repeat(20_000)}\r\n\r\n`),
    )
    await expect(fetched).rejects.toThrow('the headers of its response are too long')
  })

  it('no HTTP - FeedFetchError that says so', async () => {
    const { fetched } = await fetchRaw((socket) => void socket.end('220 ftp.example ready\r\n'))
    await expect(fetched).rejects.toThrow('its server does not respond with HTTP')
  })
})

describe('server that asks to wait', () => {
  it.each([
    ['429 Too Many Requests', 'retry-after: 90', 90_000],
    ['503 Service Unavailable', 'retry-after: 7', 7_000],
    ['503 Service Unavailable', 'x-other: 7', null],
    ['404 Not Found', 'retry-after: 90', null],
  ])('status %s with %s - the error has the time', async (status, header, retryAfterMs) => {
    const { fetched } = await fetchRaw(
      (socket) => void socket.end(`HTTP/1.1 ${status}\r\n${header}\r\ncontent-length: 0\r\n\r\n`),
    )
    await expect(fetched).rejects.toMatchObject({ code: 'VITRINE_FEED_FETCH_FAILED', retryAfterMs })
  })
})
