import { isAscii, isUtf8 } from 'node:buffer'
import { analyse } from 'chardet'
import iconv from 'iconv-lite'
import type { FeedHead } from './open-feed.ts'

/** Labels that mean windows-1252 in practice, ISO-8859-1 too (WHATWG Encoding). */
const WINDOWS_1252_LABELS = /^(?:iso-?8859-?1|latin-?1|iso-ir-100|l1|windows-?1252|cp-?1252|us-ascii|ascii)$/

const DECLARATION_BYTES = 200

export type EncodingHints = Readonly<{
  /** Of the command or the column map. */
  encoding: string | undefined
  /** Of the HTTP response. */
  charset: string | undefined
}>

/** Return the canonical name of an encoding; `undefined` when it is unknown. */
export function findEncoding(label: string): string | undefined {
  const name = label.trim().toLowerCase()
  // Some Node releases decode windows-1252 as ISO-8859-1, so its labels do not go through `TextDecoder`.
  if (WINDOWS_1252_LABELS.test(name)) return 'windows-1252'
  try {
    return new TextDecoder(name).encoding
  } catch {
    return undefined
  }
}

/** `isGuessed`: by the letters of its texts; a person should look at them. */
export type ChosenEncoding = Readonly<{ encoding: string; isGuessed: boolean }>

/**
 * Choose the encoding of a feed: byte order mark, command or column map, XML declaration, HTTP response, else UTF-8. Bytes that are
 * UTF-8 overrule a declaration, because other text is hardly ever valid UTF-8. An unknown label is ignored. Without a label, and with
 * one that servers add by default, what is not UTF-8 is recognised by its letters.
 */
export function chooseEncoding(head: Buffer, hints: EncodingHints): ChosenEncoding {
  const marked = findMarkedEncoding(head)
  if (marked !== undefined) return { encoding: marked, isGuessed: false }
  const labels = [hints.encoding, findDeclaredEncoding(head), hints.charset]
  const [chosen, ...others] = labels.map((label) => findUsableEncoding(label, head))
  if (chosen !== undefined) return { encoding: chosen, isGuessed: false }
  const declared = others.find((known) => known !== undefined)
  if (isUtf8Text(head, declared)) return { encoding: 'utf-8', isGuessed: false }
  if (declared !== undefined && !UNRELIABLE_LABELS.has(declared))
    return { encoding: declared, isGuessed: false }
  const encoding = guessEncoding(head)
  return { encoding, isGuessed: encoding !== declared }
}

/** What servers and programs declare without being asked. */
const UNRELIABLE_LABELS: ReadonlySet<string> = new Set(['utf-8', 'windows-1252'])

/** Detect the encoding by the byte order mark, or UTF-16 by the zeros of its ASCII characters. */
function findMarkedEncoding(head: Buffer): string | undefined {
  const firstBytes = head.subarray(0, 3).toString('hex')
  if (firstBytes === 'efbbbf') return 'utf-8'
  if (firstBytes.startsWith('fffe')) return 'utf-16le'
  if (firstBytes.startsWith('feff')) return 'utf-16be'
  return findUtf16(head.subarray(0, UTF_16_NAME_BYTES)) ?? findUtf16(head.subarray(0, UTF_16_HEAD_BYTES))
}

/** A file without a zero is not UTF-16, whatever it declares. */
function findUsableEncoding(label: string | undefined, head: Buffer): string | undefined {
  const encoding = label === undefined ? undefined : findEncoding(label)
  return encoding?.startsWith('utf-16') === true && !head.includes(0) ? undefined : encoding
}

/** Of the first name, before texts that are not ASCII; and of the first names. */
const UTF_16_NAME_BYTES = 16
const UTF_16_HEAD_BYTES = 1_000

/** One in so many zeros may belong to another character, such as an ideographic space. */
const MAX_OTHER_ZEROS = 10

/** Names of columns and elements are ASCII: in UTF-16, every other byte of them is zero. Other texts have no zeros. */
function findUtf16(head: Buffer): string | undefined {
  const zeros = [0, 0]
  for (const [index, byte] of head.entries()) if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  const minCount = head.length / 4
  if (odd > minCount && even < odd / MAX_OTHER_ZEROS) return 'utf-16le'
  return even > minCount && odd < even / MAX_OTHER_ZEROS ? 'utf-16be' : undefined
}

