/** Names of U+00A0 to U+00FF, in order (HTML 4.01, section 24.2.1). */
const LATIN =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml'

const OTHERS = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  OElig: 'Œ',
  oelig: 'œ',
  Scaron: 'Š',
  scaron: 'š',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  sbquo: '‚',
  ldquo: '“',
  rdquo: '”',
  bdquo: '„',
  bull: '•',
  hellip: '…',
  prime: '′',
  Prime: '″',
  euro: '€',
  trade: '™',
  ensp: '\u2002',
  emsp: '\u2003',
  thinsp: '\u2009',
}

/** The named characters of HTML 4.01 that product texts have, without `&` and `;`. */
export const NAMED_CHARACTERS: ReadonlyMap<string, string> = new Map([
  ...LATIN.split(' ').map((name, index): [string, string] => [name, String.fromCharCode(0xa0 + index)]),
  ...Object.entries(OTHERS),
])

const ENTITY = /&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,7});/gi

/** Decodes what ends in a semicolon and names a character, once: `&amp;lt;` becomes `&lt;`. The rest stays as it is. */
export function decodeEntities(text: string): string {
  return text.includes('&') ? text.replace(ENTITY, decodeEntity) : text
}

function decodeEntity(entity: string): string {
  const name = entity.slice(1, -1)
  if (!name.startsWith('#')) return NAMED_CHARACTERS.get(name) ?? entity
  const isHex = /^#x/i.test(name)
  return toCharacter(Number.parseInt(name.slice(isHex ? 2 : 1), isHex ? 16 : 10)) ?? entity
}

/** `undefined` for controls, halves of surrogate pairs and numbers beyond Unicode. */
function toCharacter(code: number): string | undefined {
  const isSpace = code === 9 || code === 10 || code === 13
  if (code < 0x20 && !isSpace) return undefined
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) || (code >= 0x7f && code < 0xa0)) return undefined
  return String.fromCodePoint(code)
}
