import { MAX_PAGE_PRODUCTS } from '../catalog/contract.ts'
import { ServiceError } from '../errors.ts'
import { findGtin } from '../offers/gtin.ts'

/** Products in a page when the request names no `limit`. */
const DEFAULT_PAGE_PRODUCTS = 50

/** Version mark inside a cursor, so that a later form can tell old ones apart. */
const CURSOR_PREFIX = 'gtin:'

export type PageRequest = Readonly<{ limit: number; afterGtin: string }>

export function parsePageRequest(query: Readonly<Record<string, unknown>>): PageRequest {
  return { limit: parseLimit(query['limit']), afterGtin: parseCursor(query['cursor']) }
}

/** Reads the GTIN of an address, padded to 14 digits. @throws ServiceError 400 when it is not 1 to 14 digits. */
export function parseGtin(text: unknown): string {
  const read = findGtin(typeof text === 'string' ? text : '')
  if (read === undefined) throw new ServiceError(400, 'gtin must be 1 to 14 digits')
  return read
}

/** The opaque `next_cursor` after a page that ends with `gtin`. It holds no state of the server: it survives restarts. */
export function makeCursor(gtin: string): string {
  return Buffer.from(CURSOR_PREFIX + gtin, 'utf8').toString('base64url')
}

function parseLimit(text: unknown): number {
  if (text === undefined) return DEFAULT_PAGE_PRODUCTS
  const limit = typeof text === 'string' && /^[1-9]\d{0,2}$/.test(text) ? Number(text) : Infinity
  if (limit > MAX_PAGE_PRODUCTS)
    throw new ServiceError(400, `limit must be a whole number from 1 to ${MAX_PAGE_PRODUCTS}`)
  return limit
}

function parseCursor(text: unknown): string {
  if (text === undefined) return ''
  const gtin = typeof text === 'string' ? findCursorGtin(text) : undefined
  if (gtin === undefined)
    throw new ServiceError(400, 'cursor must be the next_cursor of an earlier answer, unchanged')
  return gtin
}

/** The GTIN in a cursor of this service; `undefined` for any other text. */
function findCursorGtin(text: string): string | undefined {
  const decoded = Buffer.from(text, 'base64url').toString('utf8')
  const gtin = decoded.startsWith(CURSOR_PREFIX) ? decoded.slice(CURSOR_PREFIX.length) : ''
  return /^\d{14}$/.test(gtin) && makeCursor(gtin) === text ? gtin : undefined
}