/** Find the encoding of an XML declaration (XML 1.0, appendix F). If it is readable as single bytes, it cannot be UTF-16. */
function findDeclaredEncoding(head: Buffer): string | undefined {
  const declaration = head.subarray(0, DECLARATION_BYTES).toString('latin1')
  const declared = /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(declaration)?.[1]
  return declared !== undefined && /^utf-?16/i.test(declared) ? 'utf-8' : declared
}

/** In text with several bytes a character, one or two characters may look like UTF-8 by chance. */
const MIN_UTF8_CHARACTERS = 3

/** Damage rejects its rows. A file that is damaged more often than this is not declared correctly. */
const MAX_DAMAGED_BYTES = 10

/** Whether the text is UTF-8, perhaps with damage. `declared`: the encoding that the file or its server names. */
function isUtf8Text(head: Buffer, declared: string | undefined): boolean {
  const complete = head.subarray(0, head.length - countCutBytes(head))
  const { valid, invalid } = countUtf8(complete)
  if (declared === 'utf-8') return valid > 0 || invalid <= MAX_DAMAGED_BYTES
  if (declared === undefined) return invalid <= 2 * valid
  const isSingleByte = declared.startsWith('windows-') || declared.startsWith('iso-8859-')
  return isSingleByte ? valid > 0 && invalid * 10 <= valid : invalid === 0 && valid >= MIN_UTF8_CHARACTERS
}

/** Count the characters beyond ASCII of a text in UTF-8, and the bytes that are none. */
function countUtf8(bytes: Buffer): Readonly<{ valid: number; invalid: number }> {
  if (isAscii(bytes)) return { valid: 0, invalid: 0 }
  const text = new TextDecoder().decode(bytes)
  const invalid = text.match(/\ufffd/g)?.length ?? 0
  return { valid: text.match(/[^\p{ASCII}\ufffd]/gu)?.length ?? 0, invalid }
}

/** Decode the first bytes for the detection of the format. */
export function decodeHead(head: Buffer, encoding: string): string {
  if (encoding === 'windows-1252') return head.toString('latin1')
  return new TextDecoder(encoding).decode(head, { stream: true })
}

/** Is never part of UTF-8. */
const INVALID: Buffer = Buffer.from([0xff])

/**
 * Convert a feed to UTF-8 without a byte order mark. Invalid bytes stay invalid, so that each bad row can be rejected alone.
 * @yields the chunks of the file
 */
export async function* toUtf8(feed: FeedHead, encoding: string): AsyncGenerator<Buffer> {
  if (encoding !== 'utf-8') {
    for await (const text of decodeText(feed, encoding))
      yield text.includes(UNDECODED) ? encodeWithInvalid(text) : Buffer.from(text)
    return
  }
  let bomBytes = feed.head.subarray(0, 3).toString('hex') === 'efbbbf' ? 3 : 0
  for await (const chunk of feed.chunks) {
    const cutBytes = Math.min(bomBytes, chunk.length)
    bomBytes -= cutBytes
    yield chunk.subarray(cutBytes)
  }
}

function encodeWithInvalid(text: string): Buffer {
  const pieces = text.split(UNDECODED).flatMap((piece) => [INVALID, Buffer.from(piece)])
  return Buffer.concat(pieces.slice(1))
}

/** Stands for bytes that cannot be decoded: the last private-use character, which texts do not contain. */
export const UNDECODED = '\u{10fffd}'

/** @yields the text of each chunk, with `UNDECODED` for bytes that are not valid in this encoding */
export async function* decodeText({ chunks }: FeedHead, encoding: string): AsyncGenerator<string> {
  const decode = encoding === 'utf-8' ? createUtf8Decoder() : createDecoder(encoding)
  for await (const chunk of chunks) yield decode(chunk)
  yield decode(undefined)
}

type Decoder = (bytes: Buffer | undefined) => string

/** Create a streaming decoder; `undefined` ends the stream. */
function createDecoder(encoding: string): Decoder {
  const decode = encoding === 'windows-1252' ? decodeWindows1252 : createTextDecoder(encoding)
  return (bytes) => {
    const text = decode(bytes)
    return text.includes(REPLACEMENT) ? text.replaceAll(REPLACEMENT, UNDECODED) : text
  }
}

