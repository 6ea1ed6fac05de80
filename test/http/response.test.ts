import { type IncomingHttpHeaders, type IncomingMessage, get as httpGet } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type ResponseDetails, sendResponse } from '../../src/http/response.ts'

type ReceivedResponse = { status: number | undefined; headers: IncomingHttpHeaders; body: string }

/** Send one response over HTTP, without the additions of fetch. */
async function exchange(
  details: ResponseDetails,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<ReceivedResponse> {
  const app = express().disable('x-powered-by').set('etag', false)
  app.use((request, response) => sendResponse(request, response, details))
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const request = httpGet({ port, host: '127.0.0.1', method, headers, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString() }
}

function makeResponseDetails(over: Partial<ResponseDetails> = {}): ResponseDetails {
  return {
    status: 200,
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'public', 'X-Left': undefined },
    etag: '"abc"',
    body: '<p>ü</p>',
    ...over,
  }
}

describe('sendResponse', () => {
  it('complete response - exact length in bytes, only the given headers', async () => {
    const { status, headers, body } = await exchange(makeResponseDetails())
    expect([status, body]).toEqual([200, '<p>ü</p>'])
    expect(Object.keys(headers).toSorted()).toEqual([
      'cache-control',
      'connection',
      'content-length',
      'content-type',
      'date',
      'etag',
    ])
    expect(headers).toMatchObject({ 'content-length': '9', etag: '"abc"' })
  })

  it('HEAD - the same headers, no body', async () => {
    const { headers, body } = await exchange(makeResponseDetails(), {}, 'HEAD')
    expect(headers).toMatchObject({ 'content-length': '9', etag: '"abc"' })
    expect(body).toBe('')
  })

  it.each(['"abc"', 'W/"abc"', '"x", "abc"', '*'])(
    'If-None-Match %s - 304, and nothing is rendered',
    async (tag) => {
      const getBody = vi.fn<() => Buffer>(() => Buffer.from('x'))
      const { status, headers, body } = await exchange(makeResponseDetails({ body: getBody }), {
        'if-none-match': tag,
      })
      expect([status, body]).toEqual([304, ''])
      expect(headers).toMatchObject({ etag: '"abc"', 'cache-control': 'public' })
      expect(headers['content-type']).toBeUndefined()
      expect(getBody).not.toHaveBeenCalled()
    },
  )

  it.each([
    ['another tag', '"abd"', '"abc"'],
    ['no validator', '*', null],
  ])('If-None-Match: %s - 200 with a body', async (_name, tag, etag) => {
    const { status, headers } = await exchange(makeResponseDetails({ etag }), { 'if-none-match': tag })
    expect(status).toBe(200)
    expect(headers.etag).toBe(etag ?? undefined)
  })

  it('request headers Range, If-Modified-Since, Accept-Encoding and Cache-Control - change nothing', async () => {
    const plain = await exchange(makeResponseDetails())
    const sent = await exchange(makeResponseDetails(), {
      range: 'bytes=0-1',
      'if-modified-since': 'Sat, 21 Nov 2099 12:00:00 GMT',
      'accept-encoding': 'gzip, br',
      'cache-control': 'no-cache',
      cookie: 'a=1',
    })
    expect({ ...sent, headers: { ...sent.headers, date: '' } }).toEqual({
      ...plain,
      headers: { ...plain.headers, date: '' },
    })
  })

  it('If-None-Match for an error - the error', async () => {
    const { status, body } = await exchange(makeResponseDetails({ status: 404 }), {
      'if-none-match': '"abc"',
    })
    expect([status, body]).toEqual([404, '<p>ü</p>'])
  })

  it('zero bytes - Content-Length 0', async () => {
    const { status, headers, body } = await exchange(makeResponseDetails({ body: '' }))
    expect([status, headers['content-length'], body]).toEqual([200, '0', ''])
  })
})
