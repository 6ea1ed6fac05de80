import { SaxesParser, type SaxesTagNS } from 'saxes'
import { ImportError } from '../../errors.ts'
import { MAX_RAW_CHARACTERS } from './feed-product.ts'
import { NAMED_CHARACTERS, isBlockTag } from './feed-text.ts'
import { type RowFault, type SourceRow, cutRaw, toColumnName } from './source-row.ts'

/** Deepest nesting that is followed; a feed has about six levels. */
const MAX_DEPTH = 100

/** Characters before the first element: a document type that never ends is not collected. */
const MAX_PROLOG_CHARACTERS: number = 64 * 1024

/** What an XML feed is read with. `file` is for messages. */
export type XmlOptions = Readonly<{
  file: string
  /** An item above this, or so much without an item, ends the import. */
  maxItemCharacters: number
}>

/**
 * The items of an RSS feed and the entries of an Atom feed, with memory for one piece of the file and one item.
 * @yields the items of each piece, which may be none
 * @throws ImportError when it is not well-formed to its end, holds a document type with declarations, or an item is too long.
 */
export async function* readXmlItems(
  texts: AsyncIterable<string>,
  options: XmlOptions,
): AsyncGenerator<SourceRow[]> {
  const reader = createItemReader(options)
  for await (const text of texts) yield reader.write(text)
  reader.close()
}

type ItemReader = Readonly<{ write(text: string): SourceRow[]; close(): void }>

/**
 * Not even well-formed text is forgiven, but for two things that real feeds have and every reader knows: prefixes that are
 * never declared, and the named characters of HTML.
 */
function createItemReader({ file, maxItemCharacters }: XmlOptions): ItemReader {
  const parser = new SaxesParser({ xmlns: true, resolvePrefix } as const)
  Object.assign(parser.ENTITIES, Object.fromEntries(NAMED_CHARACTERS))
  const collector = createCollector(file)
  parser.on('doctype', (text) => {
    if (text.includes('['))
      throw new ImportError(
        `${file} declares a document type of its own (<!DOCTYPE … [), which no feed needs`,
      )
  })
  parser.on('opentag', (tag) => collector.open(tag, parser.position))
  parser.on('text', collector.text)
  parser.on('cdata', collector.text)
  parser.on('closetag', (tag) => collector.close(tag, parser.position))
  parser.on('error', (error) => {
    throw new ImportError(`${file} is no whole XML: ${toReason(error.message)}`, { cause: error })
  })
  return {
    write(text) {
      if (text.includes('\u0000'))
        throw new ImportError(`${file} holds the character U+0000, which XML has not`)
      parser.write(text)
      const sinceItem = parser.position - collector.getLastPosition()
      if (sinceItem > (collector.hasRoot() ? maxItemCharacters : MAX_PROLOG_CHARACTERS))
        throw new ImportError(`${file}: ${sinceItem} characters without the end of an <item> or <entry>`)
      return collector.take()
    },
    close() {
      parser.close()
      if (!collector.hasItem()) throw new ImportError(`${file} has no <item> and no <entry>`)
    },
  }
}

function resolvePrefix(prefix: string): string {
  return prefix === 'g' ? 'http://base.google.com/ns/1.0' : `undeclared:${prefix}`
}

/** `12:34: unclosed tag: item` in words. */
function toReason(message: string): string {
  const [, line, column, what] = /^(\d+):(\d+): (.*)$/s.exec(message) ?? []
  return what === undefined ? message : `line ${line}, column ${column}: ${what.replace(/\.$/, '')}`
}

type Collector = Readonly<{
  open(tag: SaxesTagNS, position: number): void
  text(text: string): void
  close(tag: SaxesTagNS, position: number): void
  take(): SourceRow[]
  /** Where the last item began or ended. */
  getLastPosition(): number
  hasRoot(): boolean
  hasItem(): boolean
}>

/** Puts items together. */
function createCollector(file: string): Collector {
  let items: SourceRow[] = []
  let item: ItemFields | undefined
  let row = 0
  let depth = 0
  let itemDepth = 0
  let position = 0
  return {
    open(tag, at) {
      depth += 1
      if (depth > MAX_DEPTH) throw new ImportError(`${file} nests elements more than ${MAX_DEPTH} deep`)
      if (item !== undefined) item.open(tag, depth - itemDepth)
      else if (tag.local === 'item' || tag.local === 'entry') {
        item = collectFields()
        itemDepth = depth
        position = at
      }
    },
    text(piece) {
      if (depth > itemDepth) item?.text(piece)
    },
    close(tag, at) {
      item?.close(tag, depth - itemDepth)
      if (item !== undefined && depth === itemDepth) {
        row += 1
        items.push(item.toSourceRow(row, at - position))
        item = undefined
        position = at
      }
      depth -= 1
    },
    take() {
      const taken = items
      items = []
      return taken
    },
    getLastPosition: () => position,
    hasRoot: () => depth > 0 || row > 0,
    hasItem: () => row > 0,
  }
}

const GOOGLE_NAMESPACE = /^https?:\/\/base\.google\.com\/ns\/1\.0\/?$/
const ATOM_NAMESPACE = 'http://www.w3.org/2005/Atom'

/** Characters of a field that are kept: more than any title with its markup. */
const MAX_FIELD_CHARACTERS: number = 16 * 1024