function decodeWindows1252(bytes: Buffer | undefined): string {
  return bytes === undefined ? '' : iconv.decode(bytes, 'windows-1252')
}

function createTextDecoder(encoding: string): Decoder {
  const decoder = new TextDecoder(encoding)
  return (bytes) => (bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true }))
}

const REPLACEMENT = '\ufffd'
const UTF8_MARK: Buffer = Buffer.from('\ufeff')

function createUtf8Decoder(): Decoder {
  let rest: Buffer = Buffer.alloc(0)
  let isBegun = false
  return (bytes) => {
    const joined = rest.length === 0 ? (bytes ?? rest) : Buffer.concat([rest, bytes ?? Buffer.alloc(0)])
    const end = bytes === undefined ? joined.length : joined.length - countCutBytes(joined)
    rest = joined.subarray(end)
    const start = !isBegun && joined.subarray(0, UTF8_MARK.length).equals(UTF8_MARK) ? UTF8_MARK.length : 0
    isBegun ||= end > 0
    return decodeUtf8(joined.subarray(start, end))
  }
}

/** Count the bytes of a character that the end of the text cuts. */
function countCutBytes(bytes: Buffer): number {
  for (let count = 1; count <= Math.min(3, bytes.length); count += 1) {
    const byte = bytes[bytes.length - count] ?? 0
    if (byte < 0x80) return 0
    if (byte < 0xc0) continue
    const characterBytes = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    return characterBytes > count ? count : 0
  }
  return 0
}

/** Decode each piece of a damaged text on its own: only there, a replacement character stands for undecoded bytes. */
function decodeUtf8(bytes: Buffer): string {
  // Faster than `toString` for text beyond ASCII.
  if (isUtf8(bytes)) return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  let text = ''
  for (let start = 0; start < bytes.length;) {
    const next = bytes.indexOf('<', start + 1)
    const piece = bytes.subarray(start, next === -1 ? bytes.length : next)
    text += isUtf8(piece) ? piece.toString() : piece.toString().replaceAll(REPLACEMENT, UNDECODED)
    start += piece.length
  }
  return text
}

/** Alphabets beyond ASCII of languages in which shops write, by encodings of one byte a character. The first encodings win ties. */
const ALPHABETS: Readonly<Record<string, readonly string[]>> = {
  'windows-1252': [
    'äöüßé',
    'àâæçéèêëîïôœùûüÿ',
    'áéíñóúüªº',
    'àèéìíîòóùú',
    'áâãàçéêíóôõúü',
    'áéëïíóöüè',
    'åäöé',
    'æøåé',
    'áðéíóúýþæö',
    'äöõüšž',
  ],
  'windows-1250': ['ąćęłńóśźżé', 'áčďéěíňóřšťúůýž', 'áäčďéíĺľňóôŕšťúýž', 'áéíóöőúüű', 'ăâîșțşţé', 'čćđšžé'],
  'windows-1251': [
    'абвгдежзийклмнопрстуфхцчшщъыьэюяё',
    'абвгґдеєжзиіїйклмнопрстуфхцчшщьюя',
    'абвгдђежзијклљмнњопрстћуфхцчџш',
  ],
  'windows-1254': ['çğıöşüâîû'],
  'windows-1253': ['αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ'],
  'windows-1257': ['ąčęėįšųūž', 'āčēģīķļņšūž'],
  'windows-1255': ['אבגדהוזחטיךכלםמןנסעףפץצקרשת'],
  'windows-1256': ['ابتثجحخدذرزسشصضطظعغفقكلمنهويىةءآأؤإئ'],
  'iso-8859-2': ['ąćęłńóśźżé', 'áčďéěíňóřšťúůýž', 'ăâîşţé', 'čćđšžé'],
  'iso-8859-15': ['àâæçéèêëîïôœùûüÿ', 'äöõüšž'],
  'koi8-r': ['абвгдежзийклмнопрстуфхцчшщъыьэюяё'],
  ibm866: ['абвгдежзийклмнопрстуфхцчшщъыьэюяё'],
  macintosh: ['äöüßé', 'àâæçéèêëîïôœùûüÿ', 'áéíñóúü'],
}

const DEFAULT_ENCODING = 'windows-1252'

/** Below this share of letters that belong to one language, it may be an encoding of several bytes a character. */
const MIN_SINGLE_BYTE_SHARE = 0.9

