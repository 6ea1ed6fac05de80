import { normalizeGtin } from '../../offers/gtin.ts'
import { isUsableLink } from '../../offers/links.ts'
import { cleanText } from '../../offers/text.ts'
import { toAvailability, toAwinAvailability, toYesOrNo } from './availability.ts'
import { parseFeedGtin, parseIsbn, cleanCode } from './feed-gtin.ts'
import {
  DEFAULT_NETWORK,
  type FeedOffer,
  type FeedProduct,
  type FeedRow,
  INVALID_PICTURE_URL,
  type ParsedRow,
  type NameOverrides,
  type RowTask,
  type SourceRow,
  computeDigest,
  createRowRejects,
} from './feed-row.ts'
import { toFeedText } from './feed-text.ts'
import { type Prices, SALE_DATES_COLUMN, findAwinPrices, findGooglePrices } from './row-prices.ts'

/** Columns or elements of a feed format by meaning; of several, the first non-empty one is used. */
type ColumnMap = Readonly<{
  gtins: readonly string[]
  title: string
  brands: readonly string[]
  /** The publisher's tracking link; `null`: the format has none. */
  trackedLink: string | null
  pageLinks: readonly string[]
  merchantReference: string | null
  isForSale: string | null
  /** Pictures: the first usable one of `image`, and all of `moreImages`. */
  image: readonly string[]
  moreImages: readonly string[]
  network: string
  findPrices(task: RowTask): Prices | undefined
  readAvailability(row: SourceRow): string
}>

/** Product data specification of Google Merchant Center, in XML or as a table. */
const GOOGLE_COLUMNS: ColumnMap = {
  gtins: ['gtin'],
  title: 'title',
  brands: ['brand'],
  trackedLink: null,
  pageLinks: ['link'],
  merchantReference: null,
  isForSale: null,
  image: ['image_link'],
  moreImages: ['additional_image_link'],
  network: DEFAULT_NETWORK,
  findPrices: findGooglePrices,
  readAvailability: (row) => toAvailability(row.read('availability')),
}

/** An Awin CSV: a publisher's export or an advertiser's upload. */
const AWIN_COLUMNS: ColumnMap = {
  gtins: ['product_gtin', 'gtin', 'ean', 'upc', 'isbn'],
  title: 'product_name',
  brands: ['brand_name', 'brand'],
  trackedLink: 'aw_deep_link',
  pageLinks: ['merchant_deep_link', 'deep_link', 'product_url'],
  merchantReference: 'merchant_id',
  isForSale: 'is_for_sale',
  image: ['merchant_image_url', 'aw_image_url', 'large_image', 'image_url'],
  moreImages: ['alternate_image', 'alternate_image_two', 'alternate_image_three', 'alternate_image_four'],
  network: 'awin',
  findPrices: findAwinPrices,
  readAvailability: toAwinAvailability,
}

export type RowContext = Readonly<{ isAwin: boolean; names: NameOverrides; nowMs: number; salt: string }>

type MapTask = RowTask & Readonly<{ columns: ColumnMap }>

export function toFeedRow(row: SourceRow, context: RowContext): FeedRow {
  const columns = context.isAwin ? AWIN_COLUMNS : GOOGLE_COLUMNS
  return {
    row: row.row,
    bytes: row.bytes,
    guessGtin() {
      const code = readFirst(row, columns.gtins)
      return code === '' ? undefined : normalizeGtin(cleanCode(code))
    },
    computeDigest: () =>
      row.read(SALE_DATES_COLUMN) === '' ? computeDigest(context.salt, row.getContent()) : undefined,
    parse: () => parseRow(row, columns, context),
  }
}

function parseRow(row: SourceRow, columns: ColumnMap, { names, nowMs }: RowContext): ParsedRow {
  const rowRejects = createRowRejects(row.row)
  let raw: string | undefined
  const getRawText = (): string => (raw ??= row.toRawText())
  const reject = (field: string, reason: string): undefined => rowRejects.add(field, reason, getRawText)
  const product =
    row.problem === undefined
      ? findProduct({ row, columns, names, nowMs, reject })
      : reject(row.problem.field, row.problem.reason)
  return { product, rejects: rowRejects.list() }
}

