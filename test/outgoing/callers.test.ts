/** The same responses for the catalog client, a skimmed page, feeds, pictures and the webhook: what each makes of them. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { fetchFeed } from '../../src/catalog-service/feeds/fetch-feed.ts'
import { HOUR_MS } from '../../src/clock.ts'
import { Secret } from '../../src/config/secrets.ts'
import { createEventSender } from '../../src/events/send-event.ts'
import type { NameResolver } from '../../src/outgoing/addresses.ts'
import { createPictureFetcher } from '../../src/pictures/fetch-picture.ts'
import { MAX_BYTES, createClient } from '../catalog/client-harness.ts'
import { type FeedHandler, startFeedServer } from '../catalog-service/feeds/feed-server.ts'
import { createFolder } from '../catalog-service/harness.ts'
import { EVENT_SECRET } from '../helpers/event-receiver.ts'
import { CHANNEL_ID } from '../helpers/fake-catalog.ts'
import { type FakeClock, createFakeClock } from '../helpers/fake-clock.ts'
import { NO_PROXIES } from '../helpers/proxies.ts'
import { startPictureHost } from '../pictures/picture-host.ts'

const KNOWN = { etag: '"1"', lastModified: null }
const START_MS = Date.UTC(2026, 10, 30)

/** `isKnown`: the caller has the version `KNOWN`. */
type Scenario = Readonly<{ respond: FeedHandler; clock: FakeClock; isKnown: boolean }>

type Caller = (scenario: Scenario) => Promise<Readonly<{ outcome: unknown; requests: number }>>

const toText = (error: unknown): string => {
  const { code, failure, message } = error as { code: string; failure?: string; message: string }
  return failure ?? `${code.replace(/^VITRINE_(?:CATALOG_)?/, '')}: ${removeCode(message)}`
}

/** A closed connection has one of several codes. */
const removeCode = (text: string): string => text.replace(/ \([A-Z_]+\)$/, '')

const createCatalogCaller =
  (isSkimmed: boolean): Caller =>
  async ({ respond, clock }) => {
    const server = await startFeedServer(respond)
    const { client } = createClient(server.url, { clock })
    const call = isSkimmed
      ? client.skimProduct({ channelId: CHANNEL_ID, cursor: null })
      : client.fetchProductPage({ channelId: CHANNEL_ID, cursor: null })
    const outcome = await call.then(() => 'a page', toText)
    return { outcome, requests: server.requests.length }
  }

/** `inside.example` is a private address for everyone; connections go to this machine. */
const resolver: NameResolver = {
  resolve: (name) =>
    Promise.resolve([{ address: name === 'inside.example' ? '10.0.0.7' : '93.184.215.14', family: 4 }]),
  toSocketAddress: () => ({ address: '127.0.0.1', family: 4 }),
}

const callFeed: Caller = async ({ respond, clock, isKnown }) => {
  const server = await startFeedServer(respond)
  const path = join(createFolder(), 'feed.download')
  const fetched = fetchFeed({
    url: server.url.replace('127.0.0.1', 'feeds.example'),
    headerFile: null,
    secrets: new Map(),
    proxies: NO_PROXIES,
    validators: isKnown ? KNOWN : null,
    path,
    clock,
    resolver,
    maxBytes: MAX_BYTES,
  })
  const outcome = await fetched.then(
    (feed) => (feed === null ? 'unchanged' : `${readFileSync(path).length} bytes`),
    (error: Error) => error.message.replace(/^\S+ /, ''),
  )
  return { outcome, requests: server.requests.length }
}

const callPicture: Caller = async ({ respond, clock, isKnown }) => {
  const host = await startPictureHost()
  onTestFinished(() => host.close())
  host.setAddresses('inside.example', () => [{ address: '10.0.0.7', family: 4 }])
  const fetcher = createPictureFetcher(clock, host.network, NO_PROXIES)
  onTestFinished(() => fetcher.close())
  const fetched = fetcher.fetch(host.serve('/', respond), isKnown ? KNOWN : null)
  const outcome = await fetched.then(
    ({ body }) => (body === null ? 'unchanged' : `${body.length} bytes`),
    toText,
  )
  return { outcome, requests: host.requests.length }
}

