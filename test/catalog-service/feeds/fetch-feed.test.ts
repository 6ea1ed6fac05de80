import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  type FetchFeedOptions,
  type FetchedFeed,
  fetchFeed,
} from '../../../src/catalog-service/feeds/fetch-feed.ts'
import { HOUR_MS } from '../../../src/clock.ts'
import { Secret, redactSecrets } from '../../../src/config/secrets.ts'
import { toRedirectTarget } from '../../../src/outgoing/fetch.ts'
import { createFakeClock } from '../../helpers/fake-clock.ts'
import { createFolder } from '../harness.ts'
import { createTable } from './feed-fixture.ts'
import {
  createFaults,
  type FeedServer,
  redirect,
  send,
  sendRaw,
  sendVersion,
  startFeedServer,
} from './feed-server.ts'
import { NO_PROXIES } from '../../helpers/proxies.ts'

const START_MS = Date.UTC(2026, 10, 25)
const BODY = createTable(3)
const TIME = 'Wed, 25 Nov 2026 00:00:00 GMT'

type Fetch = (options: Partial<FetchFeedOptions>) => Promise<FetchedFeed | null>

/** Fetch to a file of a new folder; `read` returns its content. */
function createFetch(url = ''): Readonly<{ fetch: Fetch; path: string; read: () => string }> {
  const path = join(createFolder(), 'feed.download')
  const fetch: Fetch = (options) =>
    fetchFeed({
      url,
      headerFile: null,
      secrets: new Map(),
      proxies: NO_PROXIES,
      validators: null,
      path,
      clock: createFakeClock(START_MS),
      ...options,
    })
  return { fetch, path, read: () => readFileSync(path, 'utf8') }
}

async function startFetch(respond?: Parameters<typeof startFeedServer>[0]) {
  const server = await startFeedServer(respond)
  return { server, ...createFetch(`${server.url}/feed`) }
}

describe('complete response', () => {
  it('stored with its validators, digest and the time of the request', async () => {
    const { fetch, read, path, server } = await startFetch(
      send(BODY, { etag: '"1"', 'last-modified': TIME, 'content-type': 'text/csv; charset="utf-8"' }),
    )
    expect(await fetch({})).toEqual({
      path,
      label: `${server.url}/…`,
      charset: 'utf-8',
      contentDigest: expect.stringMatching(/^[\w-]{43}$/) as string,
      etag: '"1"',
      lastModified: TIME,
      fetchedAtMs: START_MS,
    })
    expect(read()).toBe(BODY)
    expect(server.requests[0]?.headers).toMatchObject({ 'user-agent': 'vitrine', 'accept-encoding': 'gzip' })
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization')
  })

  it.each([
    ['without validators', {}, null, null],
    ['with a validator that is no valid header', { etag: 'ü' }, null, null],
    ['with a validator that is too long', { etag: `"${'x'.repeat(1_000)}"` }, null, null],
  ])('%s - has none', async (_, headers, etag, lastModified) => {
    const { fetch } = await startFetch(send(BODY, headers))
    expect(await fetch({})).toMatchObject({ etag, lastModified })
  })

  it.each([
    ['empty', ''],
    ['table', BODY],
    ['UTF-16', Buffer.from(BODY, 'utf16le')],
    ['XML', '<rss></rss>\n'],
    ['gzip', gzipSync(BODY)],
    ['gzip that ends in a digit', Buffer.concat([gzipSync(BODY), Buffer.from('1')])],
    ['zip', Buffer.from('PK\u0003\u0004 1')],
  ])('without a length, %s - is stored', async (_, body) => {
    const { fetch, path } = await startFetch(sendRaw(['HTTP/1.0 200 OK'], body))
    await fetch({})
    expect(readFileSync(path)).toEqual(Buffer.from(body))
  })

  it('in chunks, ending in the middle of a row - is stored: its end is known', async () => {
    const { fetch, read } = await startFetch((_request, response) => void response.end('gtin,tit'))
    await fetch({})
    expect(read()).toBe('gtin,tit')
  })

  it('content encoding gzip - stored as it is', async () => {
    const { fetch, path } = await startFetch(send(gzipSync(BODY), { 'content-encoding': 'gzip' }))
    await fetch({})
    expect(readFileSync(path)).toEqual(gzipSync(BODY))
  })
})

