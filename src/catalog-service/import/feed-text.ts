import { decodeHTMLStrict } from 'entities'
import { MAX_TEXT_CHARACTERS, cleanText } from '../../offers/text.ts'

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
