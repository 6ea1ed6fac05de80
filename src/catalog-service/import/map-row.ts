import { MAX_NAME_CHARACTERS } from '../../catalog/contract.ts'
import { normalizeGtin } from '../../offers/gtin.ts'
import { toUsableLink } from '../../offers/links.ts'
import { MAX_READ_OFFERS } from '../../offers/offer-limits.ts'
import type { ColumnMap } from './column-map.ts'
import {
  DEFAULT_NETWORK,
  type FeedOffer,
  type FeedProduct,
  type FeedRow,
  INVALID_PICTURE_URL,
  TOO_MANY_OFFERS,
  type NameOverrides,
  type ParsedRow,
  type SourceRow,
  computeDigest,
  createRowRejects,
} from './feed-row.ts'
import {
  decodeEntities,
  toYesOrNo,
  findConditionProblem,
  parseFeedGtin,
  parseIsbn,
  cleanCode,
  findTimeMs,
} from './feed-values.ts'
import { type PriceTask, findPrices } from './prices.ts'

export type RowContext = Readonly<{ columns: ColumnMap; names: NameOverrides; salt: string }>

type MapTask = PriceTask & Readonly<{ names: NameOverrides }>

export function toFeedRow(row: SourceRow, context: RowContext): FeedRow {
  const { gtin } = context.columns.fields
  return {
    row: row.row,
    bytes: row.bytes,
    guessGtin() {
      const code = gtin.read(row)
      return code === '' ? undefined : normalizeGtin(cleanCode(code))
    },
    computeDigest: () => computeDigest(context.salt, row.getContent()),
    parse: () => parseRow(row, context),
  }
}

function parseRow(row: SourceRow, { columns, names }: RowContext): ParsedRow {
  const rowRejects = createRowRejects(row.row)
  let raw: string | undefined
  const getRawText = (): string => (raw ??= row.toRawText())
  const reject = (field: string, reason: string): undefined => rowRejects.add(field, reason, getRawText)
  const product =
    row.problem === undefined
      ? findProduct({ row, columns, names, reject })
      : reject(row.problem.field, row.problem.reason)
  return { product, rejects: rowRejects.list() }
}

function findProduct(task: MapTask): FeedProduct | undefined {
  const {
    row,
    columns: { fields },
    reject,
  } = task
  const gtin = findValidGtin(task)
  if (gtin === undefined) return undefined
  const title = fields.title.findText(row) ?? reject(fields.title.describe(), 'the title is empty')
  if (title === undefined) return undefined
  const offers = row.offers === undefined ? [findOffer(task)] : listOffers(task, row.offers)
  const usableOffers = offers.filter((offer) => offer !== undefined)
  if (usableOffers.length === 0) return undefined
  return { gtin, title, brand: findBrand(task), images: collectImages(task), offers: usableOffers }
}

function listOffers(task: MapTask, rows: readonly SourceRow[]): (FeedOffer | undefined)[] {
  if (rows.length === 0) task.reject('offers', 'the product has no offer')
  if (rows.length > MAX_READ_OFFERS) task.reject('offers', TOO_MANY_OFFERS)
  return rows.slice(0, MAX_READ_OFFERS).map((row) => findOffer({ ...task, row }))
}

function findOffer(task: MapTask): FeedOffer | undefined {
  const { row, columns } = task
  const { trackingLink, pageLink } = columns.fields
  if (!isUsable(task)) return undefined
  const isTracked = trackingLink.read(row) !== ''
  const url = findLink(task, isTracked ? 'trackingLink' : 'pageLink')
  if (url === undefined) return undefined
  const prices = findPrices(task)
  if (prices === undefined) return undefined
  const shop = findMerchant(task, isTracked ? unescapeAddress(pageLink.read(row)) : url)
  const network = findNetwork(task)
  if (shop === undefined || network === undefined) return undefined
  // Without spread, which is slow for the many rows of a feed.
  const offer: FeedOffer = {
    merchant: shop.merchant,
    merchantReference: findMerchantReference(task),
    network,
    price: prices.price,
    oldPrice: prices.oldPrice,
    currency: prices.currency,
    availability: columns.readAvailability(row),
    salePeriod: prices.salePeriod,
    checkedAtMs: findCheckedAtMs(task),
    url,
    link: isTracked ? 'tracked' : 'page',
  }
  return shop.isNamedByHost === true ? { ...offer, isNamedByHost: true } : offer
}

