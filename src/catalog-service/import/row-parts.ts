import { isUsableLink } from '../../offers/links.ts'
import { comparePrices } from '../../offers/money.ts'
import { cleanText } from '../../offers/text.ts'
import { parseFeedGtin, parseIsbn, trimCode } from './feed-gtin.ts'
import { toFeedText } from './feed-text.ts'
import type { FeedOffer } from './feed-product.ts'
import type { RowTask } from './source-row.ts'

/** Longest name of a shop or a brand, and longest word of a network for a shop. */
const MAX_NAME_CHARACTERS = 100

/** Codes of one cell that are looked at. */
const MAX_CODES = 20

/** Conditions of new things that have a word of the others in them. */
const NEW: ReadonlySet<string> = new Set('new brandnew unused newunused newandunused newneverused'.split(' '))

/** Words in conditions that the contract cannot tell readers of, in lower case, letters only. */
const NOT_NEW = 'used refurb renew recondition openbox preowned secondhand likenew'.split(' ')

/** The first GTIN of these columns that is right; those before it that are wrong get a line each. */
export function findGtinOf(task: RowTask, fields: readonly string[]): string | undefined {
  const faults: [field: string, reason: string][] = []
  for (const field of fields) {
    for (const code of readCodes(task, field)) {
      const parsed = field === 'isbn' ? parseIsbn(code) : parseFeedGtin(code)
      if (typeof parsed === 'string') {
        faults.push([field, parsed])
        continue
      }
      for (const [name, reason] of faults) task.refuse(name, `${reason}; another gtin of the row is used`)
      return parsed.gtin
    }
  }
  return task.refuse(...(faults[0] ?? ['gtin', 'there is no gtin']))
}

/** Google lets a product have several, in a list with commas. */
function readCodes({ row }: RowTask, field: string): string[] {
  return row
    .readAll(field)
    .slice(0, MAX_CODES)
    .flatMap((text) => text.split(',', MAX_CODES))
    .slice(0, MAX_CODES)
    .map((text) => trimCode(text.slice(0, MAX_NAME_CHARACTERS)))
    .filter((code) => code !== '')
}

/** The first of these columns that is filled, as text for readers; `undefined` when all are empty. */
export function findText({ row }: RowTask, fields: readonly string[]): string | undefined {
  for (const field of fields) {
    const text = toFeedText(row.read(field))
    if (text !== '') return text
  }
  return undefined
}

/** The title, or a reject. */
export function findTitle(task: RowTask, field: string): string | undefined {
  return findText(task, [field]) ?? task.refuse(field, 'the title is empty')
}

/** Is the product new, as far as the feed says? Otherwise it is a reject. */
export function isNew(task: RowTask): boolean {
  const condition = task.row
    .read('condition')
    .replace(/^(?:https?:\/\/(?:www\.)?schema\.org\/|schema:)/i, '')
    .replace(/[^a-z]/gi, '')
    .toLowerCase()
    .replace(/condition$/, '')
  const word = NEW.has(condition) ? undefined : NOT_NEW.find((part) => condition.includes(part))
  if (word === undefined) return true
  task.refuse('condition', `not new: the condition has "${word}" in it`)
  return false
}

/** The brand; one that is too long for a name costs only itself, and has a line. */
export function findBrand(task: RowTask, fields: readonly string[]): string | null {
  const brand = findText(task, fields) ?? null
  if (brand === null || brand.length <= MAX_NAME_CHARACTERS) return brand
  task.refuse(fields[0] ?? 'brand', `longer than ${MAX_NAME_CHARACTERS} characters; the brand is left out`)
  return null
}

/** What the network calls the shop; `null` when it says nothing, or something that is too long, which has a line. */
export function findReference(task: RowTask, field: string): string | null {
  const text = cleanText(task.row.read(field), MAX_NAME_CHARACTERS + 1)
  if (text.length <= MAX_NAME_CHARACTERS) return text || null
  task.refuse(field, `longer than ${MAX_NAME_CHARACTERS} characters; it is left out`)
  return null
}

/**
 * A former price is above the price, or it is none: an equal one is no fault, one below has a line, for it may be the price
 * that readers were to see.
 */
