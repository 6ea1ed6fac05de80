import { ImportError, UsageError } from '../../errors.ts'
import { DELIMITERS, type Delimiter, type FeedMap } from './column-map.ts'
import { toColumnName } from './feed-row.ts'
import { toFeedText, findUsTimeMs } from './feed-values.ts'
import { SEPARATOR_LINE } from './table.ts'

/** Values of `--format`. Each format may be gzipped. */
export const FEED_FORMATS = [
  'ndjson',
  'json',
  'google-xml',
  'google-tsv',
  'google-csv',
  'google-json',
  'awin-csv',
  'awin-json',
  'awin-xml',
  'cj',
  'impact',
  'rakuten',
  'tradedoubler',
  'adtraction',
  'webgains',
  'tradetracker',
] as const

export type FeedFormat = (typeof FEED_FORMATS)[number]

export const HEAD_BYTES: number = 64 * 1024

/** First bytes of archives, and their names for messages. gzip is supported and not listed. */
const ARCHIVE_SIGNATURES: readonly (readonly [hex: string, name: string])[] = [
  ['504b0304', 'zip'],
  ['504b0506', 'zip'],
  ['425a68', 'bzip2'],
  ['fd377a585a', 'xz'],
  ['28b52ffd', 'zstd'],
  ['377abcaf', '7-zip'],
]

export function parseFeedFormat(name: string): FeedFormat {
  const format = FEED_FORMATS.find((known) => known === name)
  if (format === undefined) throw new UsageError(`--format accepts ${FEED_FORMATS.join(', ')}`)
  return format
}

