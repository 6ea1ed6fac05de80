import { SaxesParser, type SaxesTagNS } from 'saxes'
import { ImportError } from '../../errors.ts'
import { UNDECODED } from './encoding.ts'
import { truncateRaw } from './feed-row.ts'
import { findNamedCharacter } from './feed-text.ts'

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
