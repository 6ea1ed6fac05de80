import type { z } from 'zod'
import {
  type DropReason,
  type Offer,
  parseOffer,
  wireImageSchema,
  wireOfferSchema,
  wireProductSchema,
} from '../../catalog/contract.ts'
import { findGtin, isCheckDigitRight } from '../../offers/gtin.ts'
import { isPrice } from '../../offers/money.ts'
import { cleanText } from '../../offers/text.ts'
import {
  type FeedOffer,
  type FeedProduct,
  DEFAULT_NETWORK,
  MAX_RAW_CHARACTERS,
  type ParsedRow,
  type RowNames,
} from './feed-product.ts'
import { NO_PICTURE } from './feed-images.ts'
import type { FeedLine } from './lines.ts'
import { cutRaw } from './raw-text.ts'
import { collectRefusals } from './refusals.ts'

/** Where a picture is; whether boxes may show it is asked when they do, for this is read a thousand times more often. */
const WEB_ADDRESS = /^https?:\/\/[^/\s]/i

/** The availability of offers that name none. */
const UNKNOWN_AVAILABILITY = 'unknown'

const REASONS: Readonly<Record<Exclude<DropReason, 'shape'>, readonly [field: string, reason: string]>> = {
  product: ['', 'not a product'],
  merchant: ['.merchant.name', 'the merchant has no name'],
  price: ['.price', 'not a price: one to twelve digits, up to four decimals, above zero'],
  currency: ['.currency', 'not a currency code of three letters'],
  link: ['.affiliate_url', 'not an absolute http or https address without credentials'],
  too_many: ['', 'too many offers'],
}

/** The escape of U+0000, not after an escaped backslash: SQLite would cut the text there, and so merge names. */
const NUL_ESCAPE = /(?<!\\)(?:\\\\)*\\u0000/

/** Why a whole row cannot be used. */
type Refusal = readonly [field: string, reason: string]

type WireRow = z.output<typeof wireProductSchema>

/** Reads one line in the Product shape. Never throws: what cannot be used is a reject. Blank lines give nothing. */
export function parseRow(line: FeedLine, names: RowNames): ParsedRow {
  const text = decodeLine(line.bytes)
  if (!line.isTooLong && text?.trim() === '') return { product: undefined, rejects: [] }
  const json = parseJson(text)
  const wire = wireProductSchema.safeParse(json)
  const refusal = findLineRefusal(line, text, json) ?? findRowRefusal(wire.data, json)
  if (refusal !== undefined || !wire.success) {
    const [field, reason] = refusal ?? describeIssue(wire.error?.issues[0], json)
    const raw = cutRaw(text ?? line.bytes.toString('utf8'))
    return { product: undefined, rejects: [{ row: line.row, field, reason, raw }] }
  }
  const refusals = collectRefusals(line.row)
  const collect: Collect = (field, reason, value) => {
    refusals.add(field, reason, () => describeValue(value))
  }
  return { product: toFeedProduct(wire.data, names, collect), rejects: refusals.list() }
}

function findLineRefusal(line: FeedLine, text: string | undefined, json: unknown): Refusal | undefined {
  if (line.isTooLong) return ['row', 'the line is too long']
  if (text === undefined || json === undefined) return ['row', 'not JSON in UTF-8']
  return NUL_ESCAPE.test(text) ? ['row', 'holds the character U+0000'] : undefined
}

function findRowRefusal(wire: WireRow | undefined, json: unknown): Refusal | undefined {
  if (wire === undefined) return undefined
  const gtin = findGtin(wire.gtin) ?? ''
  if (/^0*$/.test(gtin)) return ['gtin', 'only zeros']
  if (!isCheckDigitRight(gtin)) return ['gtin', 'the check digit is wrong']
  if (cleanText(wire.title, MAX_RAW_CHARACTERS) === '') return ['title', 'the title is empty']
  if (wire.offers.length === 0) return ['offers', 'the product has no offer']
  if (hasMalformedImages(json)) return ['images', 'not a list']
  return undefined
}

/** The shape of the contract is tolerant here; a feed's images are not dropped without a word. */
function hasMalformedImages(json: unknown): boolean {
  return typeof json === 'object' && json !== null && 'images' in json && !Array.isArray(json.images ?? [])
}