describe('conditional request', () => {
  it.each([
    ['ETag', { etag: '"1"' }, { etag: '"1"', lastModified: null }],
    ['Last-Modified', { 'last-modified': TIME }, { etag: null, lastModified: TIME }],
  ])('%s is current - null', async (_, headers, validators) => {
    const { fetch } = await startFetch(sendVersion(BODY, headers))
    expect(await fetch({ validators })).toBeNull()
  })

  it('ETag has changed - fetched; equal content has an equal digest', async () => {
    const { fetch, server } = await startFetch(sendVersion(BODY, { etag: '"1"' }))
    const first = await fetch({})
    server.respond = sendVersion(BODY, { etag: '"2"' })
    const second = await fetch({ validators: { etag: '"1"', lastModified: null } })
    expect(second).toMatchObject({ etag: '"2"', contentDigest: first?.contentDigest })
    server.respond = send(createTable(4))
    expect((await fetch({}))?.contentDigest).not.toBe(first?.contentDigest)
  })

  it.each([null, { etag: null, lastModified: null }])(
    '304 to a request without validators (%j) - error',
    async (validators) => {
      const { fetch } = await startFetch((_request, response) => void response.writeHead(304).end())
      await expect(fetch({ validators })).rejects.toThrow('responded with status 304')
    },
  )
})

describe('response that is not a complete feed', () => {
  it.each(Object.entries(createFaults(BODY)))('%s - FeedFetchError', async (_, respond) => {
    const { fetch } = await startFetch(respond)
    const error: unknown = await fetch({}).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'VITRINE_FEED_FETCH_FAILED' })
    expect((error as Error).cause).toBeUndefined()
  })

  it.each([
    ['status 404', 'responded with status 404: its address may have changed'],
    ['cut before Content-Length', 'cannot be fetched (the connection was closed before the end)'],
    ['closed in a row, without a length', 'ended in the middle of a row'],
    ['content encoding that was not requested', 'sends a content encoding that was not requested'],
    ['connection reset', 'cannot be fetched (the connection was closed before the end)'],
  ])('%s - the message says so', async (name, message) => {
    const { fetch } = await startFetch(createFaults(BODY)[name])
    await expect(fetch({})).rejects.toThrow(message)
  })

  it('larger than allowed - FeedFetchError', async () => {
    const { fetch } = await startFetch(send(BODY))
    await expect(fetch({ maxBytes: BODY.length - 1 })).rejects.toThrow(
      `is larger than ${BODY.length - 1} bytes`,
    )
    await expect(fetch({ maxBytes: BODY.length })).resolves.not.toBeNull()
  })

  it('never ends - ended by the deadline', async () => {
    const clock = createFakeClock(START_MS)
    const { fetch } = await startFetch((_request, response) => void response.write('gtin'))
    const fetched = fetch({ clock, onProgress: () => clock.advance(HOUR_MS) })
    await expect(fetched).rejects.toThrow('was not complete within 60 minutes')
    expect(clock.pendingWaits).toBe(0)
  })

  it('never begins - ended by the deadline', async () => {
    const clock = createFakeClock(START_MS)
    const { fetch } = await startFetch(() => clock.advance(HOUR_MS))
    await expect(fetch({ clock })).rejects.toThrow('was not complete within 60 minutes')
  })

  it('aborted while it is received - FeedFetchError', async () => {
    const stopping = new AbortController()
    const { fetch } = await startFetch((_request, response) => void response.write('gtin'))
    const fetched = fetch({ signal: stopping.signal, onProgress: () => stopping.abort() })
    await expect(fetched).rejects.toThrow('the run was stopped')
  })

  it('aborted before it begins - FeedFetchError without a request', async () => {
    const { fetch, server } = await startFetch(send(BODY))
    await expect(fetch({ signal: AbortSignal.abort() })).rejects.toThrow('the run was stopped')
    expect(server.requests).toEqual([])
  })

  it('unknown host, refused connection - FeedFetchError', async () => {
    await expect(createFetch('http://feeds.invalid/').fetch({})).rejects.toThrow(
      /^http:\/\/feeds\.invalid cannot be fetched \(the host /,
    )
    await expect(createFetch('http://127.0.0.1:1/x').fetch({})).rejects.toThrow(
      'http://127.0.0.1:1/… cannot be fetched (connection refused)',
    )
  })
})

