import type { output as Output, core } from 'zod'
import {
  MAX_NAME_CHARACTERS,
  type OfferProblem,
  parseOffer,
  wireImageSchema,
  wireOfferSchema,
  wireProductSchema,
} from '../../catalog/contract.ts'
import { normalizeGtin, isCheckDigitValid } from '../../offers/gtin.ts'
import { toUsableLink } from '../../offers/links.ts'
import { comparePrices, isPrice } from '../../offers/money.ts'
import { MAX_READ_OFFERS } from '../../offers/offer-limits.ts'
import { MAX_TEXT_CHARACTERS, cleanText } from '../../offers/text.ts'
import type { FeedMap } from './column-map.ts'
import {
  DEFAULT_NETWORK,
  type FeedOffer,
  type FeedProduct,
  type FeedRow,
  MAX_RAW_CHARACTERS,
  MAX_ROW_BYTES,
  INVALID_PICTURE_URL,
  TOO_MANY_OFFERS,
  type ParsedRow,
  type NameOverrides,
  type SalePeriod,
  computeDigest,
  createRowRejects,
  truncateRaw,
  type SourceRow,
} from './feed-row.ts'
import { findRfc3339TimeMs } from './feed-values.ts'
import { type FeedLine, decodeUtf8, parseJson, hasRepeatedName } from './json-items.ts'
import { MAX_VALUES } from './xml-items.ts'

