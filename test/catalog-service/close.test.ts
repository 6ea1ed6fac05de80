import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { advanceUntilSettled } from '../helpers/fake-clock.ts'
import { GTINS, type ServiceUnderTest, importRows, createProduct, startTestService } from './harness.ts'
import { type ObservedResponse, expectValidResponse } from './openapi-validation.ts'

/** Five of these are more than the kernel takes for a reader who does not read. */
const LONG_TITLE = 'x'.repeat(7 * 1024 * 1024)

/** What the answer ends with. */
const END = '"next_cursor":null}'

type Reader = Readonly<{ readAll(): Promise<string> }>

/** Asks for all products, and reads nothing: comes back when the answer has ended, and most of it waits in the service. */
async function askWithoutReading({ url, key }: ServiceUnderTest, channelId: string): Promise<Reader> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  const path = `/v0/channels/${channelId}/products`
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`)
  await once(socket, 'readable')
  return {
    async readAll() {
      let text = ''
      let end = ''
      for await (const chunk of socket) {
        text += String(chunk)
        end = (end + String(chunk)).slice(-END.length)
        if (end === END) break
      }
      const [head = ''] = text.split('\r\n\r\n', 1)
      const body = text.slice(head.length + 4)
      expectValidResponse({ method: 'GET', path, ...readHead(head), text: body })
      return body
    },
  }
}

/** Status and headers as they travelled. */
function readHead(head: string): Pick<ObservedResponse, 'status' | 'headers'> {
  const [first = '', ...lines] = head.split('\r\n')
  const headers = lines.map((line) => {
    const [name = ''] = line.split(':', 1)
    return [name.toLowerCase(), line.slice(name.length + 1).trim()]
  })
  return { status: Number(first.split(' ')[1]), headers: Object.fromEntries(headers) }
}

async function startWithLargeProducts(): Promise<Readonly<{ fixture: ServiceUnderTest; channelId: string }>> {
  const fixture = await startTestService()
  const rows = GTINS.map((gtin) => createProduct(gtin, { title: LONG_TITLE }))
  const { channelId } = await importRows(fixture, rows)
  return { fixture, channelId }
}

test('close - answer on its way to a slow reader - arrives whole', async () => {
  const { fixture, channelId } = await startWithLargeProducts()
  const reader = await askWithoutReading(fixture, channelId)
  const closed = fixture.service.close()
  fixture.clock.advance(SECOND_MS)
  const { items } = JSON.parse(await reader.readAll()) as { items: { title: string }[] }
  expect(items.map(({ title }) => title.length)).toEqual(GTINS.map(() => LONG_TITLE.length))
  await advanceUntilSettled(fixture.clock, closed)
})

test('close - reader who never reads - is cut after two seconds', async () => {
  const { fixture, channelId } = await startWithLargeProducts()
  await askWithoutReading(fixture, channelId)
  const startedMs = fixture.clock.nowMs()
  await advanceUntilSettled(fixture.clock, fixture.service.close(), SECOND_MS / 2)
  expect(fixture.clock.nowMs() - startedMs).toBeGreaterThanOrEqual(2 * SECOND_MS)
})

test('close - connection that never sent a request - is closed within half a second', async () => {
  const fixture = await startTestService()
  const { hostname, port } = new URL(fixture.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const startedMs = fixture.clock.nowMs()
  await Promise.all([once(socket, 'close'), advanceUntilSettled(fixture.clock, fixture.service.close())])
  expect(fixture.clock.nowMs() - startedMs).toBeLessThanOrEqual(SECOND_MS)
})