const callWebhook: Caller = async ({ respond, clock }) => {
  const server = await startFeedServer(respond)
  const webhook = { url: new Secret(server.url), secret: new Secret(EVENT_SECRET) }
  const sender = createEventSender(webhook, NO_PROXIES, clock)
  onTestFinished(() => sender.close())
  const failure = await sender.send({ id: 'id', body: '{}' })
  return { outcome: failure === null ? 'delivered' : removeCode(failure), requests: server.requests.length }
}

const CALLERS: readonly Caller[] = [
  createCatalogCaller(false),
  createCatalogCaller(true),
  callFeed,
  callPicture,
  callWebhook,
]

const PRODUCT = { gtin: '09521234567899', title: 'x'.repeat(100), brand: null, images: [], offers: [] }
const PAGE = Buffer.from(`${JSON.stringify({ items: [PRODUCT], next_cursor: null })}\n`)

const HEAD = 'HTTP/1.1 200 OK\r\n'
const CHUNK = Buffer.alloc(16 * 1024, '\n')

function writeForever(response: ServerResponse): void {
  if (!response.destroyed) response.write(CHUNK, () => writeForever(response))
}

const toOrigin = (request: Parameters<FeedHandler>[0], host: string): string =>
  `${request.socket instanceof TLSSocket ? 'https' : 'http'}://${host}:${request.socket.localPort}`

type Row = readonly [
  name: string,
  respond: (clock: FakeClock) => FeedHandler,
  /** Outcome and number of requests of: catalog, skimmed page, feed, picture, webhook. */
  expected: readonly (readonly [outcome: string, requests: number])[],
]

const LATE = 'DEADLINE: no complete response within 5000 ms'
const CLOSED = 'UNREACHABLE: the connection failed: the connection was closed before the end'

const ROWS: readonly Row[] = [
  [
    'complete',
    () => (_request, response) => void response.end(PAGE),
    [
      ['a page', 1],
      ['a page', 1],
      [`${PAGE.length} bytes`, 1],
      [`${PAGE.length} bytes`, 1],
      ['delivered', 1],
    ],
  ],
  [
    'headers that never come',
    (clock) => () => clock.advance(HOUR_MS),
    [
      [LATE, 1],
      [LATE, 1],
      ['was not complete within 60 minutes', 1],
      ['timeout', 1],
      ['no response in time', 1],
    ],
  ],
  [
    'body that never ends',
    (clock) => (_request, response) => {
      advanceAfterHeaders(clock)
      response.write('{')
    },
    [
      [LATE, 1],
      [LATE, 1],
      ['was not complete within 60 minutes', 1],
      ['timeout', 1],
      ['delivered', 1],
    ],
  ],
  [
    'connection that is reset',
    () =>
      ({ socket }) =>
        void (socket instanceof TLSSocket ? socket.destroy() : socket.resetAndDestroy()),
    [
      [CLOSED, 1],
      [CLOSED, 1],
      ['cannot be fetched (the connection was closed before the end)', 1],
      ['unreachable', 1],
      ['the connection was closed before the end', 1],
    ],
  ],
  [
    'body shorter than its length',
    () =>
      ({ socket }) =>
        void socket.end(`${HEAD}content-length: 100\r\n\r\n{`),
    [
      [CLOSED, 1],
      [CLOSED, 1],
      ['cannot be fetched (the connection was closed before the end)', 1],
      ['unreachable', 1],
      ['delivered', 1],
    ],
  ],
  [
    'body without an end',
    () => (_request, response) => writeForever(response),
    [
      [`TOO_LARGE: the response is larger than ${MAX_BYTES} bytes`, 1],
      [`TOO_LARGE: the response is larger than ${16 * MAX_BYTES} bytes`, 1],
      [`is larger than ${MAX_BYTES} bytes`, 1],
      ['too_large', 1],
      ['delivered', 1],
    ],
  ],
  [
    'bomb in gzip',
    () => (_request, response) =>
      void response
        .writeHead(200, { 'content-encoding': 'gzip' })
        .end(gzipSync(Buffer.alloc(20 * MAX_BYTES, '\n'))),
    [
      [`TOO_LARGE: the response is larger than ${MAX_BYTES} bytes, decompressed`, 1],
      [`TOO_LARGE: the response is larger than ${16 * MAX_BYTES} bytes`, 1],
      // A feed is stored as it was sent; its reader has a limit of its own.
      [`${gzipSync(Buffer.alloc(20 * MAX_BYTES, '\n')).length} bytes`, 1],
      ['format', 1],
      ['delivered', 1],
    ],
  ],
  [
    'encoding that is unknown',
    () => (_request, response) => void response.writeHead(200, { 'content-encoding': 'zstd' }).end(PAGE),
    [
      ['INVALID: the response has a content encoding that was not requested', 1],
      ['INVALID: the response has a content encoding that was not requested', 1],
      ['sends a content encoding that was not requested', 1],
      ['format', 1],
      ['delivered', 1],
    ],
  ],
  [
    'redirect to itself',
    () => (_request, response) => void response.writeHead(302, { location: '/' }).end(),
    [
      ['REDIRECT: the catalog responded with status 302; redirects are not followed', 1],
      ['REDIRECT: the catalog responded with status 302; redirects are not followed', 1],
      ['redirects more than 5 times', 6],
      ['redirects', 4],
      ['redirect (status 302)', 1],
    ],
  ],
  ...['10.0.0.7', 'inside.example'].map((host): Row => [
    `redirect to ${host}, which is private`,
    () => (request, response) =>
      void response.writeHead(302, { location: `${toOrigin(request, host)}/` }).end(),
    [
      ['REDIRECT: the catalog responded with status 302; redirects are not followed', 1],
      ['REDIRECT: the catalog responded with status 302; redirects are not followed', 1],
      ['redirects to a private address', 1],
      ['private_address', 1],
      ['redirect (status 302)', 1],
    ],
  ]),
  [
    '304',
    () => (_request, response) => void response.writeHead(304).end(),
    [
      ['REDIRECT: the catalog responded with status 304; redirects are not followed', 1],
      ['REDIRECT: the catalog responded with status 304; redirects are not followed', 1],
      ['responded with status 304', 1],
      ['status', 1],
      ['redirect (status 304)', 1],
    ],
  ],
]

