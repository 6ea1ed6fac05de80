import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { WireChannel, WireProduct } from '../../src/catalog/contract.ts'

/** The key that the fake accepts. Tests search all output for it. */
export const FAKE_KEY = 'fake-key-7f3a9c51e2'

/** The id of the fake's channel. */
export const CHANNEL_ID = '3f2b8c1e-6a54-4d0b-9c7e-1b2a3c4d5e6f'

/** Handle a call that matches a fault: respond, hang or close the connection. */
export type FaultHandler = (request: IncomingMessage, response: ServerResponse) => void

/** A received call. */
export type ReceivedCall = Readonly<{ path: string; headers: IncomingMessage['headers'] }>

/** A catalog over real HTTP. Tests change its data and faults while it runs. */
export type FakeCatalog = {
  readonly url: string
  readonly calls: ReceivedCall[]
  channels: WireChannel[]
  /** Products by channel id. They are sent in GTIN order. */
  products: Map<string, WireProduct[]>
  /** Time for the `Date` header; `null`: no header. */
  nowMs: (() => number) | null
  /** Handles each call whose path matches; `null`: no fault. */
  fault: { pathPattern: RegExp; respond: FaultHandler } | null
  countCalls(pathPattern: RegExp): number
  close(): Promise<void>
}

/** Start a fake on a free loopback port, with one channel and no products. */
export async function startFakeCatalog(): Promise<FakeCatalog> {
  const server = createServer((request, response) => {
    response.sendDate = false
    if (fake.nowMs !== null) response.setHeader('Date', new Date(fake.nowMs()).toUTCString())
    respond(fake, request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const fake: FakeCatalog = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    channels: [{ id: CHANNEL_ID, name: 'Test magazine', kind: 'website', url: 'https://magazine.example/' }],
    products: new Map(),
    nowMs: null,
    fault: null,
    countCalls: (pathPattern) => fake.calls.filter((call) => pathPattern.test(call.path)).length,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return fake
}

/** Send a JSON response as the catalog contract defines it. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Create a product with one offer in EUR; `over` replaces properties. */
export function makeWireProduct(over: Partial<WireProduct> = {}): WireProduct {
  return {
    gtin: '09521234567899',
    title: 'Lumen Arc desk lamp',
    brand: 'Lumen',
    images: [{ url: 'https://pictures.example/lamp.jpg' }],
    offers: [makeWireOffer()],
    ...over,
  }
}

/** Create an offer in stock at 49.90 EUR; `over` replaces properties. */
export function makeWireOffer(
  over: Partial<WireProduct['offers'][number]> = {},
): WireProduct['offers'][number] {
  return {
    merchant: { name: 'Kopje' },
    network: 'brightlink',
    price: '49.90',
    currency: 'EUR',
    availability: 'in_stock',
    affiliate_url: 'https://links.example/c?shop=kopje',
    ...over,
  }
}

function respond(fake: FakeCatalog, request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? '/'
  fake.calls.push({ path, headers: request.headers })
  if (fake.fault?.pathPattern.test(path) === true) return fake.fault.respond(request, response)
  if (request.headers.authorization !== `Bearer ${FAKE_KEY}`)
    return sendJson(response, 401, { error: 'no such key' })
  if (path === '/v0/channels') return sendJson(response, 200, { items: fake.channels })
  respondWithProducts(fake, new URL(path, fake.url), response)
}

function respondWithProducts(fake: FakeCatalog, url: URL, response: ServerResponse): void {
  const [, channelId = '', gtin] = /^\/v0\/channels\/([^/]+)\/products(?:\/(\d+))?$/.exec(url.pathname) ?? []
  const products = (fake.products.get(channelId) ?? []).toSorted((a, b) => (a.gtin < b.gtin ? -1 : 1))
  if (!fake.channels.some(({ id }) => id === channelId))
    return sendJson(response, 404, { error: 'no such channel' })
  if (gtin !== undefined)
    return respondWithProduct(
      response,
      products.find((item) => item.gtin === gtin),
    )
  respondWithPage(response, products, url.searchParams)
}

function respondWithPage(
  response: ServerResponse,
  products: readonly WireProduct[],
  query: URLSearchParams,
): void {
  const rest = products.filter((item) => item.gtin > (query.get('cursor') ?? ''))
  const limit = Number(query.get('limit') ?? 50)
  const items = rest.slice(0, limit)
  sendJson(response, 200, { items, next_cursor: rest.length > limit ? (items.at(-1)?.gtin ?? null) : null })
}

function respondWithProduct(response: ServerResponse, product: WireProduct | undefined): void {
  if (product === undefined) sendJson(response, 404, { error: 'no shop sells it' })
  else sendJson(response, 200, product)
}
