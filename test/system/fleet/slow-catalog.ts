import { once } from 'node:events'
import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { WireProduct } from '../../../src/catalog/contract.ts'
import { systemClock } from '../../../src/clock.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { toGtin } from '../../helpers/products.ts'

/** A call that came. `what`: the GTIN, or the cursor of a page (empty for the first), or nothing for the list. */
export type Call = Readonly<{ kind: 'channels' | 'page' | 'product'; what: string; atMs: number }>

/** A catalog whose pages take a while, so that a walk can be met half done. */
export type SlowCatalog = Readonly<{ url: string; calls: readonly Call[]; count(kind: Call['kind']): number }>

/** How many products it has, and how long one of its pages takes. */
type Size = Readonly<{ products: number; pageMs: number }>

/** Starts one with a single channel; it ends with the test. Products are in the order of their GTINs. */
export async function startSlowCatalog({ products: count, pageMs }: Size): Promise<SlowCatalog> {
  const products = Array.from({ length: count }, (_, index) => makeOne(toGtin(index)))
  const byGtin = new Map(products.map((product) => [product.gtin, product]))
  const calls: Call[] = []
  const note = (kind: Call['kind'], what: string): void => void calls.push({ kind, what, atMs: Date.now() })
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://catalog.example')
    const [, gtin] = /\/products\/(\d+)$/.exec(url.pathname) ?? []
    if (gtin !== undefined) {
      note('product', gtin)
      return send(response, byGtin.get(gtin))
    }
    if (!url.pathname.endsWith('/products')) {
      note('channels', '')
      return send(response, { items: [CHANNEL] })
    }
    const cursor = url.searchParams.get('cursor') ?? ''
    note('page', cursor)
    const start = Number(cursor)
    const end = start + Number(url.searchParams.get('limit'))
    const body = { items: products.slice(start, end), next_cursor: end < count ? String(end) : null }
    void systemClock.wait(pageMs).then(() => send(response, body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    count: (kind) => calls.filter((call) => call.kind === kind).length,
  }
}

const CHANNEL = { id: CHANNEL_ID, name: 'Test magazine', kind: 'website', url: 'https://magazine.example/' }

function makeOne(gtin: string): WireProduct {
  return makeWireProduct({ gtin, title: `Lamp ${gtin}`, offers: [makeWireOffer({ old_price: '59.90' })] })
}

function send(response: ServerResponse, body: unknown): void {
  if (response.destroyed) return
  response
    .writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
    .end(JSON.stringify(body ?? { error: 'no shop sells it' }))
}
