import { decodeHTMLStrict } from 'entities'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../clock.ts'
import { computeCheckDigit, normalizeGtin, isCheckDigitValid } from '../../offers/gtin.ts'
import { MAX_TEXT_CHARACTERS, cleanText } from '../../offers/text.ts'
import type { SourceRow, SalePeriod } from './feed-row.ts'

const MAX_MARKUP_CHARACTERS: number = 16 * 1024

/** Bounds the search for the end of a tag, which would otherwise be quadratic. */
const MAX_TAG_CHARACTERS = 1_000

const TAG_PATTERN = /^<\/?([a-z][a-z\d]*)(?:\s(?:[^<>"']|"[^"]*"|'[^']*')*)?\/?>/i

/** Only HTML elements, so that `<Pro>` and `5 < 10` stay. */
const BLOCK_TAGS: ReadonlySet<string> = new Set(
  'br div h1 h2 h3 h4 h5 h6 hr li ol p table tbody td th tr ul'.split(' '),
)
const INLINE_TAGS: ReadonlySet<string> = new Set(
  'a abbr b big center em font i img mark s small span strike strong sub sup u'.split(' '),
)

const MAX_HIDDEN_START_CHARACTERS = 10

const HIDDEN_MARKUP: readonly (readonly [begin: RegExp, end: string])[] = [
  [/^<!--/, '-->'],
  [/^<script[\s>]/i, '</script>'],
  [/^<style[\s>]/i, '</style>'],
]

/** Convert markup to plain text: decode entities once, remove tags, scripts and invisible characters, collapse white space. */
export function toFeedText(text: string): string {
  const head = text.length > MAX_MARKUP_CHARACTERS ? text.slice(0, MAX_MARKUP_CHARACTERS) : text
  return cleanText(stripTags(decodeEntities(head)), MAX_TEXT_CHARACTERS)
}

export function isBlockTag(name: string): boolean {
  return BLOCK_TAGS.has(name.toLowerCase())
}

function stripTags(text: string): string {
  let open = text.indexOf('<')
  if (open === -1) return text
  const lowerCase = text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
  let plain = ''
  let start = 0
  for (; open !== -1; open = text.indexOf('<', open)) {
    const markup = findMarkup(text, open) ?? findHidden(text, lowerCase, open)
    if (markup === undefined) {
      open += 1
      continue
    }
    plain += text.slice(start, open) + markup.replacement
    open = markup.end
    start = open
  }
  return plain + text.slice(start)
}

type Markup = Readonly<{ end: number; replacement: string }>

function findMarkup(text: string, at: number): Markup | undefined {
  if (!/[a-z/]/i.test(text.charAt(at + 1))) return undefined
  const [tag, name = ''] = TAG_PATTERN.exec(text.slice(at, at + MAX_TAG_CHARACTERS)) ?? []
  if (tag === undefined) return undefined
  if (isBlockTag(name)) return { end: at + tag.length, replacement: ' ' }
  return INLINE_TAGS.has(name.toLowerCase()) ? { end: at + tag.length, replacement: '' } : undefined
}

/** Unclosed markup hides the rest of the text, as in browsers. */
function findHidden(text: string, lowerCase: string, at: number): Markup | undefined {
  const head = text.slice(at, at + MAX_HIDDEN_START_CHARACTERS)
  const endTag = HIDDEN_MARKUP.find(([begin]) => begin.test(head))?.[1]
  if (endTag === undefined) return undefined
  const end = lowerCase.indexOf(endTag, at)
  return { end: end === -1 ? text.length : end + endTag.length, replacement: ' ' }
}

/** A possible entity; the longest HTML name has 31 letters. */
const ENTITY_PATTERN = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,30});/gi

/** Decode valid entities once: `&amp;lt;` becomes `&lt;`. Others stay unchanged. */
export function decodeEntities(text: string): string {
  return text.includes('&') ? text.replace(ENTITY_PATTERN, decodeEntity) : text
}

const ENTITY_NAME = /^[a-z][a-z\d]{1,30}$/i

/** Find the character of an HTML entity by its name, such as `eacute`. */
export function findNamedCharacter(name: string): string | undefined {
  if (!ENTITY_NAME.test(name)) return undefined
  const entity = `&${name};`
  const character = decodeHTMLStrict(entity)
  return character === entity ? undefined : character
}

function decodeEntity(entity: string): string {
  const name = entity.slice(1, -1)
  if (!name.startsWith('#')) return findNamedCharacter(name) ?? entity
  // `#x201C` and `#39` become `0x201C` and `039`, which `Number` parses.
  const code = Number(`0${name.slice(1)}`)
  const character = code > 0x10ffff ? '' : String.fromCodePoint(code)
  return /^[\t\n\r]$|^[^\p{Cc}\p{Cs}]$/u.test(character) ? character : entity
}

/** In-store numbers and coupons (GS1 General Specifications, 1.4: prefixes 02, 04, 05, 2, 98, 99) after the packaging level. */
const RESTRICTED_PREFIX = /^\d(?:0[245]|2|9[89])/

/** The same for GTIN-8, padded or not (section 1.4.3: prefixes 0 and 2). */
const RESTRICTED_SHORT_PREFIX = /^(?:0{6}2\d{7}|[02]\d{7})$/

/** Lengths of GTINs, and 11: a UPC whose leading zero was removed by a spreadsheet. */
const GTIN_LENGTHS: ReadonlySet<number> = new Set([8, 11, 12, 13, 14])

const SEPARATORS = /[\s\u00ad\u061c\u200b-\u200f\u2010-\u2013\u202a-\u202e\u2060-\u2069\ufeff-]+/g

/** `1.23457E+11`: a spreadsheet has rounded the number. */
const SCIENTIFIC_NOTATION = /^\d+(?:[.,]\d+)?e\+?\d+$/i

const INVALID_CHECK_DIGIT = 'the check digit is wrong'

/** Remove separators between the digits, and what spreadsheets add: `'95…`, `="95…"`, `95….00`. */
export function cleanCode(text: string): string {
  return text
    .replace(SEPARATORS, '')
    .replace(/^(?:'|="([^"]*)"$)/, '$1')
    .replace(/^(\d{8,14})\.0+$/, '$1')
}

/** Parse a code from `cleanCode` into a padded GTIN. Return a reason for people when it is invalid. */
export function parseFeedGtin(code: string): Readonly<{ gtin: string }> | string {
  if (SCIENTIFIC_NOTATION.test(code)) return 'rounded by a spreadsheet: its last digits are lost'
  const gtin = GTIN_LENGTHS.has(code.length) ? normalizeGtin(code) : undefined
  if (gtin === undefined) return 'not 8, 12, 13 or 14 digits'
  if (/^0+$/.test(gtin)) return 'only zeros'
  if (!isCheckDigitValid(gtin)) return INVALID_CHECK_DIGIT
  return RESTRICTED_PREFIX.test(gtin) || RESTRICTED_SHORT_PREFIX.test(code)
    ? 'a number for one shop only, or a coupon'
    : { gtin }
}

/** Like `parseFeedGtin`, for books: an ISBN-10 becomes an ISBN-13 with the prefix 978 and a new check digit. */
export function parseIsbn(code: string): Readonly<{ gtin: string }> | string {
  if (!/^\d{9}[\dx]$/i.test(code)) return parseFeedGtin(code)
  if (!isIsbn10(code)) return INVALID_CHECK_DIGIT
  const first13Digits = `0978${code.slice(0, 9)}`
  return { gtin: `${first13Digits}${computeCheckDigit(first13Digits)}` }
}

/** The sum with weights 10 to 1 is divisible by 11; X means ten (ISO 2108:1992). */
function isIsbn10(code: string): boolean {
  const digits = Array.from(code, (digit) => (/x/i.test(digit) ? 10 : Number(digit)))
  return digits.reduce((sum, digit, index) => sum + digit * (10 - index), 0) % 11 === 0
}

type Availability = 'in_stock' | 'out_of_stock' | 'preorder' | 'backorder' | 'discontinued' | 'unknown'

const YES_VALUES: ReadonlySet<string> = new Set(['1', 'yes', 'y', 'true'])
const NO_VALUES: ReadonlySet<string> = new Set(['0', 'no', 'n', 'false'])

/** Terms of Google, Awin, Impact and schema.org, in lower case, letters only. */
const AVAILABILITY_BY_PHRASE: ReadonlyMap<string, Availability> = new Map(
  Object.entries({
    in_stock: 'instock available availablefororder limitedavailability limitedstock lowstock onlineonly',
    out_of_stock:
      'outofstock temporarilyoutofstock currentlyoutofstock notinstock nostock soldout unavailable notavailable currentlyunavailable temporarilyunavailable',
    preorder: 'preorder presale',
    backorder: 'backorder onbackorder',
    discontinued: 'discontinued',
  } satisfies Partial<Record<Availability, string>>).flatMap(([state, words]) =>
    words.split(' ').map((word) => [word, state as Availability]),
  ),
)

const MAX_AVAILABILITY_CHARACTERS = 100

/** A whole number without a minus sign. */
const QUANTITY_PATTERN = /(?<![\d.,-])\d+(?:[.,]0+)?(?![\d.,]*\d)/g

/** Convert `In Stock`, `in_stock`, `https://schema.org/InStock` or a quantity (`0 in stock`); unknown terms give `unknown`. */
export function toAvailability(text: string): Availability {
  if (text.length > MAX_AVAILABILITY_CHARACTERS) return 'unknown'
  const quantities: string[] = []
  const phrase = text
    .trim()
    .replace(/^(?:https?:\/\/(?:www\.)?schema\.org\/|schema:)/i, '')
    .replace(QUANTITY_PATTERN, (quantity) => {
      quantities.push(quantity)
      return ''
    })
    .replace(/[\s_.,:;!()+]+|-(?!\d)/g, '')
    .toLowerCase()
  const stated = findAvailability(phrase)
  const [quantity, ...others] = quantities
  if (quantity === undefined) return stated ?? 'unknown'
  // A quantity overrides "in stock" but no other statement.
  if (others.length > 0 || (phrase !== '' && stated !== 'in_stock')) return stated ?? 'unknown'
  return /[1-9]/.test(quantity) ? 'in_stock' : 'out_of_stock'
}

function findAvailability(phrase: string): Availability | undefined {
  const isInStock = toYesOrNo(phrase)
  if (isInStock === undefined) return AVAILABILITY_BY_PHRASE.get(phrase)
  return isInStock ? 'in_stock' : 'out_of_stock'
}

/** Parse a boolean such as `1`, `yes` or `false`; `undefined` for anything else. */
export function toYesOrNo(text: string): boolean | undefined {
  const word = text.trim().toLowerCase()
  return YES_VALUES.has(word) ? true : NO_VALUES.has(word) ? false : undefined
}

/** Read the columns of Awin. Booleans take precedence over terms, and terms over quantities. */
export function toAwinAvailability(row: SourceRow): Availability {
  if (toYesOrNo(row.read('pre_order')) === true) return 'preorder'
  const inStock = row.read('in_stock')
  const isInStock = toYesOrNo(inStock)
  if (isInStock !== undefined) return isInStock ? 'in_stock' : 'out_of_stock'
  for (const text of [inStock, row.read('stock_status')]) {
    const availability = toAvailability(text)
    if (availability !== 'unknown') return availability
  }
  const quantity = row.read('stock_quantity')
  if (!/^\d+(?:\.0+)?$/.test(quantity)) return 'unknown'
  return /[1-9]/.test(quantity) ? 'in_stock' : 'out_of_stock'
}

/** Nothing, or a dash. Other signs may be letters that were lost. */
const NO_CONDITION = /^[\s\-–—.]*$/

/** Of a condition in a reason. */
const MAX_WORD_CHARACTERS = 40

/**
 * Remove the address of schema.org or another vocabulary, accents, spaces and signs: `https://schema.org/NewCondition`, `Brand-New` and
 * `Nový` give `new`, `brandnew` and `novy`.
 */
export function normalizeCondition(text: string): string {
  return text
    .trim()
    .replace(
      /^(?:(?:https?:)?\/\/\S*[/#]|(?:www\.)?schema\.org\/|(?:g|schema):|\w+condition\.)(?=[a-z]+\/?$)/i,
      '',
    )
    .replace(/ı/gi, 'i')
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/(?<=.)(?:item)?condition$/, '')
}

/**
 * Words and numbers that mean new, in the languages of the widgets and those of other feeds, without spaces.
 * Numbers: 1000 of eBay, 11 of Amazon. "Like new", "as new" and "neuwertig" are used goods.
 */
const NEW_CONDITIONS: ReadonlySet<string> = new Set(
  [
    'new brandnew allnew newitem newproduct factorynew newfactorysealed newsealed unused newunused unusednew newandunused neverused newneverused newinbox newwithbox newwithtags brandnewinbox nib bnib nwt unworn anew factorysealed sealed unopened 1000 11',
    'neu neue neuer neues neuware neuprodukt neuovp neuoriginalverpackt originalverpackt brandneu nagelneu fabrikneu neuundoriginalverpackt neuzustand zustandneu ungebraucht unbenutzt neuunbenutzt neuundunbenutzt neuungebraucht neuerartikel neuesprodukt neuinovp neumitetikett neumitovp neuwareovp',
    'neuf neuve neufs neuves nouveau nouvelle etatneuf produitneuf articleneuf neufsousblister jamaisutilise toutneuf flambantneuf neufavecetiquette neufavecetiquettes',
    'nuevo nueva nuevos nuevas productonuevo articulonuevo sinusar sinestrenar aestrenar completamentenuevo nuevoaestrenar nuevoconetiquetas nuevoconetiqueta',
    'nuovo nuova nuovi nuove prodottonuovo articolonuovo maiusato nuovoconetichetta nuovodizecca nuovodifabbrica nuovoimballato',
    'novo nova novos novas produtonovo artigonovo semuso novoemfolha novocometiqueta',
    'nieuw nieuwe nieuwproduct gloednieuw ongebruikt splinternieuw nieuwindoos nieuwmetlabel',
    'ny nyt nye nytt nya helny spritny fabriksny fabrikksny ubrugt ubrukt oanvand nyoanvand nyoubrugt heltny heltnyt heltnytt splitterny splinterny nyvara nyvare nytprodukt nyprodukt nyttprodukt ooppnad',
    'uusi uudet kayttamaton uusikayttamaton upouusi uusituote',
    'nowy nowa nowe nieuzywany nieuzywana nieuzywane fabrycznienowy produktnowy nowyprodukt stannowy nowyzmetka',
    'novy nove nepouzity nepouzita nepouzite novytovar novyprodukt novezbozi zcelanovy novinka',
    'uj ujtermek nou noua noi produsnou nov naujas nauja jauns jauna uus yeni sifir yeniurun sifirurun kullanilmamis',
    'новый новая новое новые новии нова нове нови нов ново новыйтовар новийтовар абсолютноновый неиспользованный',
    'νεο νεος νεα καινουργιο καινουριο καινουργια καινουρια',
    'جديد جديدة جديده חדש חדשה',
    '新品 新品未使用 未使用 新しい 全新 全新品 새상품 새제품 신품 새것 미개봉 新品未開封 未開封',
  ].flatMap((words) => words.split(' ').map(normalizeCondition)),
)

/**
 * Return why a product is not known to be new; `undefined` if it is, as without a condition. A list must mean new in each part.
 * `allowed`: further words, normalized.
 */
export function findConditionProblem(text: string, allowed: ReadonlySet<string>): string | undefined {
  // Most rows have one of these words as it is.
  if (text === '' || NEW_CONDITIONS.has(text)) return undefined
  const shown = toFeedText(text)
  const words = shown
    .split(/[,;|]/)
    .filter((part) => !NO_CONDITION.test(part))
    .map(normalizeCondition)
  const isNew = (word: string): boolean => NEW_CONDITIONS.has(word) || allowed.has(word)
  if (words.every(isNew) || allowed.has(normalizeCondition(text))) return undefined
  const quoted =
    shown.length > MAX_WORD_CHARACTERS ? `${shown.slice(0, MAX_WORD_CHARACTERS).trimEnd()}…` : shown
  return `the condition "${quoted}" is not known to mean new`
}

/** An ISO 8601 date with an optional time and an optional offset from UTC (`-0800`, `+01:00`, `+01`, `Z`). */
const DATE_TIME_PATTERN =
  /^(\d{4}-\d{2}-\d{2})(?:[T ]((?:[01]\d|2[0-3])(?::[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?)?) ?(?:Z|([+-])(0\d|1[0-4])(?::?([0-5]\d))?)?)?$/i

/** RFC 3339, section 5.6: seconds and offset are required. */
const RFC_3339_PATTERN = /^[\d-]{10}[T ][\d:]{8}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/i

const US_TIME_PATTERN = /^(\d{2})\/(\d{2})\/(\d{4}) (\d{2}:\d{2}:\d{2})$/

/** A longer text is not a time. It bounds the work of the patterns. */
const MAX_TIME_CHARACTERS = 100

/** A date with dots is written with the day first in every country that uses them. */
const DOTTED_DATE_PATTERN = /^(\d{2})\.(\d{2})\.(\d{4})(?=$|[T ])/

function toIsoDate(text: string): string {
  return text.trim().replace(DOTTED_DATE_PATTERN, '$3-$2-$1')
}

/** Convert an ISO 8601 date or time, or one that begins with `dd.mm.yyyy`, UTC by default, to Unix milliseconds; `undefined` when malformed. A date is its first moment. */
export function findTimeMs(text: string): number | undefined {
  if (text.length > MAX_TIME_CHARACTERS) return undefined
  const [, day, time, sign, hours, minutes] = DATE_TIME_PATTERN.exec(toIsoDate(text)) ?? []
  if (day === undefined || !isCalendarDay(day)) return undefined
  const clockTime = time?.includes(':') === true ? time : `${time ?? '00'}:00`
  const utcMs = Date.parse(`${day}T${clockTime}Z`)
  const zoneOffsetMs = toOffsetMs(hours, minutes)
  return sign === '-' ? utcMs + zoneOffsetMs : utcMs - zoneOffsetMs
}

function toOffsetMs(hours: string = '0', minutes: string = '0'): number {
  return Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS
}

export function findRfc3339TimeMs(text: string): number | undefined {
  return RFC_3339_PATTERN.test(text) ? findTimeMs(text) : undefined
}

/** Convert `mm/dd/yyyy hh:mm:ss` in UTC. */
export function findUsTimeMs(text: string): number | undefined {
  const [, month, day, year, time] = US_TIME_PATTERN.exec(text.trim()) ?? []
  return month === undefined ? undefined : findTimeMs(`${year}-${month}-${day} ${time}`)
}

/** What programs write for no date: nothing, zeros, `null`, a time alone, and the first day of their calendars. */
const NO_DATE =
  /^(?:[0\s:.TZ+-]*|null|none|undefined|nan|\\n|invalid date|n\.?a\.?|T[\d:.]*(?:Z|[+-][\d:]*)?|(?:-?000[01]-\d\d-\d\d|1970-01-01)(?:[T ][\d:.]*(?:Z|[+-][\d:]*)?)?)$/i

/** `true` for no date, and for a period without dates: `/`, `0000-00-00 00:00:00/0000-00-00`. */
export function isDateMissing(text: string): boolean {
  return (
    text.length <= MAX_TIME_CHARACTERS &&
    text
      .replace(/\bn\/a\b/gi, '')
      .split('/')
      .every((date) => NO_DATE.test(date.trim()))
  )
}

/** Parse `start/end` of Google Merchant. There may be no end; `undefined` when malformed. */
export function findSaleDates(text: string): SalePeriod | undefined {
  const [start = '', end, ...more] = text.split('/', 3)
  if (end === undefined || more.length > 0) return undefined
  return findSalePeriod(start, end)
}

/** Parse the limits of a sale; `''` is no limit, and an end without a time includes its day. `undefined` when malformed. */
export function findSalePeriod(start: string, end: string): SalePeriod | undefined {
  const startsMs = isDateMissing(start) ? null : findTimeMs(start)
  const endsMs = isDateMissing(end) ? null : findEndMs(end)
  if (startsMs === undefined || endsMs === undefined) return undefined
  return startsMs !== null && endsMs !== null && endsMs <= startsMs ? undefined : { startsMs, endsMs }
}

function findEndMs(text: string): number | undefined {
  const timeMs = findTimeMs(text)
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(toIsoDate(text))
  return timeMs !== undefined && isDay ? timeMs + DAY_MS : timeMs
}

/** `Date.parse` may accept 30 February as 2 March. */
function isCalendarDay(day: string): boolean {
  const dateMs = Date.parse(`${day}T00:00Z`)
  return !Number.isNaN(dateMs) && new Date(dateMs).toISOString().startsWith(day)
}
