import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toGtin } from '../helpers/products.ts'

/** The key of the only organization. */
export const KEY = 'team-2.live_41~+/=='

/** The id of its first channel. */
export const CHANNEL = '0c8d1f62-93b7-4a5e-8d21-6f0e5b9a7c34'

/** A JSON object whose shape a switch may change. */
export type Entry = Record<string, unknown>

/** Text is sent as UTF-8. A header of `null` is removed. */
export type Answer = Readonly<{
  status: number
  headers?: Readonly<Record<string, string | null>>
  body?: string | Buffer
}>

/** A request as the catalog understood it. `cursor` is `null` on a first page. */
export type Call = Readonly<
  | { operation: 'channels' }
  | { operation: 'page'; channel: string; cursor: string | null; limit: number | null }
  | { operation: 'look-up'; channel: string; gtin: string }
>

/** What the interface leaves open, one switch each. The defaults are its plainest reading. */
export type Freedoms = Readonly<{
  /** Path of `{base_url}`. */
  basePath: string
  channels: readonly Entry[]
  /** The products of every channel. */
  products: readonly Entry[]
  /** Change a product before it is sent. */
  shape(product: Entry, operation: Call['operation']): unknown
  /** Put the products into the order of the pages. */
  arrange(products: readonly Entry[]): readonly Entry[]
  /** The most products of a page, whatever the request's limit is. */
  pageSize: number
  /** Whether a page that takes the last products says so, or only the empty page after it. */
  knowsEnd: boolean
  /** The products that the next page repeats. */
  overlap: number
  /** Pages without products between two pages. */
  emptyPages: number
  /** The cursor of the page that begins at a position. */
  toCursor(position: number): unknown
  /** `next_cursor` of the last page; `undefined`: the field is missing. */
  lastCursor: unknown
  /** Add fields to a list, or replace them. */
  wrap(list: Entry, call: Call): unknown
  /** Write a body. */
  write(value: unknown): string | Buffer
  /** Answer instead of the catalog. `nth` counts the calls of an operation from 1. */
  intercept(call: Call, nth: number): Answer | undefined
  /** The answer to a look-up of a product that no shop sells. */
  notFound: Answer
  /** Headers of all answers, in place of the catalog's own. */
  headers(): Readonly<Record<string, string | null>>
  /** Compress a body or change it otherwise; `name` is its `Content-Encoding`. */
  encoding: Readonly<{ name: string; encode(body: Buffer): Buffer }> | null
  /** Write an answer to the connection. */
  send(response: ServerResponse, answer: Sendable): void | Promise<void>
}>

/** An answer with all its headers and bytes. */
export type Sendable = Readonly<{ status: number; headers: Record<string, string>; body: Buffer }>

/** The three operations of section 4, without `{base_url}`. */
const OPERATION_PATH = /^\/v0\/channels(?:\/([^/]+)\/products(?:\/(\d{1,14}))?)?$/

/** A running catalog. */
export type IndependentCatalog = Readonly<{
  /** `{base_url}`. */
  url: string
  calls: readonly Call[]
  /** What a client did that the interface does not allow. */
  complaints: readonly string[]
  close(): Promise<void>
}>

/** An offer in stock, with all fields of the interface but `old_price`; `over` replaces fields. */
export const makeOffer = (merchant: string, price: string, over: Entry = {}): Entry => ({
  merchant: { name: merchant },
  network: 'brightlink',
  price,
  currency: 'EUR',
  availability: 'in_stock',
  affiliate_url: `https://links.example/c?shop=${encodeURIComponent(merchant)}`,
  ...over,
})

/** The product with the `index`-th GTIN, by default with one offer; `over` replaces fields. */
export const makeProduct = (index: number, over: Entry = {}): Entry => ({
  gtin: toGtin(index),
  title: `Kettle ${index}`,
  brand: 'Orrin',
  images: [{ url: `https://pictures.example/${index}.jpg` }],
  offers: [makeOffer('Kopje', `${index}0.00`)],
  ...over,
})

/** Five products. The first has three offers in no order; one of them is on sale, and so are the second and the fifth product. */
const PRODUCTS: readonly Entry[] = [
  makeProduct(1, {
    title: 'Lumen Arc desk lamp',
    brand: 'Lumen',
    offers: [
      makeOffer('Maison', '39.90', { availability: 'sold_out', network: 'parcelpoint' }),
      makeOffer('Kopje', '49.90', { old_price: '99.80' }),
      makeOffer('Zwart', '45.00', { network: 'parcelpoint' }),
    ],
  }),
  makeProduct(2, { offers: [makeOffer('Kopje', '20.00', { old_price: '60.00' })] }),
  makeProduct(3),
  makeProduct(4),
  makeProduct(5, { offers: [makeOffer('Kopje', '50.00', { old_price: '60.00' })] }),
]

export const PLAIN: Freedoms = {
  basePath: '',
  channels: [{ id: CHANNEL, name: 'Second magazine', kind: 'website', url: 'https://second.example/' }],
  products: PRODUCTS,
  shape: (product) => product,
  arrange: (products) => products,
  pageSize: 200,
  knowsEnd: true,
  overlap: 0,
  emptyPages: 0,
  toCursor: (position) => Buffer.from(`from ${position}`).toString('base64url'),
  lastCursor: null,
  wrap: (list) => list,
  write: (value) => JSON.stringify(value),
  intercept: () => undefined,
  notFound: { status: 404, body: JSON.stringify({ error: 'no approved shop sells it' }) },
  headers: () => ({}),
  encoding: null,
  send: (response, { status, headers, body }) =>
    void response.writeHead(status, { ...headers, 'content-length': String(body.length) }).end(body),
}

