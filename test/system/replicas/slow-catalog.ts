import { once } from 'node:events'
import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { WireProduct } from '../../../src/catalog/contract.ts'
import { systemClock } from '../../../src/clock.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../../helpers/fake-catalog.ts'
import { defer } from '../../helpers/defer.ts'
import { toGtin } from '../../helpers/products.ts'

/** A received call. `subject`: the GTIN, the cursor of a page (empty for the first), or empty for the channel list. */
export type Call = Readonly<{ kind: 'channels' | 'page' | 'product'; subject: string; atMs: number }>

/** A catalog with slow pages, so that a test can interrupt a walk. */
export type SlowCatalog = Readonly<{
  url: string
  calls: readonly Call[]
  /** Delay the page that starts at this index until it is released. */
  holdPage(startIndex: number): Readonly<{ isRequested(): boolean; release(): void }>
}>

/** The number of products, the page size (regardless of the requested limit), and the delay of a page. */
type Size = Readonly<{ products: number; pageProducts: number; pageMs: number }>

/** Start a slow catalog with a single channel. It stops with the test. Products are in GTIN order. */
export async function startSlowCatalog(size: Size): Promise<SlowCatalog> {
  const { products: count, pageProducts, pageMs } = size
  let heldPage: Readonly<{ startIndex: number; released: Promise<unknown> }> | undefined
  const products = Array.from({ length: count }, (_, index) => makeDealProduct(toGtin(index)))
  const byGtin = new Map(products.map((product) => [product.gtin, product]))
  const calls: Call[] = []
  const recordCall = (kind: Call['kind'], subject: string): void =>
    void calls.push({ kind, subject, atMs: Date.now() })
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://catalog.example')
    const [, gtin] = /\/products\/(\d+)$/.exec(url.pathname) ?? []
    if (gtin !== undefined) {
      recordCall('product', gtin)
      return sendJson(response, byGtin.get(gtin))
    }
    if (!url.pathname.endsWith('/products')) {
      recordCall('channels', '')
      return sendJson(response, { items: [CHANNEL] })
    }
    const cursor = url.searchParams.get('cursor') ?? ''
    recordCall('page', cursor)
    const start = Number(cursor)
    const end = start + pageProducts
    const body = { items: products.slice(start, end), next_cursor: end < count ? String(end) : null }
    void Promise.all([systemClock.wait(pageMs), heldPage?.startIndex === start && heldPage.released]).then(
      () => sendJson(response, body),
    )
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
    holdPage(startIndex) {
      const { promise, resolve } = defer<undefined>()
      heldPage = { startIndex, released: promise }
      const previousCount = calls.length
      return {
        isRequested: () =>
          calls
            .slice(previousCount)
            .some(({ kind, subject }) => kind === 'page' && subject === String(startIndex)),
        release() {
          heldPage = undefined
          resolve(undefined)
        },
      }
    },
  }
}

const CHANNEL = { id: CHANNEL_ID, name: 'Test magazine', kind: 'website', url: 'https://magazine.example/' }

function makeDealProduct(gtin: string): WireProduct {
  return makeWireProduct({ gtin, title: `Lamp ${gtin}`, offers: [makeWireOffer({ old_price: '59.90' })] })
}

function sendJson(response: ServerResponse, body: unknown): void {
  if (response.destroyed) return
  response
    .writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
    .end(JSON.stringify(body ?? { error: 'no shop sells it' }))
}
