import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { SECOND_MS } from '../../src/clock.ts'
import { advanceUntilSettled } from '../helpers/fake-clock.ts'
import { GTINS, type ServiceUnderTest, importRows, makeProduct, startTestService } from './harness.ts'
import { type SeenAnswer, expectValidAnswer } from './valid-answers.ts'

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
      expectValidAnswer({ method: 'GET', path, ...readHead(head), text: body })
      return body
    },
  }
}

/** Status and headers as they travelled. */
function readHead(head: string): Pick<SeenAnswer, 'status' | 'headers'> {
  const [first = '', ...lines] = head.split('\r\n')
  const headers = lines.map((line) => {
    const [name = ''] = line.split(':', 1)
    return [name.toLowerCase(), line.slice(name.length + 1).trim()]
  })
  return { status: Number(first.split(' ')[1]), headers: Object.fromEntries(headers) }
}

async function startWithLargeProducts(): Promise<Readonly<{ under: ServiceUnderTest; channelId: string }>> {
  const under = await startTestService()
  const rows = GTINS.map((gtin) => makeProduct(gtin, { title: LONG_TITLE }))
  const { channelId } = await importRows(under, rows)
  return { under, channelId }
}

test('close - answer on its way to a slow reader - arrives whole', async () => {
  const { under, channelId } = await startWithLargeProducts()
  const reader = await askWithoutReading(under, channelId)
  const closed = under.service.close()
  under.clock.advance(SECOND_MS)
  const { items } = JSON.parse(await reader.readAll()) as { items: { title: string }[] }
  expect(items.map(({ title }) => title.length)).toEqual(GTINS.map(() => LONG_TITLE.length))
  await advanceUntilSettled(under.clock, closed)
})

test('close - reader who never reads - is cut after two seconds', async () => {
  const { under, channelId } = await startWithLargeProducts()
  await askWithoutReading(under, channelId)
  const startedMs = under.clock.nowMs()
  await advanceUntilSettled(under.clock, under.service.close(), SECOND_MS / 2)
  expect(under.clock.nowMs() - startedMs).toBeGreaterThanOrEqual(2 * SECOND_MS)
})

test('close - connection that never sent a request - is closed within half a second', async () => {
  const under = await startTestService()
  const { hostname, port } = new URL(under.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const startedMs = under.clock.nowMs()
  await Promise.all([once(socket, 'close'), advanceUntilSettled(under.clock, under.service.close())])
  expect(under.clock.nowMs() - startedMs).toBeLessThanOrEqual(SECOND_MS)
})
