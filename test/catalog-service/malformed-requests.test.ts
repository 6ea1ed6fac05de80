import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openSqlite } from '../../src/database/sqlite.ts'
import { DAY_MS } from '../../src/clock.ts'
import {
  type ServiceUnderTest,
  importRows,
  createProduct,
  openSqliteTestStore,
  startTestService,
} from './harness.ts'

/** Send text over a plain socket and return the status line with headers, and the body. */
async function sendRaw({ url }: ServiceUnderTest, text: string): Promise<{ head: string; body: string }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(text)
  let received = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    received += String(chunk)
  })
  await once(socket, 'close')
  const [head = '', body = ''] = received.split('\r\n\r\n')
  return { head, body }
}

function createRequest({ key }: ServiceUnderTest, target: string, more: readonly string[] = []): string {
  const lines = [
    `GET ${target} HTTP/1.1`,
    'Host: a',
    `Authorization: Bearer ${key}`,
    ...more,
    'Connection: close',
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

describe('contract, section 7: every error is a JSON object', () => {
  it.each([
    ['too many headers', `GET /v0/channels HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, '431'],
    ['a header without a name', 'GET /v0/channels HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n', '400'],
    ['not HTTP', 'hello\r\n\r\n', '400'],
    ['no Host', 'GET /v0/channels HTTP/1.1\r\n\r\n', '400'],
  ])('malformed request - %s - gets a JSON error and is disconnected', async (_what, text, status) => {
    const { head, body } = await sendRaw(await startTestService(), text)
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(head).toContain('Content-Type: application/json; charset=utf-8')
    expect(JSON.parse(body)).toEqual({ error: expect.stringMatching(/^The /) })
  })

  it('request with Expect - is handled like any other', async () => {
    const fixture = await startTestService()
    const { head, body } = await sendRaw(
      fixture,
      createRequest(fixture, '/v0/channels', ['Expect: everything']),
    )
    expect([head.split('\r\n')[0], body]).toEqual(['HTTP/1.1 200 OK', '{"items":[]}'])
  })
})

describe('one connection', () => {
  it('more than 64 pipelined requests - close it', async () => {
    const fixture = await startTestService()
    const one = createRequest(fixture, '/v0/channels').replace('Connection: close\r\n', '')
    const socket = connect(Number(new URL(fixture.url).port), '127.0.0.1')
    socket.on('error', () => {})
    let received = ''
    socket.on('data', (chunk) => (received += chunk.toString()))
    socket.write(one.repeat(200))
    await once(socket, 'close')
    expect(received.split('HTTP/1.1 ').length - 1).toBeLessThanOrEqual(64)
    await fixture.get('/v0/channels').expect(200)
  })

  it('GET whose body never arrives - one response, and no 408 after it', async () => {
    const fixture = await startTestService()
    const request = createRequest(fixture, '/v0/channels', ['Content-Length: 9']).replace(
      'Connection: close\r\n',
      '',
    )
    const { head, body } = await sendRaw(fixture, request)
    expect([head.split('\r\n')[0], body]).toEqual(['HTTP/1.1 200 OK', '{"items":[]}'])
  })
})

describe('address of a request', () => {
  it('absolute form of the target (RFC 9112, section 3.2.2) - is accepted', async () => {
    const fixture = await startTestService()
    const target = `${fixture.url}/v0/channels?x=1`
    const { head, body } = await sendRaw(fixture, createRequest(fixture, target))
    expect([head.split('\r\n')[0], body]).toEqual(['HTTP/1.1 200 OK', '{"items":[]}'])
  })

  it('limit after a thousand other parameters - is still read', async () => {
    const fixture = await startTestService()
    const { channelId } = await importRows(fixture, [createProduct('17')])
    const many = Array.from({ length: 1_100 }, (_, index) => `${index}=`).join('&')
    const { body } = await fixture.get(`/v0/channels/${channelId}/products?${many}&limit=0`).expect(400)
    expect(body.error).toContain('limit')
  })
})

describe('contract, section 8: at midnight', () => {
  it('request received before midnight, rejected after it - may be retried at once', async () => {
    const fixture = await startTestService()
    await fixture.store.write((database) =>
      database.updateTable('organizations').set({ daily_limit: 0 }).execute(),
    )
    const { clock, store } = fixture
    const { countRequest } = store
    // Midnight passes while the request is counted.
    const countSlowly: typeof countRequest = async (organization) => {
      const isCounted = await countRequest(organization)
      clock.advance(DAY_MS)
      return isCounted
    }
    Object.assign(store, { countRequest: countSlowly })
    const { headers } = await fixture.get('/v0/channels').expect(429)
    expect(headers['retry-after']).toBe('1')
  })

  it('count cannot be written - 503 soon, with a message and logged; afterwards 200', async () => {
    const prepared = await openSqliteTestStore()
    const fixture = await startTestService({ prepared })
    const other = openSqlite({ path: prepared.path.replace('.db', '-usage.db'), role: 'writer' })
    onTestFinished(() => other.close())
    other.prepare('begin').run([])
    const { body } = await fixture.get('/v0/channels').expect(503)
    expect(body).toEqual({ error: 'the catalog is busy; try again in a moment' })
    expect(fixture.logs.join('')).toContain('catalog service request failed')
    other.prepare('rollback').run([])
    await fixture.get('/v0/channels').expect(200)
  })
})

describe('headers of a response', () => {
  it('keep-alive and closing connections - have the same headers', async () => {
    const fixture = await startTestService()
    const heads = await Promise.all(
      [true, false].map(async (isKeepAlive) => {
        const headers = {
          Authorization: `Bearer ${fixture.key}`,
          Connection: isKeepAlive ? 'keep-alive' : 'close',
        }
        const sent = httpRequest(`${fixture.url}/v0/channels`, { headers, agent: false }).end()
        const [response] = (await once(sent, 'response')) as [IncomingMessage]
        response.resume()
        const { connection, 'keep-alive': _keepAlive, date, ...others } = response.headers
        expect([connection, date !== undefined]).toEqual([isKeepAlive ? 'keep-alive' : 'close', true])
        return others
      }),
    )
    expect(heads[0]).toEqual(heads[1])
    expect(heads[0]).toMatchObject({ etag: expect.stringMatching(/^"[\w-]{27}"$/) })
  })
})
