import { type ParsedUrlQuery, parse as parseQuery } from 'node:querystring'
import { VERSION_PATH, type WireProduct, type WireProductPage } from '../catalog/contract.ts'
import { ServiceError } from '../errors.ts'
import { makeCursor, parseGtin, parsePageRequest } from './requests.ts'
import type { CatalogReads } from './store/catalog-store.ts'

/** The three operations of the contract (section 4), by the names of the API document. */
type OperationName = 'listChannels' | 'listProducts' | 'getProduct'

/** What an address asks for; parts that it does not have are `''`. */
export type OperationAddress = Readonly<{
  operation: OperationName
  channelId: string
  gtin: string
  /** A parameter that stands twice is a list. */
  query: ParsedUrlQuery
}>

/** Gives the body of an answer. @throws ServiceError for what cannot be answered. */
export type Operation = (organizationId: string, address: OperationAddress) => Promise<unknown>

const NO_CHANNEL = 'there is no such channel'

/** A path of the interface. It may end in a slash, but not behind `products`: that is a look-up without a GTIN, not the list. */
const PATH = new RegExp(`^${VERSION_PATH}/channels(?:/?|/([^/]+)/products(?:/([^/]+)/?)?)$`, 'i')

/** What a whole address has before its path (RFC 9112, section 3.2.2). */
const ORIGIN = /^https?:\/\/[^/?]*/i

/** The operation that a request's target names; `undefined` when it is none of the three. */
export function findOperation(target: string): OperationName | undefined {
  const [path = ''] = toOwnTarget(target).split('?', 1)
  const parts = PATH.exec(path)
  return parts === null ? undefined : toOperation(parts)
}

function toOwnTarget(target: string): string {
  return target.startsWith('/') ? target : target.replace(ORIGIN, '')
}

function toOperation([, channelId, gtin]: RegExpExecArray): OperationName {
  return channelId === undefined ? 'listChannels' : gtin === undefined ? 'listProducts' : 'getProduct'
}

/**
 * Reads the path and query of a request's target, which may be a whole address.
 * @throws ServiceError 404 for an address that is none of the three, 400 for one that is badly encoded.
 */
export function parseAddress(target: string): OperationAddress {
  const url = toOwnTarget(target)
  const start = url.indexOf('?')
  const path = start === -1 ? url : url.slice(0, start)
  const parts = PATH.exec(path)
  if (parts === null) {
    decode(path)
    throw new ServiceError(404, 'there is no such address')
  }
  const [, channelId, gtin] = parts
  return {
    operation: toOperation(parts),
    channelId: decode(channelId ?? ''),
    gtin: decode(gtin ?? ''),
    query: start === -1 ? {} : parseQuery(url.slice(start + 1), '&', '=', { maxKeys: 0 }),
  }
}

function decode(text: string): string {
  try {
    return text.includes('%') ? decodeURIComponent(text) : text
  } catch {
    throw new ServiceError(400, 'the address is malformed')
  }
}

/** Makes the operations. What is wrong with an address is said before anything is read. */
export function createOperations(reads: CatalogReads): Readonly<Record<OperationName, Operation>> {
  return {
    listChannels: async (organizationId) => ({ items: await reads.fetchChannels(organizationId) }),
    async listProducts(organizationId, { channelId, query }): Promise<WireProductPage> {
      const request = parsePageRequest(query)
      const page = await reads.fetchPage({ organizationId, channelId: channelId.toLowerCase() }, request)
      if (page === undefined) throw new ServiceError(404, NO_CHANNEL)
      const { items, lastGtin } = page
      return { items, next_cursor: lastGtin === null ? null : makeCursor(lastGtin) }
    },
    async getProduct(organizationId, { channelId, gtin: text }): Promise<WireProduct> {
      const gtin = parseGtin(text)
      const product = await reads.findProduct({ organizationId, channelId: channelId.toLowerCase() }, gtin)
      if (product === undefined) throw new ServiceError(404, NO_CHANNEL)
      if (product === null) throw new ServiceError(404, 'no shop that the channel is approved for sells it')
      return product
    },
  }
}
