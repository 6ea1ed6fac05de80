import type { output as Output, core } from 'zod'
import {
  type DropReason,
  parseOffer,
  wireImageSchema,
  wireOfferSchema,
  wireProductSchema,
} from '../../catalog/contract.ts'
import { normalizeGtin, isCheckDigitValid } from '../../offers/gtin.ts'
import { isPrice } from '../../offers/money.ts'
import { cleanText } from '../../offers/text.ts'
import {
  DEFAULT_NETWORK,
  type FeedOffer,
  type FeedProduct,
  type FeedRow,
  MAX_RAW_CHARACTERS,
  MAX_ROW_BYTES,
  INVALID_PICTURE_URL,
  type ParsedRow,
  type NameOverrides,
  computeDigest,
  createRowRejects,
  truncateRaw,
} from './feed-row.ts'

/** Bytes of an overlong line that are kept for the reject. */
const HEAD_BYTES = 2_000

const LINE_FEED = 0x0a

/** A line without its line end. `row` counts from 1. An overlong line has only its first bytes. */
export type FeedLine = Readonly<{ row: number; bytes: Buffer; isTooLong: boolean }>

/** @yields the rows of each chunk of UTF-8 with one JSON product per line */
export async function* readJsonRows(
  chunks: AsyncIterable<Buffer>,
  names: NameOverrides,
  salt: string,
): AsyncGenerator<FeedRow[]> {
  for await (const lines of readLines(chunks))
    yield lines.map((line) => ({
      row: line.row,
      bytes: line.bytes.length,
      guessGtin: () => (line.isTooLong ? undefined : guessGtin(line.bytes)),
      computeDigest: () => computeDigest(salt, line.bytes),
      parse: () => parseRow(line, names),
    }))
}

/** Guess the GTIN of a line. A wrong guess costs only time: digests are stored under the parsed GTIN. */
function guessGtin(bytes: Buffer): string | undefined {
  const at = bytes.indexOf('"gtin"')
  if (at === -1) return undefined
  const code = /^"gtin" ?: ?"(\d{1,14})"/.exec(bytes.toString('latin1', at, at + 30))?.[1]
  return code === undefined ? undefined : normalizeGtin(code)
}

/** @yields the lines that end in each chunk, including blank ones */
async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<FeedLine[]> {
  let pieces: Buffer[] = []
  let sizeBytes = 0
  let row = 0
  const add = (piece: Buffer): void => {
    if (sizeBytes <= MAX_ROW_BYTES) pieces.push(piece)
    sizeBytes += piece.length
  }
  const takeLine = (): FeedLine => {
    const isTooLong = sizeBytes > MAX_ROW_BYTES
    const bytes = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
    pieces = []
    sizeBytes = 0
    row += 1
    return { row, bytes: isTooLong ? bytes.subarray(0, HEAD_BYTES) : bytes, isTooLong }
  }
  for await (const chunk of chunks) {
    const lines: FeedLine[] = []
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, end))
      lines.push(takeLine())
      start = end + 1
    }
    if (start < chunk.length) add(chunk.subarray(start))
    yield lines
  }
  if (sizeBytes > 0) yield [takeLine()]
}

/** A quick check of picture addresses. The full check is done when a box is rendered, which is much rarer. */
const WEB_ADDRESS = /^https?:\/\/[^/\s]/i

const OFFER_PROBLEMS: Readonly<
  Record<Exclude<DropReason, 'shape'>, readonly [field: string, reason: string]>
> = {
  product: ['', 'not a product'],
  merchant: ['.merchant.name', 'the merchant has no name'],
  price: ['.price', 'not a price: one to twelve digits, up to four decimals, above zero'],
  currency: ['.currency', 'not a currency code of three letters'],
  link: ['.affiliate_url', 'not an absolute http or https address without credentials'],
  too_many: ['', 'too many offers'],
}

/** An escaped U+0000 (not an escaped backslash): SQLite would cut the text there and so merge names. */
const NUL_ESCAPE = /(?<!\\)(?:\\\\)*\\u0000/

type Problem = readonly [field: string, reason: string]

type WireRow = Output<typeof wireProductSchema>

/** Parse one line as a product of the contract. Never throws: unusable data becomes a reject. A blank line gives neither. */
export function parseRow(line: FeedLine, names: NameOverrides): ParsedRow {
  const text = tryOrUndefined(() => decoder.decode(line.bytes))
  if (!line.isTooLong && text?.trim() === '') return { product: undefined, rejects: [] }
  const json = tryOrUndefined(() => JSON.parse(text ?? '') as unknown)
  const wire = wireProductSchema.safeParse(json)
  const problem = findLineProblem(line, text, json) ?? findRowProblem(wire.data, json)
  if (problem !== undefined || !wire.success) {
    const [field, reason] = problem ?? describeIssue(wire.error?.issues[0], json)
    const raw = truncateRaw(text ?? line.bytes.toString('utf8'))
    return { product: undefined, rejects: [{ row: line.row, field, reason, raw }] }
  }
  const rowRejects = createRowRejects(line.row)
  const reject: RejectItem = (field, reason, value) =>
    rowRejects.add(field, reason, () => describeValue(value))
  return { product: toFeedProduct(wire.data, names, reject), rejects: rowRejects.list() }
}

