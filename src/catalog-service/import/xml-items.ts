import { SaxesParser, type SaxesTagNS } from 'saxes'
import { ImportError } from '../../errors.ts'
import { MAX_ROW_BYTES, type SourceRow, truncateRaw, toColumnName } from './feed-row.ts'
import { findNamedCharacter, isBlockTag } from './feed-text.ts'

const MAX_DEPTH = 100

/** Characters before the first element; bounds memory for an endless document type. */
const MAX_PROLOG_CHARACTERS: number = 64 * 1024

const GOOGLE_NAMESPACE = /^https?:\/\/base\.google\.com\/ns\/1\.0\/?$/
const ATOM_NAMESPACE = 'http://www.w3.org/2005/Atom'

/** Characters kept of a field; more than any title with its markup. */
export const MAX_FIELD_CHARACTERS: number = 16 * 1024

/** Values kept per field name; more than the pictures of a product. */
export const MAX_VALUES = 200

/** Fields that must not contain elements: `100<i/>5.00 EUR` is not a price. */
const TEXT_ONLY_FIELDS = ['gtin', 'link', 'price', 'sale_price', 'availability', 'currency'] as const

/** Field for links of an Atom entry to something other than a page, such as a PDF. */
const OTHER_LINK_FIELD = 'link of another type'

/** Values by name; `isNested`: one of them contained elements. */
type Fields = Map<string, { values: string[]; isNested: boolean }>

type Item = Readonly<{ google: Fields; plain: Fields }>

/** Collects the fields of items. Levels are relative to the item, which has level 0. */
export type ItemCollector = Readonly<{
  /** For messages. */
  itemName: string
  /** `names`: of the open elements, the outermost first. */
  isItem(names: readonly string[], tag: SaxesTagNS): boolean
  open(tag: SaxesTagNS, level: number): void
  text(piece: string): void
  close(tag: SaxesTagNS, level: number): void
  /** Return the item, and begin the next one. */
  finish(row: number, bytes: number): SourceRow
}>

/**
 * @yields the items of each chunk; memory is bounded by one chunk and one item
 * @throws ImportError when it is not well-formed, has a document type with declarations, or an item is too long.
 */
export async function* readXmlItems(
  texts: AsyncIterable<string>,
  file: string,
  collector: ItemCollector = createGoogleCollector(),
): AsyncGenerator<SourceRow[]> {
  const itemParser = createItemParser(file, collector)
  for await (const text of texts) yield itemParser.parse(text)
  itemParser.close()
}

function createItemParser(file: string, collector: ItemCollector) {
  const parser = createSaxParser(file)
  const names: string[] = []
  let items: SourceRow[] = []
  let [row, itemDepth, position] = [0, 0, 0]
  const addText = (piece: string): void => {
    if (itemDepth > 0 && names.length > itemDepth) collector.text(piece)
  }
  parser.on('text', addText)
  parser.on('cdata', addText)
  parser.on('opentag', (tag) => {
    names.push(tag.name)
    if (names.length > MAX_DEPTH) throw new ImportError(`${file} nests elements more than ${MAX_DEPTH} deep`)
    if (itemDepth === 0 && collector.isItem(names, tag)) {
      itemDepth = names.length
      position = parser.position
    }
    if (itemDepth > 0) collector.open(tag, names.length - itemDepth)
  })
  parser.on('closetag', (tag) => {
    const level = names.length - itemDepth
    names.pop()
    if (itemDepth === 0) return
    collector.close(tag, level)
    if (level > 0) return
    row += 1
    items.push(collector.finish(row, parser.position - position))
    itemDepth = 0
    position = parser.position
  })
  return {
    parse(piece: string): SourceRow[] {
      if (piece.includes('\u0000'))
        throw new ImportError(`${file} contains the character U+0000, which XML does not allow`)
      parser.write(piece)
      const sinceItem = parser.position - position
      if (sinceItem > (names.length > 0 || row > 0 ? MAX_ROW_BYTES : MAX_PROLOG_CHARACTERS))
        throw new ImportError(`${file}: ${sinceItem} characters without the end of an item`)
      const finishedItems = items
      items = []
      return finishedItems
    },
    close(): void {
      parser.close()
      if (row === 0) throw new ImportError(`${file} has no ${collector.itemName}`)
    },
  }
}

