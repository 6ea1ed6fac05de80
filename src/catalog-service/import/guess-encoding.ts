import { analyse } from 'chardet'
import iconv from 'iconv-lite'

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
export function guessEncoding(head: Buffer): string {
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