/** Parts of XML and JSON that only one network has. */
const MARKERS: readonly (readonly [format: FeedFormat, pattern: RegExp])[] = [
  ['awin-xml', /<cafProductFeed[\s>]/i],
  ['awin-json', /"(?:aw_deep_link|product_basic|price_and_availability)"\s*:/],
  [
    'tradedoubler',
    /(?:<(?:\w+:)?|")(?:priceHistory|sourceProductUrl|TDProductId)[>"]|urn:com:tradedoubler:/i,
  ],
  [
    'tradetracker',
    /<properties>\s*<property name=|<additional>\s*<field name=|\(https?:\/\/pf\.tradetracker\.net\)/,
  ],
  ['tradetracker', /^\s*\{\s*"products"\s*:\s*\[\s*\{(?=[^]*"(?:URL|productURL)"\s*:)[^]*"properties"\s*:/],
  ['adtraction', /<TrackingUrl>/i],
  ['webgains', /<european_article_number>/i],
  ['cj', /"linkCode"\s*:\s*\{\s*"clickUrl"|<(?:cj:)?(?:impression_?url|catalog_?name)>|<cj-api>|<buy-url>/i],
  ['impact', /[<"]CatalogItemId[>"]/],
]

/** Fields of Google, and of products of the contract, which have offers. */
const GOOGLE_JSON_KEYS: ReadonlySet<string> = new Set(
  'link image_link imageLink price sale_price salePrice condition'.split(' '),
)
/** A page of the contract without a product. */
const EMPTY_ITEMS = /^\s*\{\s*(?:"next_cursor"\s*:\s*(?:null|"[^"]*")\s*,\s*)?"items"\s*:\s*(?:\[\s*\]|\[?$)/

const CONTRACT_KEYS: ReadonlySet<string> = new Set(['offers'])

/** Columns that only one network has, all of them together. Checked before Awin, which any two of its columns identify. */
const SIGNATURES: readonly (readonly [format: FeedFormat, columns: readonly string[]])[] = [
  ['cj', ['program_name', 'catalog_name', 'link']],
  ['cj', ['programname', 'buyurl']],
  ['cj', ['program_name', 'buy_url']],
  ['tradedoubler', ['tdproductid', 'producturl']],
  ['impact', ['campaignname', 'currentprice']],
  ['impact', ['current_price', 'stock_availability']],
  ['adtraction', ['trackingurl', 'producturl']],
  ['webgains', ['european_article_number', 'deeplink']],
  ['webgains', ['program_id', 'deeplink']],
  ['tradetracker', ['product_id', 'producturl', 'imageurl', 'categories']],
]

const AWIN_COLUMNS: ReadonlySet<string> = new Set(
  'aw_deep_link aw_product_id search_price store_price merchant_deep_link merchant_product_id deep_link product_url product_name'.split(
    ' ',
  ),
)

/** Columns of the product data specification. A single one is too common to identify the format. */
const GOOGLE_COLUMNS: ReadonlySet<string> = new Set(
  'id title description link image_link price sale_price availability gtin brand mpn condition'.split(' '),
)

const KNOWN_COLUMNS: ReadonlySet<string> = new Set([
  ...AWIN_COLUMNS,
  ...GOOGLE_COLUMNS,
  ...SIGNATURES.flatMap(([, columns]) => columns),
])

const MIN_KNOWN_COLUMNS = 2

/** One or two lines, of which the first is a sentence. */
const MESSAGE = /^\s*(?=[^\r\n]*\p{L}{2},? \p{L})[^\t;|\r\n]{1,300}(?:[\r\n]+[^\r\n]{1,300})?\s*$/u

/** Detect the format of a feed by its first characters. `mappedColumns`: those that a map names, normalized. @throws ImportError when it is not recognised. */
export function detectFormat(
  head: string,
  file: string,
  mappedColumns: ReadonlySet<string> = new Set(),
): FeedFormat {
  const format = /^\s*[<[{]/.test(head) ? detectMarkup(head, file) : detectTable(head, mappedColumns)
  if (format !== undefined) return format
  if (MESSAGE.test(head)) throw new ImportError(`${file} is a message, not a feed: "${quoteFirstLine(head)}"`)
  throw new ImportError(
    `the format of ${file} is not recognised: it begins with "${quoteFirstLine(head)}". Expected JSON, XML, or a table whose ` +
      'first line has columns such as gtin, title, link, price (Google Merchant) or product_name, aw_deep_link, search_price ' +
      `(Awin). Set --format to one of ${FEED_FORMATS.join(', ')}, or describe the columns in a file for --map`,
  )
}

/** Return the first line with text, without control characters. */
function quoteFirstLine(head: string): string {
  const line = /\S[^\r\n]*/.exec(head)?.[0] ?? ''
  return toFeedText(line.slice(0, MAX_MESSAGE_CHARACTERS))
}

function detectMarkup(head: string, file: string): FeedFormat {
  const format = MARKERS.find(([, pattern]) => pattern.test(head))?.[0]
  if (format !== undefined) return format
  return /^\s*</.test(head) ? 'google-xml' : detectJson(head, file)
}

/** @throws ImportError for a message, and for objects with other fields */
function detectJson(head: string, file: string): FeedFormat {
  const { path, keys } = readJsonHead(head)
  const hasAny = (names: ReadonlySet<string>): boolean => keys.some((key) => names.has(key))
  if (hasAny(CONTRACT_KEYS)) return path === undefined ? 'ndjson' : 'json'
  if (hasAny(GOOGLE_JSON_KEYS)) return 'google-json'
  if (EMPTY_ITEMS.test(head)) return 'json'
  if (keys.length === 0 || keys.includes('gtin')) return path === undefined ? 'ndjson' : 'json'
  throw new ImportError(describeUnknownJson(head, file))
}

function describeUnknownJson(head: string, file: string): string {
  const { path, keys } = readJsonHead(head)
  const message = findJsonMessage(head)
  if (message !== undefined) return `${file} is a message, not a feed: "${message}"`
  if (EMPTY_ARRAY.test(head)) return `${file} has an empty array: it has no product`
  const names = keys.slice(0, MAX_LISTED_NAMES).join(', ')
  return (
    `the fields of ${file} are not recognised: its ${path === undefined ? 'lines' : 'items'} have ${names}; ` +
    'set --format, or describe them in a file for --map, with "items" if they are in an array'
  )
}

const EMPTY_ARRAY = /^\s*\{[^{}[\]]*\[\s*\][^{}[\]]*\}\s*$/

const MAX_LISTED_NAMES = 20
const MAX_MESSAGE_CHARACTERS = 200

/** Find the text of a response such as `{"error": "API key expired"}`. */
function findJsonMessage(head: string): string | undefined {
  const [, text] =
    /"(?:error|message|error_message|error_description|detail)"\s*:\s*"((?:[^"\\]|\\.){1,1000})"/i.exec(
      head,
    ) ?? []
  return text === undefined ? undefined : toFeedText(text).slice(0, MAX_MESSAGE_CHARACTERS)
}

function detectTable(head: string, mappedColumns: ReadonlySet<string>): FeedFormat | undefined {
  if (isRakuten(head)) return 'rakuten'
  const { delimiter, names } = parseTableHead(head, new Set([...KNOWN_COLUMNS, ...mappedColumns]))
  const signed = SIGNATURES.find(([, columns]) => columns.every((name) => names.includes(name)))?.[0]
  if (signed !== undefined) return signed
  const awinCount = names.filter((name) => AWIN_COLUMNS.has(name)).length
  const googleCount = names.filter((name) => GOOGLE_COLUMNS.has(name) || mappedColumns.has(name)).length
  if (awinCount > 0 && awinCount + googleCount >= MIN_KNOWN_COLUMNS) return 'awin-csv'
  if (googleCount >= MIN_KNOWN_COLUMNS) return delimiter === '\t' ? 'google-tsv' : 'google-csv'
  return /^[ \t]*\{/m.test(head) ? 'ndjson' : undefined
}

/** @throws ImportError for an archive. */
export function rejectArchive(head: Buffer, file: string): void {
  const firstBytes = head.subarray(0, 8).toString('hex')
  const archive = ARCHIVE_SIGNATURES.find(([hex]) => firstBytes.startsWith(hex))
  if (archive !== undefined) throw new ImportError(`${file} is a ${archive[1]} file: unpack it first`)
}

const WEB_PAGE = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^]{0,2000}?-->\s*)?<(?:!doctype\s+html|html)[\s>]/i

/** @throws ImportError for a file without content, and for a web page such as a login form. */
export function rejectNonFeed(head: string, file: string): void {
  if (head.trim() === '') throw new ImportError(`${file} is empty`)
  if (!WEB_PAGE.test(head)) return
  const title = toFeedText(/<title[^>]{0,200}>([^<]{0,200})/i.exec(head)?.[1] ?? '')
  throw new ImportError(
    `${file} is a web page, not a feed: ${title === '' ? 'is the address complete, with its key?' : `"${title}"`}`,
  )
}

/** `skippedLines`: comments and other lines before the header. */
type TableHead = Readonly<{ delimiter: Delimiter; names: readonly string[]; skippedLines: number }>

/** A header may follow comments, such as those of templates. */
const MAX_SKIPPED_LINES = 10

/** Find the header: the first line, or one of the next lines if the first has no known column and that has several. */
export function parseTableHead(text: string, known: ReadonlySet<string> = KNOWN_COLUMNS): TableHead {
  const lines = text.split(/\r\n|\n|\r/, MAX_SKIPPED_LINES + 2)
  const first = lines.findIndex((line) => line.trim() !== '' && !SEPARATOR_LINE.test(line))
  const heads = lines.map((line, index) => ({ ...splitHeader(line, known), skippedLines: index }))
  const isHeader = ({ knownCount }: (typeof heads)[number]): boolean => knownCount >= MIN_KNOWN_COLUMNS
  const firstHead = heads[Math.max(first, 0)]
  const later = heads.slice(first + 1, MAX_SKIPPED_LINES + 1).find(isHeader)
  if (firstHead !== undefined && firstHead.knownCount === 0 && later !== undefined) return later
  return { ...(firstHead ?? splitHeader('', known)), skippedLines: 0 }
}

/** Split a line by the delimiter that gives the most known columns. */
function splitHeader(line: string, known: ReadonlySet<string>) {
  const heads = DELIMITERS.map((delimiter) => {
    const names = line.split(delimiter).map((cell) => toColumnName(cell.replace(/^\s*"|"\s*$/g, '')))
    const knownCount = names.filter((name) => known.has(name)).length
    return { delimiter, names, knownCount, score: knownCount * line.length + names.length }
  })
  return heads.reduce((best, head) => (head.score > best.score ? head : best))
}

/** Fields of a product; some are also in other objects. */
const ITEM_KEYS: ReadonlySet<string> = new Set(
  'gtin gtins ean upc isbn id title name link url price offers image_link product_basic producturl catalogitemid'.split(
    ' ',
  ),
)
const MIN_ITEM_KEYS = 2

/** A feed itself may have a title and a link, but not these. */
const PRODUCT_KEYS: ReadonlySet<string> = new Set(
  'gtin gtins ean upc isbn price offers product_basic'.split(' '),
)

const MAX_KEYS = 100
const MAX_ARRAYS = 100

/** Items are not deeper, and the rest of a file with deeper levels is not read. */
const MAX_DEPTH = 10

/** `path`: keys to the array of items, empty if the file is the array; `undefined`: there is one item per line. `keys`: of the first item. */
type JsonHead = Readonly<{ path: readonly string[] | undefined; keys: readonly string[] }>

/** An open object or array. `path`: keys to it. `key`: the last key of an object. */
type Level = {
  readonly isObject: boolean
  readonly path: readonly string[]
  readonly keys: string[]
  key: string
}

/** A string, which may be a key, or the begin or end of an object or array. An unclosed string is one token, so that the work is linear. */
const TOKEN = /"((?:[^"\\]|\\[^])*)"?|[{}[\]]/g
const KEY_END = /\s{0,100}:/y

