/** Controls, line separators, replacement characters and noncharacters (invalid in XML). They become a space. */
const SEPARATOR_CHARACTERS =
  // oxlint-disable-next-line no-control-regex -- the characters to remove
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufffc\ufffd\p{Noncharacter_Code_Point}]+/gu

/** Zero-width spaces, byte order marks and direction controls. Joiners stay: Persian words and combined emoji need them. */
const INVISIBLE_CHARACTERS = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]+/g

/** More than three combining marks on a letter would overlap the neighbouring lines. */
const STACKED_MARKS = /(\p{M}{3})\p{M}+/gu

/** Fast path: Latin words with single spaces need no cleaning. Most texts match. */
const CLEAN_TEXT = /^[!-~\u00a1-\u024f]+(?: [!-~\u00a1-\u024f]+)*$/

/** The same without accents: folding only changes the case. */
const CLEAN_ASCII_TEXT = /^[!-~]+(?: [!-~]+)*$/

/** Limit for a text of a feed: longer titles, brands and shop names are cut and end in an ellipsis. */
export const MAX_TEXT_CHARACTERS = 1_000

/**
 * Clean feed text for display: well-formed Unicode without controls, white space collapsed, at most `maxCharacters`, then an
 * ellipsis. The result is plain text and not escaped for HTML.
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

/** Remove case and accents, for search and comparison: `Crème` and `creme` are equal. */
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

/** Remove case but not accents, for names: `Shop.example` equals `SHOP.example`, `Crème` differs from `Creme`. */
export function foldCase(text: string): string {
  if (CLEAN_ASCII_TEXT.test(text)) return text.toLowerCase()
  // Compose again at the end: lower-casing may separate a letter and its mark.
  return text.normalize('NFC').toLowerCase().normalize('NFC').replace(/\s+/g, ' ').trim()
}

function truncateAtCharacter(text: string, maxCharacters: number): string {
  const cut = text.slice(0, maxCharacters)
  const last = cut.charCodeAt(cut.length - 1)
  return (last >= 0xd800 && last <= 0xdbff ? cut.slice(0, -1) : cut).trimEnd()
}