/** Fields of one name that are kept: more than there are pictures of a product. */
const MAX_VALUES = 200

/** Fields whose text must stand alone: `100<i/>5.00 EUR` is no price. */
const PLAIN_FIELDS = ['gtin', 'link', 'price', 'sale_price', 'availability', 'currency'] as const

/** Where links of an Atom entry are kept that lead to something else than a page, such as a PDF. */
const OTHER_LINK = 'link of another type'

/** Values by name, and the names of those that held elements. */
type Fields = Readonly<{ values: Map<string, string[]>; nested: Set<string> }>

/** Fields of Google's namespace, and of the feed's own. */
type Item = Readonly<{ google: Fields; own: Fields }>

/** An item or entry being read. `level` is 1 for its direct children, which are its fields: the price of `g:shipping` is not its own. */
export type ItemFields = Readonly<{
  open(tag: SaxesTagNS, level: number): void
  text(piece: string): void
  close(tag: SaxesTagNS, level: number): void
  toSourceRow(row: number, bytes: number): SourceRow
}>

/** Collects the fields of one item. The text of a field is that of the elements in it as well. */
export function collectFields(): ItemFields {
  const item: Item = { google: makeFields(), own: makeFields() }
  let text = ''
  let isNested = false
  const append = (piece: string): void => {
    const room = MAX_FIELD_CHARACTERS - text.length
    if (room > 0) text += piece.length > room ? piece.slice(0, room) : piece
  }
  return {
    open(tag, level) {
      // Set anew by each field, and true from its first element on.
      isNested = level > 1
      if (!isNested) text = ''
      else if (isBlockTag(tag.local)) append(' ')
    },
    text: append,
    close(tag, level) {
      if (level !== 1) return
      const fields = findFields(item, tag)
      if (fields !== undefined) addField(fields, tag, { text: text.trim(), isNested })
      isNested = false
      text = ''
    },
    toSourceRow: (row, bytes) => toSourceRow(item, row, bytes),
  }
}

function makeFields(): Fields {
  return { values: new Map(), nested: new Set() }
}

/** `undefined` for an element of a foreign namespace. */
function findFields({ google, own }: Item, tag: SaxesTagNS): Fields | undefined {
  if (GOOGLE_NAMESPACE.test(tag.uri)) return google
  return tag.uri === '' || tag.uri === ATOM_NAMESPACE || tag.prefix === '' ? own : undefined
}

type FieldText = Readonly<{ text: string; isNested: boolean }>

function addField({ values, nested }: Fields, tag: SaxesTagNS, { text, isNested }: FieldText): void {
  const link = findAtomLink(tag)
  const value = link?.address ?? text
  if (value === '') return
  const name = link?.isPage === false ? OTHER_LINK : toColumnName(tag.local)
  if (isNested && link === undefined) nested.add(name)
  const known = values.get(name)
  if (known === undefined) values.set(name, [value])
  else if (known.length < MAX_VALUES) known.push(value)
}

/**
 * The page of an entry (RFC 4287, section 4.2.7): `alternate`, which is also what a link without `rel` is. One that says
 * it leads to something else than a page counts only where there is no other.
 */
function findAtomLink(tag: SaxesTagNS): { address: string; isPage: boolean } | undefined {
  if (tag.uri !== ATOM_NAMESPACE || tag.local !== 'link') return undefined
  const isAlternate = readAttribute(tag, 'rel', 'alternate') === 'alternate'
  const address = isAlternate ? readAttribute(tag, 'href', '').trim() : ''
  return {
    address,
    isPage: /^\s*(?:$|text\/html|application\/xhtml\+xml)/i.test(readAttribute(tag, 'type', '')),
  }
}

function readAttribute({ attributes }: SaxesTagNS, name: string, otherwise: string): string {
  return attributes[name]?.value ?? otherwise
}

function toSourceRow({ google, own }: Item, row: number, bytes: number): SourceRow {
  const otherLinks = own.values.get(OTHER_LINK)
  if (otherLinks !== undefined && !own.values.has('link')) own.values.set('link', otherLinks)
  own.values.delete(OTHER_LINK)
  const readAll = (name: string): readonly string[] => google.values.get(name) ?? own.values.get(name) ?? []
  return {
    row,
    bytes,
    fault: findFault({ google, own }),
    hasLists: false,
    read: (name) => readAll(name)[0] ?? '',
    readAll,
    describe: () => describeItem({ google, own }),
    getContent: () => JSON.stringify([google, own].map(({ values, nested }) => [[...values], [...nested]])),
  }
}

function findFault({ google, own }: Item): RowFault | undefined {
  const field = PLAIN_FIELDS.find((name) => (google.values.has(name) ? google : own).nested.has(name))
  return field === undefined ? undefined : { field, reason: 'holds other elements, where only text may be' }
}

/** Its fields, as far as they are shown: none is made into JSON that is cut off again. */
function describeItem({ google, own }: Item): string {
  const shown: [name: string, values: readonly string[]][] = []
  let room = MAX_RAW_CHARACTERS
  for (const [name, values] of new Map([...own.values, ...google.values])) {
    const most = room
    shown.push([name, values.slice(0, most).map((value) => value.slice(0, most))])
    room -= name.length + values.join('').length
    if (room <= 0) break
  }
  return cutRaw(JSON.stringify(Object.fromEntries(shown)))
}
