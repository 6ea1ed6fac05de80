import { z } from 'zod'
import { MAX_PAGE_PRODUCTS } from '../catalog/contract.ts'
import { ServiceError } from '../errors.ts'
import { GTIN_PATTERN, findGtin } from '../offers/gtin.ts'

/** Products in a page when the request names no `limit`. */
const DEFAULT_PAGE_PRODUCTS = 50

/** Version mark inside a cursor, so that a later form can tell old ones apart. */
const CURSOR_PREFIX = 'gtin:'

const limit = z
  .string()
  .regex(/^[1-9]\d{0,2}$/)
  .transform(Number)
  .pipe(z.int().min(1).max(MAX_PAGE_PRODUCTS))
  .default(DEFAULT_PAGE_PRODUCTS)
  .describe('Most products in the page.')

const cursor = z
  .string()
  .min(1)
  .transform(findCursorGtin)
  .describe(
    'The `next_cursor` of the answer before, unchanged; left out for the first page. It is opaque, holds no state of the server, and survives its restarts.',
  )

const gtin = z
  .string()
  .regex(GTIN_PATTERN)
  .describe('1 to 14 digits. Fewer than 14 (EAN, UPC) are padded with zeros in front.')

const channelId = z.guid().describe('The `id` of a channel, in capital or small letters.')

/**
 * The parameters of requests: what parses them, and openapi.json is made from. `limit` is shown there as it is read, a
 * whole number; the others as they are sent. A `channelId` is looked up as it is: one that is no uuid is no channel's.
 */
export const PARAMETERS = { limit, cursor, gtin, channelId } as const

export type PageRequest = Readonly<{ limit: number; afterGtin: string }>

export function parsePageRequest(query: Readonly<Record<string, unknown>>): PageRequest {
  return { limit: parseLimit(query['limit']), afterGtin: parseCursor(query['cursor']) }
}

/** Reads the GTIN of an address, padded to 14 digits. @throws ServiceError 400 when it is not 1 to 14 digits. */
export function parseGtin(text: unknown): string {
  const read = findGtin(gtin.safeParse(text).data ?? '')
  if (read === undefined) throw new ServiceError(400, 'gtin must be 1 to 14 digits')
  return read
}

/** The opaque `next_cursor` after a page that ends with `gtin`. It holds no state of the server: it survives restarts. */
export function makeCursor(gtin: string): string {
  return Buffer.from(CURSOR_PREFIX + gtin, 'utf8').toString('base64url')
}

function parseLimit(text: unknown): number {
  const read = limit.safeParse(text).data
  if (read === undefined)
    throw new ServiceError(400, `limit must be a whole number from 1 to ${MAX_PAGE_PRODUCTS}`)
  return read
}

function parseCursor(text: unknown): string {
  if (text === undefined) return ''
  const read = cursor.safeParse(text).data
  if (read === undefined)
    throw new ServiceError(400, 'cursor must be the next_cursor of an earlier answer, unchanged')
  return read
}

/** The GTIN in a cursor of this service; `undefined` for any other text. */
function findCursorGtin(text: string): string | undefined {
  const decoded = Buffer.from(text, 'base64url').toString('utf8')
  const gtin = decoded.startsWith(CURSOR_PREFIX) ? decoded.slice(CURSOR_PREFIX.length) : ''
  return /^\d{14}$/.test(gtin) && makeCursor(gtin) === text ? gtin : undefined
}
