import { once } from 'node:events'
import { type RequestListener, type ServerResponse, createServer } from 'node:http'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Message, writeAtOnce } from '../../src/http/one-write.ts'

/** A Sunday: its texts stand in the answers below. */
const NOW_MS = Date.UTC(2026, 10, 22, 8, 9, 10, 999)
const HEAD = 'X-One: 1\r\nContent-Length: 4\r\n'
const WHOLE: Message = { status: 200, head: HEAD, body: Buffer.from('böd'), nowMs: NOW_MS }

const toNodeLines = (seconds: number): string =>
  `Date: Sun, 22 Nov 2026 08:09:10 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n\r\n`
const WHOLE_TEXT = `HTTP/1.1 200 OK\r\n${HEAD}${toNodeLines(5)}böd`

type Listening = Readonly<{ connect(): Promise<Socket>; ask(text: string): Promise<string> }>

/** A server, and connections without any client between. */
async function listen(answer: RequestListener, keepAliveTimeout = 5_000): Promise<Listening> {
  const server = createServer({ keepAliveTimeout }, answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    onTestFinished(() => void socket.destroy())
    return socket
  }
  return {
    connect: open,
    async ask(text) {
      const socket = await open()
      socket.write(text)
      const [chunk] = (await once(socket, 'data')) as [Buffer]
      return chunk.toString()
    },
  }
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

describe('answer in one write', () => {
  test.each<[string, Message, string]>([
    ['200', WHOLE, WHOLE_TEXT],
    ['200 without a body', { ...WHOLE, body: null }, `HTTP/1.1 200 OK\r\n${HEAD}${toNodeLines(5)}`],
    [
      '304',
      { ...WHOLE, status: 304, head: 'X-One: 1\r\n', body: null },
      `HTTP/1.1 304 Not Modified\r\nX-One: 1\r\n${toNodeLines(5)}`,
    ],
  ])('%s - comes as one piece, byte for byte', async (_name, message, text) => {
    const { ask } = await listen((_request, response) => void writeAtOnce(response, message))
    expect(await ask(GET)).toBe(text)
  })

  test.each([
    [1_999, 'Keep-Alive: timeout=1\r\n\r\n'],
    [65_000, 'Keep-Alive: timeout=65\r\n\r\n'],
    [0, 'Connection: keep-alive\r\n\r\n'],
  ])('connection that stays open for %i ms - says so as Node does', async (keepAliveMs, end) => {
    const { ask } = await listen(
      (_request, response) => void writeAtOnce(response, { ...WHOLE, body: null }),
      keepAliveMs,
    )
    const own = await ask(GET)
    const byNode = await listen(
      (_request, response) => void response.writeHead(200, ['X-One', '1', 'Content-Length', '0']).end(),
      keepAliveMs,
    )
    expect(own.endsWith(end)).toBe(true)
    expect(own.split('Connection')[1]).toBe((await byNode.ask(GET)).split('Connection')[1])
  })

  test('Date - is that of each answer, by the second', async () => {
    let nowMs = NOW_MS
    const { ask } = await listen((_request, response) => void writeAtOnce(response, { ...WHOLE, nowMs }))
    const dates: (string | undefined)[] = []
    for (const ms of [0, 1, 1_000, -2_000]) {
      nowMs += ms
      dates.push(/Date: .* (\S+) GMT/.exec(await ask(GET))?.[1])
    }
    expect(dates).toEqual(['08:09:10', '08:09:11', '08:09:12', '08:09:10'])
  })

  test('response afterwards - is as one that Node has sent', async () => {
    const finished = vi.fn<(response: ServerResponse) => void>()
    const { ask } = await listen((_request, response) => {
      response.on('finish', () => finished(response))
      writeAtOnce(response, { ...WHOLE, status: 304, body: null })
      const { headersSent, writableEnded, statusCode, statusMessage } = response
      expect([headersSent, writableEnded, statusCode, statusMessage]).toEqual([
        true,
        true,
        304,
        'Not Modified',
      ])
    })
    await ask(GET)
    await vi.waitFor(() => expect(finished).toHaveBeenCalledTimes(1))
  })

  test('one after the other on a connection - all come whole', async () => {
    const { connect: open } = await listen((_request, response) => void writeAtOnce(response, WHOLE))
    const socket = await open()
    for (let count = 0; count < 3; count += 1) {
      socket.write(GET)
      const [chunk] = (await once(socket, 'data')) as [Buffer]
      expect(chunk.toString()).toBe(WHOLE_TEXT)
    }
  })
})

/** Who could not be answered at once is answered by Node, with another status. */
const answerOrLeave: RequestListener = (_request, response) => {
  if (!writeAtOnce(response, WHOLE)) response.writeHead(299, ['Content-Length', '0']).end()
}

describe('left to Node', () => {
  test.each([
    ['a connection that is to close', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
    ['HTTP/1.0', 'GET / HTTP/1.0\r\n\r\n'],
    ['HTTP/1.0 that stays', 'GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n'],
  ])('%s', async (_name, text) => {
    expect(await (await listen(answerOrLeave)).ask(text)).toContain('HTTP/1.1 299')
  })

  test('a response that has headers', async () => {
    const { ask } = await listen((request, response) => {
      response.setHeader('Connection', 'close')
      answerOrLeave(request, response)
    })
    expect(await ask(GET)).toContain('HTTP/1.1 299')
  })

  test.each([
    ['of 16 kB', 0, '200'],
    ['of a byte more', 1, '299'],
  ])('an answer %s', async (_name, more, status) => {
    const room = 16 * 1024 - Buffer.byteLength(WHOLE_TEXT) + 4
    const message = { ...WHOLE, body: Buffer.alloc(room + more) }
    const { ask } = await listen((_request, response) => {
      if (!writeAtOnce(response, message)) response.writeHead(299).end()
    })
    expect(await ask(GET)).toContain(`HTTP/1.1 ${status}`)
  })

  test('a Node whose responses are made otherwise', async () => {
    const { ask } = await listen((request, response) => {
      Object.assign(response, { _header: undefined })
      const isSent = writeAtOnce(response, WHOLE)
      Object.assign(response, { _header: null })
      response.writeHead(isSent ? 200 : 299, ['Content-Length', '0']).end()
      request.resume()
    })
    expect(await ask(GET)).toContain('HTTP/1.1 299')
  })

  test('whoever waits behind another answer of the same connection - and comes after it', async () => {
    const { connect: open } = await listen(answerOrLeave)
    const socket = await open()
    socket.write(GET + GET)
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
    await vi.waitFor(() => expect(text).toMatch(/^HTTP\/1\.1 200[^]*böd/))
    await vi.waitFor(() => expect(text.split('böd')[1]).toContain('HTTP/1.1 299'))
  })
})

const askFor = (socket: Socket, letter: string): boolean =>
  socket.write(`GET /${letter} HTTP/1.1\r\nHost: a\r\n\r\n`)

describe('slow reader', () => {
  test('bytes that the kernel has not taken - stay what they were, whatever others are sent', async () => {
    const size = 15_000
    const seen: boolean[] = []
    const { connect: open } = await listen((request, response) => {
      const letter = request.url?.slice(1) ?? ''
      const head = `Content-Length: ${size}\r\n`
      const isAtOnce = writeAtOnce(response, {
        status: 200,
        head,
        body: Buffer.alloc(size, letter),
        nowMs: NOW_MS,
      })
      seen.push(isAtOnce)
      if (!isAtOnce) response.writeHead(200, ['Content-Length', String(size)]).end(Buffer.alloc(size, letter))
    })
    const slow = await open()
    slow.pause()
    // Until one is left to Node: then something waits.
    while (seen.at(-1) !== false) {
      const count = seen.length
      askFor(slow, 's')
      await vi.waitFor(() => expect(seen.length).toBe(count + 1))
    }
    const answerCount = seen.length
    const fast = await open()
    fast.resume()
    for (let count = 0; count < 20; count += 1) {
      const before = seen.length
      askFor(fast, 'f')
      await vi.waitFor(() => expect(seen.length).toBe(before + 1))
    }
    let bodies = ''
    slow.on('data', (chunk: Buffer) => (bodies += chunk.toString('latin1')))
    slow.resume()
    await vi.waitFor(() => expect(bodies.split('s'.repeat(size)).length - 1).toBe(answerCount))
    expect(bodies).not.toContain('fffff')
  })
})
