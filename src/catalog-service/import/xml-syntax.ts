import { SaxesParser, type SaxesTagNS } from 'saxes'
import { ImportError } from '../../errors.ts'
import { UNDECODED } from './encoding.ts'
import { truncateRaw } from './feed-row.ts'
import { findNamedCharacter } from './feed-values.ts'

/** Characters that XML 1.0 forbids and decoders do not replace. */
// oxlint-disable-next-line no-control-regex -- the forbidden characters
const FORBIDDEN_CHARACTER = /[\0-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

/** Sections whose content is no markup, and their ends. */
const SECTION_START = /<!--|<!\[CDATA\[/g
const CDATA_START = '<![CDATA['
const COMMENT_END = '-->'
const CDATA_END = ']]>'

/**
 * Markup that damaged feeds contain as text: a `&` with or without the rest of a reference (the usual ones are skipped for speed),
 * a `<` that begins no tag, a processing instruction with a `<` before its end, and the end of a CDATA section outside of one. An XML
 * declaration says nothing that is not known, and may be malformed.
 */
const DAMAGED_MARKUP =
  /<\?[xX][mM][lL]\s[^<>]*>|<\?(?![^<]*\?>)|&(?!(?:amp|lt|gt|quot|apos);)(?:#\d{1,30};|#[xX][\da-fA-F]{1,30};|[a-zA-Z][a-zA-Z\d]{1,30};)?|<(?![a-zA-Z_:/!?\u0080-\uffff])|\]\]>/g

/** A reference or tag that is longer may be passed on in two parts. */
const MAX_SPLIT_CHARACTERS = 2_000

/** A processing instruction after a section that contains the end of an item and then an element. */
export const UNCLOSED_TARGET = 'unclosed-section'
const UNCLOSED_MARK = `<?${UNCLOSED_TARGET}?>`

/** A comment or CDATA section that has not ended yet. `tail`: the last characters of `pieces`, which may begin its end. */
type OpenSection = { readonly begin: string; readonly pieces: string[]; length: number; tail: string }

const toSectionEnd = (begin: string): string => (begin === CDATA_START ? CDATA_END : COMMENT_END)

/**
 * Create a stage before an XML parser that keeps damage in the item where it is: what cannot be markup becomes text, and forbidden
 * characters, raw or as reference, become a space. Comments and white space before the declaration are removed. Line breaks stay, so
 * that the line numbers of the parser are those of the file. `hasItemBoundary`: whether a text contains the end of an item
 * and then an element. A section with both was probably not closed where it should be, and is followed by a processing instruction
 * with `UNCLOSED_TARGET`.
 */
export function createXmlRepair(hasItemBoundary: (text: string) => boolean) {
  let [kept, skippedLines, hasStarted] = ['', 0, false]
  let open: OpenSection | undefined
  const convertSection = (begin: string, content: string): string =>
    hasItemBoundary(content) ? toParsed(begin, content) + UNCLOSED_MARK : toParsed(begin, content)
  /** Read on in the open section. `rest`: the text after it. */
  const readOpen = (section: OpenSection, text: string): Readonly<{ converted: string; rest: string }> => {
    const sectionEnd = toSectionEnd(section.begin)
    const found = (section.tail + text).indexOf(sectionEnd)
    section.pieces.push(text)
    section.length += text.length
    section.tail = (section.tail + text).slice(1 - sectionEnd.length)
    if (found === -1) return { converted: '', rest: '' }
    open = undefined
    const content = section.pieces.join('')
    const end = content.indexOf(sectionEnd, content.length - text.length - sectionEnd.length)
    return {
      converted: convertSection(section.begin, content.slice(0, end)),
      rest: content.slice(end + sectionEnd.length),
    }
  }
  const convert = (text: string): string => {
    // Joined at the end: a parser reads a string that was concatenated slowly.
    const pieces: string[] = []
    for (let from = 0; ;) {
      SECTION_START.lastIndex = from
      const start = SECTION_START.exec(text)
      const end = start?.index ?? findUndecided(text, from)
      pieces.push(escapeDamage(text.slice(from, end)))
      kept = start === null ? text.slice(end) : ''
      if (start === null) return pieces.join('')
      const [begin] = start
      const contentStart = end + begin.length
      const contentEnd = text.indexOf(toSectionEnd(begin), contentStart)
      if (contentEnd === -1) {
        const content = text.slice(contentStart)
        open = {
          begin,
          pieces: [content],
          length: content.length,
          tail: content.slice(1 - toSectionEnd(begin).length),
        }
        return pieces.join('')
      }
      pieces.push(convertSection(begin, text.slice(contentStart, contentEnd)))
      from = contentEnd + toSectionEnd(begin).length
    }
  }
  /** Remove white space and byte order marks before the declaration. */
  const start = (text: string): string => {
    const [space] = /^[\s\ufeff]*/.exec(text) ?? ['']
    skippedLines += countLineBreaks(space)
    hasStarted = space.length < text.length
    return text.slice(space.length)
  }
  return {
    /** Return the repaired text; its end may be kept until the next piece. */
    repair(piece: string): string {
      const text = (hasStarted ? piece : start(piece)).replace(FORBIDDEN_CHARACTER, ' ')
      if (open === undefined) return convert(kept + text)
      const { converted, rest } = readOpen(open, text)
      return open === undefined ? converted + convert(rest) : ''
    },
    /** Return the rest of the file. The start of a section without an end is text. */
    finish(): string {
      let converted = ''
      for (let section = open; section !== undefined; section = open) {
        open = undefined
        const text = section.pieces.join('').replaceAll(section.begin, toText)
        converted += toText(section.begin) + convert(text)
      }
      return converted + escapeDamage(kept)
    },
    /** Lines before the text that was returned first. */
    countSkippedLines: (): number => skippedLines,
    /** Characters of a section that has not ended yet. */
    countKept: (): number => open?.length ?? 0,
  }
}

/** Of comments, only the line breaks are left. */
function toParsed(begin: string, content: string): string {
  return begin === CDATA_START ? begin + content + CDATA_END : content.replace(/[^\r\n]+/g, '')
}

const toText = (sectionStart: string): string => `&lt;${sectionStart.slice(1)}`

/** Find the end of the text that no further text can change. */
function findUndecided(text: string, from: number): number {
  const tailStart = Math.max(from, text.length - MAX_SPLIT_CHARACTERS)
  const tail = text.slice(tailStart)
  // A reference without its semicolon, a tag or processing instruction without its end, half of a line break, character or `]]>`.
  const [undecided = ''] = /(?:&[^;<\s]{0,40}|<\?[^<]*|<[^<>]*|\]{1,2}|[\r\ud800-\udbff])$/.exec(tail) ?? []
  return text.length - undecided.length
}

function escapeDamage(text: string): string {
  return text.replace(DAMAGED_MARKUP, (markup) => {
    if (markup === '<') return '&lt;'
    if (markup === '<?') return '&lt;?'
    if (markup.startsWith('<')) return markup.replace(/[^\r\n]+/g, '')
    if (markup === CDATA_END) return ']]&gt;'
    const name = markup.slice(1, -1)
    if (name.startsWith('#')) return toAllowedReference(name.slice(1).toLowerCase())
    return findNamedCharacter(name) === undefined ? `&amp;${markup.slice(1)}` : markup
  })
}

/** `number`: `65` or `x41` */
function toAllowedReference(number: string): string {
  const code = Number(`0${number}`)
  const isAllowed =
    code === 0x9 ||
    code === 0xa ||
    code === 0xd ||
    (code >= 0x20 && code <= 0xd7ff) ||
    (code >= 0xe000 && code <= 0xfffd) ||
    (code >= 0x10000 && code <= 0x10ffff)
  return isAllowed ? `&#${number};` : ' '
}

export type SaxParser = ReturnType<typeof createSaxParser>

/** Create a strict parser that tolerates two common errors of real feeds: undeclared prefixes and HTML entities. */
export function createSaxParser(file: string) {
  const parser = new SaxesParser({ xmlns: true, resolvePrefix } as const)
  parser.ENTITIES = new Proxy(parser.ENTITIES, {
    get: (_entities, name) => findNamedCharacter(String(name)),
  })
  parser.on('doctype', (text) => {
    if (text.includes('['))
      throw new ImportError(
        `${file} has a document type with declarations (<!DOCTYPE … [), which is not supported`,
      )
  })
  return parser
}

function resolvePrefix(prefix: string): string {
  return prefix === 'g' || prefix === 'G' ? 'http://base.google.com/ns/1.0' : `undeclared:${prefix}`
}

export type TagChecks = Readonly<{
  /** Matches the name of an item, without a look at the elements around it. */
  tagPattern: string
  /** Whether a text contains the end of an item or offer, and then an element. */
  hasItemBoundary(text: string): boolean
}>

/** Create the checks of a collector. `items`, `offers`: their names, as `toColumnName` gives them. */
export function createTagChecks(items: readonly string[], offers: readonly string[] = []): TagChecks {
  const end = new RegExp(`</${toTagPattern([...items, ...offers])}\\s*>`, 'i')
  return {
    tagPattern: toTagPattern(items),
    hasItemBoundary(text) {
      const found = end.exec(text)
      return found !== null && /<[a-z_]/i.test(text.slice(found.index))
    },
  }
}

function toTagPattern(names: readonly string[]): string {
  const patterns = names.map((name) => escapePattern(name).replaceAll('_', '[-_]'))
  return `(?:[^\\s<>/:]+:)?(?:${patterns.join('|')})`
}

export function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** Return the fields of an item for a reject. */
export function toRawXml(fields: object): string {
  return truncateRaw(JSON.stringify(fields).replaceAll(UNDECODED, '\ufffd'))
}

/** Return the start tag as XML. */
export function toOpenTag({ name, attributes }: SaxesTagNS): string {
  return `<${name}${Object.values(attributes).map(toAttribute).join('')}>`
}

function toAttribute({ name, value }: Readonly<{ name: string; value: string }>): string {
  return ` ${name}="${value.replace(/[&<"\s]/g, (character) => `&#${character.charCodeAt(0)};`)}"`
}

export function countLineBreaks(text: string): number {
  return text.split(/\r\n|[\r\n]/).length - 1
}

/** An open element, and the line of the file where its tag ends. */
export type OpenElement = Readonly<{ name: string; line: number }>

/** `path`: of the element that may be the item. */
export function describeMissingItems(file: string, itemName: string, path: string | undefined): string {
  if (path === undefined)
    return `${file} has no ${itemName}: it has no products now, or needs --format or a file for --map`
  return `${file} has no ${itemName}; it seems to repeat <${path.split('/').at(-1)}>: set --format, or describe it in a file for --map with "items": "${path}"`
}

/** Paths that are counted to find what an unknown file repeats. */
const MAX_COUNTED_PATHS = 1_000
const MAX_COUNTED_DEPTH = 5

/** The feed itself, which has no items then. */
const EMPTY_RSS = 'rss/channel'

type PathCount = { readonly path: string; readonly depth: number; count: number; descendants: number }

/** Counts elements by their path, to name the one that a file repeats. */
export function createPathCounter() {
  const counts = new Map<string, PathCount>()
  const find = (path: string, depth: number): PathCount | undefined => {
    const known = counts.get(path)
    if (known !== undefined || counts.size >= MAX_COUNTED_PATHS) return known
    const created = { path, depth, count: 0, descendants: 0 }
    counts.set(path, created)
    return created
  }
  return {
    add(names: readonly string[]): void {
      for (let depth = 2; depth <= Math.min(names.length, MAX_COUNTED_DEPTH); depth += 1) {
        const found = find(names.slice(0, depth).join('/'), depth)
        if (found !== undefined) found[depth === names.length ? 'count' : 'descendants'] += 1
      }
    },
    /** Return the repeated element with most elements in it, else the child of the root with most. */
    findItem(): string | undefined {
      const full = [...counts.values()].filter(({ descendants }) => descendants > 0)
      const repeated = full.filter(({ count }) => count > 1)
      const candidates =
        repeated.length > 0 ? repeated : full.filter(({ path, depth }) => depth === 2 && path !== EMPTY_RSS)
      return candidates.sort((one, other) => other.descendants - one.descendants)[0]?.path
    },
  }
}

type ErrorLocation = Readonly<{
  /** Convert a line of the parser to that of the file. */
  toLine(line: number): number
  /** The element that was closed last, and the innermost open one. */
  closed: OpenElement | undefined
  open: OpenElement | undefined
}>

/** Line and column precede the message of an error of the parser. */
export function isParserError(error: unknown): error is Error {
  return error instanceof Error && /^\d+:\d+: /.test(error.message)
}

/** Describe an error such as `12:34: unexpected close tag.` by the line where it begins. */
export function describeParserError(message: string, { toLine, closed, open }: ErrorLocation): string {
  const [, line, detail = message] = /^(\d+):\d+: (.*)$/s.exec(message) ?? []
  if (detail.startsWith('unexpected close tag') && closed !== undefined)
    return `line ${toLine(Number(line))}: the closing tag does not match <${closed.name}> of line ${closed.line}`
  if (detail.startsWith('unclosed tag') && open !== undefined)
    return `the file ends before <${open.name}> (line ${open.line}) is closed: it is not complete`
  return line === undefined ? detail : `line ${toLine(Number(line))}: ${detail.replace(/\.$/, '')}`
}