function findProduct(task: MapTask): FeedProduct | undefined {
  const { row, columns, reject } = task
  const gtin = findValidGtin(task)
  if (gtin === undefined) return undefined
  const title = findText(row, [columns.title]) ?? reject(columns.title, 'the title is empty')
  if (title === undefined || !isNewCondition(task) || !isForSale(task)) return undefined
  const offer = findOffer(task)
  if (offer === undefined) return undefined
  return { gtin, title, brand: findBrand(task), images: collectImages(task), offers: [offer] }
}

function findOffer(task: MapTask): FeedOffer | undefined {
  const { row, columns, names } = task
  const isTracked = columns.trackedLink !== null && row.read(columns.trackedLink) !== ''
  const url = findLink(task, isTracked ? [columns.trackedLink] : columns.pageLinks)
  if (url === undefined) return undefined
  const prices = columns.findPrices(task)
  if (prices === undefined) return undefined
  const merchant = findMerchant(task, isTracked ? readFirst(row, columns.pageLinks) : url)
  if (merchant === undefined) return undefined
  return {
    ...merchant,
    merchantReference: findMerchantReference(task),
    network: names.network ?? columns.network,
    ...prices,
    availability: columns.readAvailability(row),
    salePeriod: null,
    checkedAtMs: null,
    url,
    link: isTracked ? 'tracked' : 'page',
  }
}

const MAX_NAME_CHARACTERS = 100

const MAX_CODES = 20

/** Return the first valid GTIN. Invalid ones before it become rejects. */
function findValidGtin(task: MapTask): string | undefined {
  const problems: [field: string, reason: string][] = []
  for (const field of task.columns.gtins) {
    for (const code of readCodes(task, field)) {
      const parsed = field === 'isbn' ? parseIsbn(code) : parseFeedGtin(code)
      if (typeof parsed === 'string') {
        problems.push([field, parsed])
        continue
      }
      for (const [name, reason] of problems) task.reject(name, `${reason}; another gtin of the row is used`)
      return parsed.gtin
    }
  }
  return task.reject(...(problems[0] ?? ['gtin', 'there is no gtin']))
}

function readCodes({ row }: MapTask, field: string): string[] {
  return row
    .readAll(field)
    .slice(0, MAX_CODES)
    .flatMap((text) => text.split(',', MAX_CODES))
    .slice(0, MAX_CODES)
    .map((text) => cleanCode(text.slice(0, MAX_NAME_CHARACTERS)))
    .filter((code) => code !== '')
}

function readFirst(row: SourceRow, fields: readonly string[]): string {
  return fields.map((field) => row.read(field)).find((text) => text !== '') ?? ''
}

/** Return the plain text of the first non-empty column; `undefined` when all are empty. */
function findText(row: SourceRow, fields: readonly string[]): string | undefined {
  return fields.map((field) => toFeedText(row.read(field))).find((text) => text !== '')
}

/** Conditions that mean new although they contain one of `USED_CONDITION_WORDS`. */
const NEW_CONDITIONS: ReadonlySet<string> = new Set(
  'new brandnew unused newunused newandunused newneverused'.split(' '),
)

/** The contract has no field for used products, so they are rejected. Lower case, letters only. */
const USED_CONDITION_WORDS = 'used refurb renew recondition openbox preowned secondhand likenew'.split(' ')

function isNewCondition({ row, reject }: MapTask): boolean {
  const condition = row
    .read('condition')
    .replace(/^(?:https?:\/\/(?:www\.)?schema\.org\/|schema:)/i, '')
    .replace(/[^a-z]/gi, '')
    .toLowerCase()
    .replace(/condition$/, '')
  const usedWord = NEW_CONDITIONS.has(condition)
    ? undefined
    : USED_CONDITION_WORDS.find((part) => condition.includes(part))
  if (usedWord !== undefined) reject('condition', `not new: the condition contains "${usedWord}"`)
  return usedWord === undefined
}

