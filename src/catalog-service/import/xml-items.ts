import type { SaxesTagNS } from 'saxes'
import { type SourceRow, toColumnName } from './feed-row.ts'
import { isBlockTag } from './feed-text.ts'
import { type ItemCollector, XmlItemParser } from './xml-item-parser.ts'
import { createTagChecks, toRawXml } from './xml-syntax.ts'

const GOOGLE_NAMESPACE = /^https?:\/\/base\.google\.com\/c?ns\/\d\.\d\/?$/
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

/** `others`: the beginnings of fields that are not read, for rejects. */
type Item = Readonly<{ google: Fields; plain: Fields; others: Map<string, string> }>

const MAX_OTHERS = 20
const MAX_OTHER_CHARACTERS = 100

const createItem = (): Item => ({ google: new Map(), plain: new Map(), others: new Map() })

/**
 * @yields the items of each chunk; memory is bounded by one chunk and one item
 * @throws ImportError when it is not well-formed outside of items, has a document type with declarations, or an item is too long.
 */
export async function* readXmlItems(
  texts: AsyncIterable<string>,
  file: string,
  collector: ItemCollector,
): AsyncGenerator<SourceRow[]> {
  const itemParser = new XmlItemParser(file, collector)
  for await (const text of texts) yield itemParser.parse(text)
  yield itemParser.close()
}

/** Create a collector for RSS items and Atom entries with the elements of Google Merchant. `names`: of the fields that are read. */
export function createGoogleCollector(names: ReadonlySet<string>): ItemCollector {
  let item = createItem()
  /** Of the field, `''` outside of one, and whether it is read. */
  let [name, isRead] = ['', false]
  let text = ''
  let isNested = false
  /** Also collects the text of elements inside a field. */
  const append = (piece: string): void => {
    const maxCharacters = isRead ? MAX_FIELD_CHARACTERS : MAX_OTHER_CHARACTERS
    if (text.length < maxCharacters) text += piece.slice(0, maxCharacters - text.length)
  }
  return {
    itemName: '<item> and no <entry>',
    ...createTagChecks(['item', 'entry']),
    isItem: (_names, { local }) => /^(?:item|entry)$/i.test(local),
    open(tag, level) {
      // Only direct children of an item are fields: the price in `g:shipping` is not the item's price.
      isNested = level > 1
      if (isNested) {
        if (isBlockTag(tag.local)) append(' ')
        return
      }
      name = toColumnName(tag.local)
      isRead = names.has(name)
      text = ''
    },
    text(piece) {
      if (name !== '') append(piece)
    },
    close(tag, level) {
      if (level !== 1) return
      if (isRead) addField(item, tag, { name, text: text.trim(), isNested })
      else if (text !== '' && item.others.size < MAX_OTHERS) item.others.set(name, text.trim())
      name = ''
      isNested = false
      text = ''
    },
    finish(row, bytes) {
      const source = toSourceRow(item, row, bytes)
      item = createItem()
      return source
    },
  }
}

function findFields({ google, plain }: Item, tag: SaxesTagNS): Fields | undefined {
  if (GOOGLE_NAMESPACE.test(tag.uri)) return google
  return tag.uri === '' || tag.uri === ATOM_NAMESPACE || tag.prefix === '' ? plain : undefined
}

function addField(
  item: Item,
  tag: SaxesTagNS,
  { name: ownName, text, isNested }: Readonly<{ name: string; text: string; isNested: boolean }>,
): void {
  const fields = findFields(item, tag)
  const link = findAtomLink(tag, text)
  const { name, value } = link ?? { name: ownName, value: text }
  if (fields === undefined || value === '') return
  const field = fields.get(name) ?? { values: [], isNested: false }
  field.isNested ||= isNested && link === undefined
  if (field.values.length < MAX_VALUES) field.values.push(value)
  fields.set(name, field)
}

/**
 * Find an entry's page (RFC 4287, 4.2.7): `rel` is `alternate` or absent. Other types, such as PDF, are the second choice. Some feeds
 * have it as text.
 */
function findAtomLink(tag: SaxesTagNS, text: string): { name: string; value: string } | undefined {
  const isAtom = tag.uri === ATOM_NAMESPACE || (tag.uri === '' && tag.attributes['href'] !== undefined)
  if (!isAtom || tag.local !== 'link') return undefined
  const read = (name: string): string => tag.attributes[name]?.value.trim() ?? ''
  const isAlternate = tag.attributes['rel'] === undefined || read('rel') === 'alternate'
  const isPage = /^(?:$|text\/html|application\/xhtml\+xml)/i.test(read('type'))
  return {
    name: isPage ? 'link' : OTHER_LINK_FIELD,
    value: isAlternate ? read('href') || text : '',
  }
}

function toSourceRow({ google, plain, others }: Item, row: number, bytes: number): SourceRow {
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
    toRawText: () => {
      const read = [...plain, ...google].map(([name, { values }]) => [name, values] as const)
      return toRawXml(Object.fromEntries([...others, ...read]))
    },
    getContent: () => `${toContent(google)}\n${toContent(plain)}`,
  }
}

/** Separated by characters that XML cannot contain. */
function toContent(fields: Fields): string {
  let content = ''
  for (const [name, { values, isNested }] of fields)
    content += `${name}\u0001${isNested}\u0001${values.join('\u0001')}\u0002`
  return content
}