/** Redirect `count` times, then send the feed. */
function redirectTimes(server: FeedServer, count: number): void {
  server.respond = (request, response) => {
    const step = Number(request.url?.slice(1))
    const respond = step < count ? redirect(`/${step + 1}`) : send(BODY)
    respond(request, response)
  }
}

describe('redirects', () => {
  it.each([1, 5])('%d - followed', async (count) => {
    const server = await startFeedServer()
    redirectTimes(server, count)
    const { fetch, read } = createFetch(`${server.url}/0`)
    await fetch({})
    expect(read()).toBe(BODY)
    expect(server.requests).toHaveLength(count + 1)
  })

  it('6 - FeedFetchError', async () => {
    const server = await startFeedServer()
    redirectTimes(server, 6)
    await expect(createFetch(`${server.url}/0`).fetch({})).rejects.toThrow('redirects more than 5 times')
    expect(server.requests).toHaveLength(6)
  })

  it.each([301, 302, 303, 307, 308])('status %d - followed', async (status) => {
    const { fetch, server, read } = await startFetch()
    server.respond = (request, response) =>
      (request.url === '/feed' ? send('', { location: 'other?a=1' }, status) : send(BODY))(request, response)
    await fetch({})
    expect(read()).toBe(BODY)
    expect(server.requests[1]?.url).toBe('/other?a=1')
  })

  it('to another origin - is sent neither the headers of the file nor the credentials', async () => {
    const [first, second] = [await startFeedServer(), await startFeedServer(send(BODY))]
    first.respond = redirect(`${second.url}/x`)
    const headerFile = join(createFolder(), 'headers')
    writeFileSync(headerFile, 'X-Token: token-of-the-header-file\n')
    const url = `${first.url.replace('//', '//user:p%40ss@')}/feed`
    const validators = { etag: '"1"', lastModified: null }
    await createFetch(url).fetch({ headerFile, validators })
    const authorization = `Basic ${Buffer.from('user:p@ss').toString('base64')}`
    expect(first.requests[0]?.headers).toMatchObject({ authorization, 'x-token': 'token-of-the-header-file' })
    expect(second.requests[0]?.headers).not.toHaveProperty('authorization')
    expect(second.requests[0]?.headers).not.toHaveProperty('x-token')
    expect(second.requests[0]?.headers).toHaveProperty('if-none-match')
  })

  it.each([
    ['https://a.example/', 'http://a.example/', 'from https to http'],
    ['https://a.example/', 'file:///etc/passwd', 'not a web address'],
    ['https://a.example/', 'ftp://a.example/', 'not a web address'],
    ['https://a.example/', 'https://', 'not a web address'],
    ['https://a.example/', undefined, 'not a web address'],
  ])('%s to %s - refused', (from, to, message) => {
    expect(() => toRedirectTarget(new URL(from), to)).toThrow(message)
  })

  it.each([
    ['http://a.example/', 'https://a.example/b', 'https://a.example/b'],
    ['https://a.example/b/c', '../d', 'https://a.example/d'],
    ['https://a.example/', 'https://b.example/', 'https://b.example/'],
    ['http://localhost/', 'http://127.0.0.1/', 'http://127.0.0.1/'],
    ['http://10.0.0.1/', 'https://a.example/', 'https://a.example/'],
  ])('%s to %s - followed', (from, to, target) => {
    expect(toRedirectTarget(new URL(from), to).href).toBe(target)
  })
})

async function startWithHeaders(text: string, secrets: Readonly<Record<string, string>> = {}) {
  const { fetch, server } = await startFetch(send(BODY))
  const headerFile = join(createFolder(), 'headers')
  writeFileSync(headerFile, text)
  const values = Object.entries(secrets).map(([name, value]) => [name, new Secret(value)] as const)
  return { server, fetched: fetch({ headerFile, secrets: new Map(values) }) }
}