function isForSale({ row, columns, reject }: MapTask): boolean {
  if (columns.isForSale === null || toYesOrNo(row.read(columns.isForSale)) !== false) return true
  reject(columns.isForSale, 'not for sale')
  return false
}

/** Reject only the brand, not the product, when it is too long. */
function findBrand({ row, columns, reject }: MapTask): string | null {
  const brand = findText(row, columns.brands) ?? null
  if (brand === null || brand.length <= MAX_NAME_CHARACTERS) return brand
  reject(columns.brands[0] ?? 'brand', `longer than ${MAX_NAME_CHARACTERS} characters; the brand is left out`)
  return null
}

function findMerchantReference({ row, columns, reject }: MapTask): string | null {
  const field = columns.merchantReference
  if (field === null) return null
  const text = cleanText(row.read(field), MAX_NAME_CHARACTERS + 1)
  if (text.length <= MAX_NAME_CHARACTERS) return text || null
  reject(field, `longer than ${MAX_NAME_CHARACTERS} characters; it is left out`)
  return null
}

/** Return the first non-empty column unchanged; reject it when it is not a usable link. */
function findLink({ row, reject }: MapTask, fields: readonly string[]): string | undefined {
  const field = fields.find((name) => row.read(name) !== '')
  if (field === undefined) return reject(fields[0] ?? 'link', 'there is no link')
  const link = row.read(field)
  if (isUsableLink(link)) return link
  return reject(field, 'not an absolute http or https address without credentials')
}

/** Name the shop by the command, the row, or the host of `pageUrl` (`''` when the row has only a tracking link). */
function findMerchant(
  { row, names, reject }: MapTask,
  pageUrl: string,
): Pick<FeedOffer, 'merchant' | 'isNamedByHost'> | undefined {
  if (names.merchant !== undefined) return { merchant: names.merchant }
  const merchant = findText(row, ['merchant_name'])
  if (merchant !== undefined)
    return merchant.length <= MAX_NAME_CHARACTERS
      ? { merchant }
      : reject('merchant_name', `longer than ${MAX_NAME_CHARACTERS} characters`)
  if (!isUsableLink(pageUrl))
    return reject('merchant_name', 'the feed names no shop; set one with --merchant NAME')
  const host = new URL(pageUrl).hostname.replace(/^www\./, '')
  if (host.length > MAX_NAME_CHARACTERS)
    return reject('merchant_name', 'the feed names no shop, and the host of its page is too long for a name')
  return { merchant: host, isNamedByHost: true }
}

const MAX_IMAGES = 20

const MAX_ADDRESSES = 100

/** Commas also occur inside addresses. The pattern starts with the comma for speed. */
const ADDRESS_SEPARATOR = /,(?=\s*https?:\/\/)/i

/** Return the distinct pictures of a row. Reject malformed addresses, but not the product. */
function collectImages({ row, columns, reject }: MapTask): string[] {
  const images = new Set<string>()
  const add = (field: string, texts: readonly string[]): void => {
    for (const text of texts.slice(0, MAX_ADDRESSES)) {
      if (isUsableLink(text)) images.add(text)
      else reject(field, INVALID_PICTURE_URL)
    }
    if (texts.length > MAX_ADDRESSES)
      reject(field, `more than ${MAX_ADDRESSES} pictures; the others are left out`)
  }
  for (const field of columns.image) if (images.size === 0) add(field, row.readAll(field))
  for (const field of columns.moreImages) {
    const texts = row.readAll(field)
    add(field, row.hasLists ? texts.flatMap(splitAddresses) : texts)
  }
  if (images.size <= MAX_IMAGES) return [...images]
  reject(columns.moreImages[0] ?? 'images', `${images.size} pictures; the first ${MAX_IMAGES} are kept`)
  return [...images].slice(0, MAX_IMAGES)
}

function splitAddresses(text: string): string[] {
  return text
    .split(ADDRESS_SEPARATOR, MAX_ADDRESSES + 1)
    .map(trimAddress)
    .filter((address) => address !== '')
}

/** Remove trailing commas and white space. A loop, because a regular expression would be quadratic. */
function trimAddress(text: string): string {
  let end = text.length
  while (end > 0 && /[\s,]/.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end).trim()
}
