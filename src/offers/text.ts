/**
 * C0 and C1 controls, line separators, object and replacement characters, and Unicode's noncharacters, which XML does not
 * allow (U+FFFE, U+FFFF): they stood between words.
 */
const SEPARATOR_CHARACTERS =
  // oxlint-disable-next-line no-control-regex -- the characters to remove
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufffc\ufffd\p{Noncharacter_Code_Point}]+/gu

/**
 * Zero-width spaces, byte order marks, and every control of direction (marks, overrides, isolates): they are not seen, so
 * nothing takes their place. Joiners stay: Persian words and families of emoji fall apart without them.
 */
const INVISIBLE_CHARACTERS = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+/g

/** Marks that may stand on one letter; more of them climb over the neighbouring lines. */
const STACKED_MARKS = /(\p{M}{3})\p{M}+/gu

/** Latin letters, digits and signs in words with one space between them: nothing here to clean. Most texts are so. */
const CLEAN_TEXT = /^[!-~\u00a1-\u024f]+(?: [!-~\u00a1-\u024f]+)*$/

/** The same without accents: folding it only changes its case. */
const CLEAN_ASCII_TEXT = /^[!-~]+(?: [!-~]+)*$/

/**
 * Feed text as it may be shown: well-formed Unicode without controls, runs of white space as one space, at most
 * `maxCharacters` (then an ellipsis). It is still text: only a template makes markup of it.
 */
export function cleanText(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters && CLEAN_TEXT.test(text)) return text
  const head = text.length > maxCharacters * 4 ? text.slice(0, maxCharacters * 4) : text
  const clean = head
    .toWellFormed()
    .replace(SEPARATOR_CHARACTERS, ' ')
    .replace(INVISIBLE_CHARACTERS, '')
    .replace(STACKED_MARKS, '$1')
    .replace(/\s+/g, ' ')
    .trim()
  return clean.length > maxCharacters ? `${truncateAtCharacter(clean, maxCharacters - 1)}…` : clean
}

/** Text without case and accents, for searching and for comparing names: `Crème` and `creme` are equal. */
export function foldCaseAndAccents(text: string): string {
  if (CLEAN_ASCII_TEXT.test(text)) return text.toLowerCase()
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/\s+/g, ' ')
    .trim()
}

/** Text without case, for names: `Shop.example` and `SHOP.example` are equal, `Crème` and `Creme` are not. */
export function foldCase(text: string): string {
  if (CLEAN_ASCII_TEXT.test(text)) return text.toLowerCase()
  // Composed last: lower case may leave a letter and its mark apart that are one letter together.
  return text.normalize('NFC').toLowerCase().normalize('NFC').replace(/\s+/g, ' ').trim()
}

function truncateAtCharacter(text: string, maxCharacters: number): string {
  const cut = text.slice(0, maxCharacters)
  const last = cut.charCodeAt(cut.length - 1)
  return (last >= 0xd800 && last <= 0xdbff ? cut.slice(0, -1) : cut).trimEnd()
}