/** Of `analyse`, in percent. A wrong guess is rarely above it. */
const MIN_CONFIDENCE = 40

const MULTI_BYTE_ENCODINGS: ReadonlySet<string> = new Set([
  'shift_jis',
  'euc-jp',
  'gb18030',
  'big5',
  'euc-kr',
])
const JAPANESE_ENCODINGS = ['shift_jis', 'euc-jp'] as const

/** Japanese text has so many kana; other text that is read as Japanese has hardly any. */
const MIN_KANA_SHARE = 0.2

/** Text around characters beyond ASCII, in bytes on each side, and how many such places are looked at. */
const CONTEXT_BYTES = 40
const MAX_PLACES = 2_000

const NO_ASCII = /[\x80-\xff]/g

/**
 * Guess the encoding of a text that is not UTF-8: the one in which the most letters beyond ASCII belong to one language. If that are
 * too few, it may be an encoding of several bytes.
 */
function guessEncoding(head: Buffer): string {
  const sample = collectSample(head)
  // Without letters, there are only signs such as quotation marks.
  if (listLetters(iconv.decode(sample, DEFAULT_ENCODING)).length === 0) return DEFAULT_ENCODING
  const candidates = Object.entries(ALPHABETS).map(([encoding, alphabets]) => ({
    encoding,
    share: computeShare(iconv.decode(sample, encoding), alphabets),
  }))
  const best = candidates.reduce((one, other) => (other.share > one.share ? other : one))
  return (best.share < MIN_SINGLE_BYTE_SHARE ? findMultiByte(sample) : undefined) ?? best.encoding
}

/** Collect the text around the characters beyond ASCII. */
function collectSample(head: Buffer): Buffer {
  const text = head.toString('latin1')
  const places: string[] = []
  let end = 0
  for (const { index } of text.matchAll(NO_ASCII)) {
    if (index < end) continue
    if (places.length === MAX_PLACES) break
    const start = Math.max(end, index - CONTEXT_BYTES)
    end = index + CONTEXT_BYTES
    places.push(text.slice(start, end))
  }
  return Buffer.from(places.join('\n'), 'latin1')
}

const FOREIGN_LETTER = /[^\p{ASCII}]/gu
const LETTER = /[\p{L}\p{M}]/u

/** Within a word: a sign, a capital letter after a small one, or letters of two scripts. Hardly any word has that. */
const BROKEN_WORD =
  /\p{L}[^\p{ASCII}\p{L}\p{M}’‘´–—°²³½™®©]+\p{L}|\p{Ll}(?=[^\p{ASCII}])\p{Lu}|(?<=\p{Script=Latin})[\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}]|[\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}](?=\p{Script=Latin})/gu

const listLetters = (text: string): string[] =>
  (text.match(FOREIGN_LETTER) ?? []).filter((character) => LETTER.test(character))

function computeShare(text: string, alphabets: readonly string[]): number {
  const letters = listLetters(text)
  const broken = text.match(BROKEN_WORD)?.length ?? 0
  const lowerCase = letters.map((letter) => letter.toLowerCase().replace('i̇', 'i'))
  const known = alphabets.map((alphabet) => {
    const own = new Set(alphabet)
    return lowerCase.filter((letter) => letter === 'i' || own.has(letter)).length
  })
  const total = letters.length + broken
  return total === 0 ? 0 : (Math.max(...known) - broken) / total
}

function findMultiByte(sample: Buffer): string | undefined {
  const japanese = JAPANESE_ENCODINGS.find((encoding) => computeKanaShare(sample, encoding) >= MIN_KANA_SHARE)
  if (japanese !== undefined) return japanese
  const best = analyse(sample).find(({ name }) => MULTI_BYTE_ENCODINGS.has(name.toLowerCase()))
  return best !== undefined && best.confidence >= MIN_CONFIDENCE ? best.name.toLowerCase() : undefined
}

function computeKanaShare(sample: Buffer, encoding: string): number {
  const text = iconv.decode(sample, encoding)
  const foreign = text.match(FOREIGN_LETTER)?.length ?? 0
  const kana = text.match(/[\u3041-\u30ff]/gu)?.length ?? 0
  const invalid = text.match(/\ufffd/g)?.length ?? 0
  return foreign === 0 ? 0 : (kana - invalid) / foreign
}
