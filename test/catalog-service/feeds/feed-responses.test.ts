import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../src/clock.ts'
import { fetchProducts } from '../harness.ts'
import {
  CHANNEL,
  createTable,
  fetchContent,
  fetchFreshContent,
  getState,
  runTestFeed,
  startFeed,
  toGtin,
} from './feed-fixture.ts'
import { type FeedHandler, redirect, send, sendRaw } from './feed-server.ts'
import { createZip } from './zip-file.ts'

const BODY = createTable(3)
const FILE = { name: 'feed.csv', content: Buffer.from(BODY) }

const sendInBytes: FeedHandler = (_request, response) => {
  void (async () => {
    response.writeHead(200)
    for (const byte of Buffer.from(BODY)) {
      response.write(Buffer.of(byte))
      if (byte === 0x2c) await setImmediate()
    }
    response.end()
  })()
}

const sendWithEarlyHints: FeedHandler = (request, response) => {
  response.writeEarlyHints({ link: '</style.css>; rel=preload' })
  send(BODY)(request, response)
}

/** Redirect the first request; `toLocation` gets the address of the server. */
const redirectOnce =
  (toLocation: (port: number | undefined) => string): FeedHandler =>
  (request, response) => {
    const isFirst = request.url === '/feed'
    const handler = isFirst ? redirect(toLocation(request.socket.localPort)) : send(BODY)
    handler(request, response)
  }

const toDate = (fromNowMs: number): string => new Date(Date.now() + fromNowMs).toUTCString()

/** What a server of feeds may do, with the number of requests. */
const RESPONSES: readonly (readonly [name: string, respond: FeedHandler, requests: number])[] = [
  ['chunks of one byte', sendInBytes, 1],
  ['HTTP/1.0 without a length', sendRaw(['HTTP/1.0 200 OK'], BODY), 1],
  ['early hints', sendWithEarlyHints, 1],
  ['10 kB of headers', send(BODY, { 'x-trace': 'x'.repeat(10_000), 'set-cookie': 'session=1' }), 1],
  ['byte order mark', send(`\ufeff${BODY}`), 1],
  ['UTF-16 with a byte order mark', send(Buffer.from(`\ufeff${BODY}`, 'utf16le')), 1],
  ['line ends of Windows', send(BODY.replaceAll('\n', '\r\n')), 1],
  ['gzip as an encoding', send(gzipSync(BODY), { 'content-encoding': 'GZIP' }), 1],
  ['gzip as x-gzip', send(gzipSync(BODY), { 'content-encoding': 'x-gzip' }), 1],
  ['gzip as a file', send(gzipSync(BODY), { 'content-type': 'application/octet-stream' }), 1],
  ['gzip of a gzip file', send(gzipSync(gzipSync(BODY)), { 'content-encoding': 'gzip' }), 1],
  ['gzip with a label of plain text', send(gzipSync(BODY), { 'content-type': 'text/csv; charset=utf-8' }), 1],
  ['plain text with a label of gzip', send(BODY, { 'content-type': 'application/gzip' }), 1],
  ['zip', send(createZip([FILE]), { 'content-disposition': 'attachment; filename="feed.csv"' }), 1],
  ['a type of HTML', send(BODY, { 'content-type': 'text/html' }), 1],
  ['a date of yesterday', send(BODY, { date: toDate(-DAY_MS) }), 1],
  ['a date of tomorrow', send(BODY, { date: toDate(DAY_MS) }), 1],
  ['the present date and an age', send(BODY, { date: toDate(0), age: '200' }), 1],
  ['an earlier date and an age', send(BODY, { date: toDate(-HOUR_MS), age: '3600' }), 1],
  ['a relative redirect', redirectOnce(() => 'files/today.csv'), 2],
  ['a redirect with spaces and umlauts', redirectOnce(() => '/files/heute früh.csv'), 2],
  ['a redirect to another host', redirectOnce((port) => `http://localhost:${port}/files`), 2],
]

describe('feed of another server', () => {
  test.each(RESPONSES)('%s - imported completely, with %3$s requests', async (...[, respond, requests]) => {
    const fixture = await startFeed(respond)
    await runTestFeed(fixture, fixture.feedId)
    expect(await fetchContent(fixture)).toEqual(await fetchFreshContent(BODY))
    expect(await getState(fixture)).toMatchObject({ status: 'ok', offers: 3, rejected: 0, error: null })
    expect(fixture.server.requests).toHaveLength(requests)
  })
})

const toRow = (link: string): string =>
  `gtin,title,link,availability,price\n${toGtin(1)},Product 1,"${link.replaceAll('"', '""')}",in_stock,10.50 EUR\n`

/** A link changes only where no address may be so. A quote is not in the table: it may come from a damaged cell. */
const LINKS: readonly (readonly [name: string, link: string, shown: string])[] = [
  ['plain', 'https://shop.example/p?a=1&b=%2F', 'https://shop.example/p?a=1&b=%2F'],
  ['umlauts', 'https://shop.example/café?q=größe', 'https://shop.example/café?q=größe'],
  ['braces and pipes', 'https://shop.example/p?q={id}|[x]', 'https://shop.example/p?q={id}|[x]'],
  ['space in the path', 'https://shop.example/a b?x=ü', 'https://shop.example/a%20b?x=ü'],
  ['space in the query', 'https://shop.example/p?q=red shoes', 'https://shop.example/p?q=red%20shoes'],
  ['angle brackets', 'https://shop.example/p?q=<a>', 'https://shop.example/p?q=%3Ca%3E'],
  ['spaces around', '  https://shop.example/p  ', 'https://shop.example/p'],
]

describe('link of a feed', () => {
  test.each(LINKS)('%s - the offer has it', async (...[, link, shown]) => {
    const fixture = await startFeed(send(toRow(link)))
    await runTestFeed(fixture, fixture.feedId)
    const products = await fetchProducts(fixture, CHANNEL)
    expect(products[0]?.offers[0]?.affiliate_url).toBe(shown)
  })
})