describe('header file', () => {
  it('comments, blank lines and secrets - its headers are sent', async () => {
    const { server, fetched } = await startWithHeaders(
      '# comment\r\n\r\nAuthorization: Bearer ${TOKEN}\r\nX-Two:  a: b ${no} \r\n',
      { TOKEN: 'token-in-a-header' },
    )
    await fetched
    expect(server.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer token-in-a-header',
      'x-two': 'a: b ${no}',
    })
  })

  it.each([
    ['no colon', 'A: 1\nbearer hidden-value', 2],
    ['no value', 'hidden-value:', 1],
    ['a space in the name', '\n\nhidden value: x', 3],
    ['a control character', 'A: hidden\u0001value', 1],
  ])('line with %s - the message has only its number', async (_, text, line) => {
    const { server, fetched } = await startWithHeaders(text)
    await expect(fetched).rejects.toThrow(`line ${line} of the header file is not "Name: value"`)
    await expect(fetched).rejects.not.toThrow('hidden')
    expect(server.requests).toEqual([])
  })

  it.each(['Host', 'proxy-authorization'])(
    '%s, a header of the connection - FeedFetchError',
    async (name) => {
      const { server, fetched } = await startWithHeaders(`${name}: hidden-value`)
      await expect(fetched).rejects.toThrow(`the header file must not set ${name}`)
      expect(server.requests).toEqual([])
    },
  )

  it('missing file, missing secret - FeedFetchError', async () => {
    const { fetch } = await startFetch(send(BODY))
    await expect(fetch({ headerFile: '/nowhere/headers' })).rejects.toThrow(
      'the header file /nowhere/headers cannot be read: it does not exist',
    )
    const { fetched } = await startWithHeaders('A: ${MISSING}')
    await expect(fetched).rejects.toThrow('needs the setting VITRINE_FEED_MISSING, which is not set')
  })
})

describe('secrets of a feed', () => {
  it.each([
    ['in the path', '/${KEY}/feed', '', { KEY: 'path-key-4711/ü' }],
    ['in the query', '/feed?key=${KEY}&b', '', { KEY: 'query-key-4711 ü' }],
    ['written into the address', '/plain-key-4711/feed', '', {}],
    ['as user and password', '//user-4711:p%40ss-4711@', '', {}],
    ['in a header', '/feed', 'X-Key: ${KEY}\n', { KEY: 'header-key-4711' }],
    ['written into a header', '/feed', 'Authorization: Bearer plain-token-4711\n', {}],
  ])('%s - as they are sent, they are redacted in the log', async (...row) => {
    const [, address, headers, secrets] = row
    const { fetch, server } = await startFetch(send(BODY))
    const headerFile = join(createFolder(), 'headers')
    writeFileSync(headerFile, headers)
    const url = address.startsWith('//') ? server.url.replace('//', address) : `${server.url}${address}`
    const values = Object.entries(secrets).map(([name, value]) => [name, new Secret(value)] as const)
    await fetch({ url, headerFile, secrets: new Map(values) })
    const [request] = server.requests
    const sent = [request?.url, request?.headers.authorization, request?.headers['x-key']].join(' ')
    const credentials = Buffer.from('user-4711:p@ss-4711').toString('base64')
    expect(sent).toMatch(new RegExp(`4711|${credentials}`))
    expect(redactSecrets(sent)).not.toMatch(new RegExp(`4711|${credentials}`))
  })
})

describe('local file', () => {
  it('read in place, and unchanged while its time and size are equal', async () => {
    const file = join(createFolder(), 'ä b%.csv')
    writeFileSync(file, BODY)
    const url = pathToFileURL(file)
    const { fetch } = createFetch(url.href)
    const first = await fetch({})
    expect(first).toMatchObject({ path: file, label: url.pathname, contentDigest: null })
    expect(first?.fetchedAtMs).toBe(START_MS)
    const validators = { etag: first?.etag ?? '', lastModified: null }
    expect(await fetch({ validators })).toBeNull()
    writeFileSync(file, createTable(4))
    expect(await fetch({ validators })).toMatchObject({ path: file })
  })

  it('folder - FeedFetchError', async () => {
    const folder = createFolder()
    const { fetch } = createFetch(pathToFileURL(folder).href)
    await expect(fetch({})).rejects.toThrow(`${folder} is not a file`)
  })

  it('missing - FeedFetchError', async () => {
    await expect(createFetch('file:///nowhere/feed.csv').fetch({})).rejects.toThrow(
      '/nowhere/feed.csv cannot be opened: it does not exist',
    )
  })
})
