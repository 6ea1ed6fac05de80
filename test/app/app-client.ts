import type { IncomingMessage } from 'node:http'
import { type DefaultTreeAdapterMap, parse, parseFragment } from 'parse5'
import request from 'supertest'
import type { WireProduct } from '../../src/catalog/contract.ts'
import { addCleanup, setUpOnce } from '../helpers/cleanup.ts'
import { CHANNEL_ID, makeWireOffer, makeWireProduct } from '../helpers/fake-catalog.ts'
import { type Harness, type HarnessOptions, createHarness } from '../helpers/harness.ts'

/** The product of `makeWireProduct`. */
export const GTIN = '09521234567899'
export const BOX = `/fragments/${CHANNEL_ID}/where-to-buy/${GTIN}`
export const BOX_EMBED = `/embeds/${CHANNEL_ID}/where-to-buy/${GTIN}`
export const BOX_DATA = `/data/${CHANNEL_ID}/where-to-buy/${GTIN}`
export const GRID = `/fragments/${CHANNEL_ID}/deals`
export const GRID_EMBED = `/embeds/${CHANNEL_ID}/deals`

/** A response as received. */
export type TestResponse = Readonly<{
  status: number
  headers: Readonly<Record<string, string | undefined>>
  body: Buffer
  text: string
}>

/** Start a harness that is disposed of after the test, or after the group in `setUpOnce`. */
export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const harness = await createHarness(options)
  addCleanup(() => harness.dispose())
  return harness
}

/** Create a product that is on sale at one shop. */
export function makeProductOnSale(over: Partial<WireProduct> = {}): WireProduct {
  return makeWireProduct({ offers: [makeWireOffer({ old_price: '99.80' })], ...over })
}

/** Put products into the catalog and walk it. */
export async function stockCatalog(
  harness: Harness,
  products: readonly WireProduct[] = [makeProductOnSale()],
): Promise<void> {
  harness.catalog.products.set(CHANNEL_ID, [...products])
  await harness.context.walks.runNow()
}

/** Start a harness whose catalog is stocked and walked. */
export async function startStockedHarness(
  products: readonly WireProduct[] = [makeProductOnSale()],
  options: HarnessOptions = {},
): Promise<Harness> {
  const harness = await startHarness(options)
  await stockCatalog(harness, products)
  return harness
}

/** Start a stocked harness for a group of read-only tests. */
export function useWalkedCopy(
  products: readonly WireProduct[] = [makeProductOnSale()],
  options: HarnessOptions = {},
): () => Harness {
  return setUpOnce(() => startStockedHarness(products, options))
}

/** Request an address; the body is not decompressed. */
export async function fetchPath(
  { app }: Pick<Harness, 'app'>,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  const response = await request(app)
    .get(path)
    .redirects(0)
    .set({ 'Accept-Encoding': 'identity', ...headers })
    .buffer(true)
    .parse((response, done) => collect(response as unknown as IncomingMessage, done))
  const body = response.body as Buffer
  return {
    status: response.status,
    headers: response.headers,
    body,
    text: body.toString('utf8'),
  }
}

function collect(response: IncomingMessage, done: (error: Error | null, body: Buffer) => void): void {
  const chunks: Buffer[] = []
  response.on('data', (chunk: Buffer) => chunks.push(chunk))
  response.on('end', () => done(null, Buffer.concat(chunks)))
}

export type Element = DefaultTreeAdapterMap['element']
type Node = DefaultTreeAdapterMap['node']

/** Return all elements of a fragment or document, including those inside templates. */
export function listElements(html: string): Element[] {
  return collectElements(/^<!doctype/i.test(html) ? parse(html) : parseFragment(html))
}

function collectElements(node: Node): Element[] {
  const self = 'tagName' in node ? [node] : []
  const inside = 'content' in node ? [node.content] : 'childNodes' in node ? node.childNodes : []
  return [...self, ...inside.flatMap(collectElements)]
}

/** Return the value of an attribute; empty if it is missing. */
export function getAttribute(element: Element, name: string): string {
  return element.attrs.find((attribute) => attribute.name === name)?.value ?? ''
}

/** Return the text of a node with single spaces. */
export function getText(node: Node): string {
  const text = (one: Node): string => {
    if ('value' in one) return one.value
    const inside = 'content' in one ? [one.content] : 'childNodes' in one ? one.childNodes : []
    return inside.map(text).join(' ')
  }
  return text(node).replace(/\s+/g, ' ').trim()
}

/** Return the visible text of a response. */
export function readVisibleText(html: string): string {
  return getText(/^<!doctype/i.test(html) ? parse(html) : parseFragment(html))
}

/** Return the elements of a class, in order. */
export function findByClass(html: string, className: string): Element[] {
  return listElements(html).filter((element) => getAttribute(element, 'class').split(' ').includes(className))
}

/** Return the merchants of a box in order, or the titles of the cards of a grid. */
export function listRows(html: string): string[] {
  const rows = [...findByClass(html, 'vitrine-merchant'), ...findByClass(html, 'vitrine-name')]
  return rows.map(getText)
}
