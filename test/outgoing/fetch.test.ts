import { getEventListeners, once } from 'node:events'
import { type RequestListener, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readJson } from '../../src/catalog/client.ts'
import { sendRequest } from '../../src/outgoing/dispatcher.ts'
import { type OutgoingResponse, discardBody, readDecoded, withDeadline } from '../../src/outgoing/fetch.ts'
import { createFakeClock } from '../helpers/fake-clock.ts'

const TOO_LARGE = 'TOO_LARGE'
const MAX_BYTES = 64 * 1024

const ENCODERS = [
  ['identity', (text: string): Buffer => Buffer.from(text)],
  ['gzip', (text: string): Buffer => gzipSync(text)],
  ['br', (text: string): Buffer => brotliCompressSync(text)],
] as const

let succeed: RequestListener = () => {}
const server = createServer((incoming, outgoing) => succeed(incoming, outgoing))
const dispatcher = new Agent()

beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
afterAll(async () => {
  await dispatcher.destroy()
  server.closeAllConnections()
  server.close()
})

/** Request a body of these bytes with undici. */
async function receive(body: Buffer | string, encoding?: string): Promise<OutgoingResponse> {
  return receiveFrom((_incoming, outgoing) => {
    if (encoding !== undefined) outgoing.setHeader('content-encoding', encoding)
    outgoing.end(body)
  })
}

function receiveFrom(listener: RequestListener): Promise<OutgoingResponse> {
  succeed = listener
  return request(getOrigin(), { dispatcher })
}

const getOrigin = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

describe('JSON of a response', () => {
  test('any value, in any requested encoding - is read unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.constantFrom(...ENCODERS), async (value, [encoding, encode]) => {
        const text = JSON.stringify(value)
        expect(await readJson(await receive(encode(text), encoding), MAX_BYTES)).toEqual(JSON.parse(text))
      }),
    )
  })

  test('character split between two chunks - is decoded', async () => {
    const [head, tail] = [Buffer.from([0x22, 0xe2, 0x82]), Buffer.from([0xac, 0x22])]
    const received = await receiveFrom((_incoming, outgoing) => {
      outgoing.write(head, () => setImmediate(() => outgoing.end(tail)))
    })
    expect(await readJson(received, MAX_BYTES)).toBe('€')
  })

  test.each([
    ['nothing', ''],
    ['an unfinished list', '[1,'],
    ['two values', '{} {}'],
    ['UTF-8 that is broken in a text', Buffer.from([0x22, 0xc3, 0x28, 0x22])],
    ['UTF-16', Buffer.from('{}', 'utf16le')],
  ])('%s - is not JSON in UTF-8, and the error does not quote it', async (_name, body) => {
    const failure = await readJson(await receive(body), MAX_BYTES).catch((thrown: unknown) => thrown)
    expect(failure).toMatchObject({
      code: 'VITRINE_CATALOG_INVALID',
      message: 'the response is not JSON in UTF-8',
    })
    expect((failure as Error).cause).toBeUndefined()
  })
})

describe('encoding of a response', () => {
  test.each([
    ['zstd', 'has a content encoding that was not requested'],
    ['compress', 'has a content encoding that was not requested'],
    ['deflate', 'is not valid deflate data'],
    ['gzip, br', 'has a content encoding that was not requested'],
    ['gzip', 'is not valid gzip data'],
    ['Br', 'is not valid br data'],
  ])('%s, over plain text - %s', async (encoding, message) => {
    const failure = readDecoded(await receive('{}', encoding), MAX_BYTES)
    await expect(failure).rejects.toMatchObject({ code: 'ENCODING', message })
  })
})

