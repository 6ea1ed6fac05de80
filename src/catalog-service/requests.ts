import { MAX_PAGE_PRODUCTS } from '../catalog/contract.ts'
import { CatalogServiceError } from '../errors.ts'
import { normalizeGtin } from '../offers/gtin.ts'

const DEFAULT_PAGE_PRODUCTS = 50

/** A decoded cursor. The prefix lets a later format recognise old cursors. */
const CURSOR_PATTERN = /^gtin:(\d{14})$/

export function parsePageRequest(query: Readonly<Record<string, unknown>>) {
  return { limit: parseLimit(query['limit']), afterGtin: parseCursor(query['cursor']) }
}

/** Parse a GTIN and pad it to 14 digits. @throws CatalogServiceError 400 when it is not 1 to 14 digits. */
export function parseGtin(text: unknown): string {
  const gtin = normalizeGtin(typeof text === 'string' ? text : '')
  if (gtin === undefined) throw new CatalogServiceError(400, 'gtin must be 1 to 14 digits')
  return gtin
}

/** Create the opaque `next_cursor` of a page that ends with `gtin`. Cursors are stateless, so they survive restarts. */
export function createCursor(gtin: string): string {
  return Buffer.from(`gtin:${gtin}`, 'utf8').toString('base64url')
}

function parseLimit(text: unknown): number {
  if (text === undefined) return DEFAULT_PAGE_PRODUCTS
  const limit = typeof text === 'string' && /^[1-9]\d{0,2}$/.test(text) ? Number(text) : Infinity
  if (limit > MAX_PAGE_PRODUCTS)
    throw new CatalogServiceError(400, `limit must be a whole number from 1 to ${MAX_PAGE_PRODUCTS}`)
  return limit
}

function parseCursor(text: unknown): string {
  if (text === undefined) return ''
  const decoded = typeof text === 'string' ? Buffer.from(text, 'base64url').toString('utf8') : ''
  const gtin = CURSOR_PATTERN.exec(decoded)?.[1]
  // Several base64url texts decode to the same bytes: accept only the canonical one.
  if (gtin === undefined || createCursor(gtin) !== text)
    throw new CatalogServiceError(400, 'cursor must be the next_cursor of an earlier response, unchanged')
  return gtin
}