function findLineProblem(line: FeedLine, text: string | undefined, json: unknown): Problem | undefined {
  if (line.isTooLong) return ['row', 'the line is too long']
  if (text === undefined || json === undefined) return ['row', 'not JSON in UTF-8']
  return NUL_ESCAPE.test(text) ? ['row', 'contains the character U+0000'] : undefined
}

function findRowProblem(wire: WireRow | undefined, json: unknown): Problem | undefined {
  if (wire === undefined) return undefined
  const gtin = normalizeGtin(wire.gtin) ?? ''
  if (/^0*$/.test(gtin)) return ['gtin', 'only zeros']
  if (!isCheckDigitValid(gtin)) return ['gtin', 'the check digit is wrong']
  if (cleanText(wire.title, MAX_RAW_CHARACTERS) === '') return ['title', 'the title is empty']
  if (wire.offers.length === 0) return ['offers', 'the product has no offer']
  // The schema ignores malformed images; report them instead of dropping them silently.
  return Array.isArray(readField(json, 'images') ?? []) ? undefined : ['images', 'not an array']
}

type RejectItem = (field: string, reason: string, value: unknown) => undefined

function toFeedProduct(wire: WireRow, names: NameOverrides, reject: RejectItem): FeedProduct | undefined {
  const images = collectImages(wire.images ?? [], reject)
  const offers: FeedOffer[] = []
  for (const [index, item] of wire.offers.entries()) {
    const offer = findOffer(item, names, (field, reason) => reject(`offers[${index}]${field}`, reason, item))
    if (offer !== undefined) offers.push(offer)
  }
  if (offers.length === 0) return undefined
  const gtin = normalizeGtin(wire.gtin) ?? ''
  return { gtin, title: wire.title, brand: wire.brand === '' ? null : (wire.brand ?? null), images, offers }
}

function collectImages(items: readonly unknown[], reject: RejectItem): string[] {
  return items.flatMap((item, index) => {
    const url = wireImageSchema.safeParse(item).data?.url ?? ''
    if (WEB_ADDRESS.test(url)) return [url]
    reject(`images[${index}]`, url === '' ? 'not an image with a url' : INVALID_PICTURE_URL, item)
    return []
  })
}

/** Keep names as in the feed, not as cleaned by `parseOffer`. */
function findOffer(
  item: unknown,
  names: NameOverrides,
  reject: (...problem: Problem) => undefined,
): FeedOffer | undefined {
  const offerWithMerchant =
    names.merchant !== undefined && typeof item === 'object' && item !== null
      ? { ...item, merchant: { name: names.merchant } }
      : item
  const parsed = parseOffer(offerWithMerchant)
  if (typeof parsed === 'string') return reject(...describeOfferProblem(parsed, offerWithMerchant))
  const { merchant, network, availability } = offerWithMerchant as Readonly<
    Record<string, unknown> & { merchant: { name: string } }
  >
  const oldPrice = readOldPrice(readField(item, 'old_price'))
  if (oldPrice === undefined) reject('.old_price', 'not a price; the offer is kept without it')
  return {
    merchant: merchant.name,
    merchantReference: null,
    network: names.network ?? (parsed.network === '' ? DEFAULT_NETWORK : String(network)),
    price: parsed.price,
    oldPrice: oldPrice ?? null,
    currency: parsed.currency,
    availability: typeof availability === 'string' ? availability : 'unknown',
    salePeriod: null,
    checkedAtMs: null,
    url: parsed.affiliateUrl,
    link: 'tracked',
  }
}

function describeOfferProblem(reason: DropReason, json: unknown): Problem {
  if (reason !== 'shape') return OFFER_PROBLEMS[reason]
  const [field, shape] = describeIssue(wireOfferSchema.safeParse(json).error?.issues[0], json)
  return [field === 'row' ? '' : `.${field}`, shape]
}

/** Read the former price: `null` when it is absent, empty or zero; `undefined` when it is malformed. */
function readOldPrice(value: unknown): string | null | undefined {
  if (value === null || value === undefined) return null
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string') return undefined
  if (/^[0.]*$/.test(text)) return null
  return isPrice(text) ? text : undefined
}

type Issue = core.$ZodIssue

const EXPECTED_TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  object: 'an object',
  array: 'an array',
}

function describeIssue(issue: Issue | undefined, json: unknown): Problem {
  const field = issue === undefined || issue.path.length === 0 ? 'row' : issue.path.map(String).join('.')
  if (field === 'gtin' && (readField(json, 'gtin') ?? '') === '') return [field, 'there is no gtin']
  if (field === 'gtin' && issue?.code !== 'invalid_type') return [field, 'not 1 to 14 digits']
  return [field, describeShape(issue)]
}

function describeShape(issue: Issue | undefined): string {
  if (issue?.code === 'too_small') return 'is empty'
  const expected = issue?.code === 'invalid_type' ? EXPECTED_TYPES[issue.expected] : undefined
  return expected === undefined ? 'missing or malformed' : `missing, or not ${expected}`
}

function readField(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null
    ? (json as Readonly<Record<string, unknown>>)[name]
    : undefined
}

/** Fatal, so that invalid UTF-8 is rejected instead of replaced. Removes a byte order mark. */
const decoder = new TextDecoder('utf-8', { fatal: true })

function tryOrUndefined<T>(compute: () => T): T | undefined {
  try {
    return compute()
  } catch {
    return undefined
  }
}

function describeValue(value: unknown): string {
  return tryOrUndefined(() => truncateRaw(JSON.stringify(value) ?? '')) ?? 'nested too deeply to show'
}