const MAX_CODES = 20

/** A column or the end of a path. */
const ISBN_FIELD = /(?:^|[./])isbn$/i

/** Return the first valid GTIN. Invalid ones before it become rejects. */
function findValidGtin(task: MapTask): string | undefined {
  const problems: [field: string, reason: string][] = []
  for (const field of task.columns.fields.gtin.columns) {
    for (const code of readCodes(task, field)) {
      const parsed = ISBN_FIELD.test(field) ? parseIsbn(code) : parseFeedGtin(code)
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

/** Spaces separate codes only if whole ones are on both sides. */
const LIST_SEPARATOR = /[,;|/]|(?<=\d{8})\s+(?=\d{8})/

function readCodes({ row }: MapTask, field: string): string[] {
  return row
    .readAll(field)
    .slice(0, MAX_CODES)
    .flatMap((text) => (/^\d*$/.test(text) ? [text] : text.split(LIST_SEPARATOR, MAX_CODES)))
    .slice(0, MAX_CODES)
    .map((text) => cleanCode(text.slice(0, MAX_NAME_CHARACTERS)))
    .filter((code) => code !== '')
}

function isUsable(task: MapTask): boolean {
  return isNewCondition(task) && isForSale(task)
}

/** The contract has no field for used products, so they are rejected. */
function isNewCondition({ row, columns, reject }: MapTask): boolean {
  const { condition } = columns.fields
  const texts = condition.columns.flatMap((field) => row.readAll(field).map((text) => ({ field, text })))
  for (const { field, text } of texts.length > 0 ? texts : [{ field: 'condition', text: condition.value }]) {
    const problem = findConditionProblem(text, columns.newConditions)
    if (problem !== undefined) {
      reject(field, problem)
      return false
    }
  }
  return true
}

function isForSale({ row, columns: { fields }, reject }: MapTask): boolean {
  if (toYesOrNo(fields.forSale.read(row)) !== false) return true
  reject(fields.forSale.describe(row), 'not for sale')
  return false
}

/** Reject only the brand, not the product, when it is too long. */
function findBrand({ row, columns: { fields }, reject }: MapTask): string | null {
  const brand = fields.brand.findText(row) ?? null
  if (brand === null || brand.length <= MAX_NAME_CHARACTERS) return brand
  reject(fields.brand.describe(), `longer than ${MAX_NAME_CHARACTERS} characters; the brand is left out`)
  return null
}

function findMerchantReference({ row, columns: { fields }, reject }: MapTask): string | null {
  const text = fields.merchantReference.readName(row)
  if (text.length <= MAX_NAME_CHARACTERS) return text || null
  const field = fields.merchantReference.describe(row)
  reject(field, `longer than ${MAX_NAME_CHARACTERS} characters; it is left out`)
  return null
}

function findNetwork({ row, columns: { fields }, names, reject }: MapTask): string | undefined {
  if (names.network !== undefined) return names.network
  const network = fields.network.readName(row)
  if (network.length <= MAX_NAME_CHARACTERS) return network === '' ? DEFAULT_NETWORK : network
  return reject(fields.network.describe(row), `longer than ${MAX_NAME_CHARACTERS} characters`)
}

function findCheckedAtMs({ row, columns: { fields }, reject }: MapTask): number | null {
  const text = fields.checkedAt.read(row)
  if (text === '') return null
  const field = fields.checkedAt.describe(row)
  return findTimeMs(text) ?? reject(field, 'not a date or time (ISO 8601); it is left out') ?? null
}

/** A quote or line break in a cell comes from a table whose quotes are damaged, so the rest of the cell is not the link's. */
const DAMAGED_CELL = /["\r\n]/

/** Encode what no address may contain, such as a space; `undefined`: not usable. */
function toFeedLink(text: string): string | undefined {
  return DAMAGED_CELL.test(text) ? undefined : toUsableLink(text)
}

/** Return the first non-empty column; reject it when it is not a usable link. */
function findLink(
  { row, columns: { fields }, reject }: MapTask,
  name: 'trackingLink' | 'pageLink',
): string | undefined {
  const text = unescapeAddress(fields[name].read(row))
  const link = toFeedLink(text)
  if (link !== undefined) return link
  if (text !== '')
    return reject(fields[name].describe(row), 'not an absolute http or https address without credentials')
  const { trackingLink, pageLink } = fields
  return reject(pageLink.columns[0] ?? trackingLink.columns[0] ?? 'link', 'there is no link')
}

/** Name the shop by the command, the row, or the host of `pageUrl` (`''` when the row has only a tracking link). */
function findMerchant(
  task: MapTask,
  pageUrl: string,
): Pick<FeedOffer, 'merchant' | 'isNamedByHost'> | undefined {
  const {
    row,
    columns: { fields },
    names,
    reject,
  } = task
  if (names.merchant !== undefined) return { merchant: names.merchant }
  const merchant = fields.merchant.findText(row)
  const field = fields.merchant.describe()
  if (merchant !== undefined)
    return merchant.length <= MAX_NAME_CHARACTERS
      ? { merchant }
      : reject(field, `longer than ${MAX_NAME_CHARACTERS} characters`)
  const link = toFeedLink(pageUrl)
  if (link === undefined) return reject(field, 'the feed names no shop; set one with --merchant NAME')
  const host = new URL(link).hostname.replace(/^www\./, '')
  if (host.length > MAX_NAME_CHARACTERS)
    return reject(field, 'the feed names no shop, and the host of its page is too long for a name')
  return { merchant: host, isNamedByHost: true }
}

const MAX_ADDRESSES = 100

/** Commas also occur inside addresses. The pattern starts with the comma for speed. */
const ADDRESS_SEPARATOR = /,(?=\s*https?:\/\/)/i

/** Return the distinct pictures of a row. Reject malformed addresses, but not the product. */
function collectImages({ row, columns: { fields }, reject }: MapTask): string[] {
  const images = new Set<string>()
  const add = (field: string, texts: readonly string[]): void => {
    for (const text of texts.slice(0, MAX_ADDRESSES).map(unescapeAddress)) {
      const image = toFeedLink(text)
      if (image !== undefined) images.add(image)
      else reject(field, INVALID_PICTURE_URL)
    }
    if (texts.length > MAX_ADDRESSES)
      reject(field, `more than ${MAX_ADDRESSES} pictures; the others are left out`)
  }
  const { image, moreImages } = fields
  for (const field of image.columns) if (images.size === 0) add(field, row.readAll(field))
  for (const field of moreImages.columns) {
    const texts = row.readAll(field)
    add(field, row.hasLists ? texts.flatMap(splitAddresses) : texts)
  }
  return [...images]
}

/** Deeper escapes are no escapes. */
const MAX_ESCAPES = 4

/** What programs escape in HTML: an ampersand, and often quotation marks and angle brackets. */
const ESCAPED_AMPERSAND = /&(?:amp|#0*38|#x0*26);/i
const ESCAPES = /&(?:amp|quot|apos|lt|gt|#0*(?:34|38|39|60|62)|#x0*(?:22|26|27|3c|3e));/gi
const BARE_AMPERSAND = /&(?!(?:amp|quot|apos|lt|gt|#0*(?:34|38|39|60|62)|#x0*(?:22|26|27|3c|3e));)/i

/**
 * Undo the HTML escapes of an address. If each of its ampersands begins one, they can only be that: a correct address separates
 * parameters by bare ones, and stays unchanged.
 */
function unescapeAddress(address: string): string {
  let plain = address
  for (let count = 0; count < MAX_ESCAPES; count += 1) {
    if (!ESCAPED_AMPERSAND.test(plain) || BARE_AMPERSAND.test(plain)) break
    plain = plain.replace(ESCAPES, (escape) => decodeEntities(escape))
  }
  return plain
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
