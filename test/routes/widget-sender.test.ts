import { once } from 'node:events'
import { type IncomingMessage, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { EncodedBody } from '../../src/http/encodings.ts'
import { encodeBody } from '../../src/http/encodings.ts'
import type { AnyWidget } from '../../src/routes/widget-answer.ts'
import { createWidgetSender } from '../../src/routes/widget-sender.ts'
import { GTIN, startStocked } from '../app/visit.ts'
import { defer } from '../helpers/defer.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import type { Harness } from '../helpers/harness.ts'

type Sending = Readonly<{
  harness: Harness
  render: ReturnType<typeof vi.fn<() => Promise<EncodedBody>>>
  ask(headers?: Record<string, string>): Promise<Readonly<{ status: number | undefined; body: Buffer }>>
}>

/** A server that gives everybody one and the same widget. */
async function start(
  render: () => Promise<EncodedBody> = () => encodeBody('body'),
  etag: string | null = '"tag"',
): Promise<Sending> {
  const harness = await startStocked()
  const { context } = harness
  const asked = { channelId: CHANNEL_ID, gtin: GTIN, query: new URLSearchParams(), surface: 'embed' } as const
  const widget: AnyWidget = await context.widgets.getBox(asked)
  const rendered = vi.fn<() => Promise<EncodedBody>>(render)
  const send = createWidgetSender(context, {
    surface: 'embed',
    isEncoded: true,
    toHeaders: (_widget, encoding) => ({ 'Content-Encoding': encoding ?? undefined }),
    createMaker: () => ({ toEtag: () => etag, render: rendered }),
  })
  const server = createServer((request, response) => {
    const exchange = {
      request: Object.assign(request, { originalUrl: '/a' }),
      response: Object.assign(response, { locals: {} }),
    }
    send({ ...exchange, widget }).catch(() => void response.writeHead(500).end())
  }).listen(0, '127.0.0.1')
  onTestFinished(() => server.close().closeAllConnections())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const ask: Sending['ask'] = async (headers = {}) => {
    const [answer] = (await once(get({ port, host: '127.0.0.1', headers }), 'response')) as [IncomingMessage]
    return { status: answer.statusCode, body: Buffer.concat((await answer.toArray()) as Buffer[]) }
  }
  return { harness, render: rendered, ask }
}

describe('visitors of one widget', () => {
  test('at once - it is made once, and each has it in his encoding and is counted', async () => {
    const { harness, render, ask } = await start()
    const gzip = { 'accept-encoding': 'gzip' }
    const [first, second, third] = await Promise.all([ask(), ask(gzip), ask(gzip)])
    expect(
      [first?.body, second && gunzipSync(second.body), third && gunzipSync(third.body)].map(String),
    ).toEqual(['body', 'body', 'body'])
    expect(render).toHaveBeenCalledTimes(1)
    expect((await harness.context.metrics.print()).text).toContain(
      'vitrine_answers_total{surface="embed where-to-buy",state="shown",cache="hit"} 3',
    )
  })

  test('who has it already - has 304 and makes nothing; the next one has it whole', async () => {
    const { harness, render, ask } = await start()
    const { answers } = harness.context.memories
    expect((await ask({ 'if-none-match': '"tag"' })).status).toBe(304)
    expect([render.mock.calls.length, answers.entryCount()]).toEqual([0, 0])
    expect((await ask({ 'if-none-match': '"old"' })).body.toString()).toBe('body')
    expect((await ask({ 'if-none-match': '"tag"' })).status).toBe(304)
    expect(render).toHaveBeenCalledTimes(1)
  })

  test('who has it already, behind one who waits for its bytes - does not wait, and no failure of theirs is his', async () => {
    const gate = defer<EncodedBody>()
    const { ask, render } = await start(() => gate.promise)
    const waiting = ask()
    await vi.waitFor(() => expect(render).toHaveBeenCalledTimes(1))
    const known = await Promise.all([ask({ 'if-none-match': '"tag"' }), ask({ 'if-none-match': '*' })])
    expect(known.map(({ status }) => status)).toEqual([304, 304])
    gate.reject(new TypeError('a bug'))
    expect((await waiting).status).toBe(500)
  })

  test('nothing to revalidate - is sent whole, whatever they claim to have', async () => {
    const { ask } = await start(undefined, null)
    expect((await ask({ 'if-none-match': '*' })).body.toString()).toBe('body')
  })

  test('what cannot be kept warm - is sent all the same, and told', async () => {
    const { ask, harness } = await start()
    vi.spyOn(harness.context.memories.answers, 'isWarm').mockImplementation(() => {
      throw new TypeError('planted')
    })
    expect((await ask()).body.toString()).toBe('body')
    expect(harness.logs()).toContain('an answer could not be kept warm')
  })

  test('whoever comes after them - finds it warm', async () => {
    const { harness, ask } = await start()
    const { answers } = harness.context.memories
    const widget = await harness.context.widgets.getBox({
      channelId: CHANNEL_ID,
      gtin: GTIN,
      query: new URLSearchParams(),
      surface: 'embed',
    })
    await Promise.all([ask(), ask()])
    await vi.waitFor(() => expect(answers.isWarm(widget.identity, harness.clock.nowMs() + 1)).toBe(true))
  })

  test('failure - is that of everybody who waits', async () => {
    const { render, ask } = await start(() => Promise.reject(new TypeError('a bug')))
    expect((await Promise.all([ask(), ask()])).map(({ status }) => status)).toEqual([500, 500])
    expect(render).toHaveBeenCalledTimes(1)
  })
})
