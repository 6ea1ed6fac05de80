import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { advanceUntilSettled } from '../helpers/fake-clock.ts'
import {
  GTINS,
  type ServiceUnderTest,
  createProduct,
  importRows,
  openTestStore,
  startTestService,
} from './harness.ts'
import { type ObservedResponse, expectValidResponse } from './openapi-validation.ts'

/** Five of these exceed the kernel's socket buffers when the client does not read. No import stores such a title. */
const LONG_TITLE = 'x'.repeat(7 * 1024 * 1024)

/** The end of the response. */
const END = '"next_cursor":null}'

type Reader = Readonly<{ readAll(): Promise<string> }>

/** Request all products without reading. Return when the response has started; the service buffers most of it. */
async function requestWithoutReading({ url, key }: ServiceUnderTest, channelId: string): Promise<Reader> {
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

function readHead(head: string): Pick<ObservedResponse, 'status' | 'headers'> {
  const [first = '', ...lines] = head.split('\r\n')
  const headers = lines.map((line) => {
    const [name = ''] = line.split(':', 1)
    return [name.toLowerCase(), line.slice(name.length + 1).trim()]
  })
  return { status: Number(first.split(' ')[1]), headers: Object.fromEntries(headers) }
}

async function startWithLargeProducts(): Promise<Readonly<{ fixture: ServiceUnderTest; channelId: string }>> {
  const prepared = await openTestStore()
  const { store } = prepared
  const fetchPage: typeof store.fetchPage = async (query) => {
    const page = await store.fetchPage(query)
    return page && { ...page, items: page.items.map((item) => ({ ...item, title: LONG_TITLE })) }
  }
  const fixture = await startTestService({ prepared: { ...prepared, store: { ...store, fetchPage } } })
  const rows = GTINS.map((gtin) => createProduct(gtin))
  const { channelId } = await importRows(fixture, rows)
  return { fixture, channelId }
}

test('close - response to a slow reader - arrives completely', async () => {
  const { fixture, channelId } = await startWithLargeProducts()
  const reader = await requestWithoutReading(fixture, channelId)
  const closed = fixture.service.close()
  fixture.clock.advance(SECOND_MS)
  const { items } = JSON.parse(await reader.readAll()) as { items: { title: string }[] }
  expect(items.map(({ title }) => title.length)).toEqual(GTINS.map(() => LONG_TITLE.length))
  await advanceUntilSettled(fixture.clock, closed)
})

test('close - client that never reads - is disconnected after two seconds', async () => {
  const { fixture, channelId } = await startWithLargeProducts()
  await requestWithoutReading(fixture, channelId)
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