/** Find the items of a JSON file in its first characters, which may end anywhere. */
export function readJsonHead(text: string): JsonHead {
  const { root, arrays } = readLevels(text)
  const [first] = arrays
  if (root === undefined) return { path: undefined, keys: [] }
  if (!root.isObject) return { path: [], keys: first?.keys ?? [] }
  const isItem = root.keys.some((key) => PRODUCT_KEYS.has(key))
  const found = isItem
    ? undefined
    : (arrays.find(({ keys }) => keys.some((key) => PRODUCT_KEYS.has(key.toLowerCase()))) ??
      arrays.find(({ keys }) => keys.filter(isItemKey).length >= MIN_ITEM_KEYS))
  return found ?? { path: undefined, keys: root.keys }
}

function isItemKey(key: string): boolean {
  return ITEM_KEYS.has(key.toLowerCase())
}

/** Read the first value. `arrays`: the first object of each array that is in no other array. */
function readLevels(text: string): Readonly<{ root: Level | undefined; arrays: readonly Level[] }> {
  const levels: Level[] = []
  const arrays: Level[] = []
  let root: Level | undefined
  for (const { 0: token, 1: string, index } of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      const level = openLevel(levels.at(-1), token === '{')
      root ??= level
      if (isFirstItem(level, levels, arrays)) arrays.push(level)
      levels.push(level)
    } else if (string === undefined) levels.pop()
    else if (isKeyEnd(text, index + token.length)) addKey(levels.at(-1), string)
    if (levels.length === 0 || levels.length > MAX_DEPTH) break
  }
  return { root, arrays }
}

