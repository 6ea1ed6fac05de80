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

/** Where a kind of feed has what, as columns or elements; of several the first that is filled counts. */
type ColumnMap = Readonly<{
  gtins: readonly string[]
  title: string
  brands: readonly string[]
  /** The publisher's own tracking link; `null`: this kind has none. */
  trackedLink: string | null
  pageLinks: readonly string[]
  /** What the network calls the shop, and whether it sells the product at all. */
  merchantReference: string | null
  isForSale: string | null
  /** Pictures: of `image` the first that is usable, of `moreImages` all, each of which may be a list with commas. */
  image: readonly string[]
  moreImages: readonly string[]
  network: string
  findPrices(task: RowTask): Prices | undefined
  readAvailability(row: SourceRow): string
}>

/** Product data specification of Google Merchant Center, whatever it is written in. */
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

/** An Awin CSV: a publisher's export, or what an advertiser uploads. */
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

/** Return the row as one that is read only when it is not known. */
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
    url,
    link: isTracked ? 'tracked' : 'page',
  }
}

/** Longest name of a shop or a brand, and longest word of a network for a shop. */
const MAX_NAME_CHARACTERS = 100

const MAX_CODES = 20

/** The first GTIN that is right; those before it that are wrong get a line each. */
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

/** Google lets a product have several, in a list with commas. */
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

/** The first of these columns that is filled, as text for readers; `undefined` when all are empty. */
function findText(row: SourceRow, fields: readonly string[]): string | undefined {
  return fields.map((field) => toFeedText(row.read(field))).find((text) => text !== '')
}

/** Conditions of new things that have a word of the others in them. */
const NEW_CONDITIONS: ReadonlySet<string> = new Set(
  'new brandnew unused newunused newandunused newneverused'.split(' '),
)

/** Words in conditions that the contract cannot tell readers of, in lower case, letters only. */
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
  if (usedWord !== undefined) reject('condition', `not new: the condition has "${usedWord}" in it`)
  return usedWord === undefined
}

function isForSale({ row, columns, reject }: MapTask): boolean {
  if (columns.isForSale === null || toYesOrNo(row.read(columns.isForSale)) !== false) return true
  reject(columns.isForSale, 'not for sale')
  return false
}

/** One that is too long for a name costs only itself, and has a line. */
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

/** The first of these columns that is filled, unchanged; a reject when it is no address for readers. */
function findLink({ row, reject }: MapTask, fields: readonly string[]): string | undefined {
  const field = fields.find((name) => row.read(name) !== '')
  if (field === undefined) return reject(fields[0] ?? 'link', 'there is no link')
  const link = row.read(field)
  if (isUsableLink(link)) return link
  return reject(field, 'not an absolute http or https address without credentials')
}

/**
 * Find the shop: as the command names it, else as the row does, else the host of its own page without `www.` (`pageUrl`,
 * `''` when the row has only a network's link).
 */
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
  if (!isUsableLink(pageUrl)) return reject('merchant_name', 'no shop is named; --merchant NAME names one')
  const host = new URL(pageUrl).hostname.replace(/^www\./, '')
  if (host.length > MAX_NAME_CHARACTERS)
    return reject('merchant_name', 'no shop is named, and the host of its page is too long for a name')
  return { merchant: host, isNamedByHost: true }
}

/** Pictures of a product that are kept; boxes show one. */
const MAX_IMAGES = 20

const MAX_ADDRESSES = 100

/** Where one address ends and the next begins: commas stand in addresses, too. It begins with the comma, to be fast. */
const ADDRESS_SEPARATOR = /,(?=\s*https?:\/\/)/i

/** The pictures of a row, each once. One that is no address costs only itself, and has a line. */
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

/** A list may end in a comma. */
function splitAddresses(text: string): string[] {
  return text
    .split(ADDRESS_SEPARATOR, MAX_ADDRESSES + 1)
    .map(trimAddress)
    .filter((address) => address !== '')
}

/** Without the commas and white space at its end. By hand, as a pattern would begin anew at each comma. */
function trimAddress(text: string): string {
  let end = text.length
  while (end > 0 && /[\s,]/.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end).trim()
}