describe('size of a response', () => {
  const text = JSON.stringify('x'.repeat(998))

  test.each(ENCODERS)('%s - decompressed to the limit - is read; one byte more is not', async (...row) => {
    const [encoding, encode] = row
    expect(await readDecoded(await receive(encode(text), encoding), 1_000)).toHaveLength(1_000)
    const failure = readDecoded(await receive(encode(text), encoding), 999)
    await expect(failure).rejects.toMatchObject({ code: TOO_LARGE })
  })

  test('compressed size at the limit - is read; one byte more is not', async () => {
    const compressed = gzipSync('1')
    expect(String(await readDecoded(await receive(compressed, 'gzip'), compressed.length))).toBe('1')
    const failure = readDecoded(await receive(compressed, 'gzip'), compressed.length - 1)
    await expect(failure).rejects.toMatchObject({
      code: TOO_LARGE,
      message: `is larger than ${compressed.length - 1} bytes`,
    })
  })

  test('decompressed size above the limit - the message says "decompressed"', async () => {
    const failure = readDecoded(await receive(gzipSync(text), 'gzip'), 999)
    await expect(failure).rejects.toThrow('is larger than 999 bytes, decompressed')
  })

  test('many chunks above the limit - their sum counts, and the rest is not read', async () => {
    const received = await receiveFrom((_incoming, outgoing) => {
      outgoing.write('"'.padEnd(600, 'x'), () => setImmediate(() => outgoing.write('x'.repeat(600))))
    })
    const failure = readDecoded(received, 1_000)
    await expect(failure).rejects.toMatchObject({ code: TOO_LARGE })
    expect(received.body.destroyed).toBe(true)
  })
})

describe('unwanted body', () => {
  test('endless response - discarded - closes the connection without an unhandled error', async () => {
    const ended: Promise<unknown>[] = []
    const received = await receiveFrom((_incoming, outgoing) => {
      ended.push(once(outgoing, 'close'))
      outgoing.write('x')
    })
    discardBody(received)
    expect(received.body.listenerCount('error')).toBeGreaterThan(0)
    await Promise.all(ended)
    expect([received.body.destroyed, ended.length]).toEqual([true, 1])
  })

  test('response that was read - discarded - is not an error', async () => {
    const received = await receive('{}')
    await readDecoded(received, MAX_BYTES)
    expect(() => discardBody(received)).not.toThrow()
  })
})

describe('signal of a request', () => {
  test('ended request - leaves no listener, which would keep a combined signal in memory', async () => {
    succeed = (_incoming, outgoing) => outgoing.end('body')
    const { signal } = new AbortController()
    const response = await sendRequest(dispatcher, { origin: getOrigin(), path: '/', method: 'GET', signal })
    await readDecoded(response, MAX_BYTES)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('aborted before - the request is not sent', async () => {
    let calls = 0
    succeed = (_incoming, outgoing) => {
      calls += 1
      outgoing.end()
    }
    const signal = AbortSignal.abort(new Error('stopped'))
    const sent = sendRequest(dispatcher, { origin: getOrigin(), path: '/', method: 'GET', signal })
    await expect(sent).rejects.toThrow('stopped')
    expect(calls).toBe(0)
  })
})

describe('deadline', () => {
  test('step that ignores its signal - ends at the deadline, and its signal is aborted', async () => {
    const clock = createFakeClock(0)
    let stepSignal: AbortSignal | undefined
    const result = withDeadline({ clock, timeoutMs: 300 }, (signal) => {
      stepSignal = signal
      return new Promise(() => {})
    })
    clock.advance(299)
    expect(stepSignal?.aborted).toBe(false)
    clock.advance(1)
    await expect(result).rejects.toMatchObject({ code: 'DEADLINE' })
    expect(stepSignal?.aborted).toBe(true)
  })

  test('step that fails or succeeds before - has its result, and its signal stays as it is', async () => {
    const clock = createFakeClock(0)
    expect(await withDeadline({ clock, timeoutMs: 300 }, () => Promise.resolve('value'))).toBe('value')
    const failing = withDeadline({ clock, timeoutMs: 300 }, () => Promise.reject(new Error('broken')))
    await expect(failing).rejects.toThrow('broken')
  })
})