/** `undefined` when no offer is usable: each of them is a reject then. */
function toFeedProduct(wire: WireRow, names: RowNames, collect: Collect): FeedProduct | undefined {
  const images = collectImages(wire.images ?? [], collect)
  const offers = wire.offers.flatMap((item, index) =>
    findOffer(item, names, (field, reason) => {
      collect(`offers[${index}]${field}`, reason, item)
    }),
  )
  if (offers.length === 0) return undefined
  const gtin = findGtin(wire.gtin) ?? ''
  return { gtin, title: wire.title, brand: wire.brand === '' ? null : (wire.brand ?? null), images, offers }
}

type Collect = (field: string, reason: string, value: unknown) => void

function collectImages(items: readonly unknown[], collect: Collect): string[] {
  return items.flatMap((item, index) => {
    const image = wireImageSchema.safeParse(item)
    const url = image.data?.url ?? ''
    if (WEB_ADDRESS.test(url)) return [url]
    const reason = url === '' ? 'not an image with a url' : NO_PICTURE
    collect(`images[${index}]`, reason, item)
    return []
  })
}

/** The offer, alone in a list, or an empty list. */
function findOffer(
  item: unknown,
  names: RowNames,
  refuse: (field: string, reason: string) => void,
): FeedOffer[] {
  const named = withMerchant(item, names.merchant)
  const wire = wireOfferSchema.safeParse(named)
  const parsed = parseOffer(named)
  if (!wire.success || typeof parsed === 'string') {
    refuse(...describeOfferFault(parsed, wire.error?.issues[0], named))
    return []
  }
  const oldPrice = readOldPrice(item)
  if (oldPrice === undefined) refuse('.old_price', 'not a price; the offer is kept without it')
  const network = parsed.network === '' ? DEFAULT_NETWORK : (wire.data.network ?? DEFAULT_NETWORK)
  return [
    {
      merchant: wire.data.merchant.name,
      merchantReference: null,
      network: names.network ?? network,
      price: wire.data.price,
      oldPrice: oldPrice ?? null,
      currency: parsed.currency,
      availability: wire.data.availability ?? UNKNOWN_AVAILABILITY,
      url: wire.data.affiliate_url,
      link: 'tracked',
    },
  ]
}

function describeOfferFault(
  parsed: Offer | DropReason,
  issue: Issue | undefined,
  json: unknown,
): [field: string, reason: string] {
  if (typeof parsed === 'string' && parsed !== 'shape') return [...REASONS[parsed]]
  const [field, reason] = describeIssue(issue, json)
  return [field === 'row' ? '' : `.${field}`, reason]
}

/** The former price; `null` when none is given (feeds also write zero or nothing), `undefined` when it is malformed. */
function readOldPrice(item: unknown): string | null | undefined {
  const value: unknown =
    typeof item === 'object' && item !== null && 'old_price' in item ? item.old_price : null
  if (value === null) return null
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string') return undefined
  if (/^[0.]*$/.test(text)) return null
  return isPrice(text) ? text : undefined
}

function withMerchant(item: unknown, merchant: string | undefined): unknown {
  if (merchant === undefined || typeof item !== 'object' || item === null) return item
  return { ...item, merchant: { name: merchant } }
}

type Issue = z.core.$ZodIssue

/** What a value had to be, in words. */
const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a text in quotes',
  object: 'an object',
  array: 'a list',
}

function describeIssue(issue: Issue | undefined, json: unknown): [field: string, reason: string] {
  const field = issue === undefined || issue.path.length === 0 ? 'row' : issue.path.map(String).join('.')
  if (field === 'gtin' && !hasGtin(json)) return [field, 'there is no gtin']
  if (field === 'gtin' && issue?.code !== 'invalid_type') return [field, 'not 1 to 14 digits']
  return [field, describeShape(issue)]
}

function describeShape(issue: Issue | undefined): string {
  if (issue?.code === 'too_small') return 'is empty'
  const expected = issue?.code === 'invalid_type' ? EXPECTED[issue.expected] : undefined
  return expected === undefined ? 'missing or malformed' : `missing, or not ${expected}`
}

function hasGtin(json: unknown): boolean {
  return typeof json === 'object' && json !== null && 'gtin' in json && json.gtin !== null && json.gtin !== ''
}

/** Fatal, so that a broken line is refused and not mended; a byte order mark is removed. */
const decoder = new TextDecoder('utf-8', { fatal: true })

function decodeLine(bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown)
  } catch {
    return undefined
  }
}

function describeValue(value: unknown): string {
  try {
    return cutRaw(JSON.stringify(value) ?? '')
  } catch {
    return 'nested too deeply to be written down'
  }
}