/** Let all deadlines pass once a client has the headers of the next response. */
function advanceAfterHeaders(clock: FakeClock): void {
  const channels = ['undici:request:headers', 'http.client.response.finish']
  const onHeaders = (): void => {
    for (const channel of channels) unsubscribe(channel, onHeaders)
    setImmediate(() => clock.advance(HOUR_MS))
  }
  for (const channel of channels) subscribe(channel, onHeaders)
}

async function callAll(respond: Row[1], isKnown = false) {
  const results: unknown[] = []
  for (const call of CALLERS) {
    const clock = createFakeClock(START_MS)
    const { outcome, requests } = await call({ respond: respond(clock), clock, isKnown })
    results.push([outcome, requests])
    expect(clock.pendingWaits).toBe(0)
  }
  return results
}

test.each(ROWS)('%s - each caller ends with its own error', async (...[, respond, expected]) => {
  expect(await callAll(respond)).toEqual(expected)
})

const respondIfKnown: FeedHandler = ({ headers }, response) =>
  void response.writeHead(headers['if-none-match'] === KNOWN.etag ? 304 : 500).end()

test('304 to a known version - feed and picture are unchanged', async () => {
  const [, , feed, picture] = await callAll(() => respondIfKnown, true)
  expect([feed, picture]).toEqual([
    ['unchanged', 1],
    ['unchanged', 1],
  ])
})

test('one redirect to a public host - feed and picture are fetched from it', async () => {
  let requests = 0
  const respond: FeedHandler = (request, response) => {
    requests += 1
    if (requests % 2 === 0) response.end(PAGE)
    else response.writeHead(307, { location: `${toOrigin(request, 'cdn.example')}/` }).end()
  }
  const scenario = { respond, clock: createFakeClock(START_MS), isKnown: false }
  const expected = { outcome: `${PAGE.length} bytes`, requests: 2 }
  expect([await callFeed(scenario), await callPicture(scenario)]).toEqual([expected, expected])
})

test('page in gzip that closes its connection, read slowly - is skimmed to its end', async () => {
  const offers = Array.from({ length: 2_000 }, (_, id) => ({ id, text: String(Math.sqrt(id)) }))
  const body = gzipSync(JSON.stringify({ items: [{ ...PRODUCT, offers }], next_cursor: 'next' }))
  const respond: FeedHandler = ({ socket }) =>
    void socket.end(
      Buffer.concat([Buffer.from(`${HEAD}content-encoding: gzip\r\nconnection: close\r\n\r\n`), body]),
    )
  const clock = createFakeClock(START_MS)
  const scenario = { respond, clock, isKnown: false }
  expect(await createCatalogCaller(true)(scenario)).toEqual({ outcome: 'a page', requests: 1 })
})