function isKeyEnd(text: string, at: number): boolean {
  KEY_END.lastIndex = at
  return KEY_END.test(text)
}

function openLevel(parent: Level | undefined, isObject: boolean): Level {
  const path = parent === undefined ? [] : parent.isObject ? [...parent.path, parent.key] : parent.path
  return { isObject, path, keys: [], key: '' }
}

function isFirstItem(level: Level, levels: readonly Level[], arrays: readonly Level[]): boolean {
  const isInOuterArray =
    levels.at(-1)?.isObject === false && levels.slice(0, -1).every(({ isObject }) => isObject)
  return (
    level.isObject &&
    isInOuterArray &&
    arrays.length < MAX_ARRAYS &&
    !arrays.some((one) => isSamePath(one, level))
  )
}

function isSamePath(one: Level, other: Level): boolean {
  return one.path.join('\n') === other.path.join('\n')
}

function addKey(level: Level | undefined, key: string | undefined): void {
  if (level?.isObject !== true || key === undefined) return
  level.key = key
  if (level.keys.length < MAX_KEYS) level.keys.push(key)
}

/** `HDR|id of the shop|its name|mm/dd/yyyy hh:mm:ss`, in UTC. */
const HEADER_PATTERN = /^\s*HDR\|([^|\r\n]*)\|([^|\r\n]*)(?:\|([^|\r\n]*))?/

function isRakuten(text: string): boolean {
  return HEADER_PATTERN.test(text)
}

/** Add the shop and the time of the file's first line to the map. @throws ImportError when there is no such line. */
export function addRakutenHeader(map: FeedMap, head: string, file: string): FeedMap {
  const [line, merchantReference = '', merchant = '', time = ''] = HEADER_PATTERN.exec(head) ?? []
  if (line === undefined)
    throw new ImportError(`${file} does not begin with a line HDR, as a feed of Rakuten Advertising does`)
  const timeMs = findUsTimeMs(time)
  const constants = {
    merchant,
    merchantReference,
    checkedAt: timeMs === undefined ? '' : new Date(timeMs).toISOString(),
  }
  const fields = Object.entries(constants).map(([name, value]) => [name, { value: value.trim() }])
  return { ...map, fields: { ...map.fields, ...Object.fromEntries(fields) } }
}
