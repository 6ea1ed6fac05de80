import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import request from 'supertest'
import { expect, onTestFinished, test } from 'vitest'
import { makeFolder, makeSettings, startBuilt } from '../../cli/run-cli.ts'

const CONNECTIONS = 10_000
/** Connections opened at the same time: fewer than the listener's backlog. */
const CONCURRENT_CONNECTIONS = 200
const MAX_MEMORY_BYTES: number = 512 * 1024 ** 2

test('10,000 idle connections - other visitors are served, memory stays bounded, and the stop is not delayed', async () => {
  const running = startBuilt(['serve', '--json'], makeSettings(makeFolder()))
  const { publicUrl, box } = JSON.parse(await running.firstLine) as { publicUrl: string; box: string }
  const { hostname, port } = new URL(publicUrl)
  const sockets: Socket[] = []
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()))

  /** Open a connection: every second one gets a response and stays alive, the others send nothing. */
  const open = async (index: number): Promise<void> => {
    const socket = connect(Number(port), hostname)
    sockets.push(socket)
    socket.on('error', () => {})
    await once(socket, 'connect')
    if (index % 2 === 1) return
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
  }
  for (let first = 0; first < CONNECTIONS; first += CONCURRENT_CONNECTIONS)
    await Promise.all(Array.from({ length: CONCURRENT_CONNECTIONS }, (_, index) => open(first + index)))
  expect(sockets.filter((socket) => socket.readyState === 'open').length).toBeGreaterThanOrEqual(
    CONNECTIONS / 2,
  )

  for (let visit = 0; visit < 50; visit++) {
    const { status, headers } = await request(box).get('')
    expect([status, headers['vitrine-state']]).toEqual([200, 'shown'])
  }
  const { text } = await request(publicUrl).get('/metrics')
  const memoryBytes = Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1])
  expect(memoryBytes).toBeGreaterThan(0)
  expect(memoryBytes).toBeLessThan(MAX_MEMORY_BYTES)
  expect((await running.stop('SIGTERM')).code).toBe(0)
})
