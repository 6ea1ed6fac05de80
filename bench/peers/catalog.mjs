/**
 * A catalog that answers from ready bytes, in a process of its own: `node bench/peers/catalog.mjs '{"count":1000}'`.
 * It counts what it is asked, and takes as long to answer as it is told. With `channels` each of them has all of the products.
 * Prints its port.
 */
import { createServer } from 'node:http'
import { createCatalogData, createChannels } from '../lib/catalog-data.mjs'

const { count, delayMs = 0, channels: channelCount = 1 } = JSON.parse(process.argv[2])
const data = createCatalogData({ count })
const list = createChannels(channelCount)
const channels = Buffer.from(JSON.stringify({ items: list }))
const known = new Set(list.map(({ id }) => id))
const notFound = Buffer.from('{"error":"no such thing"}')
let generation = 0
let counts = createCounts()

function createCounts() {
  return {
    pages: 0,
    bytes: 0,
    lookups: new Map(),
    firstCallAtMs: null,
    firstPageAtMs: null,
    lastPageAtMs: null,
  }
}

function send(response, body, status = 200) {
  const answer = () =>
    response
      .writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': body.length })
      .end(body)
  if (delayMs > 0) setTimeout(answer, delayMs)
  else answer()
}

function sendPage(response, query) {
  counts.pages += 1
  counts.firstPageAtMs ??= Date.now()
  const first = Number(query.get('cursor') ?? 0)
  const limit = Number(query.get('limit') ?? 50)
  const page = data.toPage({ first, limit, generation })
  counts.bytes += page.length
  send(response, page)
  if (first + limit >= count) counts.lastPageAtMs = Date.now()
}

function sendProduct(response, gtin) {
  counts.lookups.set(gtin, (counts.lookups.get(gtin) ?? 0) + 1)
  const index = data.findIndex(gtin)
  if (index === undefined) send(response, notFound, 404)
  else send(response, data.toProduct(index, generation))
}

function control(response, { pathname, searchParams }) {
  if (pathname === '/control/reset') counts = createCounts()
  if (pathname === '/control/generation') generation = Number(searchParams.get('value'))
  const { lookups, ...rest } = counts
  const calls = [...lookups.values()]
  const sums = {
    lookups: calls.reduce((sum, value) => sum + value, 0),
    products: calls.length,
    most: Math.max(0, ...calls),
  }
  response.end(JSON.stringify({ ...rest, ...sums, changedCount: data.changedCount }))
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const url = new URL(request.url, 'http://catalog.example')
  if (url.pathname.startsWith('/control/')) return control(response, url)
  counts.firstCallAtMs ??= Date.now()
  const [, , , channel, , gtin] = url.pathname.split('/')
  if (channel === undefined) return send(response, channels)
  if (!known.has(channel)) return send(response, notFound, 404)
  return gtin === undefined ? sendPage(response, url.searchParams) : sendProduct(response, gtin)
})
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`),
)
process.on('SIGTERM', () => process.exit(0))
