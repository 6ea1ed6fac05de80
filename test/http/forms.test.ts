import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { CACHE_TAG_HEADERS } from '../../src/config/settings.ts'
import { type Form, type SentForm, createForm, sendForm } from '../../src/http/forms.ts'

const HEADERS = {
  'Content-Type': 'text/html',
  'Cache-Control': 'public',
  'X-Left': undefined,
  'Content-Encoding': 'gzip',
  Vary: 'Accept-Encoding',
}
const FORM = createForm(HEADERS, Buffer.from('<p>ü</p>'))
const SENT: SentForm = { etag: '"tag"', form: FORM, cacheControl: 'max-age=7', nowMs: Date.now() }

/** What is sent to a request, in lines; `isClosing`: by Node itself. */
async function exchange(sent: SentForm, { method = 'GET', tag = '', isClosing = false }): Promise<string[]> {
  const server = createServer((request, response) => sendForm(request, response, sent)).listen(0, '127.0.0.1')
  onTestFinished(() => server.close().closeAllConnections())
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const lines = [`${method} / HTTP/1.1`, 'Host: a']
  if (tag !== '') lines.push(`If-None-Match: ${tag}`)
  if (isClosing) lines.push('Connection: close')
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return chunk
    .toString()
    .split('\r\n')
    .filter((line) => !/^(?:Date|Connection|Keep-Alive):/.test(line))
}

const WHOLE = [
  'HTTP/1.1 200 OK',
  'Cache-Control: max-age=7',
  'Content-Type: text/html',
  'Content-Encoding: gzip',
  'Vary: Accept-Encoding',
  'ETag: "tag"',
  'Content-Length: 9',
  '',
  '<p>ü</p>',
]
const UNCHANGED = [
  'HTTP/1.1 304 Not Modified',
  'Cache-Control: max-age=7',
  'Vary: Accept-Encoding',
  'ETag: "tag"',
  '',
  '',
]

describe.each([
  ['in one write', false],
  ['by Node', true],
])('form that is sent %s', (_name, isClosing) => {
  test.each([
    ['whole', {}, WHOLE],
    ['HEAD', { method: 'HEAD' }, [...WHOLE.slice(0, -1), '']],
    ['another tag', { tag: '"other"' }, WHOLE],
    ['its own tag', { tag: 'W/"x", "tag"' }, UNCHANGED],
  ])('%s', async (_case, asked, lines) => {
    expect(await exchange(SENT, { ...asked, isClosing })).toEqual(lines)
  })

  test('nothing to revalidate', async () => {
    const lines = await exchange({ ...SENT, etag: null }, { tag: '*', isClosing })
    expect(lines).toEqual(WHOLE.filter((line) => !line.startsWith('ETag')))
  })
})

describe('headers of forms', () => {
  test('the same but for body and lifetime - are kept once', () => {
    const other = createForm({ ...HEADERS, 'Cache-Control': 'no-cache' }, Buffer.from('other'))
    expect(other.headers).toBe(FORM.headers)
    expect([FORM.cacheControl, other.cacheControl]).toEqual(['public', 'no-cache'])
  })

  test.each(['a\r\nX-Two: 2', 'a\n', 'Ā'])('%j - is no value of a header', (value) => {
    expect(() => createForm({ 'Cache-Control': 'public', 'X-One': value }, FORM.bytes)).toThrow(TypeError)
  })

  test('reason why one is hidden - is its own', async () => {
    const form = createForm({ ...HEADERS, 'Vitrine-Reason': 'why' }, FORM.bytes)
    expect(form.headers).toBe(FORM.headers)
    for (const isClosing of [false, true]) {
      const lines = await exchange({ ...SENT, form }, { isClosing })
      expect(lines).toEqual(WHOLE.toSpliced(5, 0, 'Vitrine-Reason: why'))
    }
  })

  test.each(CACHE_TAG_HEADERS)('tags in %s - are of one answer, and its encodings have them once', (name) => {
    const make = (tags: string, encoding: string): Form =>
      createForm({ ...HEADERS, [name]: tags, 'Content-Encoding': encoding }, FORM.bytes)
    const [first, zipped, second] = [make('product-1', 'a'), make('product-1', 'b'), make('product-2', 'a')]
    expect(second.headers).toBe(first.headers)
    expect(zipped.own).toBe(first.own)
    expect([first.own.text, second.own.text]).toEqual([`${name}: product-1\r\n`, `${name}: product-2\r\n`])
  })

  test.each(['Vitrine-Reason', 'Cache-Tag', 'X-One'])(
    '%s with a line break - is no value of a header',
    (name) => {
      const headers = { 'Cache-Control': 'public', [name]: 'a\r\nX-Two: 2' }
      expect(() => createForm(headers, FORM.bytes)).toThrow(TypeError)
    },
  )

  test('others - are not', () => {
    expect(createForm({ ...HEADERS, Vary: 'Origin' }, FORM.bytes).headers).not.toBe(FORM.headers)
  })
})