/** Start a catalog on a free loopback port. */
export async function startIndependentCatalog(
  freedoms: Partial<Freedoms> = {},
  port = 0,
): Promise<IndependentCatalog> {
  const catalog = new Catalog({ ...PLAIN, ...freedoms })
  const server = createServer((request, response) => catalog.respond(request, response))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${catalog.freedoms.basePath}`,
    calls: catalog.calls,
    complaints: catalog.complaints,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

class Catalog {
  readonly calls: Call[] = []
  readonly complaints: string[] = []
  /** The position and the remaining empty pages of each cursor that was handed out. */
  readonly #cursors = new Map<string, readonly [position: number, emptyPages: number]>()
  readonly freedoms: Freedoms

  constructor(freedoms: Freedoms) {
    this.freedoms = freedoms
  }

  respond(request: IncomingMessage, response: ServerResponse): void {
    const answer = this.#answer(request)
    const { encoding, headers, send } = this.freedoms
    const body = Buffer.from(answer.body ?? '')
    void send(response, {
      status: answer.status,
      headers: removeNulls({
        'content-type': 'application/json',
        ...(encoding && { 'content-encoding': encoding.name }),
        ...headers(),
        ...answer.headers,
      }),
      body: encoding === null ? body : encoding.encode(body),
    })
  }

  #answer(request: IncomingMessage): Answer {
    const call = this.#parse(request)
    if (call === null) return toError(404, 'no such address')
    this.calls.push(call)
    const nth = this.calls.filter(({ operation }) => operation === call.operation).length
    const intercepted = this.freedoms.intercept(call, nth)
    if (intercepted !== undefined) return intercepted
    if (request.headers.authorization !== `Bearer ${KEY}`)
      return toError(401, 'key missing, wrong or revoked')
    if (call.operation === 'channels')
      return this.#toAnswer(this.freedoms.wrap({ items: this.freedoms.channels }, call))
    if (
      !this.freedoms.channels.some((one) => String(one?.['id']).toLowerCase() === call.channel.toLowerCase())
    )
      return toError(404, 'no such channel')
    return call.operation === 'page' ? this.#sendPage(call) : this.#lookUp(call.gtin)
  }

  /** Understand a request, and complain about everything that the interface does not have. */
  #parse(request: IncomingMessage): Call | null {
    const { method, url = '' } = request
    const { pathname, searchParams } = new URL(url, 'http://catalog.example')
    const complain = (text: string): void => void this.complaints.push(`${method} ${url}: ${text}`)
    if (!isPlainGet(request)) complain('only GET without a body, and without the key in the address')
    const path = pathname.replace(this.freedoms.basePath, '')
    const [isKnown, channel, gtin] = OPERATION_PATH.exec(path) ?? []
    if (isKnown === undefined) {
      complain('no such path')
      return null
    }
    if (channel !== undefined && gtin === undefined) return this.#parsePage(channel, searchParams, complain)
    if (searchParams.size > 0) complain('no parameters are allowed')
    return channel === undefined || gtin === undefined
      ? { operation: 'channels' }
      : { operation: 'look-up', channel, gtin }
  }

  #parsePage(channel: string, query: URLSearchParams, complain: (text: string) => void): Call {
    const { cursor = null, limit: limitText, ...others } = Object.fromEntries(query)
    const limit = limitText === undefined ? null : Number(limitText)
    if (limit !== null && !(Number.isInteger(limit) && limit >= 1 && limit <= 200)) complain('a bad limit')
    if (cursor !== null && !this.#cursors.has(cursor)) complain('a cursor that was not handed out')
    if (Object.keys(others).length > 0) complain('unknown parameters')
    return { operation: 'page', channel, cursor, limit }
  }

  #sendPage(call: Call & { operation: 'page' }): Answer {
    const { arrange, products, pageSize, knowsEnd, emptyPages, overlap, shape, wrap } = this.freedoms
    const [position, emptyBefore] =
      call.cursor === null ? [0, 0] : (this.#cursors.get(call.cursor) ?? [-1, 0])
    if (position < 0) return toError(400, 'unknown cursor')
    const rest = arrange(products).slice(position)
    const size = emptyBefore > 0 ? 0 : Math.min(pageSize, call.limit ?? 20)
    const isLast = emptyBefore === 0 && (knowsEnd ? size >= rest.length : rest.length < size)
    const next = this.#toNextCursor(
      isLast,
      position + Math.max(0, size - overlap),
      size === 0 ? emptyBefore - 1 : emptyPages,
    )
    const items = rest.slice(0, size).map((product) => shape(product, 'page'))
    return this.#toAnswer(wrap({ items, next_cursor: next }, call))
  }

  #toNextCursor(isLast: boolean, position: number, emptyPages: number): unknown {
    if (isLast) return this.freedoms.lastCursor
    const cursor = this.freedoms.toCursor(position + emptyPages / 100)
    this.#cursors.set(String(cursor), [position, emptyPages])
    return cursor
  }

  #lookUp(gtin: string): Answer {
    const product = this.freedoms.products.find(
      (one) => String(one['gtin']).padStart(14, '0') === gtin.padStart(14, '0'),
    )
    return product === undefined
      ? this.freedoms.notFound
      : this.#toAnswer(this.freedoms.shape(product, 'look-up'))
  }

  #toAnswer(value: unknown): Answer {
    return { status: 200, body: this.freedoms.write(value) }
  }
}

const isPlainGet = ({ method, url = '', headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers['content-length'] === undefined &&
  headers['transfer-encoding'] === undefined &&
  !decodeURIComponent(url).includes(KEY)

const toError = (status: number, error: string): Answer => ({ status, body: JSON.stringify({ error }) })

const removeNulls = (headers: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter((header): header is [string, string] => header[1] !== null),
  )
