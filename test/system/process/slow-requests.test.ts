import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import request from 'supertest'
import { expect, onTestFinished, test } from 'vitest'
import { makeFolder, makeSettings, startBuilt } from '../../cli/run-cli.ts'

/** Slow connections: the name, the first bytes, and whether further bytes follow one by one. */
const SLOW: readonly (readonly [string, string, boolean])[] = [
  ['nothing at all', '', false],
  ['half of its headers', 'GET /healthz HTTP/1.1\r\nHost: x\r\n', false],
  ['its headers byte by byte', 'GET /healthz HTTP/1.1\r\nX-Slow: ', true],
  ['a body that never ends', 'GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n', true],
]
const SEND_INTERVAL_MS = 500
/** Our limits are 5 s for headers and 8 s for a request; Node's defaults are one minute and five. */
const MAX_WAIT_MS = 55_000

/** Send a slow request, and return what was received until the server closed the connection. */
async function waitUntilClosed(port: number, head: string, isSendingSlowly: boolean): Promise<string> {
  const socket: Socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let received = ''
  socket.on('data', (chunk) => (received += chunk.toString('latin1')))
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(head)
  const sendTimer = setInterval(
    () => isSendingSlowly && socket.writable && socket.write('x'),
    SEND_INTERVAL_MS,
  )
  await once(socket, 'close')
  clearInterval(sendTimer)
  return received
}

test('connections that send slowly or not at all - are closed in time, and do not delay other visitors', async () => {
  const running = startBuilt(['serve', '--json'], makeSettings(makeFolder()))
  const { publicUrl, box } = JSON.parse(await running.firstLine) as { publicUrl: string; box: string }
  const port = Number(new URL(publicUrl).port)
  const startedAtMs = performance.now()
  const closedSockets = SLOW.flatMap(([name, head, isDripping]) =>
    Array.from({ length: 50 }, () =>
      waitUntilClosed(port, head, isDripping).then((received) => [name, received.split('\r\n', 1)[0]]),
    ),
  )
  expect((await request(box).get('')).headers['vitrine-state']).toBe('shown')
  const ends = await Promise.all(closedSockets)
  expect(performance.now() - startedAtMs).toBeLessThan(MAX_WAIT_MS)
  const TIMED_OUT = 'HTTP/1.1 408 Request Timeout'
  expect(new Set(ends.map((end) => end.join(': ')))).toEqual(
    new Set([
      `nothing at all: ${TIMED_OUT}`,
      `half of its headers: ${TIMED_OUT}`,
      `its headers byte by byte: ${TIMED_OUT}`,
      'a body that never ends: HTTP/1.1 200 OK',
    ]),
  )
})