/** @yields the rows of each batch of lines or items in UTF-8, each one a product of the contract */
export async function* readJsonRows(
  lineBatches: AsyncIterable<FeedLine[]>,
  names: NameOverrides,
  salt: string,
): AsyncGenerator<FeedRow[]> {
  for await (const lines of lineBatches)
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

const OFFER_PROBLEMS: Readonly<
  Record<Exclude<OfferProblem, 'shape'>, readonly [field: string, reason: string]>
> = {
  merchant: ['.merchant.name', 'the merchant has no name'],
  price: ['.price', 'not a price: one to twelve digits, up to four decimals, above zero'],
  currency: ['.currency', 'not a currency code of three letters'],
  link: ['.affiliate_url', 'not an absolute http or https address without credentials'],
}

const TOO_LONG_NAME = `longer than ${MAX_NAME_CHARACTERS} characters`

/** An escaped U+0000 (not an escaped backslash): SQLite would cut the text there and so merge names. */
const NUL_ESCAPE = /(?<!\\)(?:\\\\)*\\u0000/

type Problem = readonly [field: string, reason: string]

type WireRow = Output<typeof wireProductSchema>

/** Parse one line as a product of the contract. Never throws: unusable data becomes a reject. A blank line gives neither. */
export function parseRow(line: FeedLine, names: NameOverrides): ParsedRow {
  const text = decodeUtf8(line.bytes)
  if (!line.isTooLong && text?.trim() === '') return { product: undefined, rejects: [] }
  const json = parseJson(text ?? '')
  const wire = wireProductSchema.safeParse(json)
  const problem = findLineProblem(line, text, json) ?? findRowProblem(wire.data, json)
  if (problem !== undefined || !wire.success)
    return rejectLine(line, problem ?? describeIssue(wire.error?.issues[0], json))
  const rowRejects = createRowRejects(line.row)
  const reject: RejectItem = (field, reason, value) =>
    rowRejects.add(field, reason, () => describeValue(value))
  return { product: toFeedProduct(wire.data, names, reject), rejects: rowRejects.list() }
}

function rejectLine({ row, bytes }: FeedLine, [field, reason]: Problem): ParsedRow {
  const raw = truncateRaw(new TextDecoder().decode(bytes))
  return { product: undefined, rejects: [{ row, field, reason, raw }] }
}

function findLineProblem(line: FeedLine, text: string | undefined, json: unknown): Problem | undefined {
  if (line.isTooLong) return ['row', `longer than ${MAX_ROW_BYTES} bytes`]
  if (text === undefined || json === undefined) return ['row', 'not JSON in UTF-8']
  if (NUL_ESCAPE.test(text)) return ['row', 'contains the character U+0000']
  return hasRepeatedName(text, json)
    ? ['row', 'repeats a name: a piece of the file may be missing']
    : undefined
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
  if (wire.offers.length > MAX_READ_OFFERS) reject('offers', TOO_MANY_OFFERS, wire.offers.length)
  for (const [index, item] of wire.offers.slice(0, MAX_READ_OFFERS).entries()) {
    const offer = findOffer(item, names, (field, reason) => reject(`offers[${index}]${field}`, reason, item))
    if (offer !== undefined) offers.push(offer)
  }
  if (offers.length === 0) return undefined
  const gtin = normalizeGtin(wire.gtin) ?? ''
  return { gtin, title: readTitle(wire, reject), brand: findBrand(wire, reject), images, offers }
}

function readTitle({ title }: WireRow, reject: RejectItem): string {
  if (title.length <= MAX_TEXT_CHARACTERS) return title
  reject('title', `longer than ${MAX_TEXT_CHARACTERS} characters; the title is cut`, title)
  return cleanText(title, MAX_TEXT_CHARACTERS)
}

function findBrand({ brand = null }: WireRow, reject: RejectItem): string | null {
  if (brand === null || brand.length <= MAX_NAME_CHARACTERS) return brand || null
  reject('brand', `longer than ${MAX_NAME_CHARACTERS} characters; the brand is left out`, brand)
  return null
}

function collectImages(items: readonly unknown[], reject: RejectItem): string[] {
  return items.flatMap((item, index) => {
    const url = wireImageSchema.safeParse(item).data?.url ?? ''
    const image = toUsableLink(url)
    if (image !== undefined) return [image]
    reject(`images[${index}]`, url === '' ? 'not an image with a url' : INVALID_PICTURE_URL, item)
    return []
  })
}

function replaceMerchant(item: unknown, { merchant }: NameOverrides): unknown {
  return merchant !== undefined && typeof item === 'object' && item !== null
    ? { ...item, merchant: { name: merchant } }
    : item
}

/** Keep names as in the feed, not as cleaned by `parseOffer`. */
function findOffer(
  item: unknown,
  names: NameOverrides,
  reject: (...problem: Problem) => undefined,
): FeedOffer | undefined {
  const offerWithMerchant = replaceMerchant(item, names)
  const parsed = parseOffer(offerWithMerchant)
  if (typeof parsed === 'string') return reject(...describeOfferProblem(parsed, offerWithMerchant))
  const { merchant, network, availability } = offerWithMerchant as Readonly<
    Record<string, unknown> & { merchant: { name: string } }
  >
  const feedNetwork = parsed.network === '' ? DEFAULT_NETWORK : String(network)
  if (merchant.name.length > MAX_NAME_CHARACTERS) return reject('.merchant.name', TOO_LONG_NAME)
  if (feedNetwork.length > MAX_NAME_CHARACTERS) return reject('.network', TOO_LONG_NAME)
  const isKnown = typeof availability === 'string' && availability.length <= MAX_NAME_CHARACTERS
  const oldPrice = readOldPrice(readField(item, 'old_price'))
  if (oldPrice === undefined) reject('.old_price', 'not a price; the offer is kept without it')
  return {
    merchant: merchant.name,
    merchantReference: null,
    network: names.network ?? feedNetwork,
    price: parsed.price,
    oldPrice: oldPrice ?? null,
    currency: parsed.currency,
    availability: isKnown ? availability : 'unknown',
    salePeriod: findSalePeriod({
      endsMs: readTimeMs(item, 'sale_ends_at', reject),
      oldPrice,
      price: parsed.price,
    }),
    checkedAtMs: readTimeMs(item, 'checked_at', reject),
    url: parsed.affiliateUrl,
    link: 'tracked',
  }
}

function describeOfferProblem(reason: OfferProblem, json: unknown): Problem {
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

/** An end counts only when the price after it is known. */
function findSalePeriod({
  endsMs,
  oldPrice,
  price,
}: Readonly<{
  endsMs: number | null
  oldPrice: string | null | undefined
  price: string
}>): SalePeriod | null {
  if (endsMs === null || oldPrice === null || oldPrice === undefined) return null
  return comparePrices(oldPrice, price) > 0 ? { startsMs: null, endsMs } : null
}

/** Read a time; `null` when it is absent, empty or, after a reject, malformed. */
function readTimeMs(item: unknown, name: string, reject: (...problem: Problem) => undefined): number | null {
  const text = readField(item, name) ?? ''
  if (text === '') return null
  const timeMs = typeof text === 'string' ? findRfc3339TimeMs(text) : undefined
  return timeMs ?? reject(`.${name}`, 'not a time (RFC 3339); it is left out') ?? null
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

function describeValue(value: unknown): string {
  try {
    return truncateRaw(JSON.stringify(value) ?? '')
  } catch {
    return 'nested too deeply to show'
  }
}

/** A key, an index, or a choice of the elements of an array whose key has a value. */
type Step = string | number | Readonly<{ key: string; value: string }>

type PathOptions = Readonly<{
  /** Path of the offers within an item. */
  offersPath: string | undefined
  /** Decimal sign of prices, in which numbers are given too. */
  decimal: FeedMap['decimal']
}>

/** @yields the items of each chunk as rows whose fields are paths such as `a.b[0].c` */
export async function* toJsonSourceRows(
  lineBatches: AsyncIterable<FeedLine[]>,
  options: PathOptions,
): AsyncGenerator<SourceRow[]> {
  const paths = createPathCache()
  for await (const lines of lineBatches)
    yield lines.filter(isNotBlank).map((line) => toSourceRow(line, options, paths))
}

type PathCache = ReturnType<typeof createPathCache>

/** Paths come from the column map, so the cache is bounded. */
function createPathCache() {
  const stepsByPath = new Map<string, readonly Step[]>()
  return {
    get(path: string): readonly Step[] {
      const steps = stepsByPath.get(path) ?? parseSteps(path)
      stepsByPath.set(path, steps)
      return steps
    },
  }
}

function parseSteps(path: string): readonly Step[] {
  return path.split('.').flatMap((part): readonly Step[] => {
    const [, name = part, index, key, value = ''] = /^(.*)\[(?:(\d+)|@(\w+)=([^\]]*))\]$/.exec(part) ?? []
    if (key !== undefined) return [name, { key, value: value.toLowerCase() }]
    return index === undefined ? [name] : [name, Number(index)]
  })
}

function isNotBlank({ bytes }: FeedLine): boolean {
  return bytes.toString('latin1', 0, 1) === '{' || bytes.toString().trim() !== ''
}

function toSourceRow(
  line: FeedLine,
  { offersPath, decimal = '.' }: PathOptions,
  paths: PathCache,
): SourceRow {
  const text = decodeUtf8(line.bytes)
  const json = line.isTooLong ? undefined : parseJson(text ?? '')
  const problem = findLineProblem(line, text, json) ?? (isObject(json) ? undefined : ['row', 'not an object'])
  const createRow = (offer: unknown): SourceRow => {
    const readAll = (path: string): readonly string[] => {
      const offerPath = offer === undefined ? undefined : findPathInOffer(path, offersPath)
      const values =
        offerPath === undefined ? findValues(json, paths.get(path)) : findValues(offer, paths.get(offerPath))
      return values.map((value) => toText(value, decimal)).filter((value) => value !== '')
    }
    return {
      row: line.row,
      bytes: line.bytes.length,
      problem: problem === undefined ? undefined : { field: problem[0], reason: problem[1] },
      hasLists: false,
      read: (path) => readAll(path)[0] ?? '',
      readAll,
      toRawText: () => truncateRaw((text ?? line.bytes.toString()).trim()),
      getContent: () => line.bytes,
    }
  }
  const offers =
    offersPath === undefined
      ? undefined
      : findValues(json, paths.get(offersPath), MAX_READ_OFFERS + 1).map((offer) => createRow(offer ?? null))
  return { ...createRow(undefined), offers }
}

/** Return the path from the offer; `undefined` when it is not within the offers. */
function findPathInOffer(path: string, offersPath: string | undefined): string | undefined {
  return offersPath !== undefined && path.startsWith(`${offersPath}.`)
    ? path.slice(offersPath.length + 1)
    : undefined
}

/** Follow a path. A step into an array without an index follows each of its first values. */
function findValues(json: unknown, steps: readonly Step[], maxValues: number = MAX_VALUES): unknown[] {
  let values: unknown[] = [json]
  for (const step of steps) {
    values = values
      .flatMap((value) =>
        Array.isArray(value) && typeof step !== 'number' ? value.slice(0, maxValues) : [value],
      )
      .flatMap((value) => takeStep(value, step))
  }
  return values
    .flatMap((value) => (Array.isArray(value) ? value.slice(0, maxValues) : [value]))
    .slice(0, maxValues)
}

function takeStep(value: unknown, step: Step): readonly unknown[] {
  if (!isObject(value)) return []
  if (typeof step === 'object') return String(value[step.key]).toLowerCase() === step.value ? [value] : []
  return Object.hasOwn(value, step) ? [value[step]] : []
}

function isObject(value: unknown): value is Readonly<Record<string | number, unknown>> {
  return typeof value === 'object' && value !== null
}

function toText(value: unknown, decimal: string): string {
  if (typeof value === 'string') return value.trim()
  if (typeof value === 'number') return String(value).replace('.', decimal)
  return typeof value === 'boolean' ? String(value) : ''
}