/** Create a collector for RSS items and Atom entries with the elements of Google Merchant. */
function createGoogleCollector(): ItemCollector {
  let item: Item = { google: new Map(), plain: new Map() }
  let text = ''
  let isNested = false
  /** Also collects the text of elements inside a field. */
  const append = (piece: string): void => {
    text += piece.slice(0, MAX_FIELD_CHARACTERS - text.length)
  }
  return {
    itemName: '<item> and no <entry>',
    isItem: (_names, { local }) => local === 'item' || local === 'entry',
    open(tag, level) {
      // Only direct children of an item are fields: the price in `g:shipping` is not the item's price.
      isNested = level > 1
      if (!isNested) text = ''
      else if (isBlockTag(tag.local)) append(' ')
    },
    text: append,
    close(tag, level) {
      if (level !== 1) return
      addField(item, tag, { text: text.trim(), isNested })
      isNested = false
      text = ''
    },
    finish(row, bytes) {
      const source = toSourceRow(item, row, bytes)
      item = { google: new Map(), plain: new Map() }
      return source
    },
  }
}

/** Create a strict parser that tolerates two common errors of real feeds: undeclared prefixes and HTML entities. */
function createSaxParser(file: string) {
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
  parser.on('error', (error) => {
    throw new ImportError(`${file} is not well-formed XML: ${formatParserError(error.message)}`, {
      cause: error,
    })
  })
  return parser
}

function resolvePrefix(prefix: string): string {
  return prefix === 'g' ? 'http://base.google.com/ns/1.0' : `undeclared:${prefix}`
}

/** Convert `12:34: unclosed tag: item` to `line 12, column 34: unclosed tag: item`. */
function formatParserError(message: string): string {
  const [, line, column, detail] = /^(\d+):(\d+): (.*)$/s.exec(message) ?? []
  return detail === undefined ? message : `line ${line}, column ${column}: ${detail.replace(/\.$/, '')}`
}

function findFields({ google, plain }: Item, tag: SaxesTagNS): Fields | undefined {
  if (GOOGLE_NAMESPACE.test(tag.uri)) return google
  return tag.uri === '' || tag.uri === ATOM_NAMESPACE || tag.prefix === '' ? plain : undefined
}

function addField(
  item: Item,
  tag: SaxesTagNS,
  { text, isNested }: Readonly<{ text: string; isNested: boolean }>,
): void {
  const fields = findFields(item, tag)
  const link = findAtomLink(tag)
  const { name, value } = link ?? { name: toColumnName(tag.local), value: text }
  if (fields === undefined || value === '') return
  const field = fields.get(name) ?? { values: [], isNested: false }
  field.isNested ||= isNested && link === undefined
  if (field.values.length < MAX_VALUES) field.values.push(value)
  fields.set(name, field)
}

/** Find an entry's page (RFC 4287, 4.2.7): `rel` is `alternate` or absent. Other types, such as PDF, are the second choice. */
function findAtomLink(tag: SaxesTagNS): { name: string; value: string } | undefined {
  if (tag.uri !== ATOM_NAMESPACE || tag.local !== 'link') return undefined
  const { rel, type, href } = tag.attributes
  const isAlternate = rel === undefined || rel.value === 'alternate'
  const isPage = /^\s*(?:$|text\/html|application\/xhtml\+xml)/i.test(type?.value ?? '')
  return { name: isPage ? 'link' : OTHER_LINK_FIELD, value: isAlternate ? (href?.value ?? '').trim() : '' }
}

function toSourceRow({ google, plain }: Item, row: number, bytes: number): SourceRow {
  const otherLinks = plain.get(OTHER_LINK_FIELD)
  if (otherLinks !== undefined && !plain.has('link')) plain.set('link', otherLinks)
  plain.delete(OTHER_LINK_FIELD)
  const findField = (name: string): ReturnType<Fields['get']> => google.get(name) ?? plain.get(name)
  const nestedField = TEXT_ONLY_FIELDS.find((name) => findField(name)?.isNested)
  return {
    row,
    bytes,
    problem:
      nestedField === undefined
        ? undefined
        : { field: nestedField, reason: 'contains elements where only text is allowed' },
    hasLists: false,
    read: (name) => findField(name)?.values[0] ?? '',
    readAll: (name) => findField(name)?.values ?? [],
    toRawText: () =>
      truncateRaw(
        JSON.stringify(Object.fromEntries([...plain, ...google].map(([name, { values }]) => [name, values]))),
      ),
    getContent: () => JSON.stringify([[...google], [...plain]]),
  }
}
