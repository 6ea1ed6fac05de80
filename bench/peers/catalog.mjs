/**
 * A catalog service with generated products: `node bench/peers/catalog.mjs '{"count":1000,"delayMs":0}'`. It counts requests;
 * the benchmark uses `/control/state`, `/control/reset` and `/control/generation?value=N`.
 */
import { createServer } from 'node:http'
import { CHANNEL, createCatalogData } from '../lib/catalog-data.mjs'
import { serve } from './serve.mjs'

const { count, delayMs } = JSON.parse(process.argv[2])
const data = createCatalogData({ count })
const channels = Buffer.from(JSON.stringify({ items: [CHANNEL] }))
let generation = 0
let counts = createCounts()

function createCounts() {
  return { pages: 0, bytes: 0, lookups: new Map(), firstCallAtMs: null }
}

function send(response, body, status = 200) {
  const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length }
  const sendNow = () => response.writeHead(status, headers).end(body)
  if (delayMs > 0) setTimeout(sendNow, delayMs)
  else sendNow()
}

function sendPage(response, query) {
  const [first, limit] = [Number(query.get('cursor') ?? 0), Number(query.get('limit') ?? 50)]
  const page = data.toPage({ first, limit, generation })
  counts.pages += 1
  counts.bytes += page.length
  send(response, page)
}

function sendProduct(response, gtin) {
  counts.lookups.set(gtin, (counts.lookups.get(gtin) ?? 0) + 1)
  const index = data.findIndex(gtin)
  if (index === undefined) send(response, Buffer.from('{"error":"no such product"}'), 404)
  else send(response, data.toProduct(index, generation))
}

function sendControl(response, { pathname, searchParams }) {
  if (pathname === '/control/reset') counts = createCounts()
  if (pathname === '/control/generation') generation = Number(searchParams.get('value'))
  const { lookups, ...rest } = counts
  const calls = [...lookups.values()]
  const sum = calls.reduce((total, value) => total + value, 0)
  response.end(JSON.stringify({ ...rest, lookups: sum, maxPerProduct: Math.max(0, ...calls) }))
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const url = new URL(request.url, 'http://catalog.example')
  if (url.pathname.startsWith('/control/')) return sendControl(response, url)
  counts.firstCallAtMs ??= Date.now()
  const [, , , channel, , gtin] = url.pathname.split('/')
  if (channel === undefined) return send(response, channels)
  return gtin === undefined ? sendPage(response, url.searchParams) : sendProduct(response, gtin)
})
serve(server)