export function isFormerPrice(
  task: RowTask,
  fault: Readonly<{ field: string; reason: string }>,
  prices: Readonly<{ price: string; former: string }>,
): boolean {
  const difference = comparePrices(prices.former, prices.price)
  if (difference < 0) task.refuse(fault.field, `${fault.reason}; it is left out`)
  return difference > 0
}

/** The first of these columns that is filled, unchanged; a reject when it is no address for readers. */
export function findLink(task: RowTask, fields: readonly string[]): string | undefined {
  const field = fields.find((name) => task.row.read(name) !== '')
  if (field === undefined) return task.refuse(fields[0] ?? 'link', 'there is no link')
  const link = task.row.read(field)
  if (isUsableLink(link)) return link
  return task.refuse(field, 'not an absolute http or https address without credentials')
}

/** The name of a shop, and whether the feed gave none. */
type Merchant = Pick<FeedOffer, 'merchant' | 'isNamedByLink'>

/**
 * Find the shop: as the command names it, else as the row does, else the host of its own page without `www.` (`pageUrl`,
 * `''` when the row has only a network's link).
 */
export function findMerchant(task: RowTask, pageUrl: string): Merchant | undefined {
  const merchant = task.context.names.merchant ?? findText(task, ['merchant_name'])
  const isCommanded = task.context.names.merchant !== undefined
  if (merchant !== undefined)
    return isCommanded || merchant.length <= MAX_NAME_CHARACTERS
      ? { merchant }
      : task.refuse('merchant_name', `longer than ${MAX_NAME_CHARACTERS} characters`)
  if (!isUsableLink(pageUrl))
    return task.refuse('merchant_name', 'no shop is named; --merchant NAME names one')
  const host = new URL(pageUrl).hostname.replace(/^www\./, '')
  if (host.length > MAX_NAME_CHARACTERS)
    return task.refuse('merchant_name', 'no shop is named, and the host of its page is too long for a name')
  return { merchant: host, isNamedByLink: true }
}

/** Pictures of a product that are kept; boxes show one. */
const MAX_IMAGES = 20

/** Addresses of a column that are looked at. */
const MAX_ADDRESSES = 100

/** Where one address ends and the next begins: commas stand in addresses, too. It begins with the comma, to be fast. */
const BETWEEN = /,(?=\s*https?:\/\/)/i

/** Why a picture is left out. */
export const NO_PICTURE = 'not an absolute http or https address; the picture is left out'

/** Columns of pictures: of `main` the first that is usable, of `more` all, each of which may be a list with commas. */
export type ImageFields = Readonly<{ main: readonly string[]; more: readonly string[] }>

/** The pictures of a row, each once. One that is no address costs only itself, and has a line. */
export function collectImages(task: RowTask, fields: ImageFields): string[] {
  const images = new Set<string>()
  for (const field of fields.main) {
    if (images.size === 0) addImages(task, field, { images, texts: task.row.readAll(field) })
  }
  for (const field of fields.more) {
    const texts = task.row.readAll(field)
    addImages(task, field, { images, texts: task.row.hasLists ? texts.flatMap(splitList) : texts })
  }
  if (images.size <= MAX_IMAGES) return [...images]
  task.refuse(fields.more[0] ?? 'images', `${images.size} pictures; the first ${MAX_IMAGES} are kept`)
  return [...images].slice(0, MAX_IMAGES)
}

/** A list may end in a comma. */
function splitList(text: string): string[] {
  return text
    .split(BETWEEN, MAX_ADDRESSES + 1)
    .map(trimAddress)
    .filter((address) => address !== '')
}

/** Without the commas and white space at its end. By hand, as a pattern would begin anew at each comma. */
function trimAddress(text: string): string {
  let end = text.length
  while (end > 0 && /[\s,]/.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end).trim()
}

type Adding = Readonly<{ images: Set<string>; texts: readonly string[] }>

function addImages(task: RowTask, field: string, { images, texts }: Adding): void {
  for (const text of texts.slice(0, MAX_ADDRESSES)) {
    if (isUsableLink(text)) images.add(text)
    else task.refuse(field, NO_PICTURE)
  }
  if (texts.length > MAX_ADDRESSES)
    task.refuse(field, `more than ${MAX_ADDRESSES} pictures; the others are left out`)
}
